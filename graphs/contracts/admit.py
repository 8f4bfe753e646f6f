"""Contract `admit`: whether a turn is worth remembering at all, decided when it is said."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mnemoscope.graphs.contracts.contract import Contract, Reading
from mnemoscope.graphs.contracts.listing import section
from mnemoscope.memory_backends.rendering import unit_text
from mnemoscope.scenarios.records import Turn

__all__ = ["ADMIT", "Candidate"]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A turn that asks for admission."""

    turn: Turn
    before: tuple[Turn, ...]
    """The turns just before it, for understanding only."""
    salience: float
    """Against what was said so far."""
    at_least: float
    """The least salience that the rule admits."""


_INSTRUCTION = (
    "You guard an assistant's long-term memory. Decide whether the last turn is worth remembering: true where it tells "
    "something that may matter in a later conversation, such as who people are, what they have, did, plan, like, feel "
    "or asked for, with names, places, numbers or dates; an answer that is only understood with the question before it "
    "counts too. False for greetings, thanks, small talk, bare agreement, and questions that tell nothing. Where in "
    'doubt, true. Reply as JSON: {"keep": true}.'
)
_SCHEMA = {"type": "object", "properties": {"keep": {"type": "boolean"}}, "required": ["keep"]}


def _show(given: Candidate) -> str:
    before = "\n".join(unit_text(turn) for turn in given.before)
    return section("Turns before it, for understanding only", before) + section("The turn", unit_text(given.turn))


def _rule(given: Candidate) -> Mapping[str, object]:
    return {"keep": given.salience >= given.at_least}


def _read(value: Mapping[str, object], given: Candidate) -> Reading[bool]:
    return Reading(value["keep"] is True)


ADMIT: Contract[Candidate, bool] = Contract(
    name="admit",
    version=1,
    phase="decide",
    instruction=_INSTRUCTION,
    schema=_SCHEMA,
    show=_show,
    rule=_rule,
    read=_read,
    max_tokens=60,
)
