"""Strata as tables print them: the benchmark's number before the name, in the benchmark's order."""

from __future__ import annotations

from collections.abc import Iterable

from mnemoscope.evaluators.rows import MACRO
from mnemoscope.scenarios.loaders.locomo_question import ADVERSARIAL, CATEGORY_NAMES
from mnemoscope.scenarios.loaders.longmemeval import QUESTION_TYPES
from mnemoscope.scenarios.loaders.memuse_gold import DIRECT_QA, NATURAL

__all__ = [
    "ALL",
    "MACRO",
    "PRAGMA_TYPES",
    "categories_of",
    "micro_stratum",
    "shown_strata",
    "stratum_order",
    "stratum_title",
]

ALL = "all"
"""Every probe that a metric applies to."""

_NUMBER_OF = {name: number for number, name in CATEGORY_NAMES.items()}
_NON_ADVERSARIAL = sorted(number for number in CATEGORY_NAMES if number != ADVERSARIAL)
PRAGMA_TYPES = ("type1-event-align", "type2-event-correct", "type3-traj-align", "type4-traj-correct")
"""Strata of PRAGMA, in the order of the benchmark."""
_STYLES = ("dialog", "implicit", "counterfactual", "composed")
"""Of LoCoMo-Conv, in the order of its paper."""
_MEMUSE = (NATURAL, DIRECT_QA)
"""How MemUse asks: a reply that should remember by itself, and questions outright. No metric averages over both."""
_STRATMEM = {"must-only": "A", "nice-only": "B", "must+nice": "C"}
_WAYS = {"locomo-conv": _STYLES, "memuse": _MEMUSE}
"""Ways of asking, which come before all other strata."""


def categories_of(benchmark: str) -> tuple[str, ...]:
    """The strata whose mean is the benchmark's macro figure; none where it has no such figure.

    LoCoMo's adversarial questions stay apart. LoCoMo-Conv's styles and PRAGMA's types are scored on unlike scales, so
    that a mean over them would say nothing.

    Example:
        >>> categories_of("stratmem"), categories_of("pragma")
        (('must-only', 'nice-only', 'must+nice'), ())
    """
    known = {
        "locomo": tuple(CATEGORY_NAMES[number] for number in _NON_ADVERSARIAL),
        "longmemeval": tuple(QUESTION_TYPES),
        "stratmem": tuple(_STRATMEM),
    }
    return known.get(benchmark, ())


def micro_stratum(benchmark: str) -> str:
    """The stratum over the same probes as the macro figure, in which every probe weighs the same."""
    return "non-adversarial" if benchmark == "locomo" else ALL


def stratum_title(benchmark: str, stratum: str) -> str:
    """Number and name of a stratum; a name without a number stays as it is.

    Example:
        >>> stratum_title("locomo", "temporal"), stratum_title("locomo", "non-adversarial")
        ('2 temporal', '1–4 non-adversarial')
        >>> stratum_title("locomo", "unknown(7)")
        'unknown(7)'
    """
    if benchmark == "stratmem" and stratum in _STRATMEM:
        return f"{_STRATMEM[stratum]} {stratum}"
    if benchmark != "locomo":
        return stratum
    if stratum == "non-adversarial":
        return f"{_NON_ADVERSARIAL[0]}–{_NON_ADVERSARIAL[-1]} {stratum}"
    number = _NUMBER_OF.get(stratum)
    return stratum if number is None else f"{number} {stratum}"


def stratum_order(benchmark: str, stratum: str) -> tuple[int, str]:
    """Sorting key: the whole first, then numbered strata, then unions and unknown ones, the macro figure last."""
    if stratum == ALL:
        return (0, "")
    if stratum == MACRO:
        return (3, "")
    ways = _WAYS.get(benchmark, ())
    if stratum in ways:
        return (0, f"{ways.index(stratum) + 1} {stratum}")
    title = stratum_title(benchmark, stratum)
    head = title.split(" ", 1)[0]
    return (1 if head.isdigit() or head in _STRATMEM.values() else 2, title)


def shown_strata(benchmark: str, strata: Iterable[str]) -> list[str]:
    """Strata in table order. Where a benchmark separates what must not be averaged, the whole is left out."""
    names = set(strata)
    apart = {
        "locomo": "non-adversarial" in names,
        "locomo-conv": len(names & set(_STYLES)) > 1,
        "memuse": len(names & set(_MEMUSE)) > 1,
        "pragma": len(names & set(PRAGMA_TYPES)) > 1,
    }
    if apart.get(benchmark):
        names.discard(ALL)
    return sorted(names, key=lambda name: stratum_order(benchmark, name))
