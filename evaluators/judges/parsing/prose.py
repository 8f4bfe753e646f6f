"""Where a verdict may stand in prose, for every kind of label.

A label counts only where it is said as a verdict: alone in a sentence, as the first clause of one ("No, it says
Tuesday"), behind a colon ("The eyes have it: no"), or behind a cue ("My verdict is B"). A label that merely occurs does
not count, and a sentence that also names another label has no verdict. Verdicts that differ are a problem, unless the
last one is introduced by a cue: "Label: A … Final answer: C" is C.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable
from typing import TypeVar

import regex

from mnemoscope.evaluators.judges.parsing.reading import Parsed, failed, shown

__all__ = ["plain", "read_prose", "undressed"]

T = TypeVar("T")

_WINDOW = 120
"""Characters behind a colon or a cue in which a label must be complete; keeps long texts linear."""

_INVISIBLE = regex.compile(r"\p{Cf}")
_VERDICT_TAG = regex.compile(r"<(/?)(?:verdict|answer|label|score|final|result|rating|grade)>", regex.IGNORECASE)
_BOXED = regex.compile(r"\$?\\boxed\{(?:\\text\{)?([^{}\n]{1,60})\}?\}\$?")
_MARKDOWN = regex.compile(r"[*`|]|^[ \t]*(?:#+|>+|[-•]|[0-9]{1,2}[.)])[ \t]+(?=\S)", regex.MULTILINE)
_SENTENCE = regex.compile(r"(?<!\b(?:Dr|Mr|Mrs|Ms|Prof|St|vs|e\.g|i\.e))[.!?]+(?=[\s\"'”’)\]]|$)|[。！？\n]+")
_SEPARATOR = regex.compile(r"(?<!\d):|:(?!\d)|->|=>|→|(?<=[\w\s])=|(?<!\d)[–—]|[–—](?!\d)|\s-\s")
_CLAUSE = regex.compile(
    r"(?<!\d),|,(?!\d)|[;()\[\]、]|(?<!\d):|:(?!\d)|->|=>|→|(?<=[\w\s])=|(?<!\d)[–—]|[–—](?!\d)|\s-\s"
    r"|\s(?:because|since)\b|因为"
)
_CUE = regex.compile(
    r"\b(?:answer|verdict|label|final(?:ly)?|conclusion|category|class(?:ification)?|choice|decision|grade|rating|score|"
    r"result|judge?ment|option)\b|答案|结论|判断|判定|结果|标签|类别|选择|评分|得分|分数",
    regex.IGNORECASE,
)
_LINK = regex.compile(
    r"\b(?:answer|verdict|label|conclusion|category|class(?:ification)?|choice|decision|grade|rating|score|result|"
    r"judge?ment)\s+(?:is|be|would be|should be|as)\s+"
    r"|\bI(?:['’]d|\s+would)?\s+(?:say|choose|pick|select|answer|go with|call it|rate it|give it)\s+"
    r"|(?:答案|结论|判断|判定|结果|标签|类别|评分|得分|分数)(?:应该|应)?[是为]\s*|我?选(?:择)?\s*",
    regex.IGNORECASE,
)
_NEGATED = regex.compile(r"(?:\b(?:not|never)|n['’]t|[不非没])\s*$", regex.IGNORECASE)
_BEFORE = " \t\r\n\"'“”‘’「」『』«»([{*_`#"
_AFTER = " \t\r\n\"'“”‘’「」『』«»)]}*_`#.,;:!?。，；：！？"


def plain(text: str) -> str:
    """Prose without markdown, invisible characters and verdict tags; full-width forms become plain ones."""
    text = _INVISIBLE.sub("", unicodedata.normalize("NFKC", text))
    text = _VERDICT_TAG.sub(lambda tag: "\n" if tag[1] else "\nverdict: ", text)
    return _MARKDOWN.sub("", _BOXED.sub(r"\nanswer: \1\n", text))


def undressed(text: str) -> str:
    """A word without quotes, brackets and punctuation around it."""
    return " ".join(text.lstrip(_BEFORE).rstrip(_AFTER).split())


def read_prose(text: str, bare: Callable[[str], T | None], named: Callable[[str], Iterable[T]]) -> Parsed[T]:
    """The one verdict that a text in prose gives.

    Args:
        text: The visible reply.
        bare: The label that a piece of text consists of, else None.
        named: All labels that occur in a sentence, verdicts or not.

    Returns:
        The label; `unparseable` where there is none, or where several contradict each other.
    """
    last_cued = False
    found: list[T | None] = []
    for sentence in _SENTENCE.split(plain(text)):
        verdict, cued = _verdict(sentence, bare)
        if verdict is None:
            continue
        clear = all(other == verdict for other in named(sentence))
        found.append(verdict if clear else None)
        last_cued = cued
    if not found:
        return failed("unparseable", f"no verdict in {shown(text)}")
    last = found[-1]
    if last is not None and (last_cued or all(other == last for other in found)):
        return Parsed(last)
    return failed("unparseable", f"no single verdict in {shown(text)}")


def _verdict(sentence: str, bare: Callable[[str], T | None]) -> tuple[T | None, bool]:
    """The verdict of one sentence, and whether a cue introduces it."""
    if len(sentence) <= _WINDOW and (whole := bare(sentence)) is not None:
        return whole, False
    for mark in reversed([*_SEPARATOR.finditer(sentence)]):
        before = sentence[max(0, mark.start() - _WINDOW) : mark.start()]
        label = _first_clause(sentence[mark.end() : mark.end() + _WINDOW], bare)
        if label is not None and not _NEGATED.search(before):
            return label, _CUE.search(before) is not None
    for mark in reversed([*_LINK.finditer(sentence)]):
        label = _first_clause(sentence[mark.end() : mark.end() + _WINDOW], bare)
        if label is not None:
            return label, True
    return _first_clause(sentence[:_WINDOW], bare), False


def _first_clause(text: str, bare: Callable[[str], T | None]) -> T | None:
    return bare(_CLAUSE.split(text.lstrip(_BEFORE), maxsplit=1)[0])
