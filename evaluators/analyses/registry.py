"""Every analysis by name."""

from __future__ import annotations

from mnemoscope.core.registry import Registry
from mnemoscope.evaluators.analyses.analysis import Analysis

__all__ = ["ANALYSES"]

_PACKAGE = "mnemoscope.evaluators.analyses"

ANALYSES: Registry[Analysis] = Registry(
    "analysis",
    {
        "ceiling": f"{_PACKAGE}.ceiling:Ceiling",
        "chain": f"{_PACKAGE}.chain:Chain",
        "corrections": f"{_PACKAGE}.corrections:Corrections",
        "cost": f"{_PACKAGE}.cost:Cost",
        "equivalence": f"{_PACKAGE}.equivalence:EquivalentSystems",
        "gap": f"{_PACKAGE}.gap:Gap",
        "length": f"{_PACKAGE}.length:Length",
        "net-benefit": f"{_PACKAGE}.net_benefit:NetBenefit",
        "policies": f"{_PACKAGE}.policies:Policies",
        "pooled": f"{_PACKAGE}.pooled:Pooled",
        "power": f"{_PACKAGE}.power:Power",
        "published": f"{_PACKAGE}.published:Published",
        "randomisation": f"{_PACKAGE}.randomisation:RandomisationCheck",
        "repair": f"{_PACKAGE}.repair:Repair",
        "seeds": f"{_PACKAGE}.seeds:Seeds",
        "silent-grounding": f"{_PACKAGE}.silent_grounding:SilentGrounding",
        "timing": f"{_PACKAGE}.timing:Timing",
        "tournament": f"{_PACKAGE}.tournament:Tournament",
        "use-decisions": f"{_PACKAGE}.use_decisions:UseDecisions",
        "verification": f"{_PACKAGE}.verification:Verification",
    },
    group="mnemoscope.analyses",
)
"""Analyses by name; third parties add theirs by the entry-point group `mnemoscope.analyses`."""
