"""The fitted rules: logistic functions of how much is covered, and of how near the meaning is."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from functools import lru_cache
from importlib.resources import files
from typing import Literal, NamedTuple

import numpy as np
from pydantic import BaseModel, ConfigDict

from mnemoscope.core.language.tokens import has_unspaced_script
from mnemoscope.core.ports import Embedder
from mnemoscope.evaluators.judges.offline.likeness import Evidence, content_of, passages_of

__all__ = ["RULES", "Features", "Provenance", "Rule", "Rules", "Weights", "features_of", "open_rules"]

RULES: tuple[str, ...] = ("answer", "any", "full", "use", "use-unspaced")
"""`answer`: is the expected answer given? `any`: is at least a part of the fact said? `full`: all of it? `use`: is it
used, in words of the reply's own? `use-unspaced`: the same in scripts without spaces."""
_MOST_PASSAGES = 16
"""Passages whose meaning is compared: those whose words cover most."""


class Features(NamedTuple):
    """What a rule is a function of; each 0–1."""

    coverage: float
    """Mean of the recall of the whole expected text and of its first clause."""
    similarity: float | None
    """Cosine of the nearest passage, cut at 0; None without an embedder that the rules are fitted to, and for Chinese
    and other scripts without spaces, of which it knows little."""


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Weights(_Frozen):
    """One logistic function."""

    bias: float
    """Log odds where nothing is covered."""
    coverage: float
    """Log odds of full coverage above none."""
    similarity: float = 0.0
    """Log odds of the same meaning above none."""


class Rule(_Frozen):
    """A rule with and without an embedder."""

    vectors: Weights
    """Fitted to English rows with both features."""
    tokens: Weights
    """Fitted to all rows with coverage alone."""

    def probability(self, features: Features) -> float:
        """Estimated probability of a yes, rounded so that the last bits of a platform decide nothing."""
        with_vectors = features.similarity is not None
        weights = self.vectors if with_vectors else self.tokens
        odds = weights.bias + weights.coverage * features.coverage + weights.similarity * (features.similarity or 0.0)
        return round(1 / (1 + math.exp(-odds)), 4)


class Provenance(_Frozen):
    """A file that a rule was fitted on."""

    file: str
    """Labelled rows."""
    sha256: str
    """Of that file."""
    rows: int
    """How many."""
    clusters: int
    """How many situations they come from."""


class Rules(_Frozen):
    """All fitted rules, as shipped in `weights.json`."""

    embedder: str
    """Id of the embedder that the similarities come from."""
    fitted: Literal["development rows only"]
    """Neither sealed rows nor any benchmark's."""
    method: str
    """Estimator and its setting."""
    date: str
    """ISO date of the fit."""
    folds: str
    """How agreement was estimated beside the fit."""
    on: dict[str, tuple[Provenance, ...]]
    """Rule to the files of its rows."""
    rules: dict[str, Rule]
    """Rule by name."""
    sha: str = ""
    """First eight digits of the sha256 of the file: part of the keys of the tasks."""


@lru_cache(maxsize=1)
def open_rules() -> Rules:
    """The shipped rules."""
    data = files(__package__).joinpath("weights.json").read_bytes()
    sha = hashlib.sha256(data.replace(b"\r\n", b"\n")).hexdigest()[:8]
    return Rules.model_validate({**json.loads(data), "sha": sha})


async def features_of(heard: str, expected: str, evidence: Evidence, embedder: Embedder | None) -> Features:
    """Coverage and similarity of what is heard.

    Args:
        heard: What is heard of the reply.
        expected: The expected answer, or a fact.
        evidence: Its best evidence.
        embedder: One that the rules are fitted to, or None. Texts are embedded as documents, so that a cache before it
            computes each of them once.
    """
    coverage = round((evidence.recall + evidence.head) / 2, 6)
    if embedder is None or has_unspaced_script(expected):
        return Features(coverage, None)
    texts = _most_telling(heard, expected)
    if not texts:
        return Features(coverage, 0.0)
    rows = await embedder.embed([expected, *texts], "document")
    return Features(coverage, round(float(np.clip(rows[1:] @ rows[0], 0.0, 1.0).max()), 4))


def _most_telling(heard: str, expected: str) -> Sequence[str]:
    passages = passages_of(heard)
    if len(passages) > _MOST_PASSAGES:
        wanted = content_of(expected).weights
        shared = [sum(w for unit, w in wanted.items() if unit in p.content.weights) for p in passages]
        chosen = sorted(sorted(range(len(passages)), key=lambda i: -shared[i])[:_MOST_PASSAGES])
        passages = tuple(passages[i] for i in chosen)
    return list(dict.fromkeys(p.text for p in passages))
