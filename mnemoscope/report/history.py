"""What a report shows of a probe itself: the history around its cut, and what only the evaluators know."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from mnemoscope.core.language.display import conversation_time
from mnemoscope.scenarios.records import Gold, Probe, Scenario, Turn

__all__ = ["GapLine", "GoldView", "ProbeMoment", "TurnLine", "gold_sources", "moment_of"]

TURNS_BEFORE = 4
GOLD_TURNS_SHOWN = 8


@dataclass(frozen=True, slots=True)
class TurnLine:
    """One turn of the history."""

    turn_id: str
    speaker: str
    at: str
    text: str
    is_gold: bool
    is_recent: bool
    """Part of the current session that every system is given."""


@dataclass(frozen=True, slots=True)
class GapLine:
    """Turns left out between two that are shown."""

    turns: int


@dataclass(frozen=True, slots=True)
class PoolLine:
    """One memory that the benchmark hands over, with its hidden label."""

    item_id: str
    text: str
    role: str


@dataclass(frozen=True, slots=True)
class GoldView:
    """What the evaluators know and no unprivileged system does."""

    answers: tuple[str, ...]
    facts: tuple[tuple[str, str, tuple[str, ...]], ...]
    """Fact id, text, sources."""
    evidence: tuple[str, ...]
    unresolvable: tuple[str, ...]
    trap: str | None
    unanswerable: bool
    asserted: str | None
    truth: str | None
    windows: tuple[str, ...]
    expected: str | None
    rubric: str | None


@dataclass(frozen=True, slots=True)
class ProbeMoment:
    """A probe in its place."""

    lines: tuple[TurnLine | GapLine, ...]
    speaker: str
    text: str
    now: str
    persona: str | None
    pool: tuple[PoolLine, ...]
    gold: GoldView


def gold_sources(gold: Gold, scenario: Scenario) -> frozenset[str]:
    """Turn ids (or pool item ids) that hold what a good reply knows; sessions named as evidence are spelt out."""
    found = {source for fact in gold.facts for source in fact.sources}
    if gold.false_premise is not None:
        found.update(gold.false_premise.sources)
    if gold.evidence_unit == "session":
        named = frozenset(gold.evidence)
        found.update(
            turn.turn_id for session in scenario.sessions if session.session_id in named for turn in session.turns
        )
    else:
        found.update(gold.evidence)
    return frozenset(found)


def moment_of(scenario: Scenario, probe: Probe) -> ProbeMoment:
    """The history around a probe's cut, its gold turns wherever they stand, and the probe."""
    gold = scenario.gold_by_probe[probe.probe_id]
    sources = gold_sources(gold, scenario)
    recent = {turn.turn_id for turn in probe.recent_turns}
    return ProbeMoment(
        lines=_lines([turn for turn in scenario.turns if turn.index < probe.cut.seq], sources, recent),
        speaker=probe.speaker,
        text=probe.text,
        now=conversation_time(probe.now),
        persona=probe.persona,
        pool=tuple(
            PoolLine(item.item_id, item.text, gold.roles.get(item.item_id, ""))
            for item in (probe.pool.items if probe.pool else ())
        ),
        gold=_gold_view(gold, scenario),
    )


def _lines(known: list[Turn], sources: Collection[str], recent: Collection[str]) -> tuple[TurnLine | GapLine, ...]:
    gold = [turn for turn in known if turn.turn_id in sources][:GOLD_TURNS_SHOWN]
    shown = sorted({turn.index: turn for turn in [*gold, *known[-TURNS_BEFORE:]]}.values(), key=lambda turn: turn.index)
    lines: list[TurnLine | GapLine] = []
    expected = 0
    for turn in shown:
        if turn.index > expected:
            lines.append(GapLine(turn.index - expected))
        lines.append(
            TurnLine(
                turn_id=turn.turn_id,
                speaker=turn.speaker,
                at=conversation_time(turn.at),
                text=turn.content,
                is_gold=turn.turn_id in sources,
                is_recent=turn.turn_id in recent,
            )
        )
        expected = turn.index + 1
    return tuple(lines)


def _gold_view(gold: Gold, scenario: Scenario) -> GoldView:
    premise = gold.false_premise
    ids = {turn.index: turn.turn_id for turn in scenario.turns} if gold.windows else {}
    return GoldView(
        answers=gold.answers,
        facts=tuple((fact.fact_id, fact.text, fact.sources) for fact in gold.facts),
        evidence=gold.evidence,
        unresolvable=gold.unresolvable,
        trap=gold.trap,
        unanswerable=gold.unanswerable,
        asserted=premise.asserted if premise else None,
        truth=premise.truth if premise else None,
        windows=tuple(
            f"{w.kind}: {w.fact_id}, {ids.get(w.from_index, w.from_index)} – {ids.get(w.to_index, w.to_index)}"
            for w in gold.windows
        ),
        expected=gold.expected,
        rubric=gold.rubric,
    )
