"""What judged metrics share: one verdict from several answers, shares over facts, and the memory block as context."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from mnemoscope.core.identity import canonical_json, sha256_of
from mnemoscope.evaluators.case import EvaluationCase
from mnemoscope.evaluators.judges.judge import Answers, unscored
from mnemoscope.evaluators.judges.question import Answer, Fact, Question
from mnemoscope.evaluators.metrics.metric import concluded, rounded
from mnemoscope.evaluators.verdict import Verdict
from mnemoscope.memory_backends.rendering import render_block, unit_text

__all__ = ["Tally", "best_of", "facts_of", "given_block", "joint", "tally_of"]


def facts_of(case: EvaluationCase) -> tuple[Fact, ...]:
    """The gold facts as a judge is asked about them."""
    return tuple(Fact(fact.fact_id, fact.text) for fact in case.gold.facts)


def given_block(case: EvaluationCase) -> str:
    """What the system was given to answer from: the memory block, then the current session. Empty: neither."""
    retrieval = case.reply.retrieval
    block = render_block(retrieval.given_items) if retrieval is not None else ""
    recent = "\n".join(unit_text(turn) for turn in case.probe.recent_turns if not turn.is_empty)
    return "\n\n".join(part for part in (block, recent) if part)


def joint(
    metric: str,
    answers: Sequence[Answer],
    score: float,
    label: str,
    *,
    subject: str = "reply",
    figures: Mapping[str, object] | None = None,
) -> Verdict:
    """One scored verdict that rests on several answers; agreement is that of the least agreed one."""
    agreements = [answer.agreement for answer in answers if answer.agreement is not None]
    return Verdict(
        metric,
        subject,
        label,
        rounded(score),
        prompt_sha=_joint_sha(answers),
        raw=canonical_json(dict(figures)) if figures else "",
        quote=next((answer.quote for answer in answers if answer.quote and answer.score), ""),
        agreement=min(agreements, default=None),
        flags=tuple(sorted({flag for answer in answers for flag in answer.flags})),
    )


def best_of(metric: str, answers: Sequence[Answer]) -> Verdict:
    """The best of several answers to one question put in several ways, such as once per accepted answer.

    One that is not scored decides only where none of the others has the full score.
    """
    scored = [(answer.score, -place) for place, answer in enumerate(answers) if answer.score is not None]
    best = max(scored, default=(0.0, 0))
    missing = unscored(metric, answers)
    return missing if missing is not None and best[0] < 1 else concluded(metric, answers[-best[1]])


@dataclass(frozen=True, slots=True)
class Tally:
    """Which of a question's facts a judge found; facts that it failed on are neither found nor missed."""

    answers: tuple[Answer, ...]
    """One per fact, in the order of the question."""
    found: int
    judged: int

    @property
    def label(self) -> str:
        """`all`, `some` or `none` of the judged facts."""
        return "none" if not self.found else "all" if self.found == self.judged else "some"

    def missing(self, metric: str) -> Verdict | None:
        """The gravest of the answers that are not scored, with how many are; None where all facts are judged."""
        verdict = unscored(metric, self.answers)
        return None if verdict is None else replace(verdict, raw=canonical_json(self.figures(said=verdict.raw)))

    def figures(self, **more: object) -> dict[str, object]:
        """Found, judged and all facts, for `raw`."""
        return {"found": self.found, "judged": self.judged, "facts": len(self.answers), **more}


def tally_of(answers: Answers, question: Question) -> Tally:
    """The answers on a question's facts, joined by fact id; what no id asks about is left alone."""
    per_fact = tuple(answers.one(question, fact.fact_id) for fact in question.facts)
    scores = [answer.score for answer in per_fact if answer.score is not None]
    return Tally(per_fact, sum(score > 0 for score in scores), len(scores))


def _joint_sha(answers: Sequence[Answer]) -> str:
    shas = sorted({answer.prompt_sha for answer in answers if answer.prompt_sha})
    return shas[0] if len(shas) == 1 else sha256_of(canonical_json(shas)) if shas else ""
