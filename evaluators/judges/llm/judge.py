"""The model judge: fenced data, strict reading, evidence that is looked up, votes, and never a no for a failure."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Iterable, Sequence
from dataclasses import replace

from mnemoscope.core.errors import ConfigError, EndpointError
from mnemoscope.core.identity import canonical_json, sha256_of
from mnemoscope.core.ports import LanguageModel
from mnemoscope.core.spec import Spec, Value
from mnemoscope.core.usage import Usage
from mnemoscope.evaluators.judges.asking import RAW_LIMIT, cut_raw
from mnemoscope.evaluators.judges.injection import talks_to_judge
from mnemoscope.evaluators.judges.llm.ballot import UNFOUND, Ballot, Said, read_ballot, subjects
from mnemoscope.evaluators.judges.llm.prompts import PROMPTS
from mnemoscope.evaluators.judges.llm.prompts.prompt import Rendered, TaskPrompt
from mnemoscope.evaluators.judges.llm.released import released_form
from mnemoscope.evaluators.judges.parsing.release import cut_reference
from mnemoscope.evaluators.judges.question import Answer, Question, Task
from mnemoscope.evaluators.judges.scales import label_score, scale_of
from mnemoscope.evaluators.judges.voting import NO_MAJORITY, vote
from mnemoscope.evaluators.verdict import JUDGE_ERROR, VerdictStatus

__all__ = ["LlmJudge"]

_READER = "strict-1"
"""Name and version of how answers are read; part of every key."""
_WIDER = 4
"""A reply that the limit cut is asked for again with this many times the tokens."""
_CUT = frozenset({"truncated", "empty"})
_MENDABLE = frozenset({*_CUT, UNFOUND, "missing", "duplicate"})
"""Faults that a second asking often mends; others are asked again only where votes run short."""
_NOTES = {
    UNFOUND: "Copy the quote word for word from the reply: the last one was not found there.",
    "missing": "Every part of the form is needed: the last answer left one out.",
    "duplicate": "Each number has exactly one entry: the last answer had one twice.",
}
_NOTE = "Keep to the form: the last answer could not be read."


class LlmJudge:
    """Asks a language model each question in the words of its task, several times if wanted.

    Replies, memories and all other data stand between fences that no text can close (`fencing`). A verdict is read from
    a JSON field or a plain word, never guessed. Where the task wants evidence, a positive verdict counts only if its
    quote stands in the reply and does not itself talk to the judge; else the vote is asked for once more, and is then
    void with the flag `unfound-quote`. A cut or empty reply is asked for once more with four times the tokens; so are
    missing or doubled facts. Votes that cannot be read are void; where fewer than half can, these are asked for again,
    one of them first where none could: a model that cannot be read takes one request more than it has votes.
    What is still void is `invalid`, a tie is `invalid` with the label `no majority`, and an endpoint that fails is an
    `error` with the label `judge-error:` and the cause. None of them is ever a no.

    The flag `injection` means that the reply, a memory or another piece of the data talks to the judge.

    Args:
        model: The model that judges.
        votes: How often each question is asked, 1 to 99; None: three times for `use`, as StratMem-Bench does, and once
            for all else.
        parser: `strict`, or a release's own way of reading: `locomo-conv`, `memuse` or `longmemeval`. Those reproduce
            published figures, errors of reading included, ask for a bare verdict, and serve only the tasks of that
            release.
        expected_cut: Characters of the expected text that the judge sees; None: all, or the cut that the parser's
            release makes (`memuse`: 300).
        seed: Of the fences' codes.
        model_text: The text that opened the model, where the judge's own name gives it.

    Raises:
        ConfigError: A parameter out of range, or an unknown parser.
    """

    def __init__(
        self,
        model: LanguageModel,
        *,
        votes: int | None = None,
        parser: str = "strict",
        expected_cut: int | None = None,
        seed: int = 0,
        model_text: str | None = None,
    ) -> None:
        if votes is not None and not (isinstance(votes, int) and 1 <= votes <= 99):
            raise ConfigError(f"judge llm: votes is {votes!r}; write a whole number from 1 to 99")
        if expected_cut is not None and not (isinstance(expected_cut, int) and expected_cut >= 1):
            raise ConfigError(f"judge llm: expected_cut is {expected_cut!r}; write a number of characters, such as 300")
        self._model, self._votes, self._seed = model, votes, seed
        self._released = None if parser == "strict" else released_form(parser)
        self._given_cut = expected_cut
        self._cut = expected_cut or (self._released.cut if self._released else None)
        self._text = model_text

    @property
    def name(self) -> str:
        """`llm` with the parameters that are not the default."""
        given: dict[str, Value | None] = {
            "model": self._text,
            "votes": self._votes,
            "parser": self._released.name if self._released else None,
            "expected_cut": self._given_cut,
            "seed": self._seed or None,
        }
        return str(Spec("llm", (), {name: value for name, value in given.items() if value is not None}))

    def key(self, task: Task) -> str:
        """Task, prompt, votes, reader, cut and model; empty for a task that the chosen release does not have."""
        if self._released is not None and task not in self._released.tasks:
            return ""
        prompt = self._prompt(task)
        parts: dict[str, Value] = {
            "task": task,
            "prompt": prompt.template_sha(plain=self._released is not None)[:12],
            "votes": self._count(task),
            "parser": self._released.key if self._released else _READER,
        }
        if self._cut is not None:
            parts["expected_cut"] = self._cut
        if self._seed:
            parts["seed"] = self._seed
        return str(Spec("llm", (), {**parts, "model": self._model.key}))

    async def judge(self, question: Question) -> tuple[Answer, ...]:
        """One answer per subject, in the order of the question.

        Raises:
            BudgetStop: The model may not be asked any more.
        """
        key = self.key(question.task)
        prompt = self._prompt(question.task)
        if not key or (prompt.form == "items" and not question.facts):
            reason = "no fact to judge" if key else f"{self.name} does not judge {question.task}"
            return (Answer(reason, None, status="not_applicable", judge_key=key),)
        if self._cut is not None:
            question = replace(question, expected=cut_reference(question.expected, self._cut))
        ballots = await self._ballots(prompt, question)
        flags = ("injection",) if _talks(question) else ()
        shared = Answer("", None, judge_key=key, prompt_sha=self._rendered(prompt, question, 0).sha, raw=_raw(ballots))
        answers = [_answer(prompt, shared, subject, ballots, flags) for subject in subjects(prompt, question)]
        spent = sum((ballot.usage for ballot in ballots), Usage())
        return (replace(answers[0], usage=spent), *answers[1:])

    def _count(self, task: Task) -> int:
        return self._votes if self._votes is not None else 3 if task == "use" and self._released is None else 1

    def _prompt(self, task: Task) -> TaskPrompt:
        return self._released.prompt(task) if self._released is not None else PROMPTS[task]

    async def _ballots(self, prompt: TaskPrompt, question: Question) -> list[Ballot]:
        """All votes: a first round, and a second one for those that it may help."""
        count = self._count(prompt.task)
        ballots = await _all(self._ask(prompt, question, replicate) for replicate in range(count))
        if self._released is not None:
            return ballots
        again = [n for n, ballot in enumerate(ballots) if _worth_asking_again(ballot, ballots)]
        if not any(ballot.has_label for ballot in ballots):
            # A model that no vote could be read of is asked once more before the others are.
            scouts, again = again[:1], again[1:]
            await self._ask_again(prompt, question, ballots, scouts)
            if not any(ballots[n].has_label for n in scouts):
                return ballots
        await self._ask_again(prompt, question, ballots, again)
        return ballots

    async def _ask_again(
        self, prompt: TaskPrompt, question: Question, ballots: list[Ballot], again: Sequence[int]
    ) -> None:
        """Put the answer of a second asking in the place of each of these."""
        count = self._count(prompt.task)
        seconds = await _all(self._ask(prompt, question, count + n, ballots[n]) for n in again)
        for n, second in zip(again, seconds, strict=True):
            ballots[n] = second.after(ballots[n])

    async def _ask(
        self, prompt: TaskPrompt, question: Question, replicate: int, before: Ballot | None = None
    ) -> Ballot:
        faults = before.faults if before is not None else frozenset()
        cut = bool(faults & _CUT)
        note = "" if cut or not faults else " ".join(_NOTES.get(fault, _NOTE) for fault in sorted(faults))
        rendered = self._rendered(prompt, question, replicate, note)
        limit = prompt.max_tokens(question) * (_WIDER if cut else 1)
        try:
            completion = await self._model.complete(
                rendered.messages,
                phase="judge",
                schema=rendered.schema or None,
                max_tokens=limit,
                replicate=replicate,
            )
        except EndpointError as error:
            return Ballot(
                dict.fromkeys(subjects(prompt, question), Said(fault=f"{JUDGE_ERROR}{error.cause}")),
                (str(error),),
                error.usage,
            )
        if self._released is not None:
            said = self._released.read(prompt, question, completion)
            return Ballot(said, (completion.text,), completion.usage)
        ballot = read_ballot(prompt, question, completion)
        return _unswapped(ballot) if _is_swapped(prompt, question, replicate) else ballot

    def _rendered(self, prompt: TaskPrompt, question: Question, replicate: int, note: str = "") -> Rendered:
        if _is_swapped(prompt, question, replicate):
            question = replace(question, reply=question.other, other=question.reply)
        return prompt.render(question, note=note, plain=self._released is not None, seed=self._seed)


async def _all(calls: Iterable[Awaitable[Ballot]]) -> list[Ballot]:
    """All of them at once; where the budget ends, the others are waited for, so that none goes on unseen."""
    done = await asyncio.gather(*calls, return_exceptions=True)
    for result in done:
        if isinstance(result, BaseException):
            raise result
    return [result for result in done if isinstance(result, Ballot)]


def _worth_asking_again(ballot: Ballot, ballots: Sequence[Ballot]) -> bool:
    """A fault that asking again mends, or one of too many; an endpoint that failed was asked often enough."""
    faults = {fault for fault in ballot.faults if not fault.startswith(JUDGE_ERROR)}
    if faults & _MENDABLE:
        return True
    valid = sum(not other.faults for other in ballots)
    return bool(faults) and valid < _needed(len(ballots))


def _needed(votes: int) -> int:
    return (votes + 1) // 2


def _answer(
    prompt: TaskPrompt, shared: Answer, subject: str, ballots: Sequence[Ballot], flags: tuple[str, ...]
) -> Answer:
    """What the votes make of one subject."""
    said = [ballot.said[subject] for ballot in ballots]
    valid = [one for one in said if not one.fault]
    if len(valid) < _needed(len(said)):
        fault = _gravest(one.fault for one in said if one.fault)
        status: VerdictStatus = "error" if fault.startswith(JUDGE_ERROR) else "invalid"
        return replace(shared, label=fault, subject=subject, status=status, flags=_merged(flags, said))
    won = vote([one.label for one in valid], scale_of(prompt.task, subject, [one.label for one in valid]))
    if won.label is None:
        tied = replace(shared, label=NO_MAJORITY, subject=subject, status="invalid", agreement=won.agreement)
        return replace(tied, flags=_merged(flags, valid))
    winners = [one for one in valid if one.label == won.label]
    return replace(
        shared,
        label=won.label,
        score=label_score(prompt.task, won.label, subject),
        subject=subject,
        quote=next((one.quote for one in winners if one.quote), ""),
        agreement=won.agreement if len(said) > 1 else None,
        flags=_merged(flags, winners),
    )


def _gravest(faults: Iterable[str]) -> str:
    """The endpoint's failure before the judge's, and of several the commonest."""
    counts = Counter(faults)
    return min(counts, key=lambda fault: (not fault.startswith(JUDGE_ERROR), -counts[fault], fault))


def _merged(flags: tuple[str, ...], said: Iterable[Said]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*flags, *(flag for one in said for flag in one.flags))))


def _raw(ballots: Sequence[Ballot]) -> str:
    raws = [raw for ballot in ballots for raw in ballot.raws]
    return raws[0] if len(raws) == 1 else canonical_json([cut_raw(raw, RAW_LIMIT // len(raws)) for raw in raws])


def _talks(question: Question) -> bool:
    shown = (question.reply, question.other, question.utterance, question.context, question.expected, question.premise)
    return any(talks_to_judge(text) for text in (*shown, *(fact.text for fact in question.facts)) if text)


def _is_swapped(prompt: TaskPrompt, question: Question, replicate: int) -> bool:
    """Whether the second reply of a pair is shown first: decided by the texts, and turned with every vote."""
    if "other" not in prompt.shows:
        return False
    return (int(sha256_of(canonical_json([question.reply, question.other])), 16) + replicate) % 2 == 1


def _unswapped(ballot: Ballot) -> Ballot:
    turned = {"first": "second", "second": "first"}
    said = {name: replace(one, label=turned.get(one.label, one.label)) for name, one in ballot.said.items()}
    return replace(ballot, said=said)
