"""Spread of an aggregate over seeds; answering and indexing are two sources, and are never pooled."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from mnemoscope.core.errors import ConfigError

__all__ = ["SeedRun", "SeedSource", "SeedSpread", "seed_spreads"]

SeedSource = Literal["answer", "index"]


class SeedRun(NamedTuple):
    """The aggregate of one run, over all its probes."""

    answer_seed: int
    """Of the model that replies."""
    index_seed: int
    """Of what was built to remember: extraction, clustering, index."""
    value: float


@dataclass(frozen=True, slots=True)
class SeedSpread:
    """Mean ± standard deviation over the seeds of one source, the other source held at one seed."""

    source: SeedSource
    held: int
    """Seed of the other source."""
    seeds: tuple[int, ...]
    mean: float
    sd: float | None
    """Over seeds, with n - 1; None for one seed, and `reason` says so."""
    low: float
    """Lowest aggregate."""
    high: float
    reason: str | None = None


def seed_spreads(runs: Iterable[SeedRun]) -> tuple[SeedSpread, ...]:
    """One spread per source and held seed, as LoCoMo-Conv (arXiv 2609.03467) reports 5 answer and 3 index seeds.

    What is spread is the aggregate of a run, not its probes: it says how far another run would land from this one, and
    nothing about other probes. Runs that vary both seeds at once belong to no spread of several seeds.

    Args:
        runs: One per pair of seeds, in any order.

    Returns:
        Answer seeds first, then index seeds, by held seed.

    Raises:
        ConfigError: A pair of seeds comes twice, or a value is not finite.

    Example:
        >>> runs = [SeedRun(43, 43, 0.50), SeedRun(44, 43, 0.54), SeedRun(43, 44, 0.60)]
        >>> [(s.source, s.held, s.seeds, round(s.mean, 2)) for s in seed_spreads(runs) if s.sd is not None]
        [('answer', 43, (43, 44), 0.52), ('index', 43, (43, 44), 0.55)]
    """
    by_source: dict[tuple[SeedSource, int], dict[int, float]] = defaultdict(dict)
    for run in runs:
        if not np.isfinite(run.value):
            raise ConfigError(
                f"answer seed {run.answer_seed}, index seed {run.index_seed}: the aggregate is {run.value}"
            )
        if run.answer_seed in by_source["answer", run.index_seed]:
            raise ConfigError(
                f"answer seed {run.answer_seed} and index seed {run.index_seed} come twice; give each once"
            )
        by_source["answer", run.index_seed][run.answer_seed] = run.value
        by_source["index", run.answer_seed][run.index_seed] = run.value
    return tuple(_spread(source, held, values) for (source, held), values in sorted(by_source.items()))


def _spread(source: SeedSource, held: int, by_seed: dict[int, float]) -> SeedSpread:
    seeds = tuple(sorted(by_seed))
    values = np.array([by_seed[seed] for seed in seeds])
    several = len(seeds) > 1
    return SeedSpread(
        source=source,
        held=held,
        seeds=seeds,
        mean=float(values.mean()),
        sd=float(values.std(ddof=1)) if several else None,
        low=float(values.min()),
        high=float(values.max()),
        reason=None if several else "one seed",
    )
