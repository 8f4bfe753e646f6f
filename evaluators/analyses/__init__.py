"""Analyses by name: what is computed over all cells of a run, where a metric sees one cell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mnemoscope.core.lazy import lazy_names

if __name__ != "mnemoscope.evaluators.analyses":
    raise ImportError(
        "import mnemoscope.evaluators.analyses, not evaluators.analyses: a bare import loads a second copy"
    )

if TYPE_CHECKING:
    from mnemoscope.evaluators.analyses.analysis import Analysis, Findings
    from mnemoscope.evaluators.analyses.material import Material
    from mnemoscope.evaluators.analyses.registry import ANALYSES

__all__ = ["ANALYSES", "Analysis", "Findings", "Material"]

__getattr__ = lazy_names(
    __name__,
    {"ANALYSES": "registry", "Analysis": "analysis", "Findings": "analysis", "Material": "material"},
)
