"""Contract `recursive-summary`: one summary of an earlier summary and of the messages that leave the queue now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mnemoscope.core.language.display import clip
from mnemoscope.graphs.contracts.contract import Contract, Reading
from mnemoscope.graphs.contracts.listing import section
from mnemoscope.graphs.extracts import Passage, central, count_words, cut_at_sentence, extract
from mnemoscope.memory_backends.rendering import unit_text
from mnemoscope.scenarios.records import Turn

__all__ = ["RECURSIVE_SUMMARY", "Leaving"]

WORDS = 150

_INSTRUCTION = (
    "You are an assistant whose view of a conversation is limited. The messages below are about to leave it. Write a "
    f"summary of at most {WORDS} words that takes their place, and that of the earlier summary if there is one: who "
    "said what about themselves, plans, requests, open questions, with names, numbers and dates, in the conversation's "
    'own language. Write nothing that is not in it. Reply as JSON: {"summary": "…"}.'
)


@dataclass(frozen=True, slots=True)
class Leaving:
    """What is summarised."""

    messages: tuple[Turn, ...]
    earlier: str = ""
    """The summary so far."""
    longest: int = 8_000
    """Characters of a message that are shown."""


def _show(given: Leaving) -> str:
    lines = [clip(unit_text(turn), given.longest) for turn in given.messages]
    return section("Earlier summary", given.earlier) + section("Messages", "\n".join(lines))


def _rule(given: Leaving) -> Mapping[str, object]:
    passages = [_earlier(line) for line in given.earlier.splitlines()]
    passages += [Passage(clip(turn.content, given.longest), f"{turn.speaker}: ", ()) for turn in given.messages]
    chosen = extract(passages, central([passage.text for passage in passages]), WORDS, count_words)[0]
    return {"summary": chosen}


def _earlier(line: str) -> Passage:
    lead, between, text = line.partition(": ")
    return Passage(text, lead + between, ()) if between else Passage(line, "", ())


def _read(value: Mapping[str, object], given: Leaving) -> Reading[str]:
    text = str(value["summary"]).strip()
    cut = cut_at_sentence(text, WORDS, count_words) if count_words(text) > WORDS else text
    return Reading(cut, int(cut != text or not text))


RECURSIVE_SUMMARY: Contract[Leaving, str] = Contract(
    name="recursive-summary",
    version=1,
    phase="summarise",
    instruction=_INSTRUCTION,
    schema={"type": "object", "properties": {"summary": {"type": "string"}}, "required": ["summary"]},
    show=_show,
    rule=_rule,
    read=_read,
    max_tokens=4 * WORDS,
)
"""What exceeds the limit is cut at a sentence's end and counted."""
