"""Intervals, tests, equivalence, agreement and power; all resampling is by cluster and seeded."""

from __future__ import annotations

from mnemoscope.core.lazy import lazy_names

__getattr__ = lazy_names(
    __name__,
    {
        "Agreement": "agreement",
        "Association": "association",
        "Equivalence": "equivalence",
        "Estimate": "bootstrap",
        "Interval": "intervals",
        "McNemarPair": "paired",
        "MixedFit": "mixed",
        "Randomisation": "randomisation",
        "SeedRun": "variance",
        "SeedSpread": "variance",
        "bonferroni": "multiplicity",
        "bootstrap_columns": "bootstrap",
        "bootstrap_of_counts": "bootstrap",
        "bootstrap_ratios": "bootstrap",
        "bootstrap_statistic": "bootstrap",
        "chi_square_p": "randomisation",
        "cohen": "agreement",
        "detectable": "paired",
        "equivalence_by_cluster": "equivalence",
        "fleiss": "agreement",
        "holm": "multiplicity",
        "mcnemar_exact": "paired",
        "mcnemar_pair": "paired",
        "pooled_systems": "mixed",
        "power_of_difference": "power",
        "random_intercept": "mixed",
        "randomisation": "randomisation",
        "resample_counts": "bootstrap",
        "rows_for_power": "power",
        "seed_spreads": "variance",
        "sign_flip": "paired",
        "sign_flip_exact": "paired",
        "smallest_difference": "paired",
        "smallest_p": "paired",
        "spearman": "association",
        "spearman_p": "association",
        "tost": "equivalence",
        "wilson": "intervals",
    },
)
