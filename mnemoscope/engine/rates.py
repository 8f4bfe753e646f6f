"""What calls cost and how long work takes, as far as that is known: given prices, times of an earlier run."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from mnemoscope.agents.gateway.local.settings import PREFIX
from mnemoscope.core.errors import ConfigError, shown
from mnemoscope.core.spec import parse_spec
from mnemoscope.core.usage import Usage
from mnemoscope.runfile.reader import open_run

__all__ = ["MeasuredTimes", "Price", "Prices", "measured_times", "read_prices"]

_PRICE = re.compile(r"(?P<model>.+)=(?P<prompt>\d+(?:\.\d+)?)/(?P<reply>\d+(?:\.\d+)?)")
_MILLION = 1_000_000


class Price(NamedTuple):
    """US dollars per million tokens."""

    prompt: float
    reply: float


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices by model; one that is not here is unknown, and never 0."""

    by_model: Mapping[str, Price] = field(default_factory=dict)

    def usd(self, usage: Usage, model: str | None) -> float | None:
        """What usage costs by one model; None where its price is unknown.

        Work without calls is free, and so are calls of a model that is served on this machine.
        """
        if not usage.calls or (model or "").strip().startswith(PREFIX):
            return 0.0
        price = None if model is None else self.by_model.get(model) or self.by_model.get(_name_of(model))
        if price is None:
            return None
        return (usage.prompt_tokens * price.prompt + usage.completion_tokens * price.reply) / _MILLION


@dataclass(frozen=True, slots=True)
class MeasuredTimes:
    """Means over an earlier run, of the machine and the models that it ran on."""

    ms_per_turn: Mapping[str, float] = field(default_factory=dict)
    """Memory to milliseconds that taking in one turn took, embedding included."""
    ms_per_cell: Mapping[str, float] = field(default_factory=dict)
    """System to milliseconds from a probe to its reply, reading included."""


def read_prices(texts: Sequence[str]) -> Prices:
    """Prices as written on the command line.

    Args:
        texts: `MODEL=PROMPT/REPLY`, in US dollars per million tokens; MODEL as it is named to the run, or its name
            alone.

    Raises:
        ConfigError: Another form.

    Example:
        >>> read_prices(["tiny=0.15/0.6"]).by_model["tiny"]
        Price(prompt=0.15, reply=0.6)
    """
    found = {}
    for text in texts:
        if (match := _PRICE.fullmatch(text.strip())) is None:
            raise ConfigError(
                f"price {shown(text)} is not MODEL=PROMPT/REPLY in US dollars per million tokens; write it as "
                "tiny=0.15/0.6"
            )
        found[match["model"]] = Price(float(match["prompt"]), float(match["reply"]))
    return Prices(found)


def measured_times(path: Path | None) -> MeasuredTimes:
    """The times of an earlier run, for example of one with `--limit`; None: nothing is known.

    Raises:
        RunFileError: The file is missing, foreign or damaged.
    """
    if path is None:
        return MeasuredTimes()
    turns: defaultdict[str, list[tuple[float, int]]] = defaultdict(list)
    cells: defaultdict[str, list[tuple[float, int]]] = defaultdict(list)
    with open_run(path) as run:
        for lane in run.lanes():
            if lane.status == "done" and lane.written:
                turns[lane.memory].append((lane.ingest_ms, lane.written))
        for cell in run.cells():
            if cell.status == "ok":
                cells[cell.key.system].append((cell.ms, 1))
    return MeasuredTimes(_means(turns), _means(cells))


def _means(found: Mapping[str, Sequence[tuple[float, int]]]) -> dict[str, float]:
    return {name: sum(ms for ms, _ in pairs) / sum(count for _, count in pairs) for name, pairs in found.items()}


def _name_of(model: str) -> str:
    """The model's own name in `openai(model=NAME,…)`."""
    if "(" not in model:
        return model
    spec = parse_spec(model)
    return str(spec.kwargs.get("model") or next(iter(spec.args), model))
