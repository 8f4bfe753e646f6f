"""What a run would cost, before anything is spent: model calls, tokens, money and time, system by system.

Ingest is what the architectures themselves expect (`MemoryBackend.estimate`), shared by all systems of one memory. A
read is `Architecture.asks_to_read`, and one embedded query where vectors are searched. A reply by a model is one call:
the template that the writer sends, with all that the memory hands over (`Architecture.hands_over`) in the block and in
the plan, which bounds it from above; a memory that answers by itself has none but its read. Tokens are estimates
(`estimate_tokens`). Nothing is embedded, asked or written.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from mnemoscope.agents.writers.prompts import reply_messages
from mnemoscope.config import RunConfig
from mnemoscope.core.language.tokens import estimate_tokens
from mnemoscope.core.ports import WritingTask
from mnemoscope.core.spec import parse_spec
from mnemoscope.core.usage import Usage
from mnemoscope.engine.grid import Lane, lanes_of, load_scenarios, refuse_unfit
from mnemoscope.engine.progress import Progress
from mnemoscope.engine.rates import MeasuredTimes, Prices
from mnemoscope.engine.tools import architecture_of, profile_of, system_rows
from mnemoscope.evaluators.judges.describing import describe_judge
from mnemoscope.evaluators.judges.registry import JudgePorts
from mnemoscope.graphs.architecture import Architecture
from mnemoscope.graphs.mirroring import MirroredBackend, memory_of
from mnemoscope.memory_backends.rendering import unit_text
from mnemoscope.scenarios.records import Probe, Scenario, Turn
from mnemoscope.scenarios.replay import ForkAt, WriteTurn, replay
from mnemoscope.scenarios.speakers import peers_of

__all__ = ["Part", "RunEstimate", "SystemEstimate", "estimate"]

_REPLY_TOKENS = 120
"""Tokens of a reply by a model: some ninety words."""


@dataclass(frozen=True, slots=True)
class Part:
    """One part of the work."""

    usage: Usage = Usage()
    usd: float | None = None
    """None where the model's price is unknown."""
    seconds: float | None = None
    """One after another; None where it was not measured."""


@dataclass(frozen=True, slots=True)
class SystemEstimate:
    """What one system would cost."""

    system: str
    memory: str
    cells: int
    turns: int
    """That its memory takes in, over all scenarios."""
    ingest: Part
    read: Part
    """Its time is in that of the reply."""
    reply: Part
    more_drafts: int
    """Further drafts per reply at most, each as large as the first; they are not in the figures."""
    shares_ingest_with: str | None
    """The system before it whose ingest is its own; the totals count it once."""


@dataclass(frozen=True, slots=True)
class RunEstimate:
    """What a run would cost."""

    systems: tuple[SystemEstimate, ...]
    total: Part
    notes: tuple[str, ...]
    """What is not in the figures."""


@dataclass(slots=True)
class _Work:
    cells: int = 0
    turns: int = 0
    ingest: Usage = Usage()
    read: Usage = Usage()
    reply: Usage = Usage()


@dataclass(frozen=True, slots=True)
class _Written:
    """A history as one memory takes it in."""

    sizes: Sequence[int]
    """Tokens of each turn."""
    known: Mapping[str, int]
    """Probe to the number of turns before it."""


@dataclass(slots=True)
class _Sums:
    by_system: defaultdict[str, _Work] = field(default_factory=lambda: defaultdict(_Work))
    first: dict[str, str] = field(default_factory=dict)
    """Memory to the first system that uses it."""


def estimate(config: RunConfig, progress: Progress, prices: Prices, times: MeasuredTimes) -> RunEstimate:
    """Project a run.

    Args:
        config: What would be done.
        progress: Is told which set is read.
        prices: Of models, as far as they are known.
        times: Of the same systems in an earlier run.

    Raises:
        ConfigError: An unusable setting, or a system that does not fit a scenario.
        DataError: A scenario file is not as it should be.
    """
    systems = system_rows(config.system_specs())
    scenarios = load_scenarios(config, progress.note, progress.read)
    refuse_unfit(systems, scenarios)
    sums = _Sums()
    for planned in scenarios:
        asked: dict[str, Sequence[str]] = {planned.scenario.scenario_id: planned.probe_ids}
        prompts = _prompts(planned.scenario) if config.model else {}
        for lane in lanes_of(systems, asked, config.replicates, set(), set(), write_probes=config.write_probes):
            _add(config, lane, planned.scenario, prompts, sums)
    found = []
    for row in systems:
        work, first = sums.by_system[row.name], sums.first[row.memory]
        memory_model = config.memory_model or config.model
        per_turn, per_cell = times.ms_per_turn.get(row.memory), times.ms_per_cell.get(row.name)
        found.append(
            SystemEstimate(
                system=row.name,
                memory=row.memory,
                cells=work.cells,
                turns=work.turns,
                ingest=Part(work.ingest, prices.usd(work.ingest, memory_model), _seconds(work.turns, per_turn)),
                read=Part(work.read, prices.usd(work.read, memory_model)),
                reply=Part(work.reply, prices.usd(work.reply, config.model), _seconds(work.cells, per_cell)),
                more_drafts=_more_drafts(row.profile) if config.model else 0,
                shares_ingest_with=None if first == row.name or config.write_probes else first,
            )
        )
    return RunEstimate(tuple(found), _total(found), tuple(_notes(config, found)))


def _add(config: RunConfig, lane: Lane, scenario: Scenario, prompts: Mapping[str, int], sums: _Sums) -> None:
    """Add what one lane takes to the systems that share it."""
    architecture = architecture_of(lane.memory)
    probes: dict[str, Probe] = {probe.probe_id: probe for probe in scenario.probes}
    own = {name: profile_of(profile).nodes.own for name, profile in lane.systems}
    written = _add_ingest(config, lane, architecture, scenario, sums)
    for key in lane.cells:
        probe, work = probes[key.probe_id], sums.by_system[key.system]
        work.cells += 1
        work.read += _read(config, architecture, scenario, probe)
        if config.model is not None and not own[key.system]:
            tokens = prompts[key.probe_id] + 2 * _handed_over(config, architecture, probe, written)
            work.reply += Usage({"respond": 1}, prompt_tokens=tokens, completion_tokens=_REPLY_TOKENS)


def _add_ingest(config: RunConfig, lane: Lane, architecture: Architecture, scenario: Scenario, sums: _Sums) -> _Written:
    capabilities = architecture.capabilities
    speakers = config.speakers if capabilities.needs_pairs else "as-is"
    turns: list[Turn] = []
    known: dict[str, int] = {}
    for event in replay(scenario, pool_as_turns=not capabilities.gives_pool, speakers=speakers):
        if isinstance(event, WriteTurn):
            turns.append(event.turn)
        elif isinstance(event, ForkAt):
            known |= {probe.probe_id: len(turns) for probe in event.probes}
    usage = memory_of(architecture, scenario, config.speakers).estimate(turns)
    for system, _ in lane.systems:
        sums.first.setdefault(lane.memory, system)
        sums.by_system[system].turns += len(turns)
        sums.by_system[system].ingest += usage
    return _Written([estimate_tokens(unit_text(turn)) for turn in turns], known)


def _read(config: RunConfig, architecture: Architecture, scenario: Scenario, probe: Probe) -> Usage:
    one = architecture.asks_to_read + Usage(embedded_texts=int(architecture.capabilities.needs_embedder))
    people = peers_of(scenario)
    mirrored = isinstance(memory_of(architecture, scenario, config.speakers), MirroredBackend)
    return sum([one] * (len(people) if mirrored and probe.speaker not in people else 1), Usage())


def _handed_over(config: RunConfig, architecture: Architecture, probe: Probe, written: _Written) -> int:
    if architecture.capabilities.gives_pool:
        tokens = sum(estimate_tokens(item.text) for item in probe.pool.items) if probe.pool else 0
    else:
        tokens = architecture.hands_over(written.sizes[: written.known[probe.probe_id]], config.k)
    return tokens if config.memory_tokens is None else min(tokens, config.memory_tokens)


def _prompts(scenario: Scenario) -> Mapping[str, int]:
    return {probe.probe_id: _prompt_tokens(probe) for probe in scenario.probes}


def _prompt_tokens(probe: Probe) -> int:
    """Of everything that is sent besides memories."""
    task = WritingTask(
        utterance=probe.text,
        asker=probe.speaker,
        points=(),
        recent=tuple(f"{turn.speaker}: {turn.content}" for turn in probe.recent_turns),
        persona=probe.persona,
        speaks_as=probe.speaks_as,
    )
    return sum(estimate_tokens(message.content) for message in reply_messages(task))


def _more_drafts(profile: str) -> int:
    nodes = profile_of(profile).nodes
    return 0 if nodes.verify is None else nodes.max_loops


def _seconds(count: int, ms: float | None) -> float | None:
    return None if ms is None else count * ms / 1e3


def _total(systems: Sequence[SystemEstimate]) -> Part:
    parts = [part for one in systems for part in (one.read, one.reply)]
    parts += [one.ingest for one in systems if one.shares_ingest_with is None]
    timed = [one.reply for one in systems] + [one.ingest for one in systems if one.shares_ingest_with is None]
    return Part(
        usage=sum((part.usage for part in parts), Usage()),
        usd=_known_sum(part.usd for part in parts),
        seconds=_known_sum(part.seconds for part in timed),
    )


def _known_sum(values: Iterable[float | None]) -> float | None:
    """The sum; None where one of them is unknown."""
    found = list(values)
    known = [value for value in found if value is not None]
    return sum(known) if len(known) == len(found) else None


def _notes(config: RunConfig, systems: Sequence[SystemEstimate]) -> Iterator[str]:
    if config.model is None and config.memory_model is None:
        asking = [one.system for one in systems if one.ingest.usage.calls or one.read.usage.calls]
        if asking:
            yield f"{asking[0]} asks a model and none is named; add --memory-model or --model"
    if more := max((one.more_drafts for one in systems), default=0):
        yield f"profiles that verify may write up to {more} more drafts per reply; not in the figures"
    if describe_judge(parse_spec(config.judge).name, JudgePorts()).needs_model is not False:
        yield f"what the judge {config.judge} asks a model is not in the figures"
    if config.write_probes:
        yield "taking in probes and replies (--write-probes) is not in the figures"
    if parse_spec(config.embedder).name == "openai" and any(one.ingest.usage.embedded_texts for one in systems):
        yield f"what embedding by {config.embedder} costs is not in the figures; the number of texts is"
