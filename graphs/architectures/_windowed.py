"""What the architectures that keep turns or windows of turns share."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from mnemoscope.core.errors import ConfigError
from mnemoscope.graphs.architecture import WriteGraph, write_graph
from mnemoscope.graphs.backend import Ports
from mnemoscope.graphs.nodes.write import ObserveWindows, index_vectors, index_words, render, window_text
from mnemoscope.graphs.parameters import whole
from mnemoscope.graphs.state import WriteState
from mnemoscope.graphs.windows import windows_of
from mnemoscope.memory_backends.indexes.exact import ExactVectorIndex
from mnemoscope.memory_backends.item_store import ItemStore
from mnemoscope.memory_backends.record import ItemKind
from mnemoscope.memory_backends.store import MemoryStore
from mnemoscope.scenarios.records import Turn

__all__ = ["check_window", "embeds_windows", "keep_windows", "nothing_ready", "plain_store", "vector_store"]

MOST_TURNS = 50


def check_window(window: object, overlap: object) -> tuple[int, int]:
    """The two parameters of windows, checked.

    Raises:
        ConfigError: `window` is not from 1 to 50, or `overlap` not from 0 to `window - 1`.
    """
    size = whole("window", window, 1, MOST_TURNS)
    if not isinstance(overlap, int) or isinstance(overlap, bool) or not 0 <= overlap < size:
        raise ConfigError(f"overlap is {overlap!r}; it must be a whole number from 0 to window - 1, here {size - 1}")
    return size, overlap


def nothing_ready(state: WriteState) -> bool:
    """No window is complete: the rest of the WRITE graph has nothing to do."""
    return not state.get("ready")


def keep_windows(window: int = 1, overlap: int = 0, *, vectors: bool = False) -> WriteGraph:
    """The WRITE graph observe → render → index."""
    return write_graph(
        {
            "observe": ObserveWindows(window, overlap),
            "render": render,
            "index": index_vectors if vectors else index_words,
        },
        skip_after={"observe": nothing_ready},
    )


def embeds_windows(window: int, overlap: int) -> Callable[[Sequence[Turn]], Sequence[str]]:
    """The texts of all windows of given sessions."""

    def texts(turns: Sequence[Turn]) -> Sequence[str]:
        return [window_text(turns_together) for turns_together in windows_of(turns, window, overlap)]

    return texts


def plain_store(ports: Ports) -> MemoryStore:
    """Items only, without an index."""
    return ItemStore(vector_index=None, lexical=False, embedder_id=None)


def vector_store(
    ports: Ports, *, lexical: bool = False, lexical_kinds: Collection[ItemKind] | None = None
) -> MemoryStore:
    """Items with vectors of the given embedder, in the given index or in numpy.

    Args:
        ports: With the embedder.
        lexical: Whether words are indexed too.
        lexical_kinds: Whose words; None: everything's.

    Raises:
        ConfigError: There is no embedder.
    """
    if ports.embedder is None:
        raise ConfigError("this architecture needs an embedder")
    make = ports.vector_index or ExactVectorIndex
    return ItemStore(make(ports.embedder.dim), lexical, ports.embedder.id, lexical_kinds)
