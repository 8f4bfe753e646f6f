"""What a report shows of one cell: its plan, its reply with the words that verdicts rest on, verdicts, nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mnemoscope.comparison.merging import Member
from mnemoscope.core.ports import Span
from mnemoscope.evaluators.attribution import STAGES
from mnemoscope.evaluators.verdict import Verdict
from mnemoscope.report.highlight import Piece, pieces_of
from mnemoscope.report.outcomes import OUTCOME_STYLE
from mnemoscope.runfile.judging import is_judged
from mnemoscope.runfile.rows import CellRow, StoredReply, SystemRow

__all__ = ["RETRIEVAL", "Attempt", "SlotLine", "VerdictLine", "attempt_of", "verdict_line"]

RETRIEVAL = "retrieval"
"""Subject of the verdicts on what a memory gave back."""
SLOTS_SHOWN = 6
_PROMPT_DIGITS = 12
_ABOUT_REPLY = frozenset({"cue-without-fact", "shotgun"})
"""Flags that say something of the reply and nothing against the verdict."""


@dataclass(frozen=True, slots=True)
class SlotLine:
    """One slot of a plan."""

    slot_id: str
    role: str
    speak: str
    memory_id: str
    text: str
    """The memory's text where it was given."""
    effect: str
    realised: bool | None
    """None where the profile does not verify."""


@dataclass(frozen=True, slots=True)
class VerdictLine:
    """One verdict."""

    metric: str
    subject: str
    label: str
    score: str
    status: str
    quote: str
    notes: tuple[str, ...]
    """Why a person should look at it: flags, votes that differ, an answer that could not be read."""
    raw: str
    """What the judge said, as received; empty for a rule."""
    prompt: str
    """First digits of the hash of what the judge was asked; empty for a rule."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One system's cell."""

    system: str
    profile: str
    privileged: bool
    outcome: str
    """A stage of loss attribution; `passed`, `missed` or `none` without gold facts; `error`, `excluded`, `missing`."""
    style: str
    facts_right: int
    facts: int
    error: str | None
    excluded: str | None
    """Why the system was not asked."""
    reply: tuple[Piece, ...]
    planner: str
    moves: tuple[str, ...]
    speak: str
    conflicts: tuple[tuple[str, str], ...]
    slots: tuple[SlotLine, ...]
    """The first ones; those that were said in any case."""
    n_slots: int
    n_verified: int
    n_realised: int
    fallback: bool
    drafts: int
    losses: tuple[tuple[str, str], ...]
    verdicts: tuple[VerdictLine, ...]
    """Of the reply and the plan; those of the retrieval belong to the group."""
    doubts: tuple[str, ...]
    """Notes on how verdicts came about: where there are any, the outcome may be the judge's and not the system's."""
    judges: tuple[str, ...]
    spans: tuple[tuple[str, str], ...]
    replicates: int


def attempt_of(member: Member, system: SystemRow, cell: CellRow, reply: StoredReply, outcome: str) -> Attempt:
    """A cell as shown."""
    texts = {item.id: item.text for item in reply.retrieval.given} if reply.retrieval else {}
    losses, verdicts, plan = member.run.losses_of(cell), member.run.verdicts_of(cell), reply.plan
    slots = [
        SlotLine(
            s.slot_id, s.role, s.speak, s.memory_id, texts.get(s.memory_id, ""), s.effect, reply.realised.get(s.slot_id)
        )
        for s in (plan.slots if plan else ())
    ]
    lines = tuple(verdict_line(v) for v in verdicts if v.subject != RETRIEVAL)
    quotes = [v.quote for v in verdicts if v.quote and v.status == "scored"]
    return Attempt(
        system=system.name,
        profile=system.profile,
        privileged=system.privileged,
        outcome=outcome,
        style=OUTCOME_STYLE.get(outcome, "untold"),
        facts_right=sum(loss.stage == STAGES[-1] for loss in losses),
        facts=len(losses),
        error=f"{cell.error_cause or 'error'}: {cell.error}" if cell.status == "error" else None,
        excluded=cell.error if cell.status == "excluded" else None,
        reply=pieces_of(reply.visible_text, quotes),
        planner=plan.planner if plan else "",
        moves=plan.moves if plan else (),
        speak=plan.speak if plan else "",
        conflicts=tuple((c.asserted, c.truth) for c in plan.conflicts) if plan else (),
        slots=tuple(s for n, s in enumerate(slots) if n < SLOTS_SHOWN or s.realised),
        n_slots=len(slots),
        n_verified=sum(slot.realised is not None for slot in slots),
        n_realised=sum(slot.realised is True for slot in slots),
        fallback=reply.fallback,
        drafts=len(reply.drafts),
        losses=tuple((loss.fact_id, loss.stage) for loss in losses),
        verdicts=lines,
        doubts=_doubts(lines) if cell.status == "ok" else (),
        judges=tuple(dict.fromkeys(v.judge_key for v in verdicts if v.judge_key and v.subject != RETRIEVAL)),
        spans=tuple(_span_line(span) for span in member.run.spans_of(cell)),
        replicates=member.run.meta.replicates,
    )


def verdict_line(verdict: Verdict) -> VerdictLine:
    """A verdict as printed."""
    return VerdictLine(
        metric=verdict.metric,
        subject=verdict.subject,
        label=verdict.label,
        score="–" if verdict.score is None else f"{verdict.score:g}",
        status=verdict.status,
        quote=verdict.quote,
        notes=_notes(verdict),
        raw=verdict.raw if is_judged(verdict.metric, verdict.judge_key) else "",
        prompt=verdict.prompt_sha[:_PROMPT_DIGITS],
    )


def _doubts(lines: Sequence[VerdictLine]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(note for line in lines for note in line.notes if note not in _ABOUT_REPLY))


def _notes(verdict: Verdict) -> tuple[str, ...]:
    failed = verdict.label if verdict.status in ("invalid", "error") else ""
    split = verdict.agreement is not None and verdict.agreement < 1
    votes = f"{verdict.agreement:.0%} of votes" if split else ""
    return tuple(filter(None, (failed, votes, *verdict.flags)))


def _span_line(span: Span) -> tuple[str, str]:
    return (span.name, f"{span.ms:.1f} ms" if span.error is None else f"{span.ms:.1f} ms, {span.error}")
