"""Verdicts of one judge per metric: those of two are never counted together, and what has no score is named."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from mnemoscope.evaluators.analyses.material import Material
from mnemoscope.evaluators.rows import ScoreRow
from mnemoscope.evaluators.verdict import NOT_JUDGED

__all__ = ["OfOneJudge", "of_one_judge"]


class OfOneJudge(NamedTuple):
    """Verdicts, and what was left out of them."""

    rows: tuple[ScoreRow, ...]
    notes: tuple[str, ...]
    """One sentence per metric that several judges have scored."""
    judges: tuple[str, ...] = ()
    """Per metric who judged it, and how far that judge agrees with people."""

    def scored(self) -> Iterator[tuple[ScoreRow, float]]:
        """Verdicts that have a score, and the score."""
        return ((row, row.score) for row in self.rows if row.status == "scored" and row.score is not None)

    def limits(self) -> tuple[str, ...]:
        """The notes, after the number of verdicts that have no score though they should: failures are no zeros."""
        lost = sum(row.status in ("error", "invalid") for row in self.rows)
        return (*((f"{lost} verdicts without a score are left out",) if lost else ()), *self.notes)


def of_one_judge(material: Material, *metrics: str) -> OfOneJudge:
    """The verdicts of each metric by the judge that was asked most, whatever it could answer.

    Where two were asked as much, a model is taken before the offline judge, because somebody asked for it on purpose,
    and the first by name otherwise. What no judge has seen, such as a failed cell, stays.
    """
    by_metric: defaultdict[str, list[ScoreRow]] = defaultdict(list)
    for row in material.verdicts(*metrics):
        by_metric[row.metric].append(row)
    kept: list[ScoreRow] = []
    notes = []
    for metric, rows in by_metric.items():
        scored = Counter(row.judge_key for row in rows if row.judge_key and row.label != NOT_JUDGED)
        others = {row.judge_key for row in rows if row.judge_key}
        if len(others) < 2 or not scored:
            kept += rows
            continue
        judge = min(scored, key=lambda key: (-scored[key], key.startswith("offline-"), key))
        kept += [row for row in rows if row.judge_key in (judge, "")]
        notes.append(f"{metric}: verdicts of {judge}; those of {', '.join(sorted(others - {judge}))} are left out")
    asked = sorted({(row.metric, row.judge_key) for row in kept if row.judge_key})
    judges = (f"{metric} judged by {key} ({material.calibration(metric, key)})" for metric, key in asked)
    return OfOneJudge(tuple(kept), tuple(notes), tuple(judges))
