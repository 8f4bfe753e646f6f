"""Corrections of p values within one family: all conditions against the reference within one metric."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from mnemoscope.core.errors import ConfigError, shown

__all__ = ["Correction", "adjusted", "bonferroni", "holm"]

Correction = Literal["holm", "bonferroni"]


def adjusted(p_values: Sequence[float | None], correction: Correction) -> list[float | None]:
    """The p values of one family, adjusted as named; a missing p stays missing and does not count.

    Example:
        >>> adjusted([0.25, 0.75], "holm"), adjusted([0.25, 0.75], "bonferroni")
        ([0.5, 0.75], [0.5, 1.0])
    """
    return holm(p_values) if correction == "holm" else bonferroni(p_values)


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Holm's adjustment within one family; a missing p stays missing and does not count.

    Raises:
        ConfigError: A p value is not a number from 0 to 1.

    Example:
        >>> holm([0.01, None, 0.04])
        [0.02, None, 0.04]
    """
    _refuse_impossible(p_values)
    # statsmodels' multipletests collects garbage on every call, which takes minutes over a run's worth of families
    known = sorted((p, i) for i, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    floor = 0.0
    for rank, (p, i) in enumerate(known):
        floor = max(floor, min(1.0, p * (len(known) - rank)))
        adjusted[i] = floor
    return adjusted


def bonferroni(p_values: Sequence[float | None]) -> list[float | None]:
    """Bonferroni's adjustment, as published for MemUse (arXiv 2608.24189); a missing p stays missing.

    Raises:
        ConfigError: A p value is not a number from 0 to 1.

    Example:
        >>> bonferroni([0.25, None, 0.75])
        [0.5, None, 1.0]
    """
    _refuse_impossible(p_values)
    known = sum(p is not None for p in p_values)
    return [None if p is None else min(1.0, p * known) for p in p_values]


def _refuse_impossible(p_values: Sequence[float | None]) -> None:
    for place, p in enumerate(p_values):
        if p is not None and not 0 <= p <= 1:
            raise ConfigError(f"p value {place} is {shown(p)}; give a number from 0 to 1, or None where there is none")
