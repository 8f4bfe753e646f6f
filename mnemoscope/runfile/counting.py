"""Counts and sums over a run file: who judged, what judges said and cost, how long replies are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from mnemoscope.core.usage import Usage
from mnemoscope.evaluators.judges.panel import is_panel
from mnemoscope.evaluators.verdict import JUDGE_ERROR
from mnemoscope.graphs.spans import FIRST_TOKEN
from mnemoscope.runfile import codec
from mnemoscope.runfile.asked import AskedJudge
from mnemoscope.runfile.rows import NO_REPLY, CellKey, VerdictState, Vote

if TYPE_CHECKING:
    from mnemoscope.config import RunConfig

__all__ = ["KEY_ORDER", "CountingRows"]

KEY_ORDER = " ORDER BY c.system, c.scenario_id, c.probe_id, c.replicate"
"""An order that no execution can change."""


class CountingRows(ABC):
    """The part of a reader that looks at all cells at once."""

    config: RunConfig

    @abstractmethod
    def _rows(self, query: str, values: Sequence[object] = ()) -> Iterator[tuple[Any, ...]]: ...

    def asked_judges(self) -> tuple[AskedJudge, ...]:
        """The judges that were asked after the run was made, ordered by metric and key."""
        query = "SELECT metric, judge_key, judge, model FROM asked_judge ORDER BY metric, judge_key"
        return tuple(map(AskedJudge._make, self._rows(query)))

    def judge_of(self, metric: str, judge_key: str) -> AskedJudge:
        """Who gave the verdicts of this key: a judge that was asked later, else the one that the run was made with."""
        own = AskedJudge(metric, judge_key, self.config.judge, self.config.judge_model)
        return next((asked for asked in self.asked_judges() if asked[:2] == own[:2]), own)

    def verdict_states(self) -> Iterator[VerdictState]:
        """Verdicts on cells with a reply, counted by metric, judge, status and reason; exclusions are left out."""
        rows = self._rows(
            "SELECT v.metric, v.judge_key, v.status, iif(v.status = 'scored', '', v.label) AS reason, count(*) "
            "FROM verdict v JOIN cell c USING (cell_id) WHERE c.status = 'ok' AND v.status <> 'not_applicable' "
            "GROUP BY v.metric, v.judge_key, v.status, reason ORDER BY v.metric, v.judge_key, v.status, reason"
        )
        return map(VerdictState._make, rows)

    def votes(self) -> Iterator[Vote]:
        """Scored verdicts that several votes of one judge decided, ordered by cell key, metric and judge; usually none.

        Panels are left out: their members disagree with each other, not with themselves.
        """
        rows = self._rows(
            "SELECT c.system, c.scenario_id, c.probe_id, c.replicate, v.metric, v.judge_key, v.agreement "
            "FROM verdict v JOIN cell c USING (cell_id) WHERE v.agreement IS NOT NULL AND v.status = 'scored'"
            + KEY_ORDER
            + ", v.metric, v.judge_key, v.subject"
        )
        of_panel = cache(lambda metric, key: is_panel(self.judge_of(metric, key).judge))
        return (vote for vote in map(Vote._make, rows) if not of_panel(vote.metric, vote.judge_key))

    def judging_by_cell(self) -> dict[int, Usage]:
        """Number of a cell to what judging it cost, over all judges."""
        spent: dict[int, Usage] = {}
        for cell_id, usage, hits in self._rows("SELECT cell_id, usage, cache_hits FROM judging ORDER BY cell_id"):
            spent[cell_id] = spent.get(cell_id, Usage()) + codec.usage_from(usage, hits)
        return spent

    def judging(self) -> dict[tuple[str, str], Usage]:
        """System and judge to what all its verdicts cost."""
        rows = self._rows(
            "SELECT c.system, j.judge, j.usage, j.cache_hits FROM judging j JOIN cell c USING (cell_id) "
            "ORDER BY c.system, j.judge"
        )
        spent: dict[tuple[str, str], Usage] = {}
        for system, judge, usage, hits in rows:
            spent[system, judge] = spent.get((system, judge), Usage()) + codec.usage_from(usage, hits)
        return spent

    def judge_errors(self) -> dict[tuple[str, str], int]:
        """Metric and cause of what failed in judging cells that did not fail themselves, with its number."""
        rows = self._rows(
            "SELECT metric, label, count(*) FROM verdict WHERE status = 'error' AND label LIKE ? "
            "GROUP BY metric, label ORDER BY metric, label",
            (f"{JUDGE_ERROR}%",),
        )
        return {(metric, label.partition(":")[2]): count for metric, label, count in rows}

    def without_text(self) -> set[CellKey]:
        """The cells whose reply was not imported with what is known of it."""
        query = "SELECT system, scenario_id, probe_id, replicate FROM cell WHERE json_extract(reply, '$.reasoning') = ?"
        return set(map(CellKey._make, self._rows(query, (NO_REPLY,))))

    def reply_characters(self) -> dict[int, int]:
        """Number of a cell to the length of its visible reply."""
        rows = self._rows("SELECT cell_id, length(json_extract(reply, '$.text')) FROM cell WHERE status = 'ok'")
        return dict(rows)

    def unread_while_searching(self) -> dict[str, int]:
        """System to the replies of a model, or parts of them, that its memory could not read while searching."""
        unread: dict[str, int] = {}
        rows = self._rows(
            "SELECT system, retrieval FROM cell WHERE retrieval IS NOT NULL AND json_extract(usage, '$.calls') <> '{}' "
            "ORDER BY system"
        )
        for system, packed in rows:
            if failures := codec.unpack(packed).get("parse_failures", 0):
                unread[system] = unread.get(system, 0) + failures
        return unread

    def first_token_ms(self) -> dict[int, float]:
        """Number of a cell to the milliseconds until its reply's first token; empty where replies are not streamed."""
        if "stream=true" not in (self.config.model or ""):
            return {}
        return {
            cell_id: span.ms
            for cell_id, body in self._rows("SELECT cell_id, body FROM span")
            for span in codec.spans_from(body)
            if span.name == FIRST_TOKEN
        }
