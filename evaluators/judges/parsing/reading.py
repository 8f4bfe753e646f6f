"""What comes before a label is looked for: why a reply ended, what of it is thinking, and what a failure is called."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, Literal, TypeVar

import regex

from mnemoscope.core.structured import read_structured

__all__ = ["Parsed", "Problem", "ProblemKind", "failed", "read", "visible_text"]

T = TypeVar("T")

ProblemKind = Literal[
    "truncated",
    "empty",
    "refused",
    "filtered",
    "unparseable",
    "wrong-type",
    "out-of-range",
    "missing",
    "duplicate",
]
"""Why there is no value. The first four are the judge's endpoint or its will; the others are what it wrote."""

CUT_OFF = "cut-off"
"""Repair of a value that stands whole in a reply which the token limit cut."""

_CUT = frozenset({"length", "max_tokens", "max_output_tokens", "model_length"})
_FILTERED = frozenset({"content_filter", "safety", "recitation", "blocklist", "prohibited_content", "spii"})

_NAMES = "think|thinking|thought|thoughts|reasoning|reflection|analysis|scratchpad|seed:think"
_TAG_STYLES = (
    (rf"<(?:{_NAMES})(?:\s[^<>]*)?>", rf"</(?:{_NAMES})\s*>"),
    (r"\[think(?:ing)?\]", r"\[/think(?:ing)?\]"),
    (r"◁think▷", r"◁/think▷"),
    (r"<\|(?:begin_of_thought|start_thinking)\|>", r"<\|(?:end_of_thought|end_thinking)\|>"),
    (r"<\|channel\|>\s*(?:analysis|commentary)\s*<\|message\|>", r"<\|end\|>"),
)
"""Tags around thinking: opening and closing, as several model families write them."""
_OPENING = regex.compile("|".join(opening for opening, _ in _TAG_STYLES), regex.IGNORECASE)
_CLOSING = regex.compile("|".join(closing for _, closing in _TAG_STYLES), regex.IGNORECASE)
_FRAME = regex.compile(r"<\|(?:start|end|return|im_end)\|>(?:assistant)?|<\|channel\|>\s*final\s*<\|message\|>")
_WHOLE_FENCE = regex.compile(r"```(?:[\w+-]*[^\S\n]*\n)?(?P<inside>.*)```", regex.DOTALL)

_DEED = (
    r"(?:assist|help|comply|fulfil|grad|judg|evaluat|assess|rat(?:e|ing)\b|scor|provid|answer|continu|engag|participat|"
    r"determin|decid|do (?:that|this))"
)
_REFUSAL = regex.compile(
    rf"\b(?:can(?:no|['’]?)t|can not|won['’]?t|will not|unable to|not able to|not (?:comfortable|allowed)|decline to|"
    rf"refuse to)\b[^.!?\n]{{0,40}}?\b{_DEED}"
    r"|\bas an ai\b"
    r"|(?:无法|不能|不便|拒绝)[^。！？\n]{0,10}?(?:协助|帮助|评估|评判|判断|评分|打分|回答|提供|完成|满足)",
    regex.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a reply has no value: a kind that is counted, and a sentence that a person reads."""

    kind: ProblemKind
    message: str


@dataclass(frozen=True, slots=True)
class Parsed(Generic[T]):
    """What a reply says: a value or a problem, never both and never neither."""

    value: T | None = None
    problem: Problem | None = None
    repairs: tuple[str, ...] = ()
    """What had to be put up with, each kind once: those of `core.structured`, `think`, `template-token`, `fence`,
    `repeated` (an index said twice) and `cut-off` (the value is whole though the token limit cut the reply)."""


def failed(kind: ProblemKind, message: str) -> Parsed[T]:
    """A reading without a value."""
    return Parsed(problem=Problem(kind, message))


def shown(text: object) -> str:
    """A value seen, short enough for a message."""
    said = repr(text)
    return said if len(said) <= 80 else f"{said[:60]}…{said[-12:]}"


def read(text: str | None, finish_reason: str | None, parse: Callable[[str], Parsed[T]]) -> Parsed[T]:
    """Read a judge's reply: first why it ended, then its visible text, then `parse`.

    A reply that the token limit cut has a value only where one stands whole in it; everything else about it is
    `truncated`. A number at its very end may have lost digits and does not count.

    Args:
        text: The reply as received; None where the endpoint sent none.
        finish_reason: Why it ended, as the endpoint names it; several vendors' words are known.
        parse: Reads a visible text that is not empty.

    Returns:
        A value, or a problem. Nothing is raised for any text.
    """
    reason = (finish_reason or "").strip().lower()
    if reason in _FILTERED:
        return failed("filtered", "the judge's reply was held back by a content filter")
    if reason == "refusal":
        return failed("refused", "the judge's endpoint reports a refusal")
    visible, repairs = visible_text(text or "")
    if not visible:
        if reason in _CUT:
            return failed("truncated", "the token limit was spent before the judge said anything visible")
        return failed("empty", "the judge's reply holds only thinking" if repairs else "the judge's reply is empty")
    parsed = parse(visible)
    if reason in _CUT and (parsed.problem is not None or visible[-1].isdigit()):
        return failed("truncated", f"the token limit cut the judge's reply: {shown(visible)}")
    if parsed.problem is not None and parsed.problem.kind == "unparseable" and _REFUSAL.search(visible):
        return failed("refused", f"the judge refuses: {shown(visible)}")
    if parsed.problem is not None:
        return parsed
    cut = (CUT_OFF,) if reason in _CUT else ()
    return replace(parsed, repairs=tuple(dict.fromkeys((*repairs, *parsed.repairs, *cut))))


def visible_text(text: str) -> tuple[str, tuple[str, ...]]:
    """A reply without thinking and without a code fence around the whole of it.

    A thinking block that never ends hides the rest; an end without a beginning hides what is before it, because some
    servers put the beginning into the prompt. Tags inside of a reply that is one JSON object are its text, not tags.

    Returns:
        The text, and the repairs `think`, `template-token` and `fence`.

    Example:
        >>> visible_text("<think>yes? the city is wrong</think>no")
        ('no', ('think',))
    """
    repairs: list[str] = []
    current = _unfenced(text.strip(), repairs)
    if _is_object(current):
        return current, tuple(repairs)
    marks = sorted((*_OPENING.finditer(current), *_CLOSING.finditer(current)), key=lambda mark: mark.start())
    if marks:
        repairs.append("think")
        current = _without_thinking(current, marks)
    if (bare := _FRAME.sub("", current)) != current:
        repairs.append("template-token")
        current = bare
    return _unfenced(current.strip(), repairs), tuple(dict.fromkeys(repairs))


def _unfenced(text: str, repairs: list[str]) -> str:
    whole = _WHOLE_FENCE.fullmatch(text) if text.startswith("```") else None
    if whole is None or "```" in whole["inside"]:
        return text
    repairs.append("fence")
    return str(whole["inside"]).strip()


def _is_object(text: str) -> bool:
    if not (text.startswith("{") and text.endswith("}")):
        return False
    read_as = read_structured(text, {"type": "object"})
    return read_as.value is not None and "prose-around" not in read_as.repairs


def _without_thinking(text: str, marks: Sequence[regex.Match[str]]) -> str:
    """What stands outside of every thinking block; a beginning inside of a block begins nothing."""
    kept: list[str] = []
    thinking, place = False, 0
    for mark in marks:
        if _OPENING.fullmatch(mark.group()) is not None:
            if not thinking:
                kept.append(text[place : mark.start()])
            thinking = True
        elif thinking or not mark.group().startswith("<|end|"):
            kept = kept if thinking else []
            thinking, place = False, mark.end()
    if not thinking:
        kept.append(text[place:])
    return "\n".join(kept)
