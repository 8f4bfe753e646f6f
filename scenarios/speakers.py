"""Two people as a user and an assistant: how memories that work on such pairs are shown a talk among peers."""

from __future__ import annotations

from typing import Literal, get_args

from mnemoscope.scenarios.records import Scenario, Turn

__all__ = ["SPEAKER_MAPPINGS", "SpeakerMapping", "as_mapped", "from_side", "peers_of"]

SpeakerMapping = Literal["speaker-b-as-assistant", "mirrored", "as-is"]
SPEAKER_MAPPINGS: tuple[SpeakerMapping, ...] = get_args(SpeakerMapping)
"""`speaker-b-as-assistant`: the first of the people is the user, the second the assistant, any other a user.
`mirrored`: one memory per person, in which that person is the user and the others are the assistant; what is found in
them is merged. `as-is`: everyone stays a peer."""


def peers_of(scenario: Scenario) -> tuple[str, ...]:
    """The people who talk among themselves, in the scenario's order; none where there is a user and an assistant."""
    return tuple(person.name for person in scenario.participants if person.role == "peer")


def as_mapped(turn: Turn, peers: tuple[str, ...], mapping: SpeakerMapping) -> Turn:
    """A turn as a memory is shown it.

    Only roles change, and only those of the people named; the mirrored memory makes its two views itself.

    Args:
        turn: As recorded.
        peers: The people who talk among themselves.
        mapping: How they are shown.
    """
    if mapping != "speaker-b-as-assistant" or len(peers) < 2 or not _is_of(turn, peers):
        return turn
    return turn.model_copy(update={"role": "assistant" if turn.speaker == peers[1] else "user"})


def from_side(turn: Turn, side: str, peers: tuple[str, ...]) -> Turn:
    """A turn as seen from one person: theirs are the user's, the others' the assistant's."""
    if not _is_of(turn, peers):
        return turn
    return turn.model_copy(update={"role": "user" if turn.speaker == side else "assistant"})


def _is_of(turn: Turn, peers: tuple[str, ...]) -> bool:
    return turn.role == "peer" and turn.speaker in peers
