"""The trained planner's weights: one model per left-out pair and one of all, as JSON, evaluated in numpy."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from hashlib import sha256
from importlib.resources import files
from itertools import combinations
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

from mnemoscope.core.errors import ConfigError
from mnemoscope.graphs.strategic.features import MEANING, Matrix

__all__ = ["Figures", "Model", "Provenance", "Used", "Weights", "bundled_weights", "pair_key", "read_weights"]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Model(_Frozen):
    """Multinomial logistic regression over named features; its classes are must, nice, irrelevant."""

    features: tuple[str, ...]
    """What it looks at."""
    bias: tuple[float, float, float]
    """Log odds where every feature is 0."""
    slopes: tuple[tuple[float, float, float], ...]
    """Per feature."""
    setting: str
    """Chosen inside the training pairs: features, C, and the temperature of calibration."""

    @property
    def reads_meaning(self) -> bool:
        """Whether it needs an embedder."""
        return any(name.startswith(MEANING) for name in self.features)

    def chances(self, found: Mapping[str, Matrix]) -> Matrix:
        """One row `must, nice, irrelevant` per memory, rounded so that a platform's last bits decide nothing."""
        rows = np.stack([found[name] for name in self.features], axis=1)
        odds = rows @ np.array(self.slopes) + np.array(self.bias)
        powers = np.exp(odds - odds.max(axis=1, keepdims=True))
        shares: Matrix = np.round(powers / powers.sum(axis=1, keepdims=True), 6)
        return shares


class Figures(_Frozen):
    """Shares, 0–1, of selection on left-out pairs; never of items that a model was trained on."""

    risk: float
    smc: float
    pes: float
    cir: float
    items: int


class Provenance(_Frozen):
    """Where weights come from."""

    benchmark: str
    data_sha256: str
    """Of the file."""
    items: int
    pairs: int
    embedder: str
    """Id; other vectors must not be read with these weights."""
    folds: str
    date: str
    libraries: Mapping[str, str]


class Weights(_Frozen):
    """A file of weights."""

    format: Literal["strategic-1"]
    provenance: Provenance
    cross_validated: tuple[Figures, ...]
    """By risk."""
    left_out: Mapping[str, Model]
    """`pair_key` of the pair that a model has not seen, to that model."""
    full: Model
    """For data of no training pair."""

    def used_for(self, people: Iterable[str]) -> Used:
        """The model for an item in which these people take part.

        Where both names of a training pair are among them, it is the one that has not seen that pair, whoever they
        really are; so no model plans an item that it was trained on.

        Raises:
            ConfigError: Names of two training pairs.
        """
        keys = {pair_key(*pair) for pair in combinations(sorted(set(people)), 2)} & self.left_out.keys()
        if len(keys) > 1:
            raise ConfigError("planner strategic: an item names people of two training pairs; no model left out both")
        if not keys:
            return Used(self.full, "trained on other data, all pairs")
        return Used(self.left_out[keys.pop()], "trained on this benchmark's other pairs, cross-validated")


class Used(NamedTuple):
    """A model and what a row says of it."""

    model: Model
    says: str


def pair_key(one: str, other: str) -> str:
    """A pair of people as weights name it: a digest that does not tell who they are.

    Example:
        >>> pair_key("Ann", "Bo") == pair_key("bo", "ann")
        True
    """
    return sha256("\n".join(sorted((one.casefold(), other.casefold()))).encode()).hexdigest()[:16]


@lru_cache(maxsize=1)
def bundled_weights() -> Weights:
    """The weights that come with the project."""
    return Weights.model_validate_json(files(__package__).joinpath("weights.json").read_bytes())


def read_weights(path: Path) -> Weights:
    """Weights from a file that `mnemoscope planner train` wrote.

    Raises:
        ConfigError: The file cannot be read or is no such file.
    """
    try:
        return Weights.model_validate(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, ValidationError) as error:
        reason = str(error).splitlines()[0]
        raise ConfigError(
            f"{path} holds no weights of planner strategic ({reason}); make them with: mnemoscope planner train"
        ) from error
