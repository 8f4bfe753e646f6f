"""Every judge by name, and how one is opened."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mnemoscope.core.errors import ConfigError
from mnemoscope.core.registry import Registry
from mnemoscope.core.spec import parse_spec
from mnemoscope.evaluators.judges.judge import Judge

if TYPE_CHECKING:
    from mnemoscope.core.ports import Embedder, LanguageModel

__all__ = ["JUDGES", "JudgePorts", "open_judge"]

_PACKAGE = "mnemoscope.evaluators.judges"


def _no_model(text: str | None) -> None:
    """No model can be opened here."""


@dataclass(frozen=True, slots=True)
class JudgePorts:
    """What judges reach models and embeddings through."""

    embedder: Embedder | None = None
    model: Callable[[str | None], LanguageModel | None] = _no_model
    """Opens a model by its text form; None: the configured one. It gives None where none is configured.

    Only a judge that asks a model calls it, so that others need no endpoint.
    """


JUDGES: Registry[Callable[[JudgePorts], Judge] | Judge] = Registry(
    "judge",
    {
        "llm": f"{_PACKAGE}.llm:llm",
        "offline": f"{_PACKAGE}.offline:offline",
        "panel": f"{_PACKAGE}.panel:panel",
        "recorded": f"{_PACKAGE}.recorded:recorded",
        "recording": f"{_PACKAGE}.recording:recording",
    },
    group="mnemoscope.judges",
)
"""Judges by name. Parameters give the judge, or a function from `JudgePorts` to it where it needs any of these."""


def open_judge(text: str, ports: JudgePorts) -> Judge:
    """A judge by its written name.

    Args:
        text: `offline`, `llm`, `llm(votes=3)`, `panel(offline+llm)`, `recorded(file=PATH)`, or `my_file.py:MyJudge`.
        ports: What judges need from outside.

    Raises:
        UnknownNameError: No such judge; the nearest are listed.
        ConfigError: A parameter that it does not take, a model that it needs and is not given, or no judge at all.

    Example:
        >>> open_judge("offline", JudgePorts()).name
        'offline'
    """
    made: object = JUDGES.create(parse_spec(text))
    if not isinstance(made, type) and callable(made) and not isinstance(made, Judge):
        made = made(ports)
    if isinstance(made, type) or not isinstance(made, Judge):
        raise ConfigError(
            f"{text!r} gives a {type(made).__name__}, not a judge; a judge has name, key(task), async judge(question)"
        )
    return made
