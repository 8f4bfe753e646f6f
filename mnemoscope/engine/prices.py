"""What models cost: the prices that a user gives, before a dated table of hosted models; all else is unknown."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache
from importlib.resources import files
from typing import NamedTuple
from urllib.parse import urlsplit

from mnemoscope.agents.gateway.local.settings import PREFIX
from mnemoscope.core.errors import ConfigError, shown
from mnemoscope.core.spec import parse_spec
from mnemoscope.core.usage import Usage

__all__ = ["Listed", "Price", "Prices", "listed_prices", "read_prices"]

_PRICE = re.compile(r"(?P<model>.+)=(?P<prompt>\d+(?:\.\d+)?)/(?P<reply>\d+(?:\.\d+)?)")
_MILLION = 1_000_000
_OFFICIAL = "https://api.openai.com/v1"


class Price(NamedTuple):
    """US dollars per million tokens."""

    prompt: float
    reply: float


@dataclass(frozen=True, slots=True)
class Listed:
    """One row of the dated table."""

    provider: str
    hosts: tuple[str, ...]
    """The provider's own addresses: elsewhere the same name may cost something else."""
    model: str
    price: Price
    as_of: date
    """The day on which the provider's price page was read."""


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices by model; one that is not known is unknown, and never 0."""

    by_model: Mapping[str, Price] = field(default_factory=dict)
    """As given by the user; these win over the table."""
    table: Sequence[Listed] = ()

    def usd(self, usage: Usage, model: str | None) -> float | None:
        """What calls cost by one model; None where its price is unknown.

        Work without calls is free, and so are calls of a model that is served on this machine.
        """
        if not usage.calls or (model or "").strip().startswith(PREFIX):
            return 0.0
        if (price := self._price(model)) is None:
            return None
        return (usage.prompt_tokens * price.prompt + usage.completion_tokens * price.reply) / _MILLION

    def embedding_usd(self, tokens: int, embedder: str) -> float | None:
        """What embedding so many tokens costs; None where the price of an `openai` embedder is unknown, else 0."""
        if not tokens or parse_spec(embedder).name != "openai":
            return 0.0
        price = self._price(embedder)
        return None if price is None else tokens * price.prompt / _MILLION

    def listed(self, model: str) -> Listed | None:
        """The row of the table that a model's price is taken from; None where the user gave one, or there is none."""
        name, host = _name_of(model), _host_of(model)
        if model in self.by_model or name in self.by_model:
            return None
        return next((row for row in self.table if row.model == name and host in row.hosts), None)

    def _price(self, model: str | None) -> Price | None:
        if model is None:
            return None
        given = self.by_model.get(model) or self.by_model.get(_name_of(model))
        row = None if given else self.listed(model)
        return row.price if row else given


def read_prices(texts: Sequence[str]) -> Prices:
    """Prices as written on the command line, before those of the table.

    Args:
        texts: `MODEL=PROMPT/REPLY`, in US dollars per million tokens; MODEL as it is named to the run, or its name
            alone. An embedding model has no replies: `NAME=0.02/0`.

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
    return Prices(found, listed_prices())


@lru_cache(maxsize=1)
def listed_prices() -> tuple[Listed, ...]:
    """The dated table, `prices.toml`.

    Example:
        >>> row = next(row for row in listed_prices() if row.model == "gpt-4o-mini")
        >>> row.price, row.as_of.isoformat()
        (Price(prompt=0.15, reply=0.6), '2026-09-17')
    """
    text = (files("mnemoscope.engine") / "prices.toml").read_text(encoding="utf-8")
    return tuple(_rows(tomllib.loads(text)["group"]))


def _rows(groups: Sequence[Mapping[str, object]]) -> Iterator[Listed]:
    for group in groups:
        chat, embedding, hosts, as_of = (group.get(key) for key in ("chat", "embedding", "hosts", "as_of"))
        assert isinstance(hosts, list) and isinstance(as_of, date), "prices.toml is written by hand and tested"
        prices = {name: Price(*map(float, pair)) for name, pair in chat.items()} if isinstance(chat, dict) else {}
        if isinstance(embedding, dict):
            prices |= {name: Price(float(usd), 0.0) for name, usd in embedding.items()}
        for name, price in prices.items():
            yield Listed(str(group["provider"]), tuple(hosts), name, price, as_of)


def _name_of(model: str) -> str:
    """The model's own name in `openai(model=NAME,…)`."""
    if "(" not in model:
        return model
    spec = parse_spec(model)
    return str(spec.kwargs.get("model") or next(iter(spec.args), model))


def _host_of(model: str) -> str:
    """The host that would be asked: written, from the environment, or the vendor's own."""
    written = parse_spec(model).kwargs.get("base_url") if "(" in model else None
    address = str(written or os.environ.get("OPENAI_BASE_URL") or _OFFICIAL)
    return urlsplit(address).hostname or ""
