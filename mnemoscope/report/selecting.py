"""Which probes the report shows in full, rendered one by one within a given room."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from mnemoscope.comparison.merging import RunSet
from mnemoscope.core.errors import UnknownNameError
from mnemoscope.report.history import ProbeMoment, gold_sources, moment_of
from mnemoscope.report.outcomes import OUTCOME_STYLE, CellOutcomes, worst_first
from mnemoscope.report.shelf import MemoryGroup, Shelf
from mnemoscope.runfile.rows import ProbeRow

__all__ = ["Dot", "ProbeChoice", "ProbeGroup", "ProbeView", "choose_probes"]

MOST_PROBES = 400
DOUBT = "doubt"
_TRIED = 6
"""Probes rendered first, to estimate how many fit."""

ProbeKey = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Dot:
    """One system's outcome in a probe's strip."""

    system: str
    outcome: str
    style: str


@dataclass(frozen=True, slots=True)
class ProbeView:
    """One probe with everything that its fold shows."""

    probe_id: str
    style: str
    strata: tuple[str, ...]
    moment: ProbeMoment
    groups: tuple[MemoryGroup, ...]
    strip: tuple[Dot, ...]
    stages: tuple[str, ...]
    """The outcomes that occur, for the filter, and `doubt` where a judgement is doubtful."""
    right: int


@dataclass(frozen=True, slots=True)
class ProbeGroup:
    """The shown probes of one scenario, rendered."""

    scenario_id: str
    probes: tuple[Markup, ...]
    note: str


@dataclass(frozen=True, slots=True)
class ProbeChoice:
    """What is shown of all probes."""

    groups: tuple[ProbeGroup, ...]
    shown: int
    total: int
    outcomes: tuple[str, ...]
    """Outcomes that occur anywhere, in the order of the way."""
    has_doubt: bool
    """Whether a shown probe has a judgement that a person should look at."""


def choose_probes(
    runs: RunSet,
    systems: Sequence[str],
    fair: Sequence[str],
    outcomes: CellOutcomes,
    render: Callable[[ProbeView], Markup],
    room: int,
    named: Sequence[str] = (),
) -> ProbeChoice:
    """Render as many probes as fit, in the order of the run; where not all fit, those that most systems missed.

    Args:
        runs: The run files.
        systems: Names of all systems, in order.
        fair: Those that do not read gold; their misses decide which probes are shown.
        outcomes: Every cell's outcome.
        render: Makes the HTML of one probe.
        room: Bytes that the probes may take together; at least one is shown.
        named: Ids of the only probes that are shown; empty: all may be.

    Raises:
        UnknownNameError: No probe has one of these ids.
    """
    rows = {(row.scenario_id, row.probe_id): row for row in runs.probes()}
    _refuse_unknown(named, {probe for _, probe in rows})
    known: CellOutcomes = {key: outcomes.get(key, {}) for key in rows}
    ranked = [key for key in worst_first(known, fair) if not named or key[1] in named][:MOST_PROBES]
    shelf = Shelf(runs, known)

    doubted: set[ProbeKey] = set()

    def html(key: ProbeKey) -> Markup:
        view = _view(runs, shelf, rows[key], known, systems)
        if DOUBT in view.stages:
            doubted.add(key)
        return render(view)

    order = {key: place for place, key in enumerate(rows)}
    rendered: dict[ProbeKey, Markup] = {}
    size = 0
    while len(rendered) < len(ranked) and (size < room or not rendered):
        more = _TRIED if not rendered else int((room - size) * len(rendered) / size) + 1
        # In the order of the run, because what a memory held is read once per scenario.
        for key in sorted(ranked[len(rendered) : len(rendered) + more], key=lambda key: order[key]):
            rendered[key] = html(key)
            size += _size(rendered[key])
    kept = ranked[: len(rendered)]
    while len(kept) > 1 and size > room:
        size -= _size(rendered[kept.pop()])
    shown = {key: rendered[key] for key in sorted(kept, key=lambda key: order[key])}
    has_doubt = not doubted.isdisjoint(shown)
    return ProbeChoice(_grouped(runs, shown), len(shown), len(rows), _occurring(known), has_doubt)


def _refuse_unknown(named: Sequence[str], known: Collection[str]) -> None:
    for name in named:
        if name not in known:
            nearest = difflib.get_close_matches(name, sorted(known), n=3, cutoff=0.3)
            raise UnknownNameError("probe in these runs", name, nearest or sorted(known)[:3])


def _size(html: Markup) -> int:
    return len(html.encode("utf-8"))


def _grouped(runs: RunSet, rendered: Mapping[ProbeKey, Markup]) -> tuple[ProbeGroup, ...]:
    groups = []
    for row in runs.scenarios():
        probes = tuple(html for (scenario_id, _), html in rendered.items() if scenario_id == row.scenario_id)
        if probes:
            groups.append(ProbeGroup(row.scenario_id, probes, f"{row.benchmark} · {row.source_spec}"))
    return tuple(groups)


def _occurring(outcomes: CellOutcomes) -> tuple[str, ...]:
    seen = {outcome for known in outcomes.values() for outcome in known.values()}
    return tuple(outcome for outcome in OUTCOME_STYLE if outcome in seen)


def _view(runs: RunSet, shelf: Shelf, row: ProbeRow, outcomes: CellOutcomes, systems: Sequence[str]) -> ProbeView:
    scenario = runs.scenario(row.scenario_id)
    probe = next(p for p in scenario.probes if p.probe_id == row.probe_id)
    known = outcomes[row.scenario_id, row.probe_id]
    strip = tuple(Dot(name, o := known.get(name, "missing"), OUTCOME_STYLE.get(o, "untold")) for name in systems)
    groups = shelf.groups(row.scenario_id, probe, gold_sources(scenario.gold_by_probe[probe.probe_id], scenario))
    doubt = any(attempt.doubts for group in groups for attempt in group.attempts)
    return ProbeView(
        probe_id=row.probe_id,
        style=row.style,
        strata=row.strata,
        moment=moment_of(scenario, probe),
        groups=groups,
        strip=strip,
        stages=tuple(dict.fromkeys([*(dot.outcome for dot in strip), *([DOUBT] if doubt else [])])),
        right=sum(dot.style == "right" for dot in strip),
    )
