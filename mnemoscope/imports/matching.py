"""Rows to probes, by id: what fits no probe is listed, what fits two or fits twice is an error."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from mnemoscope.core.errors import DataError
from mnemoscope.imports.rows import RecordedReply, RecordedRetrieval, RecordedVerdict, Row
from mnemoscope.runfile.records import PlannedScenario
from mnemoscope.scenarios.loaders.locomo_conv_ids import conversation_number
from mnemoscope.scenarios.records import Probe

__all__ = ["Found", "Part", "ProbeIndex", "Target", "Unmatched", "match"]

_INVISIBLE = re.compile("[\u200b\u2060\ufeff]")
Part = Literal["reply", "retrieval", "verdicts"]
"""What a file is read for."""


class Target(NamedTuple):
    """One probe and replicate."""

    scenario_id: str
    probe_id: str
    replicate: int


class Unmatched(NamedTuple):
    """A row that is about no probe of the scenarios."""

    file: str
    record: str
    name: str
    reason: str


@dataclass(slots=True)
class Found:
    """What the files say, by probe."""

    replies: dict[Target, RecordedReply] = field(default_factory=dict)
    retrievals: dict[Target, RecordedRetrieval] = field(default_factory=dict)
    verdicts: dict[Target, list[tuple[RecordedVerdict, str]]] = field(default_factory=dict)
    """Verdicts with the key of the judge that they are signed with."""
    unmatched: list[Unmatched] = field(default_factory=list)
    _places: dict[tuple[str, ...], str] = field(default_factory=dict)

    @property
    def targets(self) -> set[Target]:
        """Every probe that some row is about."""
        return {*self.replies, *self.retrievals, *self.verdicts}

    def add(self, row: Row, target: Target, part: Part, judge_key: str) -> None:
        """Keep one part of a row.

        Raises:
            DataError: Another row said the same thing about the same probe.
        """
        if part == "reply" and row.reply is not None:
            self._once(row, "reply", *map(str, target))
            self.replies[target] = row.reply
        if part != "verdicts" and row.retrieval is not None:
            self._once(row, "retrieval", *map(str, target))
            self.retrievals[target] = row.retrieval
        if part == "verdicts":
            for verdict in row.verdicts:
                self._once(row, f"verdict of {verdict.metric} on {verdict.subject}", *map(str, target))
                self.verdicts.setdefault(target, []).append((verdict, judge_key))

    def _once(self, row: Row, what: str, *target: str) -> None:
        here = f"{row.file}, {row.record}"
        first = self._places.setdefault((what, *target), here)
        if first != here:
            raise DataError(
                f"a second {what} for one probe",
                file=row.file,
                record=row.record,
                field="id",
                seen=row.name,
                fix=f"the first is in {first}; import each source as a system of its own",
            )


class ProbeIndex:
    """The asked probes of some scenarios, by all the names that files use."""

    def __init__(self, planned: Sequence[PlannedScenario]) -> None:
        self.by_id: dict[tuple[str, str], Probe] = {}
        self._by_probe: dict[str, list[tuple[str, str]]] = defaultdict(list)
        self._by_rest: dict[str, list[tuple[str, str]]] = defaultdict(list)
        self._conversations: dict[int, str] = {}
        self._scenarios: set[str] = set()
        for one in planned:
            self._add(one)

    def _add(self, planned: PlannedScenario) -> None:
        scenario, asked = planned.scenario, set(planned.probe_ids)
        scenario_id = str(scenario.scenario_id)
        self._scenarios.add(scenario_id)
        if scenario.benchmark == "locomo-conv" and (number := conversation_number(scenario)) is not None:
            self._conversations[number] = scenario_id
        for probe in scenario.probes:
            if probe.probe_id in asked:
                key = (scenario_id, str(probe.probe_id))
                self.by_id[key] = probe
                self._by_probe[probe.probe_id].append(key)
                rest = probe.probe_id.removeprefix(f"{scenario_id}/")
                if rest != probe.probe_id:
                    self._by_rest[rest].append(key)

    def find(self, row: Row) -> tuple[str, str] | str:
        """The probe that a row is about: scenario and probe id, or the reason why there is none.

        Raises:
            DataError: The row's name fits several probes.
        """
        if row.conversation is not None:
            return self._numbered(row)
        if row.scenario_id is not None:
            return self._exact(row, row.scenario_id)
        found = self._by_probe.get(row.probe_id) or self._by_rest.get(row.probe_id)
        found = found or self._by_probe.get(f"{row.probe_id}/natural") or []
        if len(found) > 1:
            names = ", ".join(f"{scenario}: {probe}" for scenario, probe in found[:3])
            raise DataError(
                "an id that fits several probes",
                file=row.file,
                record=row.record,
                field="id",
                seen=row.probe_id,
                fix=f"give scenario_id too; it fits {names}",
            )
        return found[0] if found else "no such probe"

    def _exact(self, row: Row, scenario_id: str) -> tuple[str, str] | str:
        for probe_id in (row.probe_id, f"{scenario_id}/{row.probe_id}"):
            if (scenario_id, probe_id) in self.by_id:
                return scenario_id, probe_id
        return "no such probe" if scenario_id in self._scenarios else "no such scenario"

    def _numbered(self, row: Row) -> tuple[str, str] | str:
        """By the conversation's number where it is known; a published cluster id or the utterance itself otherwise."""
        assert row.conversation is not None
        number, suffix = row.conversation.number, row.conversation.suffix
        candidates = self._by_rest.get(suffix, [])
        if number is not None and number in self._conversations:
            candidates = [key for key in candidates if key[0] == self._conversations[number]]
        else:
            named = set(self._conversations.values())
            said = _plain(row.query) if row.query is not None else None
            candidates = [key for key in candidates if key[0] not in named and said == _plain(self.by_id[key].text)]
            if number is not None and not candidates:
                return f"no conversation of number {number}"
        return candidates[0] if len(candidates) == 1 else "no such probe"


def match(rows: Iterable[Row], index: ProbeIndex, part: Part, judge_key: str, found: Found) -> int:
    """Put rows to their probes.

    Args:
        rows: Of one file.
        index: The probes.
        part: What the file is read for.
        judge_key: What its verdicts are signed with.
        found: Where everything goes.

    Returns:
        How many rows there are.

    Raises:
        DataError: A row fits several probes, its text is another probe's, or two rows say the same thing.
    """
    lost: dict[tuple[str, int], str] = {}
    count = 0
    for count, row in enumerate(rows, start=1):  # noqa: B007 - the last count is the answer
        key = index.find(row)
        if isinstance(key, str):
            _refuse_repeat(row, lost, part)
            found.unmatched.append(Unmatched(row.file, row.record, row.name, key))
        else:
            _refuse_other_text(row, index.by_id[key])
            found.add(row, Target(*key, row.replicate), part, judge_key)
    return count


def _refuse_repeat(row: Row, lost: dict[tuple[str, int], str], part: Part) -> None:
    """A repeated id is an error whether or not it names a probe; several verdicts of one probe are not repeats."""
    if part == "verdicts":
        return
    first = lost.setdefault((row.name, row.replicate), row.record)
    if first != row.record:
        raise DataError(
            "an id occurs twice",
            file=row.file,
            record=row.record,
            field="id",
            seen=row.name,
            fix=f"first in {first}",
        )


def _refuse_other_text(row: Row, probe: Probe) -> None:
    if row.query is not None and _plain(row.query) != _plain(probe.text):
        raise DataError(
            "the utterance is not the one of that probe",
            file=row.file,
            record=row.record,
            field="query",
            seen=row.query,
            fix=f"{probe.probe_id} says {probe.text!r}; the file is of other data, or its ids were mixed up",
        )


def _plain(text: str) -> str:
    """A text without what loaders clean away."""
    return " ".join(_INVISIBLE.sub("", text).split())
