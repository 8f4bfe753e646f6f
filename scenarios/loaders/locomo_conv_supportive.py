"""LoCoMo-Conv's supportive memories: turns that evaluated systems cited beside the gold, kept as secondary gold.

They are circular by construction (four of the compared systems named them), so they are never evidence; the systems
that named a turn stay with it, so that a system's own can be left out when it is scored.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from mnemoscope.core.errors import DataError
from mnemoscope.scenarios.loaders.locomo_conversation import Sample
from mnemoscope.scenarios.loaders.locomo_evidence import TurnIndex
from mnemoscope.scenarios.reading import Fields, JsonFile
from mnemoscope.scenarios.records import Gold
from mnemoscope.scenarios.source import DataReport

__all__ = ["SupportiveFile", "read_supportive", "supportive_memory"]

_KEY = re.compile(r"(\d+):(\d+)", re.ASCII)


@dataclass(frozen=True, slots=True)
class SupportiveFile:
    """Supportive memories by conversation and question number."""

    file: str = ""
    entries: Mapping[tuple[int, int], object] = field(default_factory=dict)

    def of(self, row: Fields, key: tuple[int, int], report: DataReport) -> Fields:
        """Where a row's supportive memories stand: in this file, or else in the row; a disagreement is noted."""
        if key not in self.entries:
            return row
        own, given = row.values.get("supportive_memory"), self.entries[key]
        if own is not None and own != given:
            report.note("supportive-differs", row.record, "the supportive file is used, not the row's own field")
        return Fields(self.file, f"{key[0]}:{key[1]}", {"supportive_memory": given})


def read_supportive(file: JsonFile, reference: Sequence[Sample]) -> SupportiveFile:
    """Read `{"<conversation>:<question>": [entry, …]}`.

    Args:
        file: The file.
        reference: LoCoMo's conversations in LoCoMo's order.

    Raises:
        DataError: No such object, or a key that names no question.
    """
    if not isinstance(file.value, dict):
        raise DataError("expected an object of lists", file=file.path, seen=file.value)
    entries: dict[tuple[int, int], object] = {}
    for name, value in file.value.items():
        match = _KEY.fullmatch(name)
        key = (int(match[1]), int(match[2])) if match else (-1, -1)
        known = 0 <= key[0] < len(reference) and key[1] < len(reference[key[0]].questions)
        if not known or key in entries:
            what = "the key is given twice" if known else "the key names no question"
            raise DataError(what, file=file.path, record=name, fix="keys are <conversation>:<question>, such as 0:37")
        if not isinstance(value, list):
            raise DataError("expected a list of entries", file=file.path, record=name, seen=value)
        entries[key] = value
    return SupportiveFile(str(file.path), entries)


def supportive_memory(row: Fields, gold: Gold, turns: TurnIndex, report: DataReport) -> dict[str, tuple[str, ...]]:
    """The supportive memories of one question: turn id to the systems that named it.

    The field is absent, not empty, where there are none.

    Args:
        row: What holds its `supportive_memory`.
        gold: The question's gold; its evidence is left out, as the construction says.
        turns: The conversation's turns.
        report: Where counts and notices go.

    Raises:
        DataError: An entry is malformed.
    """
    if row.values.get("supportive_memory") is None:
        return {}
    found: dict[str, tuple[str, ...]] = {}
    for place, value in enumerate(row.sequence("supportive_memory")):
        entry = Fields.of(value, file=row.file, record=f"{row.record} supportive_memory {place}")
        written = entry.text("dia_id")
        systems = entry.texts("source_systems") if entry.values.get("source_systems") is not None else ()
        if entry.values.get("n_systems") is not None and entry.integer("n_systems") != len(systems):
            detail = f"n_systems is {entry.values['n_systems']}, {len(systems)} are listed"
            report.note("supportive-count-differs", entry.record, detail)
        turn_id = turns.padded(written)
        if turn_id is None:
            report.note("unresolvable-supportive", entry.record, f"{written!r} names no turn; left out")
        elif turn_id in gold.evidence:
            report.note("supportive-is-gold", entry.record, f"{written!r} is gold already; left out")
        elif turn_id in found:
            report.note("repeated-supportive", entry.record, f"{written!r} is given again; counted once")
        else:
            found[turn_id] = tuple(sorted(systems))
            report.counts["supportive memories"] += 1
            report.counts["supportive memories without systems"] += not systems
    return found
