"""Contract `query-keywords`: the terms by which a memory is searched for what somebody says now."""

from __future__ import annotations

from collections.abc import Mapping

from mnemoscope.core.language.keyphrases import keyphrases
from mnemoscope.graphs.contracts.contract import Contract, Reading
from mnemoscope.graphs.contracts.listing import TEXTS, phrases_of, section

__all__ = ["QUERY_KEYWORDS"]

_MOST = 8
_INSTRUCTION = (
    "An assistant is about to search its memory of earlier conversations. Give the names and terms to search for what "
    f"the utterance below needs, 1 to {_MOST}, the most telling first, in the language of the utterance. Do not answer "
    'it. Reply as JSON: {"keywords": ["…"]}.'
)


def _show(utterance: str) -> str:
    return section("Utterance", utterance)


def _rule(utterance: str) -> Mapping[str, object]:
    return {"keywords": list(keyphrases(utterance, limit=_MOST))}


def _read(value: Mapping[str, object], utterance: str) -> Reading[tuple[str, ...]]:
    return Reading(*phrases_of(value["keywords"], _MOST))


QUERY_KEYWORDS: Contract[str, tuple[str, ...]] = Contract(
    name="query-keywords",
    version=1,
    phase="rewrite",
    instruction=_INSTRUCTION,
    schema={"type": "object", "properties": {"keywords": TEXTS}, "required": ["keywords"]},
    show=_show,
    rule=_rule,
    read=_read,
    max_tokens=120,
)
