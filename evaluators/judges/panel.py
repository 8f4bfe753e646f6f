"""A panel: several judges answer, and the label that most of them give stands."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from mnemoscope.core.errors import ConfigError
from mnemoscope.core.identity import canonical_json
from mnemoscope.core.spec import parse_spec, split_outside
from mnemoscope.core.usage import Usage
from mnemoscope.evaluators.judges.asking import ask
from mnemoscope.evaluators.judges.judge import Answers, Judge
from mnemoscope.evaluators.judges.question import Answer, Question, Task
from mnemoscope.evaluators.judges.scales import scale_of
from mnemoscope.evaluators.judges.voting import NO_MAJORITY, vote

if TYPE_CHECKING:
    from mnemoscope.evaluators.judges.registry import JudgePorts

__all__ = ["Panel", "is_panel", "member_labels", "panel"]


class Panel:
    """Asks every member that can judge the task, and takes the label that more than half of them give.

    On scales (`quality`, `fact-use`, `grounding`, the axes, `others`) it is the label in the middle. A tie is `invalid`
    with the label `no majority`. Members whose answer is invalid or an error do not vote; where no more than half of
    the members vote, the panel's answer has the gravest of their statuses. `raw` keeps every member's answer, and
    `member_labels` reads it.

    Args:
        members: At least two judges with different names.

    Raises:
        ConfigError: Fewer than two members, or one twice.
    """

    def __init__(self, members: Sequence[Judge]) -> None:
        names = [member.name for member in members]
        if len(names) < 2:
            raise ConfigError("a panel has at least two judges; write panel(offline+llm(votes=3))")
        if doubled := [name for name, count in Counter(names).items() if count > 1]:
            raise ConfigError(f"judge {doubled[0]!r} sits twice on the panel; one judge has one vote")
        self.members = tuple(members)

    @property
    def name(self) -> str:
        """`panel(A+B+…)`, members in the order given."""
        return f"panel({'+'.join(member.name for member in self.members)})"

    def key(self, task: Task) -> str:
        """The keys of the members that can judge the task; empty where fewer than two can."""
        keys = [member.key(task) for member in self._able(task)]
        return f"panel({'+'.join(keys)})" if len(keys) >= 2 else ""

    async def judge(self, question: Question) -> tuple[Answer, ...]:
        """One answer per subject, in the order of the first member's."""
        key = self.key(question.task)
        if not key:
            reason = f"fewer than two of {self.name} judge {question.task}"
            return (Answer(reason, None, status="not_applicable"),)
        able = self._able(question.task)
        answered = await asyncio.gather(*(ask(member, question) for member in able), return_exceptions=True)
        for result in answered:
            if isinstance(result, BaseException):
                raise result
        given = [result for result in answered if not isinstance(result, BaseException)]
        said = {m.name: Answers({question: result}) for m, result in zip(able, given, strict=True)}
        answers = [
            _decided(question.task, key, subject, {name: of.one(question, subject) for name, of in said.items()})
            for subject in _subjects(given)
        ]
        spent = sum((answer.usage for result in given for answer in result), Usage())
        return (replace(answers[0], usage=spent), *answers[1:])

    def _able(self, task: Task) -> tuple[Judge, ...]:
        return tuple(member for member in self.members if member.key(task))


def panel(members: str) -> Callable[[JudgePorts], Judge]:
    """Several judges answer; the label that most of them give stands, a tie is `invalid`.

    Args:
        members: Names of judges, joined by `+`; at least two.
    """

    def opened(ports: JudgePorts) -> Judge:
        from mnemoscope.evaluators.judges.registry import open_judge

        return Panel([open_judge(name, ports) for name in split_outside(str(members), "+") if name.strip()])

    return opened


def is_panel(judge: str) -> bool:
    """Whether a judge of this name is a panel, recorded while it judges or not: its votes are of several judges.

    Example:
        >>> is_panel("recording(panel(offline+llm),file=said.jsonl)"), is_panel("llm(votes=3)")
        (True, False)
    """
    spec = parse_spec(judge)
    return spec.name == "panel" or (spec.name == "recording" and any(is_panel(str(inner)) for inner in spec.args))


def member_labels(raw: str) -> dict[str, str | None]:
    """Label per member from a panel answer's `raw`; None where a member gave none."""
    return {row["judge"]: row["label"] if row["status"] == "scored" else None for row in json.loads(raw)}


def _subjects(given: Iterable[Sequence[Answer]]) -> Iterable[str]:
    """What the members answered about, in order; a failure on the whole question is no subject beside facts."""
    subjects = dict.fromkeys(answer.subject for result in given for answer in result)
    return [subject for subject in subjects if subject != "reply"] or subjects


def _decided(task: Task, key: str, subject: str, by_member: Mapping[str, Answer]) -> Answer:
    answers = list(by_member.values())
    raw = canonical_json([_row(name, answer) for name, answer in by_member.items()])
    flags = tuple(dict.fromkeys(flag for answer in answers for flag in answer.flags))
    shared = Answer("", None, subject, "invalid", judge_key=key, raw=raw, flags=flags)
    voting = [answer for answer in answers if answer.status == "scored"]
    if len(voting) * 2 <= len(answers):
        failed = [answer for answer in answers if answer.status != "scored"]
        worst = max(failed, key=lambda a: ("not_applicable", "invalid", "error").index(a.status))
        return replace(shared, label=worst.label, status=worst.status)
    labels = [answer.label for answer in voting]
    won = vote(labels, scale_of(task, subject, labels))
    if won.label is None:
        return replace(shared, label=NO_MAJORITY, agreement=won.agreement)
    winners = [answer for answer in voting if answer.label == won.label]
    quote = next((answer.quote for answer in winners if answer.quote), "")
    return replace(
        shared, label=won.label, score=winners[0].score, status="scored", quote=quote, agreement=won.agreement
    )


def _row(name: str, answer: Answer) -> dict[str, object]:
    return {
        "judge": name,
        "key": answer.judge_key,
        "label": answer.label,
        "score": answer.score,
        "status": answer.status,
        "quote": answer.quote,
        "prompt_sha": answer.prompt_sha,
        "raw": answer.raw,
    }
