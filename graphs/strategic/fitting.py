"""Training of the planner `strategic`: nested cross-validation by pair, then one model of all pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize_scalar
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from mnemoscope.core.errors import ConfigError
from mnemoscope.core.ports import Embedder
from mnemoscope.graphs.architectures.pool import pool_items
from mnemoscope.graphs.nodes.ports import PlanningTask
from mnemoscope.graphs.strategic.choosing import best_set
from mnemoscope.graphs.strategic.features import MEANING, Matrix, read_features
from mnemoscope.graphs.strategic.weights import Figures, Model, Provenance, Weights, pair_key
from mnemoscope.memory_backends.record import Query
from mnemoscope.scenarios.records import Scenario

__all__ = ["RISKS", "Example", "Fold", "examples_of", "figures_of", "folds_of", "train"]

RISKS = (0.1, 0.13, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7)
_LABELS = ("must", "nice", "irr")
_STRENGTHS = (0.005, 0.02, 0.08)
_INNER = 3
_FEWEST_PAIRS = _INNER + 1
Labels = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Example:
    """One labelled pool."""

    pair: str
    """`pair_key` of the two who talk."""
    found: dict[str, Matrix]
    labels: tuple[int, ...]
    """Per memory: 0 must, 1 nice, 2 irrelevant."""


class Fold(NamedTuple):
    """A left-out pair and the pairs that its model is trained on."""

    test: str
    train: frozenset[str]


class _Setting(NamedTuple):
    meaning: bool
    strength: float


async def examples_of(scenarios: Iterable[Scenario], embedder: Embedder) -> list[Example]:
    """Features and labels of every probe that brings a labelled pool.

    Raises:
        ConfigError: No such probe, or one that does not say who plays whom.
    """
    found: list[Example] = []
    for scenario in scenarios:
        for probe in scenario.probes:
            roles = scenario.gold_by_probe[probe.probe_id].roles
            if probe.pool is None or not probe.pool.items:
                continue
            if probe.speaks_as is None:
                raise ConfigError(f"probe {probe.probe_id} brings a pool and does not say whom the assistant plays")
            task = PlanningTask(
                utterance=probe.text,
                asker=probe.speaker,
                memories=pool_items(Query(probe.text, pool=probe.pool)),
                ranked=False,
                recent_turns=probe.recent_turns,
                persona=probe.persona,
                speaks_as=probe.speaks_as,
                now=probe.now,
                embedder=embedder,
            )
            labels = tuple(_LABELS.index(roles[item.id]) for item in task.memories)
            found.append(Example(pair_key(probe.speaker, probe.speaks_as), await read_features(task), labels))
    if not found:
        raise ConfigError("nothing to train on: no probe brings a pool of labelled memories; give stratmem:FILE")
    return found


def folds_of(examples: Sequence[Example]) -> tuple[Fold, ...]:
    """One fold per pair; no item of a pair is ever in both parts.

    Raises:
        ConfigError: Fewer pairs than four.
    """
    pairs = sorted({example.pair for example in examples})
    if len(pairs) < _FEWEST_PAIRS:
        raise ConfigError(f"there are {len(pairs)} pairs of people; nested folds need at least {_FEWEST_PAIRS}")
    return tuple(Fold(pair, frozenset(pairs) - {pair}) for pair in pairs)


def train(
    examples: Sequence[Example],
    *,
    benchmark: str,
    data_sha256: str,
    embedder: str,
    date: str,
    progress: Callable[[int, int], None] = lambda done, of: None,
) -> Weights:
    """Weights with one model per left-out pair, one of all pairs, and figures of left-out pairs only.

    Features and strength of regularisation are chosen by log loss inside the training pairs (grouped by pair, 3
    folds), and so is the temperature that calibrates.

    Args:
        examples: Labelled pools.
        benchmark: Its name.
        data_sha256: Of the file.
        embedder: Id of the embedder that the features come from.
        date: ISO date, for the record.
        progress: Told how many models are fitted.

    Raises:
        ConfigError: Too few pairs, or training pairs without one of the three labels.
    """
    folds = folds_of(examples)
    left_out: dict[str, Model] = {}
    with threadpool_limits(1):
        for done, fold in enumerate(folds, start=1):
            left_out[fold.test] = _fitted([example for example in examples if example.pair in fold.train])
            progress(done, len(folds) + 1)
        full = _fitted(examples)
        progress(len(folds) + 1, len(folds) + 1)
    return Weights(
        format="strategic-1",
        provenance=Provenance(
            benchmark=benchmark,
            data_sha256=data_sha256,
            items=len(examples),
            pairs=len(folds),
            embedder=embedder,
            folds="one per pair of people, left out in turn; settings by 3 grouped folds inside the others",
            date=date,
            libraries={name: version(name) for name in ("numpy", "scikit-learn", "scipy")},
        ),
        cross_validated=tuple(figures_of(examples, left_out, risk) for risk in RISKS),
        left_out=left_out,
        full=full,
    )


def figures_of(examples: Sequence[Example], left_out: dict[str, Model], risk: float) -> Figures:
    """Selection of each item by the model that has not seen its pair."""
    passed: list[bool] = []
    enriched: list[bool] = []
    intruded: list[bool] = []
    for example in examples:
        chosen = set(best_set(left_out[example.pair].chances(example.found), risk))
        must, nice, off = ({i for i, label in enumerate(example.labels) if label == kind} for kind in range(3))
        complete, welcome = must <= chosen, bool(chosen & nice)
        passed.append(complete and not chosen & off and (welcome or not nice))
        if nice:
            intruded.append(bool(chosen & off))
            enriched += [welcome] if complete else []
    smc, pes, cir = (round(float(np.mean(shares)), 6) if shares else 0.0 for shares in (passed, enriched, intruded))
    return Figures(risk=risk, smc=smc, pes=pes, cir=cir, items=len(examples))


def _fitted(examples: Sequence[Example]) -> Model:
    labels = np.array([label for example in examples for label in example.labels])
    if len(set(labels.tolist())) < len(_LABELS):
        raise ConfigError("the training pairs lack one of must, nice and irrelevant; give more data")
    groups = np.array([example.pair for example in examples for _ in example.labels])
    tried = [
        (*_inner_loss(_rows(examples, names), labels, groups, setting.strength), setting, names)
        for setting, names in _settings(examples)
    ]
    _, temperature, setting, names = min(tried, key=lambda result: result[0])
    bias, slopes = _logistic(_rows(examples, names), labels, setting.strength)
    return Model(
        features=names,
        bias=_rounded(bias / temperature),
        slopes=tuple(_rounded(row) for row in slopes / temperature),
        setting=f"{'words and meaning' if setting.meaning else 'words'}, C = {setting.strength:g}, T = {temperature:g}",
    )


def _settings(examples: Sequence[Example]) -> list[tuple[_Setting, tuple[str, ...]]]:
    names = tuple(examples[0].found)
    of_words = tuple(name for name in names if not name.startswith(MEANING))
    return [(_Setting(m, c), names if m else of_words) for m in (False, True) for c in _STRENGTHS]


def _rows(examples: Sequence[Example], names: Sequence[str]) -> Matrix:
    return np.concatenate([np.stack([example.found[name] for name in names], axis=1) for example in examples])


def _inner_loss(rows: Matrix, labels: Labels, groups: npt.NDArray[np.str_], strength: float) -> tuple[float, float]:
    """Log loss on pairs left out inside the training pairs, calibrated, and the temperature that calibrates."""
    odds = np.zeros((len(labels), len(_LABELS)))
    for inside, outside in GroupKFold(_INNER).split(rows, labels, groups):
        bias, slopes = _logistic(rows[inside], labels[inside], strength)
        odds[outside] = rows[outside] @ slopes + bias

    def loss(temperature: float) -> float:
        scaled = odds / temperature
        top = scaled.max(axis=1)
        sums = top + np.log(np.exp(scaled - top[:, None]).sum(axis=1))
        return float((sums - scaled[np.arange(len(labels)), labels]).mean())

    found = minimize_scalar(loss, bounds=(0.5, 2.0), method="bounded")
    temperature = round(float(found.x), 2)
    return round(loss(temperature), 6), temperature


def _logistic(rows: Matrix, labels: Labels, strength: float) -> tuple[Matrix, Matrix]:
    """Bias and slopes for features as they are; the scaling is folded in."""
    scaler = StandardScaler().fit(rows)
    model = LogisticRegression(C=strength, max_iter=1_000).fit(scaler.transform(rows), labels)
    odds = np.zeros((len(_LABELS), rows.shape[1]))
    bias = np.full(len(_LABELS), -20.0)
    for row, label in enumerate(model.classes_):
        odds[label], bias[label] = model.coef_[row], model.intercept_[row]
    slopes = (odds / scaler.scale_).T
    return bias - scaler.mean_ @ slopes, slopes


def _rounded(values: Matrix) -> tuple[float, float, float]:
    must, nice, off = (round(float(value), 5) for value in values)
    return must, nice, off
