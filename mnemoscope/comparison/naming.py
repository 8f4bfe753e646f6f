"""Names that users type against the names that run files hold."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

from mnemoscope.core.errors import ConfigError, UnknownNameError
from mnemoscope.evaluators.metrics.registry import METRICS

__all__ = ["nearest_names", "refuse_unknown_metrics", "written_metrics"]


def written_metrics(metrics: Iterable[str]) -> tuple[str, ...]:
    """Metric names as verdicts carry them, each once: `recall(10)` is `recall@10`."""
    found = []
    for name in metrics:
        try:
            found.append(METRICS.create(name).name)
        except ConfigError:
            found.append(name)
    return tuple(dict.fromkeys(found))


def refuse_unknown_metrics(metrics: Sequence[str], there: Iterable[str]) -> None:
    """Refuse metrics that no verdict is of.

    Args:
        metrics: As verdicts carry them.
        there: Those of the runs.

    Raises:
        UnknownNameError: The first that is missing, with the nearest that are there.
    """
    known = set(there)
    for name in metrics:
        if name not in known:
            raise UnknownNameError("metric in these runs", name, nearest_names(name, known))


def nearest_names(name: str, known: Iterable[str]) -> list[str]:
    """Up to three names that are spelled most like this one, or the first three."""
    names = sorted(set(known))
    return difflib.get_close_matches(name, names, n=3, cutoff=0.3) or names[:3]
