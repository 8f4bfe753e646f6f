"""`anchormem-style`: facts lead back to the talk that they come from; facts alike over time are told as events."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import cast

from mnemoscope.core.errors import ConfigError
from mnemoscope.core.spec import Value
from mnemoscope.core.usage import Usage
from mnemoscope.graphs.architecture import Architecture, Mode, asks_nothing, read_graph, write_graph
from mnemoscope.graphs.architectures._windowed import check_window, vector_store
from mnemoscope.graphs.contracts.asking import planned_call
from mnemoscope.graphs.contracts.extract_facts import EXTRACT_MATTERS, Extraction
from mnemoscope.graphs.contracts.write_events import WRITE_EVENTS
from mnemoscope.graphs.handing_over import memories
from mnemoscope.graphs.nodes.anchors import (
    AnchorState,
    Associate,
    Chunk,
    DedupGroups,
    ExtractChunk,
    WriteEvents,
    chunk_states,
    group_states,
    plain_facts,
)
from mnemoscope.graphs.nodes.anchors_kept import persist
from mnemoscope.graphs.nodes.anchors_read import AnchorReadState, Match, anchor_chunks, cut, embed_query, merge
from mnemoscope.graphs.nodes.facts import facts_by_rule
from mnemoscope.graphs.nodes.summaries import ObserveSession, nothing_ended
from mnemoscope.graphs.parameters import named, one_of, whole, within
from mnemoscope.graphs.windows import windows_of
from mnemoscope.memory_backends.record import Capabilities
from mnemoscope.memory_backends.rendering import unit_text
from mnemoscope.scenarios.records import Turn

__all__ = ["anchormem_style"]

DEFAULTS: Mapping[str, Value] = {
    "window": 3,
    "overlap": 1,
    "threshold": 0.8,
    "neighbours": 5,
    "least_new": 3,
    "top": 5,
    "compat": False,
    "mode": "heuristic",
}
EVENTS_PER_TURN = 0.4
"""Groups told per turn, for estimates: between 0.2 with the paper's threshold and 0.8 by rule with defaults."""
_A_FACT = "Somebody: what is stated about somebody, with a name in it.\n"
"""As long as facts usually are; for estimates."""


def anchormem_style(
    window: int = 3,
    overlap: int = 1,
    threshold: float = 0.8,
    neighbours: int = 5,
    least_new: int = 3,
    top: int = 5,
    compat: bool = False,
    mode: str = "heuristic",
) -> Architecture:
    """AnchorMem (arXiv 2604.17377), written anew: facts anchor chunks of talk, and events join facts over time.

    At the end of a session its turns are cut into overlapping chunks, and facts are drawn from each. Every fact is
    associated with the facts nearest to it that come from other chunks; of the groups that this makes, those that
    differ enough from each other are told as events. A read compares the question with facts and with events and hands
    over the chunks of the nearest facts, word for word, and the nearest events.

    Differences from the source: facts name their turns (the source credits the chunk); a fact stated in several chunks
    is one fact of all of them, where the source groups its repetitions with each other; the chunks of a group's anchor
    are shown to the model too (`compat=true` leaves them out, as the release does); each session's end adds to what
    was told before, and a group is told where it has enough besides all groups told so far (the release indexes once);
    the first group has to be large enough too; what is handed over is in order of the conversation (the release's
    order changes from run to run) and within the run's budget, beyond the source's 5 + 5 where the budget allows. The
    release indexes only sessions that a question cites; here everything is remembered. In `heuristic` mode clauses that
    do more than please are the facts, and an event is its facts in order of time.

    Args:
        window: Turns per chunk, 1 to 50.
        overlap: Turns that a chunk shares with the one before.
        threshold: Cosine above which two facts are associated, 0 to 1; the paper's runs have 0.85.
        neighbours: Facts that one is associated with at most, 1 to 50, each from chunks of its own; the paper's runs
            have 3.
        least_new: Facts that a group must have besides those of each group kept before, 1 to 50.
        top: Nearest facts, and nearest events, that are handed over first, 1 to 1,000.
        compat: Whether a model that tells of a group is not shown the chunks of its anchor.
        mode: `heuristic` or `llm`.

    Raises:
        ConfigError: A parameter out of its range, or `compat` without a model to show anything to.
    """
    size, shared = check_window(window, overlap)
    how = cast("Mode", one_of("mode", mode, ("heuristic", "llm")))
    if compat and how == "heuristic":
        raise ConfigError("compat decides what a model is shown; add mode=llm or leave it out")
    alike, most = within("threshold", threshold, 0, 1), whole("neighbours", neighbours, 1, 50)
    fresh, first = whole("least_new", least_new, 1, 50), whole("top", top, 1, 1_000)
    values: Mapping[str, Value] = {
        "window": size,
        "overlap": shared,
        "threshold": alike,
        "neighbours": most,
        "least_new": fresh,
        "top": first,
        "compat": compat,
        "mode": how,
    }
    return Architecture(
        name=named("anchormem-style", values, DEFAULTS),
        summary="facts that lead to the talk they come from, and events that join them",
        capabilities=Capabilities(needs_flush=True, needs_embedder=True, incremental=False),
        write=write_graph(
            {
                "observe": ObserveSession(),
                "chunk": Chunk(size, shared),
                "extract_facts": ExtractChunk(how),
                "associate": Associate(alike, most),
                "dedup_groups": DedupGroups(fresh),
                "write_events": WriteEvents(how, compat=compat),
                "persist": persist,
            },
            state=AnchorState,
            skip_after={"observe": nothing_ended},
            for_each={"extract_facts": chunk_states, "write_events": group_states},
        ),
        read=read_graph(
            {
                "embed": embed_query,
                "match_facts": Match("fact", first),
                "match_events": Match("event", first),
                "anchor_chunks": anchor_chunks,
                "merge": merge,
                "cut": cut,
            },
            state=AnchorReadState,
            together=("match_facts", "match_events"),
        ),
        new_store=vector_store,
        embeds=_facts_of(size, shared),
        asks=_calls(size, shared, most) if how == "llm" else asks_nothing,
        hands_over=memories(size),
        mode=how,
        evidence_class="model" if how == "llm" else "twin",
        family="graph",
        loses="chunks that no fact was drawn from: they are kept and never found",
    )


def _facts_of(size: int, overlap: int) -> Callable[[Sequence[Turn]], Sequence[str]]:
    """The texts of the facts that rules draw; which events there will be, only their vectors tell."""

    def texts(turns: Sequence[Turn]) -> Sequence[str]:
        given = [Extraction(chunk) for chunk in windows_of(turns, size, overlap)]
        drawn = [plain_facts(facts_by_rule(one, EXTRACT_MATTERS)) for one in given]
        return list(dict.fromkeys(fact.text for facts in drawn for fact in facts))

    return texts


def _calls(size: int, overlap: int, neighbours: int) -> Callable[[Sequence[Turn]], Usage]:
    def asks(turns: Sequence[Turn]) -> Usage:
        total, chunks = Usage(), windows_of(turns, size, overlap)
        for chunk in chunks:
            total = total + planned_call(EXTRACT_MATTERS, EXTRACT_MATTERS.show(Extraction(chunk)))
        if not chunks:
            return total
        shown = "\n".join(map(unit_text, chunks[len(chunks) // 2])) + _A_FACT
        return total + planned_call(WRITE_EVENTS, shown * (neighbours + 1), round(EVENTS_PER_TURN * len(turns)))

    return asks
