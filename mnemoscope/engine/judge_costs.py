"""What judging would cost: the questions that metrics have are rendered and counted, and no model is asked.

Each probe is taken with a reply of usual length in the place of one that nobody has written yet; of a scenario with
more than forty, forty stand for all. What a judge asks again, because an answer could not be read, is not in the
figures, and no memory block is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mnemoscope.config import RunConfig
from mnemoscope.core.errors import EndpointError
from mnemoscope.core.language.tokens import estimate_tokens
from mnemoscope.core.ports import Completion, LanguageModel, Message
from mnemoscope.core.usage import Phase, Usage
from mnemoscope.engine.blocking import wait_for
from mnemoscope.evaluators.case import EvaluationCase
from mnemoscope.evaluators.graph import Evaluator
from mnemoscope.evaluators.judges.asking import ask
from mnemoscope.evaluators.judges.recording import writes_down
from mnemoscope.evaluators.judges.registry import JudgePorts, open_judge
from mnemoscope.evaluators.metrics.registry import default_metrics
from mnemoscope.graphs.reply import HiddenTrace, Reply
from mnemoscope.scenarios.records import Probe, Scenario

__all__ = ["REPLY_TOKENS", "judge_usage"]

REPLY_TOKENS = 120
"""Tokens of a reply by a model: some ninety words."""
_ANSWER_TOKENS = 60
"""Tokens of a judge's answer: a reason of at most 30 words, a quote and the verdict."""
_SAMPLE = 40
"""Probes of a scenario that are counted at most."""


def judge_usage(config: RunConfig, scenario: Scenario, probe_ids: Sequence[str]) -> Mapping[str, Usage] | None:
    """What judging one reply to each probe takes, in sum.

    Args:
        config: Which judge, and which model it asks.
        scenario: Holds the probes and their gold.
        probe_ids: The probes.

    Returns:
        Usage by model, empty for a judge that asks none. None: it cannot be told without asking.

    Raises:
        ConfigError: The judge cannot be opened.
    """
    models: dict[str, _Counting] = {}

    def opened(text: str | None) -> LanguageModel | None:
        named = text or config.judge_model or config.model
        return None if named is None else models.setdefault(named, _Counting(named))

    judge = open_judge(config.judge, JudgePorts(None, opened))
    if not models:
        return {}
    if writes_down(judge):
        return None
    if not probe_ids:
        return {}
    evaluator = Evaluator(default_metrics(), judge)
    probes: dict[str, Probe] = {probe.probe_id: probe for probe in scenario.probes}

    counted = probe_ids[:: -(-len(probe_ids) // _SAMPLE) or 1]

    async def count() -> None:
        for probe_id in counted:
            for question in evaluator.questions(_case(scenario, probes[probe_id])):
                await ask(judge, question)

    wait_for(count)
    return {name: _scaled(model.usage, len(probe_ids), len(counted)) for name, model in models.items()}


def _scaled(usage: Usage, wanted: int, counted: int) -> Usage:
    """What was counted on some probes, for all of them."""

    def all_of(count: int) -> int:
        return round(count * wanted / counted)

    calls = {phase: all_of(count) for phase, count in usage.calls_by_phase.items()}
    return Usage(calls, all_of(usage.prompt_tokens), all_of(usage.completion_tokens))


def _case(scenario: Scenario, probe: Probe) -> EvaluationCase:
    gold = scenario.gold_by_probe[probe.probe_id]
    said = next(iter(gold.answers), probe.text)
    filler = max(0, REPLY_TOKENS - estimate_tokens(said))
    reply = Reply(f"{said} {'yes ' * filler}".strip(), HiddenTrace(), None, None)
    return EvaluationCase(probe=probe, gold=gold, reply=reply, history=scenario.turns[: probe.cut.seq])


class _Counting:
    """In a model's place: it counts what it is sent and fails at once, so that no judge reads or repeats anything."""

    def __init__(self, key: str) -> None:
        self.key = key
        self.usage = Usage()

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        phase: Phase,
        schema: Mapping[str, object] | None = None,
        max_tokens: int | None = None,
        replicate: int = 0,
    ) -> Completion:
        """Count the call.

        Raises:
            EndpointError: Always.
        """
        sent = sum(estimate_tokens(message.content) for message in messages)
        self.usage += Usage({phase: 1}, prompt_tokens=sent, completion_tokens=_ANSWER_TOKENS)
        raise EndpointError("an estimate asks nothing", cause="refused")
