"""Contract `annotate`: what a turn is about, as keywords, as one sentence that can be understood alone, as tags."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mnemoscope.core.language.claims import claims
from mnemoscope.core.language.display import clip
from mnemoscope.core.language.facts import caption_text, fact_text
from mnemoscope.core.language.keyphrases import keyphrases
from mnemoscope.core.language.sentences import split_sentences
from mnemoscope.graphs.contracts.contract import Contract, Reading
from mnemoscope.graphs.contracts.listing import TEXTS, phrases_of, section
from mnemoscope.graphs.extracts import central, cut_at_sentence
from mnemoscope.memory_backends.rendering import unit_text
from mnemoscope.scenarios.records import Turn

__all__ = ["ANNOTATE", "LONGEST_CONTEXT", "MOST_KEYWORDS", "MOST_TAGS", "Annotation", "context_of"]

MOST_KEYWORDS, MOST_TAGS = 8, 6
LONGEST_CONTEXT = 200
"""Characters."""
_TAGS_BY_RULE = 3


@dataclass(frozen=True, slots=True)
class Annotation:
    """What is noted beside a turn."""

    keywords: tuple[str, ...] = ()
    """The turn's own terms, the most telling first."""
    context: str = ""
    """One sentence: who speaks of what."""
    tags: tuple[str, ...] = ()
    """Broader than keywords; what turns on the same matter share."""


_INSTRUCTION = (
    "You keep an assistant's long-term memory. Describe the turn below so that it can be found again: "
    f"`keywords`, 1 to {MOST_KEYWORDS} names and terms of the turn, the most telling first, without speaker and time; "
    f"`context`, one sentence of at most {LONGEST_CONTEXT} characters that says who speaks of what and why it "
    f"matters, understandable without the turn; `tags`, 1 to {MOST_TAGS} broader subjects that other turns on the same "
    "matter would share. Write in the language of the turn and add nothing that it does not say. Reply as JSON: "
    '{"keywords": ["…"], "context": "…", "tags": ["…"]}.'
)
_SCHEMA = {
    "type": "object",
    "properties": {"keywords": TEXTS, "context": {"type": "string"}, "tags": TEXTS},
    "required": ["keywords", "context", "tags"],
}


def _show(turn: Turn) -> str:
    return section("Turn", unit_text(turn))


def _rule(turn: Turn) -> Mapping[str, object]:
    keywords = keyphrases("\n".join(part for part in (turn.text, turn.caption) if part), limit=MOST_KEYWORDS)
    return {"keywords": list(keywords), "context": _sentence(turn), "tags": list(keywords[:_TAGS_BY_RULE])}


def _sentence(turn: Turn) -> str:
    """The clause that says most, with persons and dates by name; of a turn without one, its image or first sentence."""
    said = [claim.text for claim in claims(turn.text).kept]
    if not said and turn.caption:
        return clip(caption_text(turn.caption, speaker=turn.speaker, at=None), LONGEST_CONTEXT)
    pieces = said or split_sentences(turn.text)[:1]
    if not pieces:
        return ""
    best = max(pieces, key=central(pieces))
    # without the frame of who said it when, which stands before the turn itself
    frame, fact = (fact_text(piece, speaker=turn.speaker, addressee=None, at=turn.at) for piece in ("", best))
    return clip(fact.removeprefix(frame), LONGEST_CONTEXT)


def _read(value: Mapping[str, object], turn: Turn) -> Reading[Annotation]:
    keywords, no_keywords = phrases_of(value["keywords"], MOST_KEYWORDS)
    tags, no_tags = phrases_of(value["tags"], MOST_TAGS)
    context, cut = context_of(value["context"])
    return Reading(Annotation(keywords, context, tags), no_keywords + no_tags + cut)


def context_of(value: object) -> tuple[str, int]:
    """A context as it is kept, on one line; and 1 where it was too long and had to be cut.

    Args:
        value: A text of the reply; anything else is an empty one.
    """
    text = " ".join(value.split()) if isinstance(value, str) else ""
    if clip(text, LONGEST_CONTEXT) == text:
        return text, 0
    return clip(cut_at_sentence(text, LONGEST_CONTEXT, len), LONGEST_CONTEXT), 1


ANNOTATE: Contract[Turn, Annotation] = Contract(
    name="annotate",
    version=1,
    phase="extract",
    instruction=_INSTRUCTION,
    schema=_SCHEMA,
    show=_show,
    rule=_rule,
    read=_read,
    max_tokens=300,
)
