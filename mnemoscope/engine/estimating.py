"""What a run would cost, before anything is spent: model calls, tokens, money and time, system by system.

Ingest is what the architectures themselves expect (`MemoryBackend.estimate`), shared by all systems of one memory. A
read is `Architecture.asks_to_read`, and one embedded query where vectors are searched. A reply by a model is one call:
the template that the writer sends, with all that the memory hands over (`Architecture.hands_over`) in the block and in
the plan, which bounds it from above; a memory that answers by itself has none but its read. Judging is counted
question by question (`judge_costs`). Tokens are estimates
(`estimate_tokens`). Nothing is embedded, asked or written.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from mnemoscope.agents.writers.prompts import reply_messages
from mnemoscope.config import RunConfig
from mnemoscope.core.language.tokens import estimate_tokens
from mnemoscope.core.ports import WritingTask
from mnemoscope.core.usage import Usage
from mnemoscope.engine.grid import Lane, lanes_of, load_scenarios, refuse_unfit
from mnemoscope.engine.judge_costs import REPLY_TOKENS, judge_usage
from mnemoscope.engine.prices import Prices
from mnemoscope.engine.progress import Progress
from mnemoscope.engine.rates import MeasuredTimes
from mnemoscope.engine.tools import architecture_of, profile_of, system_rows
from mnemoscope.graphs.architecture import Architecture
from mnemoscope.graphs.mirroring import MirroredBackend, memory_of
from mnemoscope.memory_backends.rendering import unit_text
from mnemoscope.scenarios.records import Probe, Scenario, Turn
from mnemoscope.scenarios.replay import ForkAt, WriteTurn, replay
from mnemoscope.scenarios.speakers import peers_of

__all__ = ["Part", "RunEstimate", "SystemEstimate", "estimate"]


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
    judge: Part
    """Its time is not known before."""
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
    """Where prices are from, and what is not in the figures."""


@dataclass(slots=True)
class _Work:
    cells: int = 0
    turns: int = 0
    ingest: Usage = Usage()
    read: Usage = Usage()
    reply: Usage = Usage()
    embedded_tokens: int = 0
    """Of the turns that are taken in."""
    query_tokens: int = 0
    judging: defaultdict[str, Usage] = field(default_factory=lambda: defaultdict(Usage))
    """By the model that judges."""


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
    judge_tells = True
    for planned in scenarios:
        asked: dict[str, Sequence[str]] = {planned.scenario.scenario_id: planned.probe_ids}
        prompts = _prompts(planned.scenario) if config.model else {}
        judging = judge_usage(config, planned.scenario, planned.probe_ids)
        judge_tells = judge_tells and judging is not None
        for system in systems:
            for model, usage in (judging or {}).items():
                sums.by_system[system.name].judging[model] += sum([usage] * config.replicates, Usage())
        for lane in lanes_of(systems, asked, config.replicates, set(), set(), write_probes=config.write_probes):
            _add(config, lane, planned.scenario, prompts, sums)
    embedding = partial(prices.embedding_usd, embedder=config.embedder)
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
                ingest=Part(
                    work.ingest,
                    _sum([prices.usd(work.ingest, memory_model), embedding(work.embedded_tokens)]),
                    _seconds(work.turns, per_turn),
                ),
                read=Part(work.read, _sum([prices.usd(work.read, memory_model), embedding(work.query_tokens)])),
                reply=Part(work.reply, prices.usd(work.reply, config.model), _seconds(work.cells, per_cell)),
                judge=Part(
                    sum(work.judging.values(), Usage()),
                    _sum([prices.usd(usage, model) for model, usage in work.judging.items()]),
                )
                if judge_tells
                else Part(),
                more_drafts=_more_drafts(row.profile) if config.model else 0,
                shares_ingest_with=None if first == row.name or config.write_probes else first,
            )
        )
    notes = (*_price_notes(config, sums, prices), *_notes(config, found, judge_tells=judge_tells))
    return RunEstimate(tuple(found), _total(found), notes)


def _add(config: RunConfig, lane: Lane, scenario: Scenario, prompts: Mapping[str, int], sums: _Sums) -> None:
    """Add what one lane takes to the systems that share it."""
    architecture = architecture_of(lane.memory)
    probes: dict[str, Probe] = {probe.probe_id: probe for probe in scenario.probes}
    own = {name: profile_of(profile).nodes.own for name, profile in lane.systems}
    written = _add_ingest(config, lane, architecture, scenario, sums)
    for key in lane.cells:
        probe, work = probes[key.probe_id], sums.by_system[key.system]
        work.cells += 1
        read = _read(config, architecture, scenario, probe)
        work.read += read
        work.query_tokens += read.embedded_texts * estimate_tokens(probe.text)
        if config.model is not None and not own[key.system]:
            tokens = prompts[key.probe_id] + 2 * _handed_over(config, architecture, probe, written)
            work.reply += Usage({"respond": 1}, prompt_tokens=tokens, completion_tokens=REPLY_TOKENS)


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
    sizes = [estimate_tokens(unit_text(turn)) for turn in turns]
    for system, _ in lane.systems:
        sums.first.setdefault(lane.memory, system)
        sums.by_system[system].turns += len(turns)
        sums.by_system[system].ingest += usage
        # texts that are embedded are about as long as turns: most are turns, or facts made from one
        sums.by_system[system].embedded_tokens += usage.embedded_texts * sum(sizes) // max(1, len(sizes))
    return _Written(sizes, known)


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
    parts = [part for one in systems for part in (one.read, one.reply, one.judge)]
    parts += [one.ingest for one in systems if one.shares_ingest_with is None]
    timed = [one.reply for one in systems] + [one.ingest for one in systems if one.shares_ingest_with is None]
    return Part(
        usage=sum((part.usage for part in parts), Usage()),
        usd=_sum(part.usd for part in parts),
        seconds=_sum(part.seconds for part in timed),
    )


def _sum(values: Iterable[float | None]) -> float | None:
    """The sum; None where one of them is unknown."""
    found = list(values)
    known = [value for value in found if value is not None]
    return sum(known) if len(known) == len(found) else None


def _price_notes(config: RunConfig, sums: _Sums, prices: Prices) -> Iterator[str]:
    """Which prices are from the table, and of which day they are."""
    works = sums.by_system.values()
    asked = {
        config.memory_model or config.model: any(work.ingest.calls or work.read.calls for work in works),
        config.embedder: any(work.embedded_tokens or work.query_tokens for work in works),
    }
    asked |= {model: True for work in works for model, usage in work.judging.items() if usage.calls}
    if config.model:
        asked[config.model] = True
    rows = {row for model, is_asked in asked.items() if model and is_asked and (row := prices.listed(model))}
    for row in sorted(rows, key=lambda row: row.model):
        cost = f"{row.price.prompt:g}/{row.price.reply:g}" if row.price.reply else f"{row.price.prompt:g}"
        yield (
            f"{row.model}: {cost} US dollars per million tokens, as {row.provider} listed it on {row.as_of}; "
            "--price wins over it"
        )


def _notes(config: RunConfig, systems: Sequence[SystemEstimate], *, judge_tells: bool) -> Iterator[str]:
    if config.model is None and config.memory_model is None:
        asking = [one.system for one in systems if one.ingest.usage.calls or one.read.usage.calls]
        if asking:
            yield f"{asking[0]} asks a model and none is named; add --memory-model or --model"
    if more := max((one.more_drafts for one in systems), default=0):
        yield f"profiles that verify may write up to {more} more drafts per reply; not in the figures"
    if not judge_tells:
        yield f"what the judge {config.judge} asks a model is not in the figures, because it writes down what it says"
    elif any(one.judge.usage.calls for one in systems):
        yield "what the judge asks again, and memory that it is shown, is not in the figures"
    if config.write_probes:
        yield "taking in probes and replies (--write-probes) is not in the figures"
