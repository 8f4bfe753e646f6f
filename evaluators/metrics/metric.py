"""What a metric is: a named rule from one case, and a judge's answers where it needs some, to verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from mnemoscope.core.identity import canonical_json
from mnemoscope.evaluators.case import EvaluationCase
from mnemoscope.evaluators.judges.judge import Answers, Judge
from mnemoscope.evaluators.judges.question import Answer, Question, Task
from mnemoscope.evaluators.verdict import Verdict
from mnemoscope.scenarios.records import Gold, Probe

__all__ = [
    "JOINT",
    "Excluding",
    "Judged",
    "Metric",
    "Ruled",
    "concluded",
    "excluded",
    "failure",
    "judge_key",
    "rounded",
    "scored",
    "tasks_of",
]

JOINT = " + "
"""Between the parts of a key that is made of several."""


@runtime_checkable
class Metric(Protocol):
    """One metric with its parameters. `evaluate` is called only where `applies` holds and the cell did not fail."""

    @property
    def name(self) -> str:
        """A name that `METRICS.create` reads back as this metric."""

    @property
    def family(self) -> str:
        """Metrics of one family run in one node of the evaluator graph."""

    @property
    def lower_is_better(self) -> bool:
        """Whether a smaller value is the better one."""

    def applies(self, gold: Gold, probe: Probe) -> bool:
        """Whether the probe belongs to the metric's family; elsewhere nothing is emitted."""

    def evaluate(self, case: EvaluationCase, answers: Answers) -> list[Verdict]:
        """Verdicts on one case, in a fixed order; `not_applicable` with a reason where there is nothing to score.

        Args:
            case: The cell.
            answers: A judge's answers to the metric's own questions; empty for a metric that has none.
        """


@runtime_checkable
class Judged(Protocol):
    """A metric that rests on a judge: it says what it asks, and concludes from the answers without asking more."""

    @property
    def tasks(self) -> frozenset[Task]:
        """Every task of its questions; a judge that cannot do one of them cannot serve the metric."""

    def questions(self, case: EvaluationCase) -> Sequence[Question]:
        """What must be judged to evaluate this case; empty where there is nothing to score."""


@runtime_checkable
class Ruled(Protocol):
    """A judged metric that a rule of its own decides too: the rule's version is part of what verdicts are bound to."""

    @property
    def rule(self) -> str:
        """Name and version of the rule."""


@runtime_checkable
class Excluding(Protocol):
    """A metric that leaves some probes out whatever the reply, so that failing on them is no failure."""

    def exclusion(self, case: EvaluationCase) -> Verdict | None:
        """The exclusion that probe, gold and history alone decide; `evaluate` gives the same."""


def failure(metric: Metric, case: EvaluationCase, cause: str, raw: str = "") -> Verdict:
    """What a metric that applies makes of a cell without a reply: its exclusion, else an error with the cause."""
    out = metric.exclusion(case) if isinstance(metric, Excluding) else None
    return out or Verdict(metric.name, "reply", cause, None, "error", raw=raw)


def tasks_of(metric: Metric) -> frozenset[Task]:
    """The tasks that a metric needs a judge for; none for a rule."""
    return metric.tasks if isinstance(metric, Judged) else frozenset()


def judge_key(metric: Metric, judge: Judge) -> str:
    """What all verdicts of a metric by a judge are bound to; empty for a rule, whose verdicts name it themselves.

    It is made of the keys of every task that the metric may ask, whichever a case needs, so that all cells of one judge
    are one figure, failed ones and other benchmarks' included.

    Args:
        metric: The metric.
        judge: Can judge all of its tasks.
    """
    keys = sorted({judge.key(task) for task in tasks_of(metric)})
    return JOINT.join([metric.rule, *keys] if keys and isinstance(metric, Ruled) else keys)


def concluded(
    metric: str, answer: Answer, *, subject: str = "reply", label: str = "", figures: Mapping[str, object] | None = None
) -> Verdict:
    """One answer as a verdict: its score where there is one, else its status and reason.

    Args:
        metric: The metric's name.
        answer: A judge's answer.
        subject: Of the verdict.
        label: Instead of the answer's, where it is scored.
        figures: What stands behind the score, as JSON in `raw`; None: what the judge said.
    """
    is_scored = answer.status == "scored"
    score = rounded(answer.score) if is_scored and answer.score is not None else None
    return Verdict(
        metric,
        subject,
        (label if is_scored else "") or answer.label,
        score,
        answer.status,
        prompt_sha=answer.prompt_sha,
        raw=canonical_json(dict(figures)) if figures else answer.raw,
        quote=answer.quote,
        agreement=answer.agreement,
        flags=answer.flags,
    )


def rounded(score: float) -> float:
    """Scores are kept to six places, so that content hashes do not depend on the last bits."""
    return round(float(score), 6)


def scored(
    metric: str,
    score: float,
    label: str,
    *,
    subject: str = "reply",
    judge_key: str = "",
    quote: str = "",
    figures: Mapping[str, object] | None = None,
) -> Verdict:
    """A score with the figures behind it as JSON in `raw`."""
    raw = canonical_json(dict(figures)) if figures else ""
    return Verdict(metric, subject, label, rounded(score), judge_key=judge_key, raw=raw, quote=quote)


def excluded(
    metric: str,
    reason: str,
    *,
    subject: str = "reply",
    judge_key: str = "",
    figures: Mapping[str, object] | None = None,
) -> Verdict:
    """No score, and why; the reason is the label, and exclusions are counted by it."""
    raw = canonical_json(dict(figures)) if figures else ""
    return Verdict(metric, subject, reason, None, "not_applicable", judge_key=judge_key, raw=raw)
