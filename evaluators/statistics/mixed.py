"""Linear models with a random intercept per cluster, fitted by REML through statsmodels' MixedLM."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.stats import norm, t
from statsmodels.regression.linear_model import OLS
from statsmodels.regression.mixed_linear_model import MixedLM, VCSpec

from mnemoscope.core.errors import ConfigError
from mnemoscope.evaluators.statistics._input import Floats, Indices, codes, column, same_length

__all__ = ["INTERCEPT", "MixedFit", "Term", "pooled_systems", "random_intercept"]

INTERCEPT = "intercept"
_BOUNDARY = 1e-6
"""Variance ratios below this are the optimiser's way of saying 0."""


@dataclass(frozen=True, slots=True)
class Term:
    """One fixed effect, with the liberal and the conservative p."""

    name: str
    beta: float
    error: float | None
    z: float | None
    p: float | None
    """Two-sided Wald p by the normal distribution, which is too small with few clusters."""
    df: int
    """Clusters minus parameters that vary between clusters only, the intercept among them."""
    p_t: float | None
    """Two-sided, by t with `df`; None where none is left."""


@dataclass(frozen=True, slots=True)
class MixedFit:
    """A fitted model; without terms where there was nothing to fit, and `reason` says why."""

    terms: tuple[Term, ...]
    cluster_variance: float | None
    """Of the random intercept, σu²."""
    instance_variance: float | None
    """Of an instance inside its cluster; None: not in the model."""
    residual_variance: float | None
    ratio: float | None
    """λ̂ = σu² / σ²; 0 at the boundary."""
    singular: bool
    """A variance came out as 0 and was left out; without any, betas and errors are those of least squares."""
    converged: bool
    n: int
    clusters: int
    warnings: tuple[str, ...] = ()
    """What the optimiser said."""
    reason: str | None = None

    def term(self, name: str) -> Term:
        """The fixed effect of this name.

        Raises:
            ConfigError: The model has none.
        """
        for found in self.terms:
            if found.name == name:
                return found
        raise ConfigError(f"the model has no term {name!r}; it has {', '.join(x.name for x in self.terms) or 'none'}")


class _Variances(NamedTuple):
    betas: Floats
    errors: Floats
    cluster: float
    instance: float
    residual: float
    converged: bool


def random_intercept(
    outcome: Sequence[float] | Floats,
    predictors: Mapping[str, Sequence[float] | Floats],
    clusters: Sequence[Hashable],
) -> MixedFit:
    """Fits y = β₀ + Σ βₖ xₖ + u + ε, with u ~ N(0, σu²) per cluster and ε ~ N(0, σ²) per row.

    The model of MemUse (arXiv 2608.24189), which names neither estimator nor degrees of freedom: here REML, with both
    p. A score that was standardised inside clusters has no differences between them, so that the ratio is 0 by
    construction and the fit is least squares; it says more only on a subset of those rows.

    Args:
        outcome: One value per row.
        predictors: Name to one value per row; a category takes one column of 0 and 1 per level but the reference.
        clusters: Which history or user each row belongs to.

    Raises:
        ConfigError: A value is not finite, lengths differ, or a predictor follows from the others.
    """
    n = same_length(outcome=outcome, clusters=clusters, **predictors)
    names, index = codes(clusters)
    columns = [np.ones(n), *(column(name, values) for name, values in predictors.items())]
    order = np.argsort(index, kind="stable")
    x = np.stack(columns, axis=1)[order]
    return _fit(column("outcome", outcome)[order], x, (INTERCEPT, *predictors), index[order], len(names), None)


def pooled_systems(
    scores: Sequence[float] | Floats,
    systems: Sequence[str],
    clusters: Sequence[Hashable],
    instances: Sequence[Hashable],
    *,
    reference: str,
) -> MixedFit:
    """All systems in one model: a fixed effect of each against the reference, a random intercept per cluster.

    An instance that several systems answered gets a variance of its own, inside its cluster: what makes it easy or
    hard for all of them then leaves the errors of the differences.

    Args:
        scores: One per row.
        systems: Whose score it is; the terms bear these names.
        clusters: Which history or user each row belongs to.
        instances: What was asked; the same name in two clusters is two instances.
        reference: The system that the others are compared with.

    Raises:
        ConfigError: The reference has no row, a score is not finite, or lengths differ.
    """
    n = same_length(scores=scores, systems=systems, clusters=clusters, instances=instances)
    others = sorted(set(systems) - {reference})
    if n and reference not in systems:
        raise ConfigError(f"reference {reference!r} has no row; systems are {', '.join(others)}")
    names, index = codes(clusters)
    units, unit = codes(list(zip(index.tolist(), codes(instances)[1].tolist(), strict=True)))
    order = np.lexsort((codes(systems)[1], unit, index))
    x = np.stack([np.ones(n), *(np.array([s == other for s in systems], dtype=np.float64) for other in others)], axis=1)
    helps = len(names) < len(units) < n
    return _fit(
        column("scores", scores)[order],
        x[order],
        (INTERCEPT, *others),
        index[order],
        len(names),
        unit[order] if helps else None,
    )


def _fit(y: Floats, x: Floats, names: tuple[str, ...], index: Indices, clusters: int, unit: Indices | None) -> MixedFit:
    n, parameters = x.shape
    if n <= parameters or clusters < 2 or np.ptp(y) == 0:
        reason = "one cluster" if clusters == 1 else "too few rows" if n <= parameters else "all outcomes are equal"
        return MixedFit((), None, None, None, None, False, False, n, clusters, (), reason if n else "nothing scored")
    if np.linalg.matrix_rank(x) < parameters:
        raise ConfigError(f"a predictor follows from the others ({', '.join(names)}); leave it out")
    said: list[str] = []
    try:
        found, singular = _within_bounds(y, x, index, unit, said)
    except np.linalg.LinAlgError as error:
        reason = f"the fit failed: {error}"
        return MixedFit((), None, None, None, None, False, False, n, clusters, tuple(dict.fromkeys(said)), reason)
    df = clusters - sum(_constant_inside(values, index) for values in x.T)
    return MixedFit(
        terms=tuple(
            _term(name, float(b), float(e), df) for name, b, e in zip(names, found.betas, found.errors, strict=True)
        ),
        cluster_variance=found.cluster,
        instance_variance=None if unit is None else found.instance,
        residual_variance=found.residual,
        ratio=found.cluster / found.residual if found.residual > 0 else None,
        singular=singular,
        converged=found.converged,
        n=n,
        clusters=clusters,
        warnings=tuple(dict.fromkeys(said)),
    )


def _within_bounds(
    y: Floats, x: Floats, index: Indices, unit: Indices | None, said: list[str]
) -> tuple[_Variances, bool]:
    """Fits, and fits again without the variances that came out as 0, since errors at the boundary mean nothing."""
    by_cluster, by_unit = True, unit is not None
    while by_cluster or by_unit:
        found = _reml(y, x, index, unit if by_unit else None, by_cluster, said)
        floor = _BOUNDARY * found.residual
        if (found.cluster > floor or not by_cluster) and (found.instance > floor or not by_unit):
            return found, not by_cluster or by_unit != (unit is not None)
        by_cluster, by_unit = by_cluster and found.cluster > floor, by_unit and found.instance > floor
    plain = OLS(y, x).fit()
    return _Variances(plain.params, plain.bse, 0.0, 0.0, float(plain.scale), True), True


def _reml(y: Floats, x: Floats, index: Indices, unit: Indices | None, by_cluster: bool, said: list[str]) -> _Variances:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = MixedLM(
            y,
            x,
            index,
            exog_re=np.ones(len(y)) if by_cluster else None,
            exog_vc=None if unit is None else _components(index, unit),
        )
        # not by gradient, statsmodels' default: at variance 0 it vanishes, and one fit in ten stops there and says it
        # has converged, though the likelihood is higher elsewhere
        fit = model.fit(reml=True, method=["powell"])
        precision = -np.asarray(model.hessian(fit.params_object)[0])[: x.shape[1], : x.shape[1]]
    said.extend(str(one.message) for one in caught)
    return _Variances(
        betas=np.asarray(fit.fe_params),
        # σ²(ΣXᵀV⁻¹X)⁻¹; statsmodels' own errors mix in the curvature of the variances, up to a few per cent
        errors=np.sqrt(np.diag(np.linalg.inv(precision))),
        cluster=float(fit.cov_re[0, 0]) if by_cluster else 0.0,
        instance=float(fit.vcomp[0]) if unit is not None else 0.0,
        residual=float(fit.scale),
        converged=bool(fit.converged),
    )


def _components(index: Indices, unit: Indices) -> VCSpec:
    """Which rows share an instance, one matrix of 0 and 1 per cluster; rows are sorted by cluster."""
    names, matrices = [], []
    for rows in np.split(unit, np.flatnonzero(np.diff(index)) + 1):
        levels = np.unique(rows)
        names.append([str(level) for level in levels])
        matrices.append((rows[:, None] == levels).astype(np.float64))
    return VCSpec(["instance"], [names], [matrices])


def _constant_inside(values: Floats, index: Indices) -> bool:
    """Whether a predictor varies between clusters only; rows are sorted by cluster."""
    inside = np.diff(index) == 0
    return bool((np.diff(values)[inside] == 0).all())


def _term(name: str, beta: float, error: float, df: int) -> Term:
    if not (np.isfinite(error) and error > 0):
        return Term(name, beta, None, None, None, df, None)
    z = beta / error
    p_t = float(2 * t.sf(abs(z), df)) if df > 0 else None
    return Term(name, beta, error, z, float(2 * norm.sf(abs(z))), df, p_t)
