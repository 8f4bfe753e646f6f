"""How the published benchmarks read their judges, reproduced flaws included, by name and never by default.

Written afresh from what the released scorers do, and checked against them: MiuLab/LoCoMo-Conv `response_eval/` at
d133260 and 7a0d26e, ryuichi-sumida/memuse `eval/` at a90c8b4, xiaowu0162/LongMemEval `src/evaluation/evaluate_qa.py` at
b11ff72. A figure read this way carries the name of its parser.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Generic, Literal, NamedTuple, TypeVar

from mnemoscope.core.errors import UnknownNameError
from mnemoscope.evaluators.judges.parsing.reading import Parsed

__all__ = [
    "MEMUSE_CUT",
    "RELEASES",
    "Difference",
    "Differences",
    "Kind",
    "Release",
    "ReleaseLabel",
    "cut_reference",
    "cut_references",
    "differences",
    "locomo_coverage",
    "release_parser",
]

T = TypeVar("T")

Kind = Literal["yes-no", "choice", "level", "preference", "axes"]
"""What is read: yes or no; A, B or C; a level; A, B or TIE; levels of named axes."""

ReleaseLabel = str | float | tuple[float, ...]

MEMUSE_CUT = 300
"""Characters of an expected text that MemUse's judge gets to see."""


@dataclass(frozen=True, slots=True)
class Release:
    """One benchmark's own way of reading."""

    name: str
    source: str
    readers: Mapping[Kind, Callable[[str | None], ReleaseLabel | None]]
    """None: the release drops the reply as an error."""
    reference_limit: int | None = None
    """Characters at which expected texts are cut; None: they are not."""


def release_parser(name: str) -> Release:
    """A published way of reading by its name.

    Raises:
        UnknownNameError: No release has this name.
    """
    if name not in RELEASES:
        raise UnknownNameError("release parser", name, difflib.get_close_matches(name, RELEASES, cutoff=0.3))
    return RELEASES[name]


class Difference(NamedTuple):
    """One reply that two ways of reading understand differently. None: no verdict."""

    subject: str
    strict: object
    release: object


@dataclass(frozen=True, slots=True)
class Differences(Generic[T]):
    """How far a published way of reading departs from the strict one."""

    replies: int
    differing: tuple[Difference, ...]


def differences(
    replies: Mapping[str, str | None],
    strict: Callable[[str | None], Parsed[T]],
    release: Callable[[str | None], ReleaseLabel | None],
) -> Differences[T]:
    """Compare two ways of reading the same replies.

    Args:
        replies: Id to what the judge said.
        strict: A parser of this package: `yes_no`, or `choice` and `level` with their lists bound.
        release: One reader of a `Release`.

    Returns:
        The replies that are read differently; a verdict against none differs too.

    Example:
        >>> from mnemoscope.evaluators.judges.parsing.labels import yes_no
        >>> said = {"a": "yes", "b": "**Yes**"}
        >>> len(differences(said, yes_no, RELEASES["memuse"].readers["yes-no"]).differing)
        1
    """
    both = [Difference(subject, strict(said).value, release(said)) for subject, said in replies.items()]
    return Differences(len(both), tuple(one for one in both if one.strict != one.release))


def cut_reference(text: str, limit: int = MEMUSE_CUT) -> str:
    """The first characters of an expected text: facts behind the cut can never be credited.

    Args:
        text: The expected text.
        limit: Characters (code points) that are kept.
    """
    return text[:limit]


def cut_references(references: Mapping[str, str], limit: int = MEMUSE_CUT) -> tuple[dict[str, str], tuple[str, ...]]:
    """All expected texts after the cut, and the ids of those that lost something.

    Args:
        references: Id to expected text.
        limit: Characters that are kept.
    """
    cut = {subject: cut_reference(text, limit) for subject, text in references.items()}
    return cut, tuple(subject for subject, text in references.items() if cut[subject] != text)


def locomo_coverage(text: str | None, count: int) -> tuple[bool, ...] | None:
    """LoCoMo-Conv's reading of composed verdicts: by position, padded with not covered, cut at `count`.

    The text "false" counts as covered, because any text that is not empty does.

    Returns:
        One boolean per fact; None where the release records an error.
    """
    try:
        reply = json.loads(_fenced(text or ""))
        entries = reply.get("judgments", [])
        covered = [bool(entry.get("covered", False)) for entry in entries if isinstance(entry, dict)]
    except (ValueError, AttributeError, TypeError, RecursionError):
        return None
    return tuple((covered + [False] * count)[:count])


def _fenced(text: str) -> str:
    found = re.search(r"```(?:json)?\s*(.*?)\s*```", text.strip(), re.DOTALL)
    return found.group(1) if found else text.strip()


def _locomo_level(text: str | None) -> float | None:
    """`score_fact_used_partial.py`: the first of five tokens that occurs anywhere, so "10" is 1.0."""
    said = text or ""
    return next((float(token) for token in ("1.0", "0.5", "0.0", "1", "0") if token in said), None)


def _locomo_choice(text: str | None) -> str | None:
    """`score_counterfactual_3way.py`: the first A, B or C of the upper-cased text, so "The answer is C" is A."""
    return next((letter for letter in (text or "").upper() if letter in "ABC"), None)


def _locomo_yes_no(text: str | None) -> str | None:
    """`score_cat5_v2.py`: YES or NO, whichever comes first, "NOT" and "KNOW" included."""
    found = re.search(r"YES|NO", (text or "").upper())
    return found.group().lower() if found else None


def _locomo_preference(text: str | None) -> str | None:
    """`score_pairwise_silent.py`: the verdict tag, else TIE anywhere ("patient"), else the first A or B."""
    said = (text or "").strip()
    tag = re.search(r"<verdict>\s*(A|B|TIE)\s*</verdict>", said, re.IGNORECASE)
    if tag:
        return tag.group(1).upper()
    said = said.upper()
    return "TIE" if "TIE" in said else next((letter for letter in said if letter in "AB"), None)


def _locomo_axes(text: str | None) -> tuple[float, ...] | None:
    """`score_e3_cot_vs_oracle.py`: faithfulness, relevance, engagement of the first flat object; booleans count."""
    fenced = re.search(r"```(?:json)?\s*(\{.*?\})\s*```", text or "", re.DOTALL)
    flat = re.search(r"\{[^{}]*\}", fenced.group(1) if fenced else text or "", re.DOTALL)
    try:
        found = json.loads(flat.group()) if flat else {}
        levels = tuple(float(found[axis]) for axis in ("faithfulness", "relevance", "engagement"))
    except (ValueError, KeyError, TypeError, OverflowError):
        return None
    return levels if all(one in (0, 0.5, 1) for one in levels) else None


def _memuse_yes_no(text: str | None) -> str:
    """`run_judge.py`: what starts with "yes"; all else is no, an empty reply and "**Yes**" included."""
    return "yes" if (text or "").strip().lower().startswith("yes") else "no"


def _memuse_grounding(text: str | None) -> float:
    """`run_judge_negatives.py`: the first of 0, 1, 2 anywhere; without one it is 0, which means fabricated."""
    return next((float(character) for character in text or "" if character in "012"), 0.0)


def _longmemeval_yes_no(text: str | None) -> str | None:
    """`evaluate_qa.py`: "yes" anywhere, so "yesterday" counts; the release breaks off where there is no text."""
    if text is None:
        return None
    return "yes" if "yes" in text.lower() else "no"


RELEASES: Mapping[str, Release] = MappingProxyType(
    {
        "locomo-conv": Release(
            "locomo-conv",
            "MiuLab/LoCoMo-Conv response_eval/",
            {
                "yes-no": _locomo_yes_no,
                "choice": _locomo_choice,
                "level": _locomo_level,
                "preference": _locomo_preference,
                "axes": _locomo_axes,
            },
        ),
        "memuse": Release(
            "memuse",
            "ryuichi-sumida/memuse eval/",
            {"yes-no": _memuse_yes_no, "level": _memuse_grounding},
            reference_limit=MEMUSE_CUT,
        ),
        "longmemeval": Release(
            "longmemeval",
            "xiaowu0162/LongMemEval src/evaluation/evaluate_qa.py",
            {"yes-no": _longmemeval_yes_no},
        ),
    }
)
"""The published ways by name. Composed verdicts of `locomo-conv` are read by `locomo_coverage`."""
