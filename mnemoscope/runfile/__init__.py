"""The run file: one SQLite file that holds a whole comparison and can be resumed after any crash."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mnemoscope.core.lazy import lazy_names

if TYPE_CHECKING:
    from mnemoscope.runfile.notices import run_warnings
    from mnemoscope.runfile.reader import RunReader, open_run
    from mnemoscope.runfile.writer import RunFile

__all__ = ["RunFile", "RunReader", "open_run", "run_warnings"]

__getattr__ = lazy_names(
    __name__,
    {"RunFile": "writer", "RunReader": "reader", "open_run": "reader", "run_warnings": "notices"},
)
