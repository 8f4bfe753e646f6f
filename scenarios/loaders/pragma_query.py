"""PRAGMA's queries: one row becomes a probe, which an assistant may see, and gold, which it may not."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from mnemoscope.core.errors import DataError
from mnemoscope.core.identity import ProbeId
from mnemoscope.scenarios.loaders.pragma_format import PragmaOrigin, PragmaQuery, PragmaRubric
from mnemoscope.scenarios.records import Cut, FalsePremise, Gold, GoldFact, Probe, Session, Style, Turn
from mnemoscope.scenarios.source import DataReport

__all__ = ["ASSISTANT", "STRATA", "STYLES", "USER", "Placed", "QueryReader"]

USER, ASSISTANT = "User", "Assistant"
STYLES: Mapping[str, Style] = {"type1": "dialog", "type2": "recollection", "type3": "dialog", "type4": "plan"}
STRATA = {
    "type1": "type1-event-align",
    "type2": "type2-event-correct",
    "type3": "type3-traj-align",
    "type4": "type4-traj-correct",
}
_WANTED = {
    "type1": "Proposes a next step that builds on the earlier attempts, and gives those attempts as the reason.",
    "type2": "Notices that the recollection mixes separate events, says what happened in each, then advises.",
    "type3": "Recommends what to put first, what to play down and what to leave out, in line with the way the user has "
    "gone on both axes, and gives concrete experiences as the reason.",
    "type4": "Points out that the plan goes against the way the user has gone on both axes, and names the experiences.",
}
_POSITIONED = ("type2", "type4")
"""Types whose evidence and summaries stand in one order."""


@dataclass(frozen=True)
class Placed:
    """A user's history, ready for queries."""

    user_id: str
    file: str
    by_index: Mapping[int, Session]
    """Sessions with turns, by their index among all date-sorted sessions."""
    kinds: tuple[str | None, ...]
    """Of all date-sorted sessions."""
    dates: tuple[str, ...]

    @cached_property
    def sessions(self) -> tuple[Session, ...]:
        """Sessions with turns, in order."""
        return tuple(self.by_index.values())

    @cached_property
    def turns(self) -> tuple[Turn, ...]:
        """All turns, in order."""
        return tuple(turn for session in self.sessions for turn in session.turns)


class QueryReader:
    """Reads queries with their rubrics and with what they were made from."""

    def __init__(
        self, report: DataReport, rubrics: Iterable[PragmaRubric], origins: Mapping[str, PragmaOrigin]
    ) -> None:
        self._report, self._origins = report, origins
        self._rubrics = {(rubric.user_id, rubric.query): rubric for rubric in rubrics}
        self._used: set[tuple[str, str]] = set()

    def unused_rubrics(self, users: Collection[str]) -> list[PragmaRubric]:
        """Rubrics of these users that no query asked for."""
        return [rubric for key, rubric in self._rubrics.items() if key not in self._used and key[0] in users]

    def read(self, query: PragmaQuery, placed: Placed, persona: str | None) -> tuple[Probe, Gold]:
        """Read one query; it is asked after the whole history and knows nothing of the other three.

        Args:
            query: The row.
            placed: The user's history.
            persona: The persona sentence, where assistants may see it.

        Returns:
            The probe and its gold.

        Raises:
            DataError: An evidence index lies outside the history.
        """
        probe_id = ProbeId(f"{query.user_id}/{query.query_type}")
        turns = placed.turns
        probe = Probe(
            probe_id=probe_id,
            style=STYLES[query.query_type],
            speaker=USER,
            text=query.query,
            cut=Cut(seq=len(turns), turn_id=turns[-1].turn_id if turns else None),
            now=query.now,
            persona=persona,
        )
        self._note_time(query, placed)
        indexes = self._indexes(query, placed)
        evidence = tuple(str(placed.by_index[i].session_id) for i in indexes if i in placed.by_index)
        empty = tuple(f"session {i}" for i in indexes if i not in placed.by_index)
        origin = self._origins.get(query.user_id)
        self._check_origin(query, origin)
        counts = self._report.counts
        counts["queries"] += 1
        counts[f"stratum {STRATA[query.query_type]}"] += 1
        counts["evidence sessions"] += len(evidence)
        if not evidence:
            counts["queries without evidence"] += 1
            self._report.note("empty-evidence", str(probe_id), "no evidence is given; left out of recall")
        rubric, inputs = self._rubric(query, origin)
        gold = Gold(
            evidence=evidence,
            evidence_unit="session",
            unresolvable=empty,
            facts=self._facts(query, probe_id, placed, indexes, origin),
            false_premise=_false_premise(query, evidence),
            rubric=rubric,
            expected=_expected(query, origin),
            judge_inputs=inputs,
            strata=(STRATA[query.query_type],),
        )
        return probe, gold

    def _note_time(self, query: PragmaQuery, placed: Placed) -> None:
        late = sum(1 for s in placed.sessions if s.at is not None and s.at >= query.now)
        if late:
            self._report.note("session-after-query", query.record, f"{late} sessions are not before the query's day")

    def _indexes(self, query: PragmaQuery, placed: Placed) -> tuple[int, ...]:
        for index, written in zip(query.indexes, query.dates, strict=True):
            if not 0 <= index < len(placed.dates):
                raise DataError(
                    f"an evidence index lies outside the {len(placed.dates)} sessions of {query.user_id}",
                    file=placed.file,
                    record=query.record,
                    field="evidence_session_index",
                    seen=index,
                )
            if placed.dates[index] != written:
                detail = f"session {index} is of {placed.dates[index]}, not of {written}; the index counts"
                self._report.note("evidence-date-mismatch", query.record, detail)
            if placed.kinds[index] == "filler":
                self._report.note("evidence-is-filler", query.record, f"session {index} is marked as a filler")
        unique = tuple(dict.fromkeys(query.indexes))
        if len(unique) < len(query.indexes):
            detail = f"{list(query.indexes)} names a session twice; counted once"
            self._report.note("duplicate-evidence", query.record, detail)
        return unique

    def _check_origin(self, query: PragmaQuery, origin: PragmaOrigin | None) -> None:
        if origin is None:
            return
        if query.query not in origin.queries:
            detail = f"the query of {query.query_type} is not among the user's queries in query_data.json"
            self._report.note("query-differs", query.record, detail)

    def _facts(
        self,
        query: PragmaQuery,
        probe_id: ProbeId,
        placed: Placed,
        indexes: tuple[int, ...],
        origin: PragmaOrigin | None,
    ) -> tuple[GoldFact, ...]:
        sources = self._sources(query, placed, indexes, origin)
        return tuple(
            GoldFact(fact_id=f"{probe_id}/f{number}", text=text, sources=sources.get(text, ()))
            for number, text in enumerate(dict.fromkeys(query.summaries), 1)
        )

    def _sources(
        self, query: PragmaQuery, placed: Placed, indexes: tuple[int, ...], origin: PragmaOrigin | None
    ) -> dict[str, tuple[str, ...]]:
        """Which evidence session each summary is about: by its date, else by its place where places agree."""
        found: dict[str, tuple[str, ...]] = {}
        dates = dict(origin.dated()) if origin is not None else {}
        for place, text in enumerate(query.summaries):
            if text in found:
                continue
            on_day = [i for i in indexes if placed.dates[i] == dates.get(text)]
            if len(on_day) == 1:
                index: int | None = on_day[0]
            elif query.query_type in _POSITIONED and len(query.summaries) == len(query.indexes):
                index = query.indexes[place]
            else:
                index = None
            if index is not None and index in placed.by_index:
                found[text] = (str(placed.by_index[index].session_id),)
        if missing := len(set(query.summaries)) - len(found):
            detail = f"{missing} summaries cannot be tied to one session; text alone tells whether they were kept"
            self._report.note("fact-without-session", query.record, detail)
        return found

    def _rubric(self, query: PragmaQuery, origin: PragmaOrigin | None) -> tuple[str | None, dict[str, str]]:
        inputs: dict[str, str] = {}
        if origin is not None:
            inputs["axes"] = "; ".join(origin.axes)
            inputs["axis labels"] = "; ".join(origin.axis_labels)
        rubric = self._rubrics.get((query.user_id, query.query))
        if rubric is None:
            if self._rubrics:
                self._report.note("query-without-rubric", query.record, "response_metrics.json has none for it")
            return None, inputs
        self._used.add((query.user_id, query.query))
        self._report.counts["queries with rubric"] += 1
        inputs |= {"alignment": rubric.alignment, "grounding": rubric.grounding}
        return f"alignment: {rubric.alignment}\n\ngrounding: {rubric.grounding}", inputs


def _false_premise(query: PragmaQuery, evidence: tuple[str, ...]) -> FalsePremise | None:
    if query.query_type not in _POSITIONED or not query.summaries:
        return None
    truth = " ".join(dict.fromkeys(query.summaries))
    return FalsePremise(asserted=query.query, truth=truth, sources=evidence)


def _expected(query: PragmaQuery, origin: PragmaOrigin | None) -> str:
    wanted = _WANTED[query.query_type]
    if origin is None or query.query_type not in ("type3", "type4"):
        return wanted
    return f"{wanted} Axes: {'; '.join(origin.axes)}."
