"""Changed verdicts with what they are about: the reply, and the words that each of the two judges quotes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mnemoscope.comparison.merging import Member, RunSet, open_runs
from mnemoscope.evaluators.calibration.auditing import METRICS_DIFFER, AuditRow, Change, Item
from mnemoscope.evaluators.verdict import Verdict
from mnemoscope.runfile.rows import NO_REPLY, CellKey

__all__ = ["ShownChange", "shown_changes"]


@dataclass(frozen=True, slots=True)
class ShownChange:
    """A verdict that two scorings give differently."""

    change: Change
    reply: str | None
    """What the assistant said; None where the reply was not imported."""
    quotes: tuple[str, str]
    """What each of the two quotes from it; empty where it quotes nothing."""

    def to_json(self) -> dict[str, object]:
        """Plain data."""
        before, after = self.quotes
        return {
            **self.change.item._asdict(),
            "reply": self.reply,
            "before": {"label": self.change.before.label, "quote": before},
            "after": {"label": self.change.after.label, "quote": after},
        }


def shown_changes(paths: Sequence[Path], rows: Sequence[AuditRow], limit: int) -> list[tuple[ShownChange, ...]]:
    """The first changes of each row, in full.

    Args:
        paths: The run files that were audited, in the same order.
        rows: What the audit found.
        limit: Changes of each row; 0: none.

    Raises:
        RunFileError: A file cannot be read.
    """
    if not limit:
        return [()] * len(rows)
    with open_runs(paths) as runs:
        return [tuple(_shown(runs, row, change) for change in row.changes[:limit]) for row in rows]


def _shown(runs: RunSet, row: AuditRow, change: Change) -> ShownChange:
    first, _, second = row.metric.partition(METRICS_DIFFER)
    before = _quote(runs, change.item, first, row.first)
    after = _quote(runs, change.item, second or first, row.second)
    return ShownChange(change, _reply(runs, change.item), (before, after))


def _reply(runs: RunSet, item: Item) -> str | None:
    for member in runs.members:
        cell = member.run.cell(_key(item))
        reply = member.run.reply_of(cell) if cell else None
        if reply is not None and reply.reasoning != NO_REPLY:
            return reply.visible_text
    return None


def _quote(runs: RunSet, item: Item, metric: str, scoring: str) -> str:
    for member in runs.members:
        for verdict in _verdicts(member, item):
            known = f"{verdict.judge_key} [{member.label}]" if len(runs.members) > 1 else verdict.judge_key
            if (verdict.metric, known) == (metric, scoring):
                return verdict.quote
    return ""


def _verdicts(member: Member, item: Item) -> tuple[Verdict, ...]:
    cell = member.run.cell(_key(item))
    return tuple(v for v in member.run.verdicts_of(cell) if v.subject == item.subject) if cell else ()


def _key(item: Item) -> CellKey:
    return CellKey(item.system, item.scenario_id, item.probe_id, item.replicate)
