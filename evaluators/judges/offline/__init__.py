"""The offline judge: fixed rules, and no model but an embedder where one is given."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mnemoscope.evaluators.judges.judge import Judge
    from mnemoscope.evaluators.judges.registry import JudgePorts

__all__ = ["offline"]


def offline() -> Callable[[JudgePorts], Judge]:
    """Fixed rules and a small embedder: deterministic and free, a floor where replies paraphrase freely."""

    def opened(ports: JudgePorts) -> Judge:
        from mnemoscope.evaluators.judges.offline.judge import OfflineJudge

        return OfflineJudge(ports.embedder)

    return opened
