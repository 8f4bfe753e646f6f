"""The HTML report: one self-contained page, made from run files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mnemoscope.core.lazy import lazy_names

if TYPE_CHECKING:
    from mnemoscope.report.writing import WrittenReport, write_report

__all__ = ["WrittenReport", "write_report"]

__getattr__ = lazy_names(__name__, {"WrittenReport": "writing", "write_report": "writing"})
