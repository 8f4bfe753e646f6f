"""How long a vector search takes: exact index and embedded Qdrant, as ratios to a bare numpy product.

Run: python benchmarks/vectors.py [--dim 384] [--queries 30]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

from mnemoscope.core.identity import ItemId
from mnemoscope.core.ports import Vectors
from mnemoscope.memory_backends.store import VectorIndex
from mnemoscope.memory_backends.vector_stores import open_vector_store


def unit_rows(count: int, dim: int, seed: int) -> Vectors:
    """Seeded rows of unit length."""
    rows = np.random.default_rng(seed).standard_normal((count, dim), dtype=np.float32)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


def median_ms(work: Callable[[Vectors], object], queries: Vectors) -> float:
    """Median milliseconds of one call per query, after one call that is not counted."""
    work(queries[0])
    spent = []
    for query in queries:
        start = time.perf_counter()
        work(query)
        spent.append(time.perf_counter() - start)
    return float(np.median(spent)) * 1000


def filled(store: str, rows: Vectors) -> VectorIndex:
    """An index of a written vector store that holds the rows."""
    index = open_vector_store(store)(rows.shape[1])
    index.upsert([ItemId(str(n)) for n in range(len(rows))], rows)
    return index


def main() -> None:
    """Print one line per size and store."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dim", type=int, default=384)
    parser.add_argument("--queries", type=int, default=30)
    options = parser.parse_args()
    queries = unit_rows(options.queries, options.dim, 1)
    print(f"{'rows':>7} {'store':<16} {'median ms':>10} {'ratio':>8}")
    for count in (1_000, 10_000):
        rows = unit_rows(count, options.dim, 0)
        floor = median_ms(lambda query, rows=rows: np.argpartition(rows @ query, -10)[-10:], queries)
        print(f"{count:>7} {'numpy floor':<16} {floor:>10.3f} {1.0:>8.1f}")
        for store in ("exact", "qdrant::memory:"):
            index = filled(store, rows)
            spent = median_ms(lambda query, index=index: index.search(query, 10), queries)
            print(f"{count:>7} {store:<16} {spent:>10.3f} {spent / floor:>8.1f}")
            index.close()


if __name__ == "__main__":
    main()
