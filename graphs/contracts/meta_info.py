"""Contract `meta-info`: what a thread of pages has been about so far, in a line or two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from mnemoscope.graphs.contracts.contract import Contract, Reading
from mnemoscope.graphs.contracts.listing import section
from mnemoscope.graphs.extracts import Passage, central, count_words, extract, telling
from mnemoscope.memory_backends.rendering import unit_text
from mnemoscope.scenarios.records import Turn

__all__ = ["META_INFO", "Thread", "without_names"]

WORDS = 40
"""The longest overview."""


@dataclass(frozen=True, slots=True)
class Thread:
    """A page and what its thread was about before it."""

    so_far: str
    """Empty for the first page of a thread."""
    turns: tuple[Turn, ...]


_INSTRUCTION = (
    f"Below is what a thread of a conversation was about so far, if it is not new, and how it goes on. Say in at most "
    f"{WORDS} words what the whole thread is about, in its own language: who, what, which plans or events. Add nothing "
    'of your own. Reply as JSON: {"text": "…"}.'
)
_SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


def _show(given: Thread) -> str:
    return section("So far", given.so_far) + section("Goes on", "\n".join(unit_text(turn) for turn in given.turns))


def _rule(given: Thread) -> Mapping[str, object]:
    earlier = [line.partition(": ") for line in given.so_far.splitlines()]
    passages = [Passage(text, name + colon, ()) for name, colon, text in earlier if text]
    passages += [Passage(telling(turn.content), f"{turn.speaker}: ", ()) for turn in given.turns]
    text, _ = extract(passages, central(without_names(passages)), WORDS, count_words)
    return {"text": text}


def without_names(passages: Sequence[Passage]) -> list[str]:
    """The texts without the names of those who speak: that people call each other by name says nothing of a theme."""
    names = {name for passage in passages if (name := passage.lead.removesuffix(": "))}
    return [reduce(lambda text, name: text.replace(name, ""), sorted(names), passage.text) for passage in passages]


def _read(value: Mapping[str, object], given: Thread) -> Reading[str]:
    text = str(value["text"]).strip()
    return Reading(text) if text else Reading(given.so_far, 1)


META_INFO: Contract[Thread, str] = Contract(
    name="meta-info",
    version=1,
    phase="summarise",
    instruction=_INSTRUCTION,
    schema=_SCHEMA,
    show=_show,
    rule=_rule,
    read=_read,
    max_tokens=160,
)
