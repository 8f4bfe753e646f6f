"""Judges that were asked after a run was made, as they were named: what it takes to ask them again."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["AskedJudge"]


class AskedJudge(NamedTuple):
    """A judge that `mnemoscope score` put to work on one metric."""

    metric: str
    judge_key: str
    """What its verdicts on the metric are bound to."""
    judge: str
    """Its name with its parameters."""
    model: str | None
    """The model that it was given; None: the one that the run's replies were written with."""
