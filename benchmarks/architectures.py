"""What every architecture keeps, finds, loses and costs, by rules and without a model: three tables.

1. One run over all probes: recall by provenance and by text, retained content, recall of what was given and within
   token budgets, lift over coverage. Means over scored probes; a dash where a memory has no ranking to cut.
2. The same run's memories: items, tombstones, size, and what became of every turn written, which has to add up.
3. Processor time of writing and reading, the embedder's share apart, and growth with the hash embedder: milliseconds
   per turn at each length, and the slope of log time over log turns (1 = linear).

Run: python benchmarks/architectures.py --scenario locomo:locomo10.json [--architecture NAME]… [--limit N] [--run DB]
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from statistics import fmean
from typing import Literal

import numpy as np

from mnemoscope.agents.ids import ContentIds
from mnemoscope.config import RunConfig
from mnemoscope.core.identity import ScenarioId
from mnemoscope.core.ports import Embedder, Vectors
from mnemoscope.engine import NoProgress, Stop, run
from mnemoscope.engine.ingest import LaneProgress, ingest, rest_of_session
from mnemoscope.graphs.architecture import Architecture, create_architecture
from mnemoscope.graphs.backend import MemoryBackend, Ports
from mnemoscope.graphs.conformance.material import chat
from mnemoscope.graphs.registry import ARCHITECTURES
from mnemoscope.graphs.traces import NullTrace
from mnemoscope.memory_backends.embedders import EMBEDDERS
from mnemoscope.memory_backends.record import Budget, Query, Scope
from mnemoscope.runfile.reader import RunReader, open_run
from mnemoscope.runfile.rows import LaneRow
from mnemoscope.scenarios.opening import open_source
from mnemoscope.scenarios.records import Scenario, Turn
from mnemoscope.scenarios.replay import HistoryEnd, ReplayEvent, SessionEnd, WriteTurn, replay
from mnemoscope.scenarios.speakers import SPEAKER_MAPPINGS

FIGURES = {
    "strict@10": "recall@10",
    "loose@10": "recall(10,provenance=loose)",
    "text@10": "recall-text@10",
    "retained": "retained@10",
    "given": "recall-given",
    "in 256": "recall-tokens(256)",
    "in 1024": "recall-tokens(1024)",
    "in 4096": "recall-tokens(4096)",
    "lift@10": "lift@10",
}
"""Column to metric."""


@dataclass(slots=True)
class Cost:
    """Processor seconds."""

    turns: int = 0
    write: float = 0.0
    """Of writing, without the embedder."""
    embed: float = 0.0
    """Of embedding what was written, as if nothing had been embedded before."""
    reads: int = 0
    read: float = 0.0
    """Of reading, without the embedder."""


@dataclass(slots=True)
class TimedEmbedder:
    """Embeds each text once, and knows what each one took."""

    inner: Embedder
    known: dict[tuple[str, str], tuple[Vectors, float]] = field(default_factory=dict)
    """Purpose and text to the vector, and to the processor seconds that it took."""
    asked: set[tuple[str, str]] = field(default_factory=set)
    """Since `begin`."""
    spent: float = 0.0
    """Processor seconds in here, since `begin`."""

    @property
    def id(self) -> str:
        """The inner embedder's id."""
        return self.inner.id

    @property
    def dim(self) -> int:
        """The inner embedder's dimension."""
        return self.inner.dim

    @property
    def cost(self) -> float:
        """Processor seconds that the texts asked for since `begin` took when they were new."""
        return sum(self.known[key][1] for key in self.asked)

    def begin(self) -> float:
        """Count anew; returns the processor time."""
        self.asked, self.spent = set(), 0.0
        return time.process_time()

    async def embed(self, texts: Sequence[str], purpose: Literal["document", "query"]) -> Vectors:
        """The inner embedder's vectors."""
        started = time.process_time()
        fresh = [text for text in dict.fromkeys(texts) if (purpose, text) not in self.known]
        if fresh:
            rows = await self.inner.embed(fresh, purpose)
            each = (time.process_time() - started) / max(1, sum(map(len, fresh)))
            self.known |= {(purpose, text): (row, each * len(text)) for text, row in zip(fresh, rows, strict=True)}
        self.asked.update((purpose, text) for text in texts)
        found = np.array([self.known[purpose, text][0] for text in texts], dtype=np.float32)
        self.spent += time.process_time() - started
        return found.reshape(len(texts), self.dim)

    def unknown_share(self, texts: Sequence[str]) -> float | None:
        """Not asked here."""
        return None


def opened_ports(embedder: Embedder) -> Ports:
    """What a memory gets here: no model, no gold."""
    return Ports(ContentIds(), np.random.default_rng(0), NullTrace(), embedder)


async def written(architecture: Architecture, events: Sequence[ReplayEvent], embedder: Embedder) -> MemoryBackend:
    """A memory that has taken in a history, embedded ahead session by session as a run does."""
    memory, progress, session = architecture.backend(), LaneProgress(), None
    await memory.open(Scope(ScenarioId("benchmark")), opened_ports(embedder))
    for place, event in enumerate(events):
        if isinstance(event, WriteTurn) and event.turn.session_id != session:
            session = event.turn.session_id
            if texts := architecture.texts_to_embed(rest_of_session(events, place)):
                await embedder.embed(texts, "document")
        await ingest(memory, event, progress)
    return memory


async def timed(architecture: Architecture, scenarios: Sequence[Scenario], embedder: TimedEmbedder) -> Cost:
    """What writing all histories and asking all probes takes."""
    total = Cost()
    speakers = SPEAKER_MAPPINGS[0] if architecture.capabilities.needs_pairs else "as-is"
    for scenario in scenarios:
        events = list(replay(scenario, pool_as_turns=True, speakers=speakers))
        started = embedder.begin()
        memory = await written(architecture, events, embedder)
        total.write += time.process_time() - started - embedder.spent
        total.embed += embedder.cost
        total.turns += sum(isinstance(event, WriteTurn) for event in events)
        probes = () if architecture.capabilities.privileged else scenario.probes
        await embedder.embed([probe.text for probe in probes], "query")
        started = embedder.begin()
        for probe in probes:
            await memory.retrieve(Query(probe.text, probe.speaker, probe_id=probe.probe_id), Budget(), probe.now)
        total.read += time.process_time() - started - embedder.spent
        total.reads += len(probes)
        await memory.close()
    return total


async def growth(architecture: Architecture, lengths: Sequence[int]) -> list[float]:
    """Processor seconds of writing invented histories of these lengths, with the hash embedder."""
    found = []
    for length in lengths:
        turns = chat(length, per_session=20)
        started = time.process_time()
        memory = await written(architecture, list(told(turns)), EMBEDDERS.create("hash"))
        found.append(time.process_time() - started)
        await memory.close()
    return found


def told(turns: Sequence[Turn]) -> Iterator[ReplayEvent]:
    """The events of a bare history."""
    for _, session in groupby(turns, key=lambda turn: turn.session_id):
        spoken = list(session)
        yield from map(WriteTurn, spoken)
        yield SessionEnd(spoken[-1].session_id, spoken[-1].at)
    yield HistoryEnd(turns[-1].at)


def found_table(run: RunReader) -> Iterator[Sequence[str]]:
    """Means of the figures over scored probes; the last column says how many have a figure of what was given."""
    scores: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
    for metric in FIGURES.values():
        for row in run.verdict_rows(metric):
            if row.status in ("error", "invalid"):
                raise SystemExit(f"{row.system}: {metric} of {row.probe_id} failed: {row.label}")
            if row.score is not None:
                scores[row.system, metric].append(row.score)
    for system in run.systems():
        found = [scores[system.name, metric] for metric in FIGURES.values()]
        counted = len(scores[system.name, FIGURES["given"]])
        yield system.memory, *(f"{100 * fmean(one):.1f}" if one else "–" for one in found), f"{counted:,}"


def kept_table(run: RunReader) -> Iterator[Sequence[str]]:
    """What the memories hold at the end, over all histories."""
    lanes: defaultdict[str, list[LaneRow]] = defaultdict(list)
    for lane in run.lanes():
        lanes[lane.memory].append(lane)
    for memory in dict.fromkeys(system.memory for system in run.systems()):
        done = [(lane, lane.stats) for lane in lanes[memory] if lane.stats is not None]
        if len(done) < len(run.scenarios()):
            raise SystemExit(f"{memory}: {len(run.scenarios()) - len(done)} histories were not taken in")
        dropped = sum((Counter(lane.dropped) for lane, _ in done), Counter[str]())
        written_, covered = sum(lane.written for lane, _ in done), sum(lane.covered for lane, _ in done)
        deferred = sum(lane.deferred for lane, _ in done)
        if written_ != covered + deferred + dropped.total():
            raise SystemExit(f"{memory}: {written_} turns are not {covered} + {deferred} + {dropped.total()}")
        items = sum(sum(stats.items_by_kind.values()) for _, stats in done)
        reasons = ", ".join(f"{reason} {count:,}" for reason, count in dropped.most_common())
        counts = (items, sum(stats.tombstones for _, stats in done), sum(stats.bytes for _, stats in done) // 1024)
        yield memory, *(f"{n:,}" for n in (*counts, written_, covered, deferred, dropped.total())), reasons


def cost_row(name: str, cost: Cost, lengths: Sequence[int], seconds: Sequence[float]) -> Sequence[str]:
    """Milliseconds per turn and read, the ratio of all else to embedding, and growth."""
    ratio = f"{cost.write / cost.embed:.2f}" if cost.embed else "–"
    slope = f"{np.polyfit(np.log(lengths), np.log(seconds), 1)[0]:.2f}" if len(lengths) > 1 else "–"
    return (
        name,
        f"{1e3 * cost.write / cost.turns:.2f}",
        f"{1e3 * cost.embed / cost.turns:.2f}",
        ratio,
        f"{1e3 * cost.read / cost.reads:.2f}" if cost.reads else "–",
        *(f"{1e3 * spent / length:.2f}" for spent, length in zip(seconds, lengths, strict=True)),
        slope,
    )


def print_table(title: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A title, the heads, and a line per row, each printed as soon as it is there."""
    print(f"\n{title}\n{heads[0]:<22} " + " ".join(f"{head:>9}" for head in heads[1:]))
    for name, *cells in rows:
        print(f"{name:<22} " + " ".join(f"{cell:>9}" for cell in cells), flush=True)


def chosen(names: Sequence[str] | None, scenarios: Sequence[Scenario]) -> list[Architecture]:
    """The architectures asked for; of all of them, those that need no pool of a probe's own and run here."""
    if names:
        return [create_architecture(name) for name in names]
    pools = all(probe.pool is not None for scenario in scenarios for probe in scenario.probes)
    everyone = map(create_architecture, ARCHITECTURES.names())
    return [one for one in everyone if pools or not one.capabilities.gives_pool]


def main() -> None:
    """Print the three tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scenario", default="demo")
    parser.add_argument("--architecture", action="append")
    parser.add_argument("--limit", type=int, help="probes of the run; default: all")
    parser.add_argument("--run", type=Path, help="where the run is kept, or is already; default: nowhere")
    parser.add_argument("--turns", default="1000,4000", help="lengths for growth, with commas; empty: none")
    options = parser.parse_args()
    scenarios = list(open_source(options.scenario))
    architectures = chosen(options.architecture, scenarios)
    lengths = [int(length) for length in options.turns.split(",") if length]
    with tempfile.TemporaryDirectory() as scratch:
        path = options.run or Path(scratch) / "run.db"
        if not path.exists():
            systems = tuple(f"{one.name}@none" for one in architectures)
            config = RunConfig(scenarios=(options.scenario,), systems=systems, limit=options.limit, out=path)
            run(config, resume=False, progress=NoProgress(), stop=Stop())
        with open_run(path) as made:
            print_table("found, % of probes with gold", ("memory", *FIGURES, "n"), found_table(made))
            heads = ("items", "tombs", "KiB", "written", "covered", "deferred", "dropped", "because of")
            print_table("kept, at the end of all histories", ("memory", *heads), kept_table(made))
    embedder = TimedEmbedder(EMBEDDERS.create("minilm"))
    costs = ("write", "embed", "ratio", "read", *(f"at {length:,}" for length in lengths), "slope")
    print_table(
        "processor ms per turn, and per read; ratio: write / embed",
        ("memory", *costs),
        (
            cost_row(one.name, asyncio.run(timed(one, scenarios, embedder)), lengths, asyncio.run(growth(one, lengths)))
            for one in architectures
        ),
    )


if __name__ == "__main__":
    main()
