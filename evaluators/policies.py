"""Degenerate replies: what refusing, echoing, dumping, saying nothing and mere wording score on every metric.

A metric that one of these does well on measures that, too. Their figures are printed beside those of systems, and a
system that is not above one of them is marked `not better than` it: an aggregate over categories can be bought by
refusing where a category rewards refusals.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import replace

from mnemoscope.core.errors import ConfigError
from mnemoscope.evaluators.aggregate import aggregate
from mnemoscope.evaluators.case import EvaluationCase
from mnemoscope.evaluators.graph import Evaluator
from mnemoscope.evaluators.judges.judge import Judge
from mnemoscope.evaluators.metrics.metric import Metric
from mnemoscope.evaluators.metrics.surface import main_script
from mnemoscope.evaluators.rows import ALL, MetricRow, ProbeFacts, ScoreRow
from mnemoscope.graphs.reply import HiddenTrace, Reply
from mnemoscope.memory_backends.rendering import unit_text

__all__ = ["POLICIES", "policy_replies", "policy_table"]

POLICIES = ("refuse", "echo", "dump", "empty", "phrase")
"""Names, in the order of tables."""

_EVIDENCE = "policy"
"""Evidence class of their rows: never ranked with systems."""
_REFUSAL = {"Han": "对话中没有提到。"}
_PHRASE = {"Han": "你之前跟我说过，我都记得。再多说一点吧！"}
_REFUSAL_ELSE = "Not mentioned in the conversation."
_PHRASE_ELSE = "As you mentioned before, I remember everything you told me. Tell me more!"


def policy_replies(case: EvaluationCase) -> dict[str, str]:
    """The visible reply of each policy to one probe.

    - `refuse` says that it was not mentioned, in the words that LoCoMo's official scorer takes for a refusal
    - `echo` says what the user said
    - `dump` says everything: all memories of the pool where there is one, else every turn before the current session
    - `empty` says nothing
    - `phrase` says that it remembers, and nothing else

    Refusal and phrase are Chinese where most of the utterance is in Han script, else English.

    Args:
        case: The probe with its history; the reply in it is not read.

    Returns:
        Name to reply, in the order of `POLICIES`.
    """
    script = main_script(case.probe.text) or ""
    return {
        "refuse": _REFUSAL.get(script, _REFUSAL_ELSE),
        "echo": case.probe.text,
        "dump": "\n".join(_everything(case)),
        "empty": "",
        "phrase": _PHRASE.get(script, _PHRASE_ELSE),
    }


async def policy_table(
    metrics: Sequence[Metric],
    cases: Sequence[EvaluationCase],
    judge: Judge,
    *,
    clusters: Sequence[str] | None = None,
    categories: Sequence[str] = (),
    seed: int = 0,
    resamples: int = 2_000,
) -> tuple[MetricRow, ...]:
    """Figures of all policies on all metrics, as those of systems are made.

    A policy has no memory, so metrics of retrieval and of plans say that there is none. `dump` is read as far as the
    judge reads: the offline judge hears the first and the last 10,000 characters.

    Args:
        metrics: The metrics; those that the judge cannot serve are left out.
        cases: One per probe, of whichever system.
        judge: Answers the metrics' questions.
        clusters: Cluster of each case; None: every case is one of its own.
        categories: Strata that part the probes, for a row of stratum `macro` beside `all`.
        seed: Of all draws.
        resamples: Of the bootstrap.

    Returns:
        One row per metric, stratum and policy; `system` is the policy's name.

    Raises:
        ConfigError: Another number of clusters than of cases.
        BudgetStop: The judge may not be asked any more.
    """
    if clusters is not None and len(clusters) != len(cases):
        raise ConfigError(f"{len(clusters)} clusters for {len(cases)} cases; give one per case")
    evaluator = Evaluator(metrics, judge)
    rows: list[ScoreRow] = []
    probes: dict[tuple[str, str], ProbeFacts] = {}
    for place, case in enumerate(cases):
        scenario, probe = str(place), str(case.probe.probe_id)
        cluster = clusters[place] if clusters is not None else scenario
        probes[scenario, probe] = ProbeFacts(cluster, case.gold.strata, ALL)  # a case does not know its benchmark
        for policy, verdicts in await _evaluated(evaluator, case):
            rows += [ScoreRow(policy, scenario, probe, 0, *verdict) for verdict in verdicts]
    found = aggregate(
        rows,
        probes,
        systems=POLICIES,
        evidence=dict.fromkeys(POLICIES, _EVIDENCE),
        baseline="empty",
        categories=categories,
        seed=seed,
        resamples=resamples,
    )
    return found.metrics


_Scored = tuple[str, str, str, float | None, str, str]


async def _evaluated(evaluator: Evaluator, case: EvaluationCase) -> list[tuple[str, list[_Scored]]]:
    replies = policy_replies(case)
    done = await asyncio.gather(*(evaluator.evaluate(_answering(case, text)) for text in replies.values()))
    return [
        (policy, [(v.metric, v.subject, v.label, v.score, v.status, v.judge_key) for v in evaluation.verdicts])
        for policy, evaluation in zip(replies, done, strict=True)
    ]


def _answering(case: EvaluationCase, text: str) -> EvaluationCase:
    return replace(case, reply=Reply(text, HiddenTrace(), retrieval=None, plan=None))


def _everything(case: EvaluationCase) -> Iterator[str]:
    if case.pool_texts:
        yield from case.pool_texts.values()
        return
    yield from (unit_text(t) for t in case.history if not t.is_empty and t.turn_id not in case.recent_ids)
