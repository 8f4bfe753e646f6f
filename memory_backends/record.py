"""What is remembered and what is handed back: items with provenance, retrievals, receipts, snapshots, statistics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from mnemoscope.core.identity import ItemId, ScenarioId, TurnId
from mnemoscope.core.usage import Usage
from mnemoscope.scenarios.records import MemoryPool, Turn

__all__ = [
    "PROVENANCE_ORDER",
    "SIDE_TABLES",
    "Answering",
    "Budget",
    "Capabilities",
    "FlushReason",
    "ItemKind",
    "MemoryItem",
    "Provenance",
    "Query",
    "Retrieval",
    "Scope",
    "Snapshot",
    "Source",
    "Stats",
    "WriteReceipt",
]

Provenance = Literal["verbatim", "cited", "batch", "inherited", "session", "unknown"]
PROVENANCE_ORDER: tuple[Provenance, ...] = ("verbatim", "cited", "batch", "inherited", "session", "unknown")
"""Tightest first. Strict recall counts the first two, loose recall all but `unknown`."""

ItemKind = Literal[
    "turn", "chunk", "fact", "event", "note", "entry", "episode", "statement", "segment", "page", "summary", "profile",
    "core_block", "passage", "blob", "message", "entity", "cue",
]  # fmt: skip
SIDE_TABLES: tuple[ItemKind, ...] = ("entity", "cue")
"""Kinds that help to find others and are never handed out."""
FlushReason = Literal["session_end", "sleep", "history_end"]


@dataclass(frozen=True, slots=True)
class Source:
    """One atom of provenance: this item was made from that turn, in that way."""

    turn_id: TurnId
    """A turn's id; for a memory given by a pool, the pool item's id."""
    method: Provenance
    weight: float = 1.0
    """Share of the item that this source stands for, 0–1."""


@dataclass(frozen=True, slots=True)
class MemoryItem:
    """One stored memory, in one version. Tombstones have `valid_to` set and stay in the store."""

    id: ItemId
    kind: ItemKind
    text: str
    sources: tuple[Source, ...]
    observed_at: datetime | None
    """When the conversation stated it (latest source)."""
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    """When it stopped being true or was replaced; None while it holds."""
    seq_from: int = 0
    """Index of its earliest source turn."""
    seq_to: int = 0
    """Index of its latest source turn: ties are broken by time, then id, and forks filter on it."""
    version: int = 1
    supersedes: ItemId | None = None
    links: tuple[ItemId, ...] = ()
    attrs: Mapping[str, str] = field(default_factory=dict)
    score: float | None = None
    """Backend-local; comparable inside one retrieval only."""
    rank: int | None = None
    """From 1, within one retrieval."""

    @property
    def is_live(self) -> bool:
        """Not a tombstone."""
        return self.valid_to is None

    def ranked(self, rank: int, score: float | None) -> MemoryItem:
        """This item as the `rank`-th result of a search; scores are rounded to 1e-6."""
        # a search ranks thousands: the constructor takes half the time of `replace`
        return MemoryItem(
            self.id,
            self.kind,
            self.text,
            self.sources,
            self.observed_at,
            self.valid_from,
            self.valid_to,
            self.seq_from,
            self.seq_to,
            self.version,
            self.supersedes,
            self.links,
            self.attrs,
            None if score is None else round(float(score), 6),
            rank,
        )


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose memory it is. One backend instance owns one scope for life."""

    scenario_id: ScenarioId
    user_id: str = "user"


@dataclass(frozen=True, slots=True)
class Answering:
    """What a memory that answers by itself knows of the reply it is to give."""

    persona: str | None = None
    speaks_as: str | None = None
    replicate: int = 0


@dataclass(frozen=True, slots=True)
class Query:
    """What a memory is asked."""

    text: str
    asker: str | None = None
    recent_turns: tuple[Turn, ...] = ()
    pool_ids: tuple[ItemId, ...] | None = None
    """Where a probe brings its own pool: the pool's item ids in the order shown."""
    probe_id: str | None = None
    pool: MemoryPool | None = None
    """The pool itself; only an architecture that gives a pool as it stands reads it."""
    answering: Answering | None = None
    """Set where the answer of the reading is the reply."""


@dataclass(frozen=True, slots=True)
class Budget:
    """How much may be handed over, the same for every system.

    `k` items and `max_tokens` tokens bound what the assistant gets; the ranking behind it is kept to
    `depth_tokens`, so that recall within larger token budgets can be measured without asking again.
    """

    k: int | None = 10
    max_tokens: int | None = None
    depth_tokens: int = 4096


@dataclass(frozen=True, slots=True)
class Retrieval:
    """What a memory gave back, best first."""

    items: tuple[MemoryItem, ...]
    """The ranking, as deep as `Budget.depth_tokens`, `Budget.k` or ten items ask, whichever is deepest."""
    given: int
    """How many leading items the assistant gets."""
    rendered: str = ""
    """The memory block: the given items in the one format that all systems share."""
    context_tokens: int = 0
    usage: Usage = Usage()
    ranked: bool = True
    """The order means relevance; False where items come in the conversation's order."""
    mutated: bool = False
    truncated: bool = False
    """A budget cut the given items short."""
    tied_at_cut: bool = False
    """The last given item and the next one have the same score."""
    blank_query: bool = False
    answer: str | None = None
    """What a reading that answers by itself said; None: it has not, or it is no such reading."""
    steps: tuple[str, ...] = ()
    """What such a reading did, a line each. They go to the reply's hidden trace and are stored there."""
    parse_failures: int = 0
    """Replies of a model, or parts of them, that could not be read while searching."""

    @property
    def given_items(self) -> tuple[MemoryItem, ...]:
        """The items that the assistant gets."""
        return self.items[: self.given]


@dataclass(frozen=True, slots=True)
class WriteReceipt:
    """What became of turns: covered by an item, deferred, or dropped with a reason. There is no fourth case."""

    turn_ids: tuple[TurnId, ...]
    added: tuple[ItemId, ...] = ()
    updated: tuple[ItemId, ...] = ()
    invalidated: tuple[ItemId, ...] = ()
    deferred: tuple[TurnId, ...] = ()
    dropped: Mapping[TurnId, str] = field(default_factory=dict)
    usage: Usage = Usage()
    parse_failures: int = 0


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A memory as data: canonical bytes without pickle, and what is needed to read them safely."""

    data: bytes
    schema_version: int
    sha256: str
    embedder_id: str | None
    dim: int | None


@dataclass(frozen=True, slots=True)
class Stats:
    """An audit of a memory."""

    items_by_kind: Mapping[str, int]
    tombstones: int
    bytes: int
    """Size of the snapshot."""
    turns_written: int
    turns_covered: int
    turns_deferred: int
    turns_dropped: Mapping[str, int]
    """Reason to number of turns."""
    turns_forgotten: int
    """Covered by tombstones only."""
    parse_failures: int
    usage: Usage
    provenance_width_mean: float | None
    """Mean number of source turns per item; None for an empty memory."""
    provenance_methods: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What an architecture can and cannot do; the conformance kit and the tables read it."""

    incremental: bool = True
    needs_flush: bool = False
    query_conditioned: bool = False
    blob_context: bool = False
    """Hands over one text, not a ranking."""
    mutating_read: bool = False
    gives_pool: bool = False
    """Returns a probe's pool as given; every other architecture is given the pool as turns."""
    answers: bool = False
    """Reading and answering are one loop: it brings its own reply, and pairs with the profile `own` only."""
    privileged: bool = False
    """Reads gold; its rows are marked."""
    needs_embedder: bool = False
    updates: bool = False
    """Replaces or invalidates what later turns contradict."""
    keeps_turns: bool = True
    """False where turns are dropped by policy (`none`, `recent`)."""
    ranks: bool = True
    """Its order means relevance to the query."""
    finest_provenance: Provenance = "verbatim"
    needs_pairs: bool = False
    """Works on a user's turns and an assistant's replies; people among themselves must be mapped to the two."""
    selective: bool = False
    """What is within reach is chosen without the query (a share, a summary, chance), so a kept turn may stay out."""
    verified: bool = False
    """Of a memory written anew after a published system (`…-style`): a test shows that it finds as much as the system's
    own package, within 5 points of recall. The others are marked `unverified`."""

    def unverified_as(self, memory: str) -> bool:
        """Whether rows of a memory of that name are marked: it was not shown to find what its original finds."""
        return memory.partition("(")[0].endswith("-style") and not self.verified
