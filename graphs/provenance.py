"""Items made from turns: their ids, their sources, and whether a text says anything that its sources said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from mnemoscope.core.identity import ItemId
from mnemoscope.core.language.tokens import content_tokens
from mnemoscope.memory_backends.record import ItemKind, MemoryItem, Provenance, Source
from mnemoscope.memory_backends.store import MemoryStore
from mnemoscope.scenarios.records import Turn

__all__ = ["SUPPORTED", "cite", "containment", "free_ids", "is_stored", "last_time", "made_from"]

SUPPORTED = 0.3
"""Below this share of its content words in the sources, a text written by a model counts as unsupported."""


def made_from(
    turns: Sequence[Turn],
    *,
    item_id: ItemId,
    kind: ItemKind,
    text: str,
    sources: Sequence[Source],
    attrs: Mapping[str, str] | None = None,
    links: Sequence[ItemId] = (),
) -> MemoryItem:
    """An item with the times and places of the turns that it was made from.

    Args:
        turns: At least one; the item is known from the latest on.
        item_id: A free one.
        kind: What it is.
        text: What it says.
        sources: Usually of these turns.
        attrs: Kept beside it; the session of the last turn is added.
        links: Other items.
    """
    at = last_time(turns)
    return MemoryItem(
        id=item_id,
        kind=kind,
        text=text,
        sources=tuple(sources),
        observed_at=at,
        valid_from=at,
        seq_from=min(turn.index for turn in turns),
        seq_to=max(turn.index for turn in turns),
        links=tuple(links),
        attrs={"session": str(turns[-1].session_id), **(attrs or {})},
    )


def cite(turns: Sequence[Turn], numbers: Sequence[int], text: str) -> tuple[Source, ...]:
    """Sources of a text that a model or a rule made from numbered turns, with equal shares.

    A text that says next to nothing of what its turns say has sources of method `unknown`: it may be invented.

    Args:
        turns: What was offered, numbered from 1.
        numbers: The turns that the text names, each of them offered; none means all, with method `batch`.
        text: What was made of them.
    """
    named = [turns[number - 1] for number in dict.fromkeys(numbers)] or list(turns)
    method: Provenance = "cited" if numbers else "batch"
    if containment(text, [f"{turn.speaker} {turn.content}" for turn in named]) < SUPPORTED:
        method = "unknown"
    return tuple(Source(turn.turn_id, method, 1 / len(named)) for turn in named)


def containment(text: str, sources: Sequence[str]) -> float:
    """Share of a text's different content words that its sources have, 0–1; 1 for a text without any."""
    words = set(content_tokens(text))
    if not words:
        return 1.0
    return len(words & {word for source in sources for word in content_tokens(source)}) / len(words)


def free_ids(names: Sequence[str], store: MemoryStore) -> list[ItemId]:
    """One id per name, none of them stored or given twice: `fact-t3`, then `fact-t3#2`."""
    given: dict[ItemId, None] = {}
    for name in names:
        item_id, repeat = ItemId(name), 1
        while item_id in given or is_stored(item_id, store):
            repeat += 1
            item_id = ItemId(f"{name}#{repeat}")
        given[item_id] = None
    return list(given)


def last_time(turns: Sequence[Turn]) -> datetime | None:
    """When the latest of these turns was said; None where none has a time."""
    return max((turn.at for turn in turns if turn.at is not None), default=None)


def is_stored(item_id: ItemId, store: MemoryStore) -> bool:
    """Whether there is an item of this id, tombstones included."""
    try:
        store.get(item_id)
    except KeyError:
        return False
    return True
