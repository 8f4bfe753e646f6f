"""What tests of judged metrics share: a metric's verdicts on a case, its questions put to a judge."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from mnemoscope.evaluators.case import EvaluationCase
from mnemoscope.evaluators.judges.judge import Answers, Judge
from mnemoscope.evaluators.judges.offline.judge import OfflineJudge
from mnemoscope.evaluators.metrics.metric import Judged, Metric, judge_key
from mnemoscope.evaluators.metrics.registry import METRICS
from mnemoscope.evaluators.verdict import Verdict

OFFLINE = OfflineJudge()


def verdicts_of(metric: str | Metric, case: EvaluationCase, judge: Judge = OFFLINE) -> list[Verdict]:
    """A metric's verdicts as an evaluator signs them, by the offline judge unless another is given."""
    made = METRICS.create(metric) if isinstance(metric, str) else metric
    questions = made.questions(case) if isinstance(made, Judged) else ()

    async def ask() -> Answers:
        return Answers({question: await judge.judge(question) for question in questions})

    key = judge_key(made, judge)
    found = made.evaluate(case, asyncio.run(ask()))
    return [replace(verdict, judge_key=key) for verdict in found] if key else found
