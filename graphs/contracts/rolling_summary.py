"""Contract `rolling-summary`: what a session was about, in few words; it stands until the next session is over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mnemoscope.core.language.display import conversation_time
from mnemoscope.graphs.contracts.contract import Contract, Reading
from mnemoscope.graphs.contracts.listing import section
from mnemoscope.graphs.extracts import Passage, central, count_words, cut_at_sentence, extract
from mnemoscope.scenarios.records import Turn

__all__ = ["chosen_sentences", "rolling_summary"]

_INSTRUCTION = (
    "You keep notes for an assistant. Summarise the conversation below in at most {words} words, in its own language: "
    "what the user told about themselves, their plans, feelings and requests, with names, numbers and dates. Write "
    'nothing that is not in it. Reply as JSON: {{"summary": "…"}}.'
)
_SCHEMA = {"type": "object", "properties": {"summary": {"type": "string"}}, "required": ["summary"]}


def rolling_summary(words: int) -> Contract[Sequence[Turn], str]:
    """The contract for summaries of one length.

    Args:
        words: The longest summary; two characters of an unspaced script count as a word. What exceeds it is cut at a
            sentence's end and counted.
    """

    def rule(turns: Sequence[Turn]) -> Mapping[str, object]:
        return {"summary": chosen_sentences(turns, words)}

    def read(value: Mapping[str, object], turns: Sequence[Turn]) -> Reading[str]:
        text = str(value["summary"]).strip()
        cut = cut_at_sentence(text, words, count_words) if count_words(text) > words else text
        return Reading(cut, int(cut != text or not text))

    return Contract(
        name="rolling-summary",
        version=1,
        phase="summarise",
        instruction=_INSTRUCTION.format(words=words),
        schema=_SCHEMA,
        show=_show,
        rule=rule,
        read=read,
        max_tokens=4 * words,
    )


def chosen_sentences(turns: Sequence[Turn], words: int) -> str:
    """The sentences of a session that speak most of what it speaks of, each turn's on a line after the speaker."""
    passages = [Passage(turn.content, f"{turn.speaker}: ", ()) for turn in turns]
    return extract(passages, central([turn.content for turn in turns]), words, count_words)[0]


def _show(turns: Sequence[Turn]) -> str:
    lines = [f"{turn.speaker}: {turn.content}" for turn in turns]
    return section(f"Conversation of {conversation_time(turns[0].at)}", "\n".join(lines))
