"""What each architecture that asks a model makes of one that is served on this machine: a check of the plumbing.

The first turns of one conversation go through the `llm` mode of each architecture, and one question is asked. Per
architecture: calls of writing and of reading, replies or parts of replies that could not be read, what is stored, what
became of every turn (which has to add up), and the time. A small model says little about an architecture; it says that
real replies, well or badly formed, are read or counted, and that no turn is lost over them.

Run: python benchmarks/local_model.py --scenario locomo:locomo10.json [--model local:smollm2] [--architecture NAME]…
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np

from mnemoscope.agents.gateway import GatewayModel, open_model
from mnemoscope.agents.ids import ContentIds
from mnemoscope.core.errors import ConfigError
from mnemoscope.core.identity import ScenarioId
from mnemoscope.engine.ingest import LaneProgress, ingest
from mnemoscope.graphs.architecture import create_architecture
from mnemoscope.graphs.backend import Ports
from mnemoscope.graphs.traces import NullTrace
from mnemoscope.memory_backends.embedders import EMBEDDERS
from mnemoscope.memory_backends.record import Budget, Query, Retrieval, Scope, Stats
from mnemoscope.scenarios.opening import open_source
from mnemoscope.scenarios.records import Scenario, Turn
from mnemoscope.scenarios.replay import HistoryEnd, ReplayEvent, SessionEnd, WriteTurn

ARCHITECTURES = (
    "summary(mode=llm)",
    "lc(share=25,summary=llm)",
    "compressed(mode=llm)",
    "mem0-v1-style(mode=llm)",
    "mem0-v2-style(mode=llm)",
    "a-mem-style(mode=llm)",
    "memoryos-style(stm=2,mode=llm)",  # with the usual ten pages, nothing would leave the short-term memory
    "memora-style(mode=llm)",
    "memora-style(read=policy,mode=llm)",
    "anchormem-style(mode=llm)",
    "comedy-style(mode=llm)",
    "memgpt-style(mode=llm)",
    "dense(admit=llm)",
)


class Outcome(NamedTuple):
    """What came of one architecture."""

    stats: Stats
    found: Retrieval
    seconds: float


def told(turns: Sequence[Turn]) -> Iterator[ReplayEvent]:
    """The events of these turns, as if the conversation ended with them."""
    for _, session in groupby(turns, key=lambda turn: turn.session_id):
        spoken = list(session)
        yield from map(WriteTurn, spoken)
        yield SessionEnd(spoken[-1].session_id, spoken[-1].at)
    yield HistoryEnd(turns[-1].at)


async def outcome(name: str, turns: Sequence[Turn], question: str, model: GatewayModel) -> Outcome:
    """Write the turns, ask the question.

    Raises:
        SystemExit: A turn is unaccounted for, or an item names a turn that was not written.
    """
    started = time.perf_counter()
    memory, progress = create_architecture(name).backend(), LaneProgress()
    ports = Ports(ContentIds(), np.random.default_rng(0), NullTrace(), EMBEDDERS.create("minilm"), model=model)
    await memory.open(Scope(ScenarioId("benchmark")), ports)
    for event in told(turns):
        await ingest(memory, event, progress)
    found = await memory.retrieve(Query(question), Budget(), turns[-1].at)
    seconds, stats = time.perf_counter() - started, await memory.stats()
    named = {source.turn_id async for item in memory.items() for source in item.sources}
    if stray := named - {turn.turn_id for turn in turns}:
        raise SystemExit(f"{name}: items name turns that were never written: {sorted(stray)}")
    if (known := stats.turns_covered + stats.turns_deferred + sum(stats.turns_dropped.values())) != len(turns):
        raise SystemExit(f"{name}: {known} of {len(turns)} turns are accounted for")
    await memory.close()
    return Outcome(stats, found, seconds)


def row(name: str, made: Outcome) -> str:
    """One line of the table."""
    stats, found = made.stats, made.found
    phases = ", ".join(f"{phase} {count}" for phase, count in sorted(stats.usage.calls_by_phase.items()))
    kept = ", ".join(f"{kind} {count}" for kind, count in stats.items_by_kind.items())
    dropped = "; ".join(f"{reason} {count}" for reason, count in sorted(stats.turns_dropped.items())) or "0"
    cells = (
        f"`{name}`",
        f"{stats.usage.calls + found.usage.calls}" + (f" ({phases})" if phases else ""),
        f"{stats.parse_failures + found.parse_failures}",
        kept,
        f"{stats.turns_covered} / {stats.turns_deferred} / {dropped}",
        f"{made.seconds:.0f}",
    )
    return f"| {' | '.join(cells)} |"


def slice_of(scenario: Scenario, length: int) -> tuple[list[Turn], str]:
    """The first turns of a scenario, and its first question."""
    return [turn for session in scenario.sessions for turn in session.turns][:length], scenario.probes[0].text


async def table(names: Sequence[str], scenario: Scenario, length: int, spec: str) -> None:
    """Print a line per architecture, each as soon as it is there."""
    turns, question = slice_of(scenario, length)
    model = open_model(spec, cache=None)
    print(f"{model.key}, {len(turns)} turns of {scenario.scenario_id}\n")
    print("| architecture | calls | unread | items | covered / deferred / dropped | s |\n|---|---:|---:|---|---|---:|")
    try:
        for name in names:
            print(row(name, await outcome(name, turns, question, model)), flush=True)
    finally:
        await model.close()


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scenario", default="demo")
    parser.add_argument("--model", default="local:smollm2")
    parser.add_argument("--architecture", action="append")
    parser.add_argument("--turns", type=int, default=14)
    options = parser.parse_args()
    names, scenario = options.architecture or ARCHITECTURES, next(iter(open_source(options.scenario)))
    try:
        asyncio.run(table(names, scenario, options.turns, options.model))
    except ConfigError as missing:
        print(f"not measured: {missing}")


if __name__ == "__main__":
    main()
