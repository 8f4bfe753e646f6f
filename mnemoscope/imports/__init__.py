"""What another harness or a deployment produced, as a run file: matched by id, never by position."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mnemoscope.core.lazy import lazy_names

if TYPE_CHECKING:
    from mnemoscope.imports.importing import Imported, ImportRequest, import_run

__all__ = ["ImportRequest", "Imported", "import_run"]

__getattr__ = lazy_names(__name__, {"ImportRequest": "importing", "Imported": "importing", "import_run": "importing"})
