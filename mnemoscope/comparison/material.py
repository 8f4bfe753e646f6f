"""Opened run files as the material of analyses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

from mnemoscope.comparison.agreement import agreement_on, calibrations_of
from mnemoscope.comparison.merging import RunSet, settings_of
from mnemoscope.comparison.verdicts import all_verdicts
from mnemoscope.core.identity import canonical_json
from mnemoscope.core.ports import Embedder
from mnemoscope.core.spec import split_outside
from mnemoscope.core.usage import Usage
from mnemoscope.evaluators.aggregate import ScoreRow
from mnemoscope.evaluators.analyses.material import AskedProbe, CellFacts, Lost, Scope, SystemFacts
from mnemoscope.evaluators.calibration.library import Calibrations, calibration_said
from mnemoscope.evaluators.judges.judge import Judge
from mnemoscope.evaluators.judges.registry import JudgePorts, open_judge
from mnemoscope.evaluators.statistics.config import DEFAULT_STATISTICS, StatisticsConfig
from mnemoscope.memory_backends.embedders import open_embedder
from mnemoscope.memory_backends.embedders.cache import default_cache_dir
from mnemoscope.runfile.reader import RunReader
from mnemoscope.runfile.rows import CellRow, StoredReply, SystemRow
from mnemoscope.scenarios.records import Turn

__all__ = ["RunMaterial"]


class RunMaterial:
    """What analyses read, from a set of run files.

    Args:
        runs: The files, open as long as the material is read.
        scopes: The figures that tables show.
        baseline: The system that the others are compared with; None: every pair.
        statistics: The rules of tests.
        calibrations: Of judges; None: those that come with the program.
        seed: Of all draws.
        resamples: Of bootstraps.
    """

    def __init__(
        self,
        runs: RunSet,
        *,
        scopes: tuple[Scope, ...] = (),
        baseline: str | None = None,
        statistics: StatisticsConfig = DEFAULT_STATISTICS,
        calibrations: Calibrations | None = None,
        seed: int = 0,
        resamples: int = 10_000,
    ) -> None:
        self._runs, self.seed, self.resamples = runs, seed, resamples
        self.scopes, self.baseline, self.statistics = scopes, baseline, statistics
        self._calibrations = calibrations_of(()) if calibrations is None else calibrations

    @cached_property
    def systems(self) -> Mapping[str, SystemFacts]:
        """Systems by name, in the order asked for."""
        return {row.name: _system(row, self._runs.members_of(row.name)[0].run) for row in self._runs.systems()}

    def calibration(self, metric: str, judge_key: str) -> str:
        """What is known of a metric's judge: κ, or `uncalibrated` with κ of the tasks that it is asked."""
        return calibration_said(*agreement_on(metric, judge_key, self._calibrations))

    def metrics(self) -> tuple[str, ...]:
        """Names of the metrics that have verdicts, sorted."""
        return tuple(sorted({row.metric for row in self._runs.verdict_rows()}))

    def verdicts(self, *metrics: str) -> Iterator[ScoreRow]:
        """Verdicts of the named metrics, with a failure for every cell that should have one and has none."""
        return (ScoreRow(*row) for row in all_verdicts(self._runs) if row.metric in metrics)

    def cells(self) -> Iterator[CellFacts]:
        """All cells that were asked and have an outcome."""
        for member in self._runs.members:
            judging, first = member.run.judging_by_cell(), member.run.first_token_ms()
            for row in member.run.cells():
                reply = member.run.reply_of(row)
                spent, ms = judging.get(row.cell_id, Usage()), first.get(row.cell_id)
                yield _facts(row, reply, member.shown[row.system], spent, ms)

    def losses(self) -> Iterator[Lost]:
        """Where all gold facts went."""
        for row in self._runs.losses():
            known = (row.routes.get(name) for name in ("retrieved_provenance", "retrieved_text"))
            is_told = bool(row.routes.get("in_session")) or any(route is not None for route in known)
            yield Lost(row.system, row.scenario_id, row.probe_id, row.replicate, row.fact_id, row.stage, is_told)

    def ingest(self) -> Mapping[str, Usage]:
        """System to what writing its memory cost."""
        return {system: ingest.usage for system, ingest in self._runs.ingests().items()}

    def probe(self, scenario_id: str, probe_id: str) -> AskedProbe:
        """One probe; `KeyError` where there is none."""
        return self._probes[scenario_id, probe_id]

    def cluster(self, scenario_id: str) -> str:
        """A scenario's unit of resampling."""
        return self._clusters[scenario_id]

    @cached_property
    def judge(self) -> Judge | None:
        """The offline judge, where the run was made or scored again with it; None where a model gave all verdicts."""
        runs = [member.run for member in self._runs.members]
        offline = "offline" in {
            name for run in runs for name in (run.config.judge, *(a.judge for a in run.asked_judges()))
        }
        return open_judge("offline", JudgePorts(embedder=self._embedder)) if offline else None

    @cached_property
    def _embedder(self) -> Embedder:
        return open_embedder(self._runs.members[0].run.config.told().embedder, cache=default_cache_dir())

    @cached_property
    def _clusters(self) -> dict[str, str]:
        return {row.scenario_id: row.cluster for row in self._runs.scenarios()}

    @cached_property
    def _probes(self) -> dict[tuple[str, str], AskedProbe]:
        found: dict[tuple[str, str], AskedProbe] = {}
        for row in self._runs.scenarios():
            scenario = self._runs.scenario(row.scenario_id)
            turns = scenario.turns
            for probe in scenario.probes:
                found[row.scenario_id, probe.probe_id] = AskedProbe(
                    probe,
                    scenario.gold_by_probe[probe.probe_id],
                    row.cluster,
                    row.benchmark,
                    turns[: probe.cut.seq],
                    _next_of_user(turns[probe.cut.seq :], probe.speaker),
                )
        return found


def _system(row: SystemRow, run: RunReader) -> SystemFacts:
    """The seed of what was built is the memory model's own, else that of the run."""
    settings, seed = settings_of(run), run.config.seed
    model, own = _without_seed(run.config.memory_model or "")
    if own is None:
        del settings["seed"]
    else:
        settings["memory_model"], seed = model, own
    facts = (row.memory, row.profile, row.evidence_class, row.privileged)
    return SystemFacts(row.name, *facts, seed, canonical_json(settings))


def _without_seed(model: str) -> tuple[str, int | None]:
    """A model's text form with its seed taken out; a name alone, which may be a file's or an endpoint's, has none."""
    if not model.endswith(")"):
        return model, None
    name, _, inside = model[:-1].partition("(")
    parts = [part.strip() for part in split_outside(inside, ",")]
    seeds = [part.partition("=")[2].strip() for part in parts if part.partition("=")[0].strip() == "seed"]
    if len(seeds) != 1 or not seeds[0].lstrip("-").isdecimal():
        return model, None
    others = [part for part in parts if part.partition("=")[0].strip() != "seed"]
    return f"{name}({','.join(others)})", int(seeds[0])


def _facts(row: CellRow, reply: StoredReply, system: str, judging: Usage, first_token_ms: float | None) -> CellFacts:
    slots = reply.plan.slots if reply.plan else ()
    return CellFacts(
        system=system,
        scenario_id=row.scenario_id,
        probe_id=row.probe_id,
        replicate=row.replicate,
        status=row.status,
        text=reply.visible_text,
        planned=tuple(slot.slot_id for slot in slots if slot.role != "suppress"),
        realised=dict(reply.realised),
        slot_memories={slot.slot_id: str(slot.memory_id) for slot in slots},
        context_tokens=row.context_tokens,
        usage=row.usage,
        judging=judging,
        ms=row.ms,
        first_token_ms=first_token_ms,
    )


def _next_of_user(later: tuple[Turn, ...], speaker: str) -> str | None:
    """The next thing that the probe's speaker says after the cut, in the same session."""
    for turn in later:
        if turn.session_id != later[0].session_id:
            return None
        if turn.speaker == speaker:
            return turn.content
    return None
