"""Yes or no, and choices from a closed list, in English and Chinese."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Literal

import regex

from mnemoscope.evaluators.judges.parsing.fields import parsed
from mnemoscope.evaluators.judges.parsing.prose import plain, read_prose, undressed
from mnemoscope.evaluators.judges.parsing.reading import Parsed, failed, shown

__all__ = ["YesNo", "as_choice", "as_yes_no", "choice", "yes_no"]

YesNo = Literal["yes", "no"]

_YES = frozenset("yes true 是 是的 对 对的 有 有的".split())
_NO = frozenset("no false 否 不 不是 不是的 并不是 没有 并没有 没 无 不对".split())
_NAMED = regex.compile(
    r"(?<![\p{L}\p{N}])(?:(?P<yes>yes)|(?P<no>no))(?![\p{L}\p{N}])|(?P<ja>(?<![不但可])[是对]的)|(?P<nein>不是|没有|(?<!是)否)",
    regex.IGNORECASE,
)


def yes_no(text: str | None, *, finish_reason: str | None = None, field: str | None = None) -> Parsed[YesNo]:
    """A verdict of yes or no.

    From a JSON field (`true` and "yes" alike), else from prose as `prose` says: "yes, but no memory shown", "Not yes."
    and "yes" followed by "no" are unparseable; "不是" is a no.

    Args:
        text: The judge's reply as received.
        finish_reason: Why it ended.
        field: The JSON field; None: any usual name.

    Example:
        >>> yes_no("No, the response says yesterday.").value
        'no'
    """
    return parsed(text, finish_reason, field, as_yes_no, lambda visible: read_prose(visible, _bare, _named))


def as_yes_no(value: object) -> Parsed[YesNo]:
    """A JSON value as yes or no: a boolean, or a text that is nothing but one; `bool("false")` is not asked."""
    if isinstance(value, bool):
        return Parsed("yes" if value else "no")
    if not isinstance(value, str):
        return failed("wrong-type", f"neither yes nor no: {shown(value)}")
    label = _bare(plain(value))
    if label is None:
        return failed("unparseable", f"neither yes nor no: {shown(value)}")
    return Parsed(label, repairs=("string-boolean",) if undressed(value).lower() in ("true", "false") else ())


def choice(
    text: str | None, labels: Sequence[str], *, finish_reason: str | None = None, field: str | None = None
) -> Parsed[str]:
    """One label of a closed list, such as A, B and C.

    From a JSON field, else a whole token said as a verdict: the letter A inside "The answer is C" is no label, and
    neither is the article. Labels of one letter are read in their own case within prose, others in any.

    Args:
        text: The judge's reply as received.
        labels: The list, in the spelling to be returned.
        finish_reason: Why it ended.
        field: The JSON field; None: any usual name.

    Example:
        >>> choice("The answer is C", "ABC").value
        'C'
        >>> choice("Between A and B", "ABC").problem.kind
        'unparseable'
    """
    known = tuple(labels)
    of_value = partial(as_choice, labels=known)

    def of_prose(visible: str) -> Parsed[str]:
        alone = of_value(visible)
        if alone.value is not None:
            return alone
        return read_prose(visible, partial(_bare_choice, labels=known), partial(_named_choices, labels=known))

    return parsed(text, finish_reason, field, of_value, of_prose)


def as_choice(value: object, labels: Sequence[str]) -> Parsed[str]:
    """A JSON value as a label: a text that is nothing but one, in any case."""
    if not isinstance(value, str):
        return failed("wrong-type", f"not one of {', '.join(labels)}: {shown(value)}")
    said = undressed(plain(value))
    same = [label for label in labels if label == said] or [x for x in labels if x.casefold() == said.casefold()]
    if len(same) != 1:
        return failed("unparseable", f"not one of {', '.join(labels)}: {shown(value)}")
    return Parsed(same[0])


def _bare(piece: str) -> YesNo | None:
    said = undressed(piece).lower()
    return "yes" if said in _YES else "no" if said in _NO else None


def _named(sentence: str) -> list[YesNo]:
    return ["yes" if found["yes"] or found["ja"] else "no" for found in _NAMED.finditer(sentence)]


def _bare_choice(piece: str, labels: tuple[str, ...]) -> str | None:
    said = undressed(piece)
    return next(
        (label for label in labels if said == label or (len(label) > 1 and said.lower() == label.lower())), None
    )


def _named_choices(sentence: str, labels: tuple[str, ...]) -> list[str]:
    spelling = {label.lower(): label for label in labels}
    return [spelling.get(found.lower(), found) for found in _tokens(labels).findall(sentence)]


@lru_cache(maxsize=256)
def _tokens(labels: tuple[str, ...]) -> regex.Pattern[str]:
    """Whole tokens, the longest label first; one letter in its own case."""
    ordered = sorted(labels, key=len, reverse=True)
    names = "|".join(f"(?i:{regex.escape(name)})" if len(name) > 1 else regex.escape(name) for name in ordered)
    return regex.compile(rf"(?<![\p{{L}}\p{{N}}])(?:{names})(?![\p{{L}}\p{{N}}])")
