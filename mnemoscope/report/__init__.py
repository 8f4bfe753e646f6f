"""The HTML report: one self-contained page, made from run files, and the check that it still shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mnemoscope.core.lazy import lazy_names

if TYPE_CHECKING:
    from mnemoscope.report.checking import ReportCheck, check_report
    from mnemoscope.report.writing import WrittenReport, write_report

__all__ = ["ReportCheck", "WrittenReport", "check_report", "write_report"]

__getattr__ = lazy_names(
    __name__,
    {
        "ReportCheck": "checking",
        "WrittenReport": "writing",
        "check_report": "checking",
        "write_report": "writing",
    },
)
