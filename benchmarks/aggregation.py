"""How long figures take: LoCoMo-Conv's 6,581 probes × 12 metrics × 5 systems, all strata, all pairs, 10,000 resamples.

The floor is the one matrix product that the bootstrap cannot do without: resamples × clusters by clusters × columns, a
column for every system and every pair of every metric and stratum.

Run: python benchmarks/aggregation.py [--probes 6581] [--resamples 10000] [--clusters 10,260]
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import sys
import time
from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple

import numpy as np

from mnemoscope.evaluators.aggregate import Aggregates, ProbeFacts, ScoreRow, aggregate
from mnemoscope.evaluators.statistics.bootstrap import one_thread, resample_counts

STYLES = ("dialog", "implicit", "counterfactual", "composed")
CATEGORIES = ("multi-hop", "temporal", "open-domain", "single-hop")
SYSTEMS = ("none@baseline", "bm25@baseline", "dense@baseline", "dense@slots", "oracle@baseline")
BINARY, GRADED = 6, 6
"""Metrics of 0 and 1, and metrics of shares: their tests differ."""
SECONDS, MEGABYTES = 20, 1_000


class Measured(NamedTuple):
    """One run of the aggregation in a process of its own."""

    verdicts: int
    rows: int
    seconds: float
    """Of the clock, which other work on the machine slows down."""
    cpu: float
    """Seconds of processor time; on a free core the clock shows the same."""
    floor: float
    """Processor time of the floor."""
    megabytes: float
    """Peak of the process, interpreter, libraries and the verdicts themselves included."""


def probe_facts(probes: int, clusters: int) -> dict[tuple[str, str], ProbeFacts]:
    """Probes dealt over clusters, each in one style and one category."""
    return {
        (f"conv-{n % clusters}", f"p{n}"): ProbeFacts(
            f"conv-{n % clusters}", (STYLES[n % 4], CATEGORIES[n // 4 % 4]), "locomo-conv"
        )
        for n in range(probes)
    }


def verdicts(facts: dict[tuple[str, str], ProbeFacts], seed: int) -> Iterator[ScoreRow]:
    """Seeded verdicts, cell by cell as run files give them; one in 200 has failed."""
    rng = np.random.default_rng(seed)
    for skill, system in enumerate(SYSTEMS, start=3):
        drawn = rng.random((len(facts), BINARY + GRADED))
        failed = rng.random(len(facts)) < 0.005
        for (scenario, probe), row, lost in zip(facts, drawn, failed, strict=True):
            for number, value in enumerate(row.tolist()):
                right = value * 10 < skill
                score = float(right) if number < BINARY else round(value * skill / 8, 6)
                outcome = ("timeout", None, "error") if lost else ("hit" if right else "miss", score, "scored")
                yield ScoreRow(system, scenario, probe, 0, f"metric-{number}", "reply", *outcome, "rule-1")


def floor_seconds(clusters: int, resamples: int) -> float:
    """The bare matrix product over all columns, on one thread like the bootstrap."""
    pairs = len(list(combinations(SYSTEMS, 2)))
    strata = 1 + 1 + len(STYLES) + len(CATEGORIES)
    columns = (BINARY + GRADED) * strata * (len(SYSTEMS) + pairs)
    sums = np.random.default_rng(0).random((clusters, columns))
    drawn = resample_counts(clusters, resamples, 0).astype(np.float64)
    with one_thread():
        start = time.process_time()
        for part in range(0, resamples, 1_000):
            _ = drawn[part : part + 1_000] @ sums
        return time.process_time() - start


def measure(probes: int, clusters: int, resamples: int) -> Measured:
    """Aggregate once and say what it took."""
    facts = probe_facts(probes, clusters)
    rows = list(verdicts(facts, 0))
    start, cpu = time.perf_counter(), time.process_time()
    found: Aggregates = aggregate(rows, facts, systems=SYSTEMS, resamples=resamples)
    spent, cpu = time.perf_counter() - start, time.process_time() - cpu
    unit = 1_000_000 if sys.platform == "darwin" else 1_000
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
    return Measured(
        len(rows), len(found.metrics) + len(found.pairs), spent, cpu, floor_seconds(clusters, resamples), peak
    )


def main() -> None:
    """Print one line per number of clusters."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--probes", type=int, default=6_581)
    parser.add_argument("--resamples", type=int, default=10_000)
    parser.add_argument("--clusters", default="10,260")
    options = parser.parse_args()
    heads = ("clusters", "verdicts", "rows", "seconds", "cpu s", "floor s", "ratio", "peak MB")
    print(" ".join(f"{head:>9}" for head in heads))
    for clusters in map(int, options.clusters.split(",")):
        # A fresh process: a peak cannot be taken back.
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            took = pool.apply(measure, (options.probes, clusters, options.resamples))
        cells = (
            *(f"{clusters}", f"{took.verdicts:,}", f"{took.rows:,}", f"{took.seconds:.1f}", f"{took.cpu:.1f}"),
            *(f"{took.floor:.2f}", f"{took.cpu / took.floor:.0f}", f"{took.megabytes:.0f}"),
        )
        print(" ".join(f"{cell:>9}" for cell in cells))
    print(f"wanted: under {SECONDS} s on a free core, and under {MEGABYTES:,} MB")


if __name__ == "__main__":
    main()
