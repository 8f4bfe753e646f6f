"""Strata as tables print them: the benchmark's number before the name, in the benchmark's order."""

from __future__ import annotations

from collections.abc import Iterable

from mnemoscope.scenarios.loaders.locomo_question import ADVERSARIAL, CATEGORY_NAMES

__all__ = ["ALL", "PRAGMA_TYPES", "shown_strata", "stratum_order", "stratum_title"]

ALL = "all"
"""Every probe that a metric applies to."""

_NUMBER_OF = {name: number for number, name in CATEGORY_NAMES.items()}
_NON_ADVERSARIAL = sorted(number for number in CATEGORY_NAMES if number != ADVERSARIAL)
PRAGMA_TYPES = ("type1-event-align", "type2-event-correct", "type3-traj-align", "type4-traj-correct")
"""Strata of PRAGMA, in the order of the benchmark."""
_STYLES = ("dialog", "implicit", "counterfactual", "composed")
"""Of LoCoMo-Conv, in the order of its paper."""
_STRATMEM = {"must-only": "A", "nice-only": "B", "must+nice": "C"}


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
    """Sorting key: the whole first, then numbered strata, then unions and unknown ones."""
    if stratum == ALL:
        return (0, "")
    if benchmark == "locomo-conv" and stratum in _STYLES:
        return (0, f"{_STYLES.index(stratum) + 1} {stratum}")
    title = stratum_title(benchmark, stratum)
    head = title.split(" ", 1)[0]
    return (1 if head.isdigit() or head in _STRATMEM.values() else 2, title)


def shown_strata(benchmark: str, strata: Iterable[str]) -> list[str]:
    """Strata in table order. Where a benchmark separates what must not be averaged, the whole is left out."""
    names = set(strata)
    apart = {
        "locomo": "non-adversarial" in names,
        "locomo-conv": len(names & set(_STYLES)) > 1,
        "pragma": len(names & set(PRAGMA_TYPES)) > 1,
    }
    if apart.get(benchmark):
        names.discard(ALL)
    return sorted(names, key=lambda name: stratum_order(benchmark, name))
