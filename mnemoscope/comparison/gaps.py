"""How far each figure is from its floor and its ceiling: `none` and `oracle` under the same conditions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from mnemoscope.comparison.conditions import unequal_settings
from mnemoscope.comparison.summary import Figure, SystemView

__all__ = ["CEILING", "FLOOR", "with_gaps"]

FLOOR, CEILING = "none", "oracle"
"""Architectures: the one that remembers nothing, and the one that is told the evidence."""


def with_gaps(figures: Iterable[Figure], systems: Sequence[SystemView]) -> tuple[Figure, ...]:
    """Figures with their difference to `none` and to `oracle`, stratum by stratum.

    A system is set against the row of the same profile and settings, so that the difference is the memory's. A system
    without such a row has no gap, nor has an imported one: what it was run under is not known here. The difference
    is of means; a paired test against `none` is what `--baseline` gives.

    Args:
        figures: All figures.
        systems: Their systems.
    """
    figures = tuple(figures)
    floor, ceiling = (_counterparts(systems, memory) for memory in (FLOOR, CEILING))
    values = {_key(f, f.system): f.value for f in figures}

    def gap(figure: Figure, others: Mapping[str, str]) -> float | None:
        other = others.get(figure.system)
        base = None if other is None else values.get(_key(figure, other))
        return None if base is None or figure.value is None else round(figure.value - base, 6)

    return tuple(replace(f, vs_none=gap(f, floor), vs_oracle=gap(f, ceiling)) for f in figures)


def _key(figure: Figure, system: str) -> tuple[str, str, str, str, str]:
    return (figure.benchmark, figure.metric, figure.judge_key, figure.stratum, system)


def _counterparts(systems: Sequence[SystemView], memory: str) -> dict[str, str]:
    """System to the row of `memory` that differs in nothing else; that row itself has none."""
    wanted = [view for view in systems if view.row.memory.partition("(")[0] == memory]
    found: dict[str, str] = {}
    for view in systems:
        if view in wanted or view.is_imported:
            continue
        same = [o for o in wanted if o.row.profile == view.row.profile and not unequal_settings(o, view)]
        if same:
            found[view.name] = same[0].name
    return found
