"""Run files as other programs read them: every cell as JSON Lines or CSV, and the benchmarks' own response files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mnemoscope.core.lazy import lazy_names

if TYPE_CHECKING:
    from mnemoscope.exports.exporting import FORMATS, Exported, export_run

__all__ = ["FORMATS", "Exported", "export_run"]

__getattr__ = lazy_names(__name__, {"FORMATS": "exporting", "Exported": "exporting", "export_run": "exporting"})
