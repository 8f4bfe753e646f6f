"""What a run file gives back: one frozen record per table row, decoded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, NamedTuple

from mnemoscope.core.usage import Usage
from mnemoscope.graphs.plan import ResponsePlan
from mnemoscope.memory_backends.record import Capabilities, MemoryItem, Query, Source, Stats
from mnemoscope.scenarios.records import Card

__all__ = [
    "IMPORTED",
    "NO_REPLY",
    "CellKey",
    "CellRow",
    "CellStatus",
    "LaneKey",
    "LaneRow",
    "LaneStatus",
    "LossRow",
    "ProbeRow",
    "RankedRef",
    "RunMeta",
    "RunStatus",
    "Said",
    "ScenarioRow",
    "StoredReply",
    "StoredRetrieval",
    "SystemRow",
    "VerdictRow",
    "VerdictState",
    "Vote",
]

NO_REPLY = "the reply itself was not imported"
"""What the hidden trace says of a cell whose verdicts or retrieval were imported without its reply."""

CellStatus = Literal["ok", "error", "excluded"]
"""`excluded`: the system was not asked, as its error says."""
LaneStatus = Literal["done", "failed"]
RunStatus = Literal["running", "interrupted", "stopped", "complete"]
IMPORTED = "imported"
"""Evidence class of rows that another harness made: what produced them was not run here."""


class CellKey(NamedTuple):
    """What names a cell: one probe × one system × one replicate."""

    system: str
    scenario_id: str
    probe_id: str
    replicate: int


class LaneKey(NamedTuple):
    """What names a lane: one scenario × one memory (the architecture's name with its parameters)."""

    scenario_id: str
    memory: str
    system: str = ""
    """The one system that the memory belongs to, where probes are written back; empty: all that name it share it."""
    replicate: int = 0
    """The one replicate that it belongs to; 0 where the memory is shared."""


class Said(NamedTuple):
    """What a stored cell said."""

    status: CellStatus
    text: str


class VerdictRow(NamedTuple):
    """One verdict, in the narrow form that aggregation reads."""

    system: str
    scenario_id: str
    probe_id: str
    replicate: int
    metric: str
    subject: str
    label: str
    score: float | None
    status: str
    judge_key: str


class VerdictState(NamedTuple):
    """How many verdicts on cells with a reply came out alike."""

    metric: str
    judge_key: str
    status: str
    """`scored`, `invalid` or `error`."""
    label: str
    """Why there is no score; empty where there is one."""
    n: int


class Vote(NamedTuple):
    """One scored verdict that several votes of one judge decided."""

    system: str
    scenario_id: str
    probe_id: str
    replicate: int
    metric: str
    judge_key: str
    agreement: float
    """Share of the votes for the label that won, 0–1."""


@dataclass(frozen=True, slots=True)
class RunMeta:
    """How the file came about. Times and host are for people; no figure depends on them."""

    schema_version: int
    version: str
    """Version of mnemoscope that made it."""
    config_hash: str
    status: RunStatus
    created_at: datetime
    finished_at: datetime | None
    wall_seconds: float
    """Over all sittings of the run."""
    host: Mapping[str, str]
    packages: Mapping[str, str]
    """Versions of packages, and hashes of the user's own files (`code of FILE`)."""
    keys: Mapping[str, str]
    """What content is bound to: `writer`, `embedder`, `detector`, `verifier`, `vector_store`."""
    replicates: int


@dataclass(frozen=True, slots=True)
class SystemRow:
    """One system, as compared."""

    name: str
    position: int
    """Order in which it was asked for."""
    memory: str
    """The architecture's name with its parameters; joins `LaneRow.memory`."""
    profile: str
    evidence_class: str
    """`package`, `model` or `twin`; `imported` where it was not run here."""
    mode: str
    privileged: bool
    """Its architecture or its profile reads gold."""
    capabilities: Capabilities
    summary: str
    profile_summary: str

    @property
    def is_unverified(self) -> bool:
        """Its memory is named after a published system that it was not shown to equal."""
        return self.capabilities.unverified_as(self.memory)


@dataclass(frozen=True, slots=True)
class ScenarioRow:
    """One scenario, without its history; `RunReader.scenario` gives the whole of it."""

    scenario_id: str
    position: int
    cluster: str
    benchmark: str
    source_spec: str
    """The `--scenario` that it came from, folders left out."""
    turns: int
    card: Card
    sha256: str


@dataclass(frozen=True, slots=True)
class ProbeRow:
    """One probe that every system is asked."""

    scenario_id: str
    probe_id: str
    position: int
    style: str
    cluster: str
    benchmark: str
    strata: tuple[str, ...]
    gold_facts: int


@dataclass(frozen=True, slots=True)
class LaneRow:
    """One ingest: what became of the turns, and what it cost. Missing until the lane has come to its end."""

    scenario_id: str
    memory: str
    system: str
    """As in `LaneKey`, as is `replicate`."""
    replicate: int
    status: LaneStatus
    error: str | None
    error_cause: str | None
    written: int
    covered: int
    forgotten: int
    deferred: int
    dropped: Mapping[str, int]
    """Reason to number of turns."""
    skipped: Mapping[str, int]
    """Turns that never reached the memory, by reason (`empty`)."""
    unknown_share: float | None
    """Share of tokens that the embedder does not know; None where nothing is embedded or it cannot be told."""
    stats: Stats | None
    usage: Usage
    ingest_ms: float
    node_ms: Mapping[str, float]
    """Write node to milliseconds, summed."""

    @property
    def key(self) -> LaneKey:
        """What joins it to systems."""
        return LaneKey(self.scenario_id, self.memory, self.system, self.replicate)


@dataclass(frozen=True, slots=True)
class CellRow:
    """One cell's outcome, without its texts; `RunReader.reply_of` gives those."""

    cell_id: int
    """Number inside this file; it means nothing elsewhere."""
    system: str
    scenario_id: str
    probe_id: str
    replicate: int
    status: CellStatus
    error: str | None
    error_cause: str | None
    """An endpoint's cause (`timeout`), `memory-` and the phase for a memory, or the exception's class."""
    given: int
    """Memories that the assistant was given."""
    context_tokens: int
    """Estimated tokens of the memory block."""
    usage: Usage
    ms: float

    @property
    def key(self) -> CellKey:
        """What names it."""
        return CellKey(self.system, self.scenario_id, self.probe_id, self.replicate)


@dataclass(frozen=True, slots=True)
class RankedRef:
    """A memory in a ranking, without its text."""

    item_id: str
    sources: tuple[Source, ...]
    tokens: int
    score: float | None
    rank: int


@dataclass(frozen=True, slots=True)
class StoredRetrieval:
    """A retrieval as kept: the given memories in full, the ranking behind them as references."""

    given: tuple[MemoryItem, ...]
    ranking: tuple[RankedRef, ...]
    """The whole ranking, the given memories included, best first."""
    context_tokens: int
    ranked: bool
    """The order means relevance."""
    truncated: bool
    tied_at_cut: bool
    blank_query: bool
    mutated: bool
    answer: str | None
    parse_failures: int
    usage: Usage


@dataclass(frozen=True, slots=True)
class StoredReply:
    """What a cell said, and how it got there."""

    visible_text: str
    queries: tuple[Query, ...]
    """Without their recent turns: the probe has those."""
    drafts: tuple[str, ...]
    reasoning: str
    fallback: bool
    realised: Mapping[str, bool]
    plan: ResponsePlan | None
    retrieval: StoredRetrieval | None


@dataclass(frozen=True, slots=True)
class LossRow:
    """Where one gold fact of one cell went."""

    system: str
    scenario_id: str
    probe_id: str
    replicate: int
    fact_id: str
    stage: str
    """The first stage that lost it, or the outcome where none did."""
    routes: Mapping[str, bool | None]
    """What each stage found, by route (`stored_provenance`, `stored_text`, …); None: it could not be told."""
