"""Asking a judge, anyone's: what comes back is checked, so that no answer outside the contract becomes a figure."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import get_args

from mnemoscope.core.errors import BudgetStop, shown
from mnemoscope.core.identity import sha256_of
from mnemoscope.core.usage import Usage
from mnemoscope.evaluators.judges.judge import Composite, Judge
from mnemoscope.evaluators.judges.question import Answer, Question
from mnemoscope.evaluators.judges.scales import LABELS, label_score
from mnemoscope.evaluators.verdict import JUDGE_ERROR, VerdictStatus

__all__ = ["RAW_LIMIT", "ask", "cut_raw"]

RAW_LIMIT = 20_000
"""Characters of an answer's `raw` that are kept; a model that rambles must not fill the run file."""
_STATUSES = get_args(VerdictStatus)


async def ask(judge: Judge, question: Question) -> tuple[Answer, ...]:
    """The answers of a judge to one question, each bound to the judge's key.

    A judge that raises, and one whose answer breaks the contract of `Judge` (no answers, a label that the task does not
    have, a score that is not the label's, an unknown status, another key, text that cannot be stored), gives one answer
    with status `error`; `raw` says what was wrong. An answer without a key gets the judge's. `raw` is cut at
    `RAW_LIMIT`, for a judge that asks others the `raw` of each of them.

    Args:
        judge: The judge, built in or a user's.
        question: What it is asked.

    Raises:
        BudgetStop: The judge may not be asked any more.
    """
    key = judge.key(question.task)
    try:
        given = await judge.judge(question)
    except BudgetStop:
        raise
    except Exception as error:  # a judge's failure is an answer, never the end of its siblings
        return (_failed(type(error).__name__, f"{type(error).__name__}: {error}", key),)
    if fault := _first_fault(question, given, key):
        return (_failed("bad-answer", f"{judge.name}, task {question.task}: {fault}", key),)
    limit = None if isinstance(judge, Composite) else RAW_LIMIT
    return tuple(replace(answer, judge_key=key, raw=cut_raw(answer.raw, limit)) for answer in given)


def cut_raw(text: str, limit: int | None = RAW_LIMIT) -> str:
    """The beginning of a text that is longer than the limit, then its length and hash.

    Args:
        text: What a judge said.
        limit: Characters of the result; None: all. The marker alone takes about a hundred.

    Example:
        >>> cut_raw("no" * 100, 106)
        'nonononono… [cut: 200 characters, sha256 b5c5c5fc89da8630d0ff7030de7ff69f669895230daa74bbbf49de6cd54ca916]'
    """
    if limit is None or len(text) <= limit:
        return text
    marker = f"… [cut: {len(text):,} characters, sha256 {sha256_of(text.encode(errors='surrogatepass'))}]"
    return text[: max(0, limit - len(marker))] + marker


def _first_fault(question: Question, given: object, key: str) -> str:
    """What breaks the contract, with the value seen and what to do; empty: nothing does."""
    if not isinstance(given, tuple):
        return f"judge() gave {shown(given)}; return a tuple of Answer"
    faults = (_fault(question, answer, key) for answer in given)
    return next(filter(None, faults), "") if given else "no answers; give one per subject"


def _fault(question: Question, answer: object, key: str) -> str:
    if not isinstance(answer, Answer):
        return f"judge() gave {shown(answer)} among its answers; return a tuple of Answer"
    if not isinstance(answer.flags, tuple) or not isinstance(answer.usage, Usage):
        return f"flags are {shown(answer.flags)} and usage is {shown(answer.usage)}; give a tuple and a Usage"
    if answer.agreement is not None and not (_is_number(answer.agreement) and 0 <= answer.agreement <= 1):
        return f"agreement is {shown(answer.agreement)}; give a share, 0 to 1, or None"
    texts = (answer.label, answer.subject, answer.judge_key, answer.prompt_sha, answer.raw, answer.quote, *answer.flags)
    if unstorable := [text for text in texts if not _is_text(text)]:
        return f"{shown(unstorable[0])} is not text that can be stored; give Unicode text"
    if answer.judge_key not in ("", key):
        return f"judge_key is {shown(answer.judge_key)}; give key({question.task!r}), {shown(key)}"
    if answer.status not in _STATUSES:
        return f"status is {shown(answer.status)}; use one of {', '.join(_STATUSES)}"
    if answer.status != "scored":
        return "" if answer.score is None else f"status {answer.status} has the score {answer.score}; give None"
    return _fault_of_score(question, answer)


def _fault_of_score(question: Question, answer: Answer) -> str:
    score = label_score(question.task, answer.label, answer.subject)
    if score is None:
        return f"label is {shown(answer.label)}; use one of {', '.join(LABELS[question.task])}"
    if not _is_number(answer.score) or answer.score != score:
        return f"label {answer.label!r} has the score {shown(answer.score)}; it is {score:g}"
    return ""


def _failed(cause: str, said: str, key: str) -> Answer:
    raw = cut_raw(said.encode("utf-8", "backslashreplace").decode())
    return Answer(f"{JUDGE_ERROR}{cause}", None, status="error", judge_key=key, raw=raw)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and math.isfinite(value)


def _is_text(text: object) -> bool:
    if not isinstance(text, str):
        return False
    try:
        text.encode()
    except UnicodeEncodeError:  # a lone surrogate
        return False
    return True
