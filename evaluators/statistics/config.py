"""The rules that tests follow, fixed in a run's configuration before anything is scored."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, field_validator

from mnemoscope.evaluators.statistics.multiplicity import Correction

__all__ = ["DEFAULT_STATISTICS", "StatisticsConfig"]


class StatisticsConfig(BaseModel):
    """The table `[statistics]` of a configuration; a run file keeps it. No reply and no verdict depends on it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    equivalence_margin: Annotated[float, Field(gt=0, lt=1)] | None = None
    """Differences strictly between minus and plus this share (0–1) do not matter; None: equivalence is not tested."""
    alpha: Annotated[float, Field(gt=0, lt=0.5)] = 0.05
    """Level of every test; intervals of figures and differences stay at 95 %."""
    correction: Correction = "holm"
    """How the p-values of one metric and stratum are adjusted for being several."""

    @field_validator("equivalence_margin", "alpha", mode="before")
    @classmethod
    def _no_switch(cls, value: object) -> object:
        if isinstance(value, bool):
            raise ValueError("it is a share and no switch; write a number such as 0.05, or leave it out")
        return value


DEFAULT_STATISTICS = StatisticsConfig()
"""What holds where a configuration says nothing."""
