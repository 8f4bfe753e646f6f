"""Contract `rewrite-profile`: what is known of a user as one text, rewritten with what they have said since."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import regex

from mnemoscope.core.language.claims import claims
from mnemoscope.core.language.facts import fact_text
from mnemoscope.core.language.slots import SlotFact, slot_conflict, slot_facts
from mnemoscope.core.language.tokens import content_tokens
from mnemoscope.graphs.contracts.contract import Contract, Reading
from mnemoscope.graphs.contracts.extract_facts import addressee_of
from mnemoscope.graphs.contracts.listing import numbered_turns, section
from mnemoscope.scenarios.records import Turn

__all__ = ["REWRITE_PROFILE", "Portrait"]

FEWEST = 2
"""Content words of the shortest profile that says anything."""
KEPT = 0.2
"""A rewrite with less than this share of the old profile's content words has lost it."""

_SPEAKER = regex.compile(r"(?P<name>[^\n]+?)(?: \(\d{1,2} \p{Lu}\p{Ll}+ \d{1,4}\))?: ")


@dataclass(frozen=True, slots=True)
class Portrait:
    """What a profile is rewritten from."""

    profile: str
    """Empty at first."""
    turns: tuple[Turn, ...]


_INSTRUCTION = (
    "You keep the profile of the user of an assistant: who they are, how they live, what they like, want and plan. "
    "Rewrite it with what the user says in the turns. Keep everything that still holds; where the turns contradict it, "
    "the turns are right. What the assistant says about itself does not belong there. Use the language of the user. "
    "Where the turns tell nothing new about the user, set changed to false and leave the profile empty. "
    'Reply as JSON: {"profile": "…", "changed": true}.'
)
_SCHEMA = {
    "type": "object",
    "properties": {"profile": {"type": "string"}, "changed": {"type": "boolean"}},
    "required": ["profile", "changed"],
}


def _show(given: Portrait) -> str:
    return section("Profile", given.profile) + section("Turns", numbered_turns(given.turns))


def _rule(given: Portrait) -> Mapping[str, object]:
    lines = given.profile.splitlines()
    for turn in given.turns:
        for text, facts in _about(turn, given.turns) if turn.role != "assistant" else ():
            lines = _with(lines, text, facts)
    profile = "\n".join(lines)
    return {"profile": profile, "changed": profile != given.profile}


def _about(turn: Turn, around: Sequence[Turn]) -> Iterator[tuple[str, tuple[SlotFact, ...]]]:
    addressee = addressee_of(turn, around)
    for claim in claims(turn.text).kept:
        text = fact_text(claim.text, speaker=turn.speaker, addressee=addressee, at=turn.at)
        if facts := slot_facts(text, speaker=turn.speaker):
            yield text, facts


def _with(lines: Sequence[str], text: str, facts: Sequence[SlotFact]) -> list[str]:
    """The profile with one more line: what it replaces or ends goes, and what is known already is not repeated."""
    conflicts = [
        {slot_conflict(old, new) for old in slot_facts(line, speaker=_speaker(line)) for new in facts} for line in lines
    ]
    kept = [line for line, found in zip(lines, conflicts, strict=True) if not found & {"replaces", "ends"}]
    told = {conflict for found in conflicts for conflict in found}
    return kept if told & {"same", "ends"} and "replaces" not in told else [*kept, text]


def _speaker(line: str) -> str:
    match = _SPEAKER.match(line)
    return match["name"] if match else ""


def _read(value: Mapping[str, object], given: Portrait) -> Reading[str]:
    profile = str(value["profile"]).strip()
    if value["changed"] is not True or profile == given.profile:
        return Reading(given.profile)
    fewest = max(FEWEST, KEPT * len(content_tokens(given.profile)))
    return Reading(profile) if len(content_tokens(profile)) >= fewest else Reading(given.profile, 1)


REWRITE_PROFILE: Contract[Portrait, str] = Contract(
    name="rewrite-profile",
    version=1,
    phase="summarise",
    instruction=_INSTRUCTION,
    schema=_SCHEMA,
    show=_show,
    rule=_rule,
    read=_read,
)
