"""Intervals, paired tests and corrections for many comparisons; all resampling is by cluster and seeded."""

from __future__ import annotations

from mnemoscope.core.lazy import lazy_names

__getattr__ = lazy_names(
    __name__,
    {
        "Interval": "intervals",
        "bootstrap_columns": "bootstrap",
        "detectable": "paired",
        "holm": "paired",
        "mcnemar_exact": "paired",
        "resample_counts": "bootstrap",
        "sign_flip": "paired",
        "wilson": "intervals",
    },
)
