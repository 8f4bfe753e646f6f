"""Metrics by name; each one's module says its formula, its paper and what it makes of trivial policies."""

from __future__ import annotations

from mnemoscope.core.lazy import lazy_names

__getattr__ = lazy_names(
    __name__,
    {
        "DEFAULT_METRICS": "registry",
        "METRICS": "registry",
        "Metric": "metric",
        "default_metrics": "registry",
        "open_metrics": "registry",
    },
)
