"""`memoryos-style`: three tiers — recent pages, segments of pages by theme, and what is known of user and assistant."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from langgraph.graph import END, START, StateGraph

from mnemoscope.core.errors import ConfigError
from mnemoscope.core.usage import Usage
from mnemoscope.graphs.architecture import Architecture, Mode, WriteGraph, asks_nothing, read_graph
from mnemoscope.graphs.architectures._windowed import vector_store
from mnemoscope.graphs.contracts.asking import planned_call
from mnemoscope.graphs.contracts.continuity import CONTINUITY
from mnemoscope.graphs.contracts.extract_facts import Extraction
from mnemoscope.graphs.contracts.knowledge import KNOWLEDGE
from mnemoscope.graphs.contracts.meta_info import META_INFO
from mnemoscope.graphs.contracts.rewrite_profile import REWRITE_PROFILE
from mnemoscope.graphs.contracts.themes import THEMES, Batch
from mnemoscope.graphs.handing_over import memories
from mnemoscope.graphs.nodes.exchanges import exchanges_of
from mnemoscope.graphs.nodes.long_term import TierState, UpdateKnowledge, UpdateProfile
from mnemoscope.graphs.nodes.mid_term import HOT, AskContinuity, AskMetaInfo, AskThemes, InsertSegments
from mnemoscope.graphs.nodes.persist_tiers import PersistTiers
from mnemoscope.graphs.nodes.short_term import StmPush, compared_by
from mnemoscope.graphs.nodes.tiers_read import (
    Assemble,
    TierReadState,
    find_knowledge,
    find_pages,
    find_segments,
    touch,
)
from mnemoscope.graphs.nodes.write import window_text
from mnemoscope.graphs.parameters import named, one_of, whole
from mnemoscope.graphs.segments import WEIGHTS, moved_on
from mnemoscope.graphs.spans import Node, spanned
from mnemoscope.graphs.state import MemoryContext
from mnemoscope.memory_backends.record import Capabilities
from mnemoscope.scenarios.records import Turn
from mnemoscope.scenarios.replay import POOL_SESSION

__all__ = ["memoryos_style"]

_PAGE = 2
"""Turns of a page: a user's turn and the reply to it."""


def memoryos_style(
    stm: int = 10,
    segments: int = 2_000,
    knowledge: int = 100,
    batch: int = 1,
    heat: str = "package",
    compat: bool = False,
    mode: str = "heuristic",
) -> Architecture:
    """MemoryOS (EMNLP 2025) as its package works, written anew.

    A user's turns and the reply to them are a page. Pages wait in a short queue; the one that leaves it is linked to
    the page before if it goes on with it, summarised by theme, and joins the segment whose summary and keywords it
    fits (cosine + Jaccard ≥ 0.6) or begins one. Visits, new pages and recency heat a segment up; at 5, its pages that
    are not analysed yet go into the user's profile and into statements about user and assistant. A read finds the 7
    best pages in the 5 best segments and the best statements, and adds the whole queue and the profile.

    Differences from the source: a page with one side, and several turns of one side in a row, are kept whole; a theme
    gets the pages that it names (`compat=true`: all of the batch); a theme that cannot be read is the page as it
    stands instead of a common bucket; the hottest segment with something left to analyse is analysed, where the
    source looks at the hottest alone; a profile that comes back empty or as next to nothing is refused; a segment
    that is new or has just grown never makes room for itself; what is let go of is a tombstone and counted; all times
    are the conversation's; the overview of a thread stays as it was at each page. Not built: the 90 traits of the
    paper. Under a budget, the profile comes first and the rest by cosine; the source puts everything into the prompt.

    Args:
        stm: Pages in the queue, 1 to 1,000; the paper's evaluation has 1, its instructions 7.
        segments: The most segments, 1 to 100,000; the least visited go first, their pages with them.
        knowledge: The most statements about each of the two, 1 to 10,000; the oldest go first.
        batch: Pages that leave a full queue together and are summarised in one call, 1 to `stm`; the source has 1.
        heat: The weights of heat: `package` (1, 1, 1) or `paper` (0.8, 0.8, 0.0001).
        compat: Every theme gets all pages of its batch, as in the source.
        mode: `heuristic` or `llm`.
    """
    queue = whole("stm", stm, 1, 1_000)
    together = whole("batch", batch, 1, queue)
    if not isinstance(compat, bool):
        raise ConfigError(f"compat is {compat!r}; it must be true or false")
    how = cast("Mode", one_of("mode", mode, ("heuristic", "llm")))
    weights = one_of("heat", heat, tuple(WEIGHTS))
    most = whole("segments", segments, 1, 100_000)
    statements = whole("knowledge", knowledge, 1, 10_000)
    return Architecture(
        name=named(
            "memoryos-style",
            {
                "stm": queue,
                "segments": most,
                "knowledge": statements,
                "batch": together,
                "heat": weights,
                "compat": compat,
                "mode": how,
            },
            {
                "stm": 10,
                "segments": 2_000,
                "knowledge": 100,
                "batch": 1,
                "heat": "package",
                "compat": False,
                "mode": "heuristic",
            },
        ),
        summary="recent pages, segments by theme that heat up, a profile and statements",
        capabilities=Capabilities(needs_flush=True, needs_embedder=True, needs_pairs=True, mutating_read=True),
        write=_write(
            {
                "stm_push": StmPush(queue, together),
                "continuity": AskContinuity(how),
                "meta": AskMetaInfo(how),
                "themes": AskThemes(how, every_page=compat),
                "insert_segments": InsertSegments(WEIGHTS[weights]),
                "profile": UpdateProfile(how),
                "knowledge": UpdateKnowledge(how),
                "persist": PersistTiers(most, statements),
            }
        ),
        read=read_graph(
            {
                "segments": find_segments,
                "pages": find_pages,
                "knowledge": find_knowledge,
                "assemble": Assemble(queue, together),
                "touch": touch,
            },
            state=TierReadState,
            together=("pages", "knowledge"),
        ),
        new_store=vector_store,
        embeds=_embeds(queue, together),
        asks=_asks(queue, together) if how == "llm" else asks_nothing,
        hands_over=memories(_PAGE),
        mode=how,
        evidence_class="model" if how == "llm" else "twin",
        family="tiers",
        loses="pages outside the five nearest segments, and once there is no room those of the least read ones",
    )


def _write(nodes: dict[str, Node[TierState, MemoryContext]]) -> WriteGraph:
    graph: WriteGraph = StateGraph(TierState, context_schema=MemoryContext)
    for name, node in nodes.items():
        graph.add_node(name, spanned(f"write/{name}", node))
    graph.add_edge(START, "stm_push")
    graph.add_conditional_edges(
        "stm_push", _after_push, {"the queue is full": "continuity", "a page is complete": "persist", END: END}
    )
    graph.add_edge("continuity", "meta")
    graph.add_edge("meta", "themes")
    graph.add_edge("themes", "insert_segments")
    graph.add_conditional_edges(
        "insert_segments",
        _after_insertion,
        {"a segment is hot": "profile", "it is hot": "knowledge", "none is hot": "persist"},
    )
    graph.add_edge("profile", "persist")
    graph.add_edge("knowledge", "persist")
    graph.add_edge("persist", END)
    return graph


# coroutines, so that LangGraph runs them here instead of handing them to its thread pool
async def _after_push(state: TierState) -> str:
    if not state["ready"]:
        return END
    return "the queue is full" if state["evicted"] else "a page is complete"


async def _after_insertion(state: TierState) -> list[str]:
    return ["a segment is hot", "it is hot"] if state["hot"] else ["none is hot"]


def _embeds(stm: int, batch: int) -> Callable[[Sequence[Turn]], Sequence[str]]:
    """Texts of pages, and what rules make of those that leave the queue: statements, summaries of single ones."""

    def texts(turns: Sequence[Turn]) -> Sequence[str]:
        pages = exchanges_of(turns)
        leaving = pages[: moved_on(len(pages), stm, batch)]
        summaries = [_summary(page) for page in leaving] if batch == 1 else []
        told = [page for page in leaving if page[0].session_id != POOL_SESSION]
        return [*map(compared_by, pages), *summaries, *(text for page in told for text in _statements(page))]

    return texts


def _statements(page: tuple[Turn, ...]) -> list[str]:
    given = Extraction(page)
    owned = KNOWLEDGE.read(KNOWLEDGE.rule(given), given).value
    return [fact.text for fact in (*owned.user, *owned.assistant)]


def _summary(page: tuple[Turn, ...]) -> str:
    given = Batch((page,), ((1.0,),))
    return THEMES.read(THEMES.rule(given), given).value[0].content


def _asks(stm: int, batch: int) -> Callable[[Sequence[Turn]], Usage]:
    """Three calls per page that leaves the queue, one of them per batch; two per segment that becomes hot.

    Which segments do depends on what is said; reckoned with is one for every five pages.
    """

    def asks(turns: Sequence[Turn]) -> Usage:
        pages = exchanges_of(turns)
        leaving = pages[: moved_on(len(pages), stm, batch)]
        if not leaving:
            return Usage()
        texts = [window_text(page) for page in leaving]
        typical = max(texts, key=len) if len(texts) < 3 else sorted(texts, key=len)[len(texts) // 2]
        hot = len(leaving) // int(HOT)
        return (
            planned_call(CONTINUITY, typical * 2, len(leaving) - 1)
            + planned_call(META_INFO, typical, len(leaving))
            + planned_call(THEMES, typical * batch, -(-len(leaving) // batch))
            + planned_call(REWRITE_PROFILE, typical * int(HOT), hot)
            + planned_call(KNOWLEDGE, typical * int(HOT), hot)
        )

    return asks
