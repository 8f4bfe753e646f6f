"""One row of a foreign file: which probe it is about, by the names that the file uses, and what it says."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from mnemoscope.core.identity import sha256_of
from mnemoscope.evaluators.verdict import VerdictStatus
from mnemoscope.graphs.plan import ResponsePlan
from mnemoscope.memory_backends.record import Source
from mnemoscope.scenarios.reading import Fields
from mnemoscope.scenarios.records import Style

__all__ = [
    "Conversation",
    "FileRows",
    "RecordedItem",
    "RecordedReply",
    "RecordedRetrieval",
    "RecordedVerdict",
    "Row",
    "Stub",
    "reply_of",
    "text_key",
    "yes_or_no",
]

_FAILED = re.compile(r"\s*\[ERROR\b(?P<why>.*)\]\s*", re.DOTALL | re.IGNORECASE)
"""How harnesses write a failed generation into the place of a reply."""


@dataclass(frozen=True, slots=True)
class RecordedReply:
    """What a system said, or why it said nothing. One of the two is None."""

    text: str | None
    error: str | None = None
    reasoning: str = ""
    """What the system wrote and the user never saw."""
    plan: ResponsePlan | None = None


@dataclass(frozen=True, slots=True)
class RecordedItem:
    """One memory that a system was given."""

    item_id: str
    text: str | None
    """None where the file does not say; no metric that reads texts then runs."""
    named: tuple[str, ...] = ()
    """Turns, pool items or sessions that the file names as its source, by their own ids."""
    sources: tuple[Source, ...] | None = None
    """Provenance as our own exports state it; it goes before `named`."""
    score: float | None = None
    kind: str = "passage"
    observed_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class RecordedRetrieval:
    """A ranking, best first."""

    items: tuple[RecordedItem, ...]
    given: int
    ranked: bool = True
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class RecordedVerdict:
    """One label of another judge."""

    metric: str
    subject: str
    label: str
    score: float | None
    status: VerdictStatus = "scored"
    raw: str = ""
    quote: str = ""


@dataclass(frozen=True, slots=True)
class Stub:
    """What is known of a probe whose conversation is not available."""

    benchmark: str
    scenario_id: str
    cluster: str
    probe_id: str
    style: Style


@dataclass(frozen=True, slots=True)
class Conversation:
    """A probe as LoCoMo-Conv numbers it."""

    number: int | None
    """Of the conversation; None where the row has none."""
    suffix: str
    """What stands behind the conversation's id in a probe id: `q3/dialog`, `S0_C1`."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row. `probe_id` is exact with a scenario id, otherwise as the file writes it."""

    file: str
    record: str
    probe_id: str
    scenario_id: str | None = None
    conversation: Conversation | None = None
    replicate: int = 0
    query: str | None = None
    """The utterance that the file says was answered; it must be the probe's."""
    source: str = ""
    """The system as the file names it; a file of several needs a choice."""
    reply: RecordedReply | None = None
    retrieval: RecordedRetrieval | None = None
    verdicts: tuple[RecordedVerdict, ...] = ()
    stub: Stub | None = None

    @property
    def name(self) -> str:
        """The probe as a person looks it up in the file."""
        if self.conversation is not None and self.conversation.number is not None:
            return f"conversation {self.conversation.number} {self.conversation.suffix}"
        if self.scenario_id is None or self.probe_id.startswith(f"{self.scenario_id}/"):
            return self.probe_id
        return f"{self.scenario_id} {self.probe_id}"


@dataclass(frozen=True, slots=True)
class FileRows:
    """A foreign file, opened: its format by name, and its rows, which are read as they are asked for."""

    path: Path
    sha256: str
    form: str
    rows: Iterable[Row]
    notes: list[str] = field(default_factory=list)
    """Filled while the rows are read."""

    @property
    def judge_key(self) -> str:
        """What verdicts of this file are signed with."""
        return f"recorded:{self.path.name}:{self.sha256[:12]}"


def reply_of(row: Fields, name: str, *, error: str | None = None) -> RecordedReply:
    """The reply in a field; a null, an error of the row and a failure marker are failures, never replies.

    Raises:
        DataError: Neither a text nor null.
    """
    text = row.optional_text(name)
    if error:
        return RecordedReply(None, f"recorded: {error}")
    if text is None:
        return RecordedReply(None, f"missing: {name} is null")
    if (marker := _FAILED.fullmatch(text)) is not None:
        return RecordedReply(None, f"recorded: {marker['why'].strip(' :') or 'the reply is an error marker'}")
    return RecordedReply(text)


def yes_or_no(row: Fields, name: str, metric: str, subject: str) -> RecordedVerdict:
    """The verdict in a field of true, false or null; null is no verdict, which is not a no.

    Raises:
        DataError: Anything else, such as the text "false".
    """
    value = row.values.get(name)
    if value is None:
        return RecordedVerdict(metric, subject, "missing", None, "invalid")
    if not isinstance(value, bool):
        raise row.wrong(name, "true, false or null")
    return RecordedVerdict(metric, subject, "yes" if value else "no", float(value))


def text_key(*parts: str) -> str:
    """A short id made of texts, for memories that come without one."""
    return f"m-{sha256_of(chr(0).join(parts))[:12]}"
