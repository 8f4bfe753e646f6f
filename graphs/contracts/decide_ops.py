"""Contract `decide-ops`: whether each new fact adds to what is stored, changes it, ends it or repeats it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, cast

import regex

from mnemoscope.core.language.facts import statement_of
from mnemoscope.core.language.slots import SlotFact, slot_conflict
from mnemoscope.core.language.tokens import lexical_tokens
from mnemoscope.graphs.contracts.contract import Contract, Reading
from mnemoscope.graphs.contracts.listing import numbered, section

__all__ = ["DECIDE_OPS", "Known", "NewFact", "Op", "OpsGiven"]

SAME = 0.95
"""Cosine from which two statements say the same, unless they name other figures or days."""
_FIGURES = regex.compile(r"\[[^\]\n]*\]|\d+")

OpName = Literal["ADD", "UPDATE", "DELETE", "NOOP"]
_NAMES: Mapping[str, OpName] = {"ADD": "ADD", "UPDATE": "UPDATE", "DELETE": "DELETE", "NOOP": "NOOP", "NONE": "NOOP"}
"""The words that a reply may use; a model that was trained on the original says NONE."""


@dataclass(frozen=True, slots=True)
class Known:
    """A stored statement near a new one."""

    text: str
    slots: tuple[SlotFact, ...] = ()


@dataclass(frozen=True, slots=True)
class NewFact:
    """A new statement, and how near each stored one is."""

    text: str
    slots: tuple[SlotFact, ...] = ()
    nearness: Mapping[int, float] | None = None
    """Number of a stored statement to cosine, for those that were found for this fact."""


@dataclass(frozen=True, slots=True)
class OpsGiven:
    """What is decided about."""

    facts: tuple[NewFact, ...]
    known: tuple[Known, ...]


@dataclass(frozen=True, slots=True)
class Op:
    """What is done with one fact."""

    fact: int
    """Its number."""
    name: OpName
    target: int | None = None
    """Number of the stored statement; None for ADD."""
    text: str | None = None
    """The statement as it stands from now on; None: as the fact has it."""


_INSTRUCTION = (
    "You keep an assistant's long-term memory. For every new fact, decide against the stored statements: ADD where "
    "it tells something new; UPDATE where it replaces or completes one stored statement about the same person and "
    "matter, with the statement as it stands from now on; DELETE where it says that a stored statement no longer "
    "holds and puts nothing in its place; NOOP where it is stored already. UPDATE, DELETE and NOOP name the number "
    "of one stored statement; no two facts change the same one. Facts about different people never change each "
    "other. Decide about every fact exactly once. Reply as JSON: "
    '{"ops": [{"fact": 1, "op": "ADD"}, {"fact": 2, "op": "UPDATE", "target": 3, "text": "…"}]}.'
)
_SCHEMA = {
    "type": "object",
    "properties": {
        "ops": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "fact": {"type": "integer"},
                    "op": {"type": "string"},
                    "target": {"type": ["integer", "null"]},
                    "text": {"type": ["string", "null"]},
                },
                "required": ["fact", "op"],
            },
        }
    },
    "required": ["ops"],
}


def _show(given: OpsGiven) -> str:
    return section("Stored statements", numbered([known.text for known in given.known]) or "none") + section(
        "New facts", numbered([fact.text for fact in given.facts])
    )


def _rule(given: OpsGiven) -> Mapping[str, object]:
    taken: set[int] = set()
    ops: list[Mapping[str, object]] = []
    for number, fact in enumerate(given.facts, start=1):
        name, target = _by_rule(fact, given, taken)
        if name in ("UPDATE", "DELETE") and target is not None:
            taken.add(target)
        ops.append({"fact": number, "op": name} if target is None else {"fact": number, "op": name, "target": target})
    return {"ops": ops}


def _by_rule(fact: NewFact, given: OpsGiven, taken: set[int]) -> tuple[OpName, int | None]:
    near = fact.nearness or {}
    for number in sorted(near, key=lambda number: (-near[number], number)):
        known = given.known[number - 1]
        relations = {slot_conflict(old, new) for old in known.slots for new in fact.slots}
        if number not in taken and "replaces" in relations:
            return "UPDATE", number
        if number not in taken and "ends" in relations:
            return "DELETE", number
        if not relations & {"separate"} and _repeats(fact.text, known.text, near[number]):
            return "NOOP", number
    return "ADD", None


def _repeats(new: str, old: str, nearness: float) -> bool:
    # framed differently, because they were stated on different days, they may still be the same
    one, other = statement_of(new), statement_of(old)
    if nearness >= SAME and _FIGURES.findall(one) == _FIGURES.findall(other):
        return True
    return lexical_tokens(one) == lexical_tokens(other)


def _read(value: Mapping[str, object], given: OpsGiven) -> Reading[tuple[Op, ...]]:
    decided: dict[int, Op] = {}
    changed: set[int] = set()
    rejected = 0
    for entry in cast("list[Mapping[str, object]]", value["ops"]):
        op = _op(entry, given)
        if op is None or op.fact in decided or (op.name in ("UPDATE", "DELETE") and op.target in changed):
            rejected += 1
            continue
        if op.name in ("UPDATE", "DELETE") and op.target is not None:
            changed.add(op.target)
        decided[op.fact] = op
    return Reading(tuple(decided[number] for number in sorted(decided)), rejected)


def _op(entry: Mapping[str, object], given: OpsGiven) -> Op | None:
    fact, name, target = cast("int", entry["fact"]), _NAMES.get(str(entry["op"]).strip().upper()), entry.get("target")
    if name is None or not 1 <= fact <= len(given.facts):
        return None
    if name == "ADD":
        return Op(fact, name)
    if not isinstance(target, int) or not 1 <= target <= len(given.known):
        return None
    text = str(entry.get("text") or "").strip() or None
    return Op(fact, name, target, text if name == "UPDATE" else None)


DECIDE_OPS: Contract[OpsGiven, tuple[Op, ...]] = Contract(
    name="decide-ops",
    version=1,
    phase="decide",
    instruction=_INSTRUCTION,
    schema=_SCHEMA,
    show=_show,
    rule=_rule,
    read=_read,
)
