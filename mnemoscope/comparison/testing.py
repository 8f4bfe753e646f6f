"""The rules that tests between systems follow, and whether a difference is shown to be too small to matter."""

from __future__ import annotations

from math import sqrt
from pathlib import Path

from mnemoscope.comparison.merging import RunSet
from mnemoscope.config import load_config
from mnemoscope.core.errors import ConfigError
from mnemoscope.evaluators.aggregate import PairRow
from mnemoscope.evaluators.statistics.config import DEFAULT_STATISTICS, StatisticsConfig
from mnemoscope.evaluators.statistics.equivalence import Equivalence, tost
from mnemoscope.runfile.rows import IMPORTED

__all__ = ["equivalence_of", "margin_warnings", "statistics_of"]


def statistics_of(runs: RunSet, config: Path | None = None) -> StatisticsConfig:
    """The rules by which runs are compared: those of a configuration file, else those that the runs were made with.

    Args:
        runs: The files; what another harness made has no rules of its own.
        config: A file whose `[statistics]` wins.

    Raises:
        ConfigError: The file cannot be read, or the runs have different rules and no file decides.
    """
    if config is not None:
        return load_config(config, {}).statistics
    rules = _recorded(runs)
    if len(set(rules.values())) > 1:
        held = "; ".join(f"{label}: {_said(rule)}" for label, rule in rules.items())
        raise ConfigError(f"these runs were made with different [statistics] ({held}); choose with --config FILE.toml")
    return next(iter(rules.values()), DEFAULT_STATISTICS)


def margin_warnings(runs: RunSet, statistics: StatisticsConfig) -> list[str]:
    """What must be known of a margin that the runs do not hold: it was chosen when the verdicts were there."""
    margin = statistics.equivalence_margin
    held = {rule.equivalence_margin for rule in _recorded(runs).values()}
    if margin is None or held == {margin}:
        return []
    return [
        f"the equivalence margin of {margin * 100:g} points was not in the configuration of these runs; one that is "
        "chosen after scoring shows no equivalence to anybody else"
    ]


def equivalence_of(pair: PairRow, statistics: StatisticsConfig) -> Equivalence | None:
    """Two one-sided tests of a difference, as `equivalence_by_cluster` with unit `row`; None without a margin."""
    margin = statistics.equivalence_margin
    if margin is None or pair.delta is None:
        return None
    if pair.error is None:
        return Equivalence(pair.delta, None, margin, None, None, None, None, False, "one cluster")
    # Draws from C clusters spread too little by this factor.
    error = pair.error * sqrt(pair.clusters / (pair.clusters - 1))
    return tost(pair.delta, error, margin, df=pair.clusters - 1, alpha=statistics.alpha)


def _recorded(runs: RunSet) -> dict[str, StatisticsConfig]:
    own = [m for m in runs.members if any(system.evidence_class != IMPORTED for system in m.run.systems())]
    return {member.label: member.run.config.statistics for member in own}


def _said(rule: StatisticsConfig) -> str:
    return ", ".join(f"{name} {value}" for name, value in rule.model_dump(exclude_defaults=True).items()) or "none set"
