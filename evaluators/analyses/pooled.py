"""Pooled: all systems in one model, which finds smaller differences than one pair at a time.

``pooled``, per figure: score = reference + difference of each system + what the cluster adds + what the probe adds. The
mixed model (REML, through statsmodels) takes out what makes a cluster or a probe easy for all systems alike, which is
most of the spread where systems are variants of one another. Replicates count as one score, their mean. `p` is Wald's,
too small with few clusters; `p_t` uses as many degrees of freedom as clusters leave and is the conservative one; it is
`p_t` that is adjusted over the systems of a figure. MemUse (arXiv 2608.24189) fits the model without the probe's part.
"""

from __future__ import annotations

from mnemoscope.evaluators.analyses._scoped import FIGURE, Scored, scored_scopes, unlike
from mnemoscope.evaluators.analyses.analysis import Column, Findings, Value
from mnemoscope.evaluators.analyses.material import Material
from mnemoscope.evaluators.statistics.mixed import MixedFit, Term, pooled_systems
from mnemoscope.evaluators.statistics.multiplicity import adjusted

__all__ = ["Pooled"]

_COLUMNS = (
    *FIGURE,
    Column("system", "text", "The system; the first of a figure is the reference."),
    Column("fit", "text", "`ok`, `singular`, `unsure` or `failed`; what is not ok is explained below."),
    Column("n", "count", "Probes of the system."),
    Column("delta", "points", "Minus the reference, by the model."),
    Column("error", "points", "Its standard error."),
    Column("p", "p", "Wald's, by the normal distribution."),
    Column("p_t", "p", "By t, with the degrees of freedom that clusters leave."),
    Column("p_adjusted", "p", "`p_t` adjusted over the systems of the figure."),
    Column("cluster_share", "share", "Share of the variance that lies between clusters."),
    Column("probe_share", "share", "Share of the variance that lies between probes of a cluster."),
)


class Pooled:
    """`pooled`: one model of all systems."""

    name = "pooled"

    def analyse(self, material: Material) -> Findings:
        """One row per figure and system."""
        title = "all systems in one mixed model"
        scopes, notes = scored_scopes(material)
        several = [scored for scored in scopes if len(scored.cells) > 1]
        if not several:
            return Findings(self.name, title, missing="no two systems were scored by one metric")
        fits = [(scored, _fit(scored, _reference(scored, material))) for scored in several]
        rows = tuple((*scored.name, *row) for scored, fit in fits for row in _rows(scored, fit, material))
        said = (f"{' '.join(filter(None, scored.name))}: {why}" for scored, fit in fits if (why := _trouble(fit)))
        return Findings(self.name, title, _COLUMNS, rows, (*said, *unlike(material, several), *notes))


def _reference(scored: Scored, material: Material) -> str:
    """The baseline, else a system without memory, else the first."""
    names = list(scored.cells)
    without = (name for name in names if material.systems[name].memory == "none")
    return material.baseline if material.baseline in names else next(without, names[0])


def _fit(scored: Scored, reference: str) -> MixedFit:
    flat = [(name, probe, value) for name in scored.cells for probe, value in scored.by_probe(name).items()]
    return pooled_systems(
        [value for _, _, value in flat],
        [name for name, _, _ in flat],
        [scored.clusters[probe] for _, probe, _ in flat],
        [probe for _, probe, _ in flat],
        reference=reference,
    )


def _rows(scored: Scored, fit: MixedFit, material: Material) -> list[tuple[Value, ...]]:
    reference = _reference(scored, material)
    counts = {name: len(scored.by_probe(name)) for name in scored.cells}
    terms = {term.name: term for term in fit.terms}
    others = [name for name in counts if name != reference]
    p_values = adjusted([terms[name].p_t if name in terms else None for name in others], material.statistics.correction)
    state, shares = _state(fit), _shares(fit)
    head = (reference, state, counts[reference], *(None,) * 5, *shares)
    return [
        head,
        *(
            (name, state, counts[name], *_of_term(terms.get(name)), p, *shares)
            for name, p in zip(others, p_values, strict=True)
        ),
    ]


def _of_term(term: Term | None) -> tuple[Value, ...]:
    return (None,) * 4 if term is None else (term.beta, term.error, term.p, term.p_t)


def _shares(fit: MixedFit) -> tuple[float | None, float | None]:
    if fit.cluster_variance is None or fit.residual_variance is None:
        return None, None
    whole = fit.cluster_variance + (fit.instance_variance or 0.0) + fit.residual_variance
    if whole <= 0:
        return None, None
    return fit.cluster_variance / whole, None if fit.instance_variance is None else fit.instance_variance / whole


def _state(fit: MixedFit) -> str:
    if fit.reason is not None:
        return "failed"
    return "unsure" if not fit.converged else "singular" if fit.singular else "ok"


def _trouble(fit: MixedFit) -> str | None:
    if fit.reason is not None:
        return f"no model: {fit.reason}"
    if not fit.converged:
        return "the fit did not converge; do not use it"
    return "singular: a variance came out as 0 and was left out" if fit.singular else None
