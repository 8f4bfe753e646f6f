"""`a-mem-style`: every turn a note with keywords, context and tags; notes are linked and describe each other anew."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from langgraph.graph import END, START, StateGraph

from mnemoscope.core.errors import ConfigError, shown
from mnemoscope.core.usage import Usage
from mnemoscope.graphs.architecture import (
    Architecture,
    Mode,
    ReadGraph,
    WriteGraph,
    asks_nothing,
    read_graph,
    write_graph,
)
from mnemoscope.graphs.architectures._windowed import vector_store
from mnemoscope.graphs.contracts.annotate import ANNOTATE
from mnemoscope.graphs.contracts.asking import planned_call
from mnemoscope.graphs.contracts.evolve import EVOLVE
from mnemoscope.graphs.contracts.query_keywords import QUERY_KEYWORDS
from mnemoscope.graphs.handing_over import memories
from mnemoscope.graphs.nodes.notes import (
    NOTES,
    Annotate,
    Evolve,
    Keywords,
    NoteState,
    SearchNotes,
    expand_links,
    reindex,
    strengthen,
    update_neighbours,
)
from mnemoscope.graphs.nodes.read import SearchVector, cut
from mnemoscope.graphs.nodes.write import window_text
from mnemoscope.graphs.notes import Note
from mnemoscope.graphs.parameters import named, one_of, whole
from mnemoscope.graphs.spans import Node, spanned
from mnemoscope.graphs.state import MemoryContext
from mnemoscope.memory_backends.record import Capabilities
from mnemoscope.scenarios.records import Turn

__all__ = ["a_mem_style"]

_A_NOTE = "[8 May 2023, 13:56] Somebody: what was said, in a sentence or two, and what is noted beside it.\n" * 2
"""As long as notes usually are; for estimates."""


def a_mem_style(neighbours: int = 5, evolve: bool = True, mode: str = "heuristic") -> Architecture:
    """A-MEM (arXiv 2502.12110), written anew from the paper and its evaluation code.

    Every turn becomes a note: its words, keywords, a sentence of context, tags, all of it embedded. Each new note is
    compared with the stored ones nearest to it; it is linked with those it belongs with and may take over better tags,
    and they may be described anew. A read searches with the keywords of the question; behind each note that is found
    come the notes that it links.

    Differences from the source: links are ids and changes name their note (the original's positions reached the wrong
    one); what is changed is embedded at once (there every 100 evolutions); the older description is kept for reads as
    of an earlier time; an evolved note names the turn that changed it, as `inherited`; linked notes count within the
    run's budget (there they come on top of `k`); counters, categories and importance, which nothing read, are left out.
    In `heuristic` mode keywords and tags are the turn's keyphrases and the context is its central clause with persons
    and dates by name; notes with cosine ≥ 0.6 or 30 % of their keywords in common are linked, and a shared keyword
    becomes a tag.

    Args:
        neighbours: Stored notes that each new one is compared with, 1 to 50.
        evolve: False: no links and no changes, as LoCoMo-Conv ran it.
        mode: `heuristic` or `llm`.
    """
    depth = whole("neighbours", neighbours, 1, 50)
    how = cast("Mode", one_of("mode", mode, ("heuristic", "llm")))
    if not isinstance(evolve, bool):
        raise ConfigError(f"evolve is {shown(evolve)}; it must be true or false")
    return Architecture(
        name=named(
            "a-mem-style",
            {"neighbours": depth, "evolve": evolve, "mode": how},
            {"neighbours": 5, "evolve": True, "mode": "heuristic"},
        ),
        summary="turns as notes that are linked and describe each other anew" if evolve else "turns as annotated notes",
        capabilities=Capabilities(needs_embedder=True),
        write=_evolving(depth, how) if evolve else _annotating(how),
        read=_reading(how, links=evolve),
        new_store=vector_store,
        embeds=_note_texts,
        asks=_calls(depth if evolve else 0) if how == "llm" else asks_nothing,
        asks_to_read=planned_call(QUERY_KEYWORDS, "What is asked, in a sentence?") if how == "llm" else Usage(),
        hands_over=memories(turns=2),
        mode=how,
        evidence_class="model" if how == "llm" else "twin",
        family="graph",
        loses="what the search terms leave out of a question; places in the budget that linked notes take",
    )


def _annotating(mode: Mode) -> WriteGraph:
    return write_graph(
        {"annotate": Annotate(mode), "reindex": reindex}, state=NoteState, skip_after={"annotate": _nothing_noted}
    )


def _evolving(depth: int, mode: Mode) -> WriteGraph:
    graph: WriteGraph = StateGraph(NoteState, context_schema=MemoryContext)
    nodes: dict[str, Node[Any, MemoryContext]] = {
        "annotate": Annotate(mode),
        "neighbours": SearchNotes(depth),
        "evolve": Evolve(mode),
        "strengthen": strengthen,
        "update_neighbours": update_neighbours,
        "reindex": reindex,
    }
    for name, node in nodes.items():
        graph.add_node(name, spanned(f"write/{name}", node))
    graph.add_edge(START, "annotate")
    graph.add_conditional_edges("annotate", _noted, {"there is a note": "neighbours", "there is none": END})
    graph.add_conditional_edges("neighbours", _accompanied, {"notes are near": "evolve", "none is near": "reindex"})
    graph.add_conditional_edges(
        "evolve",
        _evolved,
        {"it is linked": "strengthen", "others change": "update_neighbours", "nothing evolves": "reindex"},
    )
    graph.add_edge("strengthen", "reindex")
    graph.add_edge("update_neighbours", "reindex")
    graph.add_edge("reindex", END)
    return graph


def _reading(mode: Mode, *, links: bool) -> ReadGraph:
    return read_graph(
        {
            "keywords": Keywords(mode),
            "search": SearchVector(kinds=NOTES),
            **({"expand_links": expand_links} if links else {}),
            "cut": cut,
        }
    )


def _nothing_noted(state: NoteState) -> bool:
    return state["note"] is None


async def _noted(state: NoteState) -> str:
    return "there is none" if _nothing_noted(state) else "there is a note"


async def _accompanied(state: NoteState) -> str:
    return "notes are near" if state["near"] else "none is near"


async def _evolved(state: NoteState) -> list[str]:
    evolution = state["evolution"]
    ways = ["it is linked"] if evolution.connect or evolution.own_tags else []
    ways += ["others change"] if evolution.changes else []
    return ways or ["nothing evolves"]


def _note_texts(turns: Sequence[Turn]) -> Sequence[str]:
    said = [turn for turn in turns if not turn.is_empty]
    return [Note(window_text((turn,)), ANNOTATE.read(ANNOTATE.rule(turn), turn).value).embedded for turn in said]


def _calls(depth: int) -> Callable[[Sequence[Turn]], Usage]:
    def asks(turns: Sequence[Turn]) -> Usage:
        said = [turn for turn in turns if not turn.is_empty]
        total = Usage()
        for turn in said:
            total = total + planned_call(ANNOTATE, ANNOTATE.show(turn))
        return total + planned_call(EVOLVE, _A_NOTE * (depth + 1), len(said)) if depth else total

    return asks
