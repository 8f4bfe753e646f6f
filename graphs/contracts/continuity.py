"""Contract `continuity`: whether a page of talk goes on with what the page before it was about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mnemoscope.graphs.contracts.contract import Contract, Reading
from mnemoscope.graphs.contracts.listing import section

__all__ = ["CONTINUITY", "TwoPages"]

NEAR = 0.35
"""Cosine from which two pages are taken to be about the same."""


@dataclass(frozen=True, slots=True)
class TwoPages:
    """A page and the one before it."""

    before: str
    page: str
    nearness: float
    """Cosine of the two; not shown."""
    shared: frozenset[str] = frozenset()
    """Names that both mention, the speakers' own left out; not shown."""


_INSTRUCTION = (
    "Below are two neighbouring pieces of a conversation. Say whether the later one goes on with what the earlier one "
    "was about: the same matter, plan, event or question. A new matter between the same people is not the same "
    'topic. Reply as JSON: {"same_topic": true} or {"same_topic": false}.'
)
_SCHEMA = {"type": "object", "properties": {"same_topic": {"type": "boolean"}}, "required": ["same_topic"]}


def _show(given: TwoPages) -> str:
    return section("Earlier", given.before) + section("Later", given.page)


def _rule(given: TwoPages) -> Mapping[str, object]:
    return {"same_topic": given.nearness >= NEAR or bool(given.shared)}


def _read(value: Mapping[str, object], given: TwoPages) -> Reading[bool]:
    return Reading(value["same_topic"] is True)


CONTINUITY: Contract[TwoPages, bool] = Contract(
    name="continuity",
    version=1,
    phase="decide",
    instruction=_INSTRUCTION,
    schema=_SCHEMA,
    show=_show,
    rule=_rule,
    read=_read,
    max_tokens=32,
)
