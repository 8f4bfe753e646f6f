"""Nodes of a long-term memory: a profile that is rewritten, and statements about the user and the assistant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from langgraph.runtime import Runtime

from mnemoscope.core.language.facts import statement_of
from mnemoscope.core.ports import Vectors
from mnemoscope.graphs.architecture import Mode
from mnemoscope.graphs.contracts.asking import ask
from mnemoscope.graphs.contracts.extract_facts import Extraction
from mnemoscope.graphs.contracts.knowledge import KNOWLEDGE, OWNERS
from mnemoscope.graphs.contracts.rewrite_profile import REWRITE_PROFILE, Portrait
from mnemoscope.graphs.nodes.facts import Drawn, document_vectors, drawn_from
from mnemoscope.graphs.nodes.mid_term import SegmentState
from mnemoscope.graphs.nodes.short_term import turns_of
from mnemoscope.graphs.provenance import cite, containment
from mnemoscope.graphs.state import MemoryContext
from mnemoscope.memory_backends.record import MemoryItem, Source
from mnemoscope.memory_backends.store import MemoryStore
from mnemoscope.scenarios.records import Turn

__all__ = ["Portrayed", "Stated", "TierState", "UpdateKnowledge", "UpdateProfile", "profile_in"]

ALIGNED = 0.6
"""A line of a profile with this share of its content words in a turn is taken to come from it."""


@dataclass(frozen=True, slots=True)
class Portrayed:
    """A profile as it will be."""

    text: str
    turns: tuple[Turn, ...]
    """What it was rewritten with."""
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True)
class Stated:
    """A statement about the user or the assistant."""

    owner: str
    fact: Drawn


class TierState(SegmentState, total=False):
    """One run of a WRITE graph with three tiers."""

    profile: Portrayed | None
    """None: it stays as it is."""
    statements: tuple[Stated, ...]
    statement_vectors: Vectors
    learnt: bool
    """The hot pages were analysed; otherwise they are tried again when their segment is hot once more."""


class UpdateProfile:
    """Node `profile`: rewrites the user's profile with the hot pages.

    Args:
        mode: Whether a model is asked; a reply that cannot be read, or says next to nothing, leaves it as it was.
    """

    def __init__(self, mode: Mode) -> None:
        self._mode = mode

    async def __call__(self, state: TierState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
        """Reads `hot`; sets `profile` and `parse_failures`."""
        turns = _turns(state["hot"])
        old = profile_in(runtime.context.store)
        known = "" if old is None else old.text
        answer = await ask(REWRITE_PROFILE, Portrait(known, turns), self._mode, runtime.context.ports.model)
        text = answer.value or known
        new = None if text == known else Portrayed(text, turns, _sources(text, known, turns))
        return {"profile": new, "parse_failures": answer.parse_failures}


class UpdateKnowledge:
    """Node `knowledge`: statements about the user and about the assistant from the hot pages.

    Args:
        mode: Whether a model is asked.
    """

    def __init__(self, mode: Mode) -> None:
        self._mode = mode

    async def __call__(self, state: TierState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
        """Reads `hot`; sets `statements`, `statement_vectors`, `learnt` and `parse_failures`."""
        turns = _turns(state["hot"])
        answer = await ask(KNOWLEDGE, Extraction(turns), self._mode, runtime.context.ports.model)
        owned = answer.value
        lists = () if owned is None else (owned.user, owned.assistant)
        stated = tuple(
            Stated(owner, fact)
            for owner, facts in zip(OWNERS, lists, strict=bool(lists))
            for fact in drawn_from(facts, turns)
        )
        return {
            "statements": stated,
            "statement_vectors": await document_vectors([one.fact.text for one in stated], runtime),
            "learnt": owned is not None,
            "parse_failures": answer.parse_failures,
        }


def profile_in(store: MemoryStore, now: datetime | None = None) -> MemoryItem | None:
    """The newest profile that held at `now`; None: at the end of what is stored."""
    return next(reversed(store.held(now, "profile")), None)


def _turns(pages: Sequence[MemoryItem]) -> tuple[Turn, ...]:
    return tuple(sorted((turn for page in pages for turn in turns_of(page)), key=lambda turn: turn.index))


def _sources(text: str, known: str, turns: Sequence[Turn]) -> tuple[Source, ...]:
    """The turns that new lines of a profile come from word for word; all turns where there is one that does not."""
    lines = [statement_of(line) for line in text.splitlines() if line not in known.splitlines()]
    numbers: dict[int, None] = {}
    for line in lines:
        shares = [containment(line, [f"{turn.speaker} {turn.content}"]) for turn in turns]
        best = max(shares)
        if best < ALIGNED:
            return cite(turns, (), " ".join(lines))
        numbers[shares.index(best) + 1] = None
    return cite(turns, tuple(numbers), " ".join(lines))
