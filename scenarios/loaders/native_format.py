"""The native scenario format as an author writes it: one model per block; `native.schema.json` is made from these."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool

from mnemoscope.scenarios.records import MemoryRole, Role, Style

__all__ = [
    "SCHEMA_PATH",
    "CardEntry",
    "FactEntry",
    "FalsePremiseEntry",
    "GoldEntry",
    "ParticipantEntry",
    "PoolEntry",
    "ProbeEntry",
    "ScenarioEntry",
    "ScenarioFile",
    "SessionEntry",
    "TurnEntry",
    "WindowEntry",
    "native_schema",
    "schema_text",
]

SCHEMA_PATH = Path(__file__).resolve().parent.parent / "native.schema.json"
"""The committed JSON Schema, for editors and other tools."""

Text = Annotated[str, Field(pattern=r"\S")]
Id = Annotated[str, Field(max_length=200, pattern=r"^\S+$")]


class Entry(BaseModel):
    """Base of all blocks: frozen, and a key that is not listed is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class ParticipantEntry(Entry):
    """Someone who talks."""

    name: Text
    """The name that turns and probes use."""
    role: Role
    """`user`, `assistant`, or `peer`: a human among humans, whom the assistant observes."""


class TurnEntry(Entry):
    """One utterance."""

    speaker: Text
    """Name of a participant."""
    text: str
    """What was said; `""` where there is only a caption."""
    caption: str | None = None
    """What a shared image shows, in words."""
    id: Id | None = None
    """Left out, it is `s<session>t<turn>`, both counted from 1: `s2t5`."""
    at: Text | None = None
    """ISO date and time; left out, it is the session's."""


class SessionEntry(Entry):
    """Turns of one sitting, in order."""

    id: Id | None = None
    """Left out, it is `s<session>`, counted from 1: `s2`."""
    at: Text
    """ISO date, or date and time: `2024-05-08`, `2024-05-08 13:56`, `2024-05-08T13:56+02:00`."""
    turns: Annotated[tuple[TurnEntry, ...], Field(min_length=1)]


class PoolEntry(Entry):
    """One memory that is handed over with a probe."""

    id: Id
    """The author's name for it, used in `gold`; systems never see it."""
    text: Text
    at: Text | None = None
    """ISO date, or date and time."""


class FactEntry(Entry):
    """One thing that a good reply knows."""

    id: Id
    text: Text
    """A short plain sentence with distinctive words."""
    sources: Annotated[tuple[Id, ...], Field(min_length=1)]
    """Ids of the turns or pool items that hold the fact."""


class FalsePremiseEntry(Entry):
    """Something that the probe asserts and the history contradicts."""

    asserted: Text
    truth: Text
    sources: Annotated[tuple[Id, ...], Field(min_length=1)]
    """Ids of the turns or pool items that hold the truth."""


class WindowEntry(Entry):
    """When bringing up a fact helps (`open`) or hurts (`closed`)."""

    fact: Id
    """Id of a fact of the same probe."""
    kind: Literal["open", "closed"]
    from_turn: Annotated[Id, Field(alias="from")]
    """Id of the first turn."""
    to_turn: Annotated[Id, Field(alias="to")]
    """Id of the last turn; it belongs to the window."""


class GoldEntry(Entry):
    """What the evaluators know and no assistant may."""

    answers: tuple[Text, ...] = ()
    """Accepted answers; the first is the one to show."""
    evidence: tuple[Id, ...] = ()
    """Ids of turns, of sessions or of pool items (one kind) that hold the answer."""
    facts: tuple[FactEntry, ...] = ()
    stale: tuple[FactEntry, ...] = ()
    """Facts that held once and no longer do; what holds instead stands under `facts`."""
    false_premise: FalsePremiseEntry | None = None
    """Required for the styles `counterfactual`, `recollection` and `plan`."""
    trap: Text | None = None
    """The answer that a fooled assistant gives, such as a fact that is out of date."""
    unanswerable: StrictBool = False
    """True: the right reply says that it was not mentioned."""
    rubric: Text | None = None
    """What a judge should look for."""
    roles: Mapping[Id, MemoryRole] = Field(default_factory=dict)
    """Pool item id to `must`, `nice` or `irr`; every item of the pool has one."""
    windows: tuple[WindowEntry, ...] = ()
    expected: Text | None = None
    """One sentence that describes an ideal reply."""
    strata: tuple[Text, ...] = ()
    """Names of the groups that the probe is counted in."""


class ProbeEntry(Entry):
    """A moment at which the assistant is asked or may speak."""

    id: Id
    style: Style
    """How it is put; see `docs/scenario-format.md`."""
    after: Id | None = None
    """A turn: asked inside its session, right after that turn. A session: asked once that session is over."""
    in_place_of: Id | None = None
    """Instead of `after` and `ask`: the probe is this turn of the history, with its text and speaker."""
    ask: Text | None = None
    """What is said to the assistant."""
    speaker: Text | None = None
    """Who says it; left out where the scenario has exactly one participant with the role `user`."""
    now: Text | None = None
    """ISO date and time of asking; left out inside a session, it is the session's."""
    speaks_as: Text | None = None
    """The participant whose voice the reply has, where the assistant plays a person."""
    persona: Text | None = None
    """Whom the assistant plays, in prose."""
    pool: Annotated[tuple[PoolEntry, ...], Field(min_length=1)] | None = None
    """Memories that are handed over; required for the style `situational`."""
    gold: GoldEntry


class CardEntry(Entry):
    """Where the data comes from."""

    source: Text | None = None
    licence: Text | None = None
    annotation: Text | None = None
    """Who made the labels, and how."""
    known_errors: tuple[Text, ...] = ()


class ScenarioEntry(Entry):
    """One history with its participants and its probes."""

    id: Id
    cluster: Text | None = None
    """Scenarios that share people or a history share a cluster; left out, it is the id."""
    participants: Annotated[tuple[ParticipantEntry, ...], Field(min_length=1)]
    sessions: Annotated[tuple[SessionEntry, ...], Field(min_length=1)]
    """In the order of time."""
    probes: Annotated[tuple[ProbeEntry, ...], Field(min_length=1)]
    card: CardEntry | None = None


class ScenarioFile(Entry):
    """Several scenarios in one file."""

    card: CardEntry | None = None
    """For all scenarios that bring none of their own."""
    scenarios: Annotated[tuple[ScenarioEntry, ...], Field(min_length=1)]


def native_schema() -> dict[str, object]:
    """The JSON Schema (2020-12) of a file: one scenario, or several under the key `scenarios`."""
    several = ScenarioFile.model_json_schema(by_alias=True)
    definitions = several.pop("$defs")
    definitions["ScenarioFile"] = several
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "mnemoscope native scenario file",
        "type": "object",
        "if": {"required": ["scenarios"]},
        "then": {"$ref": "#/$defs/ScenarioFile"},
        "else": {"$ref": "#/$defs/ScenarioEntry"},
        "$defs": dict(sorted(definitions.items())),
    }


def schema_text() -> str:
    """The schema as it is committed."""
    return json.dumps(native_schema(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    SCHEMA_PATH.write_text(schema_text(), encoding="utf-8", newline="\n")
