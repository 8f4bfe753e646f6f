"""The run engine: lanes over workers, one commit per cell, resumed after any crash."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mnemoscope.core.lazy import lazy_names

if TYPE_CHECKING:
    from mnemoscope.engine.progress import NoProgress, Progress
    from mnemoscope.engine.running import RunOutcome, run
    from mnemoscope.engine.stopping import Stop, stop_on_signals

__all__ = ["NoProgress", "Progress", "RunOutcome", "Stop", "run", "stop_on_signals"]

__getattr__ = lazy_names(
    __name__,
    {
        "NoProgress": "progress",
        "Progress": "progress",
        "RunOutcome": "running",
        "Stop": "stopping",
        "run": "running",
        "stop_on_signals": "stopping",
    },
)
