"""Checking the parameters of named things, and writing them back as part of the name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mnemoscope.core.errors import ConfigError, shown
from mnemoscope.core.spec import Spec, Value

__all__ = ["named", "one_of", "whole", "within"]


def whole(name: str, value: object, low: int, high: int) -> int:
    """A whole number between two bounds, both included.

    Raises:
        ConfigError: It is something else; the message has the range.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise ConfigError(f"{name} is {shown(value)}; it must be a whole number from {low} to {high:,}")
    return value


def within(name: str, value: object, low: float, high: float) -> float:
    """A number between two bounds, both included.

    Raises:
        ConfigError: It is something else; the message has the range.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise ConfigError(f"{name} is {shown(value)}; it must be a number from {low:g} to {high:g}")
    return float(value)


def one_of(name: str, value: object, choices: Sequence[str]) -> str:
    """One of a few words.

    Raises:
        ConfigError: It is another; the message lists them.
    """
    if not isinstance(value, str) or value not in choices:
        raise ConfigError(f"{name} is {shown(value)}; it must be one of {', '.join(choices)}")
    return value


def named(name: str, values: Mapping[str, Value], defaults: Mapping[str, Value]) -> str:
    """A name with the parameters that differ from their defaults, so that equal things have equal names.

    Example:
        >>> named("dense", {"window": 3, "overlap": 0}, {"window": 1, "overlap": 0})
        'dense(window=3)'
    """
    return str(Spec(name, kwargs={key: value for key, value in values.items() if value != defaults[key]}))
