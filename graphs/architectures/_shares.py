"""What `lc` and `rag` share: exchanges, the share of them that is within reach, and the summary beside them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, cast

from mnemoscope.core.errors import ConfigError, shown
from mnemoscope.core.spec import Value
from mnemoscope.core.usage import Usage
from mnemoscope.graphs.architecture import EvidenceClass, Mode, WriteGraph, asks_nothing, write_graph
from mnemoscope.graphs.importance import IMPORTANCE_SOURCES, ImportanceSource, take_share
from mnemoscope.graphs.nodes.exchanges import ObserveExchanges, exchanges_of, render_exchanges
from mnemoscope.graphs.nodes.summaries import Retire, Summarise, session_summary, summary_calls
from mnemoscope.graphs.nodes.write import index_vectors, index_words, window_text
from mnemoscope.graphs.parameters import one_of, whole
from mnemoscope.graphs.state import WriteState
from mnemoscope.memory_backends.item_store import held_at
from mnemoscope.memory_backends.record import MemoryItem
from mnemoscope.memory_backends.store import MemoryStore
from mnemoscope.scenarios.records import Turn

__all__ = ["Share", "embeds_exchanges", "keep_exchanges"]


@dataclass(frozen=True, slots=True)
class Share:
    """Which exchanges are within reach, and whether a summary stands beside them."""

    share: int
    importance: ImportanceSource
    summary: bool | Literal["llm"]
    """`llm`: by a model, where the data brings none."""

    @classmethod
    def checked(cls, share: object, importance: object, summary: object) -> Share:
        """The parameters, checked.

        Raises:
            ConfigError: One is out of its range.
        """
        if not isinstance(summary, bool) and summary != "llm":
            raise ConfigError(f"summary is {shown(summary)}; it must be true, false or llm")
        source = cast("ImportanceSource", one_of("importance", importance, IMPORTANCE_SOURCES))
        return cls(whole("share", share, 1, 100), source, "llm" if summary == "llm" else bool(summary))

    @property
    def parameters(self) -> dict[str, Value]:
        """Name to value."""
        return {"share": self.share, "importance": self.importance, "summary": self.summary}

    @property
    def defaults(self) -> dict[str, Value]:
        """Name to what goes without saying."""
        return {"share": 100, "importance": "auto", "summary": False}

    @property
    def evidence_class(self) -> EvidenceClass:
        """A twin as soon as a rule may stand in the place of the importance model or of the summarising one."""
        ruled = self.share < 100 and self.importance != "given"
        return "twin" if ruled or self.summary is True else "model" if self.summary else "package"

    @property
    def mode(self) -> Mode | None:
        """Whether a model is asked; None where no part of it could."""
        return "llm" if self.summary == "llm" else None if self.evidence_class == "package" else "heuristic"

    @property
    def asks(self) -> Callable[[Sequence[Turn]], Usage]:
        """What its summaries cost."""
        return summary_calls() if self.summary == "llm" else asks_nothing

    def reach(self, store: MemoryStore, now: datetime | None) -> tuple[tuple[MemoryItem, ...], tuple[MemoryItem, ...]]:
        """What may be handed over at a moment: the summary (none or one), and the exchanges in order."""
        held = [item for item in store.items(tombstones=True) if held_at(item, now)]
        summaries = tuple(item for item in held if item.kind == "summary")[-1:]
        exchanges = [item for item in held if item.kind != "summary"]
        exchanges.sort(key=lambda item: (item.seq_from, item.seq_to, item.id))
        return summaries, take_share(exchanges, self.share, self.importance)


def keep_exchanges(share: Share, *, vectors: bool) -> WriteGraph:
    """The WRITE graph observe → render → [summarise →] index [→ retire]."""
    return write_graph(
        {
            "observe": ObserveExchanges(whole_session=bool(share.summary)),
            "render": render_exchanges,
            **({"summarise": Summarise(mode=share.mode or "heuristic")} if share.summary else {}),
            "index": index_vectors if vectors else index_words,
            **({"retire": Retire(lets_turns_go=False)} if share.summary else {}),
        },
        skip_after={"observe": _nothing_new},
    )


def embeds_exchanges(share: Share) -> Callable[[Sequence[Turn]], Sequence[str]]:
    """The texts of all exchanges of given sessions and, after each session's, of its summary."""

    def texts(turns: Sequence[Turn]) -> Sequence[str]:
        found: list[str] = []
        exchanges = exchanges_of(turns)
        for place, exchange in enumerate(exchanges):
            found.append(window_text(exchange))
            session = exchange[0].session_id
            last = place + 1 == len(exchanges) or exchanges[place + 1][0].session_id != session
            if share.summary and last:
                spoken = [turn for other in exchanges if other[0].session_id == session for turn in other]
                found.append(session_summary(spoken))
        return found

    return texts


def _nothing_new(state: WriteState) -> bool:
    return not state.get("ready") and not state.get("ended")
