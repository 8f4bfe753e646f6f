"""Where output goes: figures on standard output, everything about the work on standard error."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

__all__ = ["JsonFlag", "emit_json", "note", "show", "stderr_console", "stdout_console"]

JsonFlag = Annotated[bool, typer.Option("--json", help="Machine-readable output on standard output, and nothing else.")]
"""The option that every command has: `as_json: JsonFlag = False`."""


def emit_json(value: object) -> None:
    """One JSON document on standard output; numbers that JSON does not have are an error, not `NaN`."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False) + "\n")


def show(what: RenderableType) -> None:
    """A text, a table or anything else that rich renders, on standard output."""
    if isinstance(what, str):
        sys.stdout.write(what.rstrip("\n") + "\n")
    else:
        stdout_console().print(what)


def note(text: str) -> None:
    """A line about the work, on standard error."""
    sys.stderr.write(text.rstrip("\n") + "\n")


def stdout_console() -> Console:
    """A console for figures; text of dialogues is never read as markup."""
    return _console(stderr=False)


def stderr_console() -> Console:
    """A console for progress and messages."""
    return _console(stderr=True)


def _console(*, stderr: bool) -> Console:
    from rich.console import Console

    file = sys.stderr if stderr else sys.stdout
    # A pipe has no width; tables must not be cut there.
    width = None if file.isatty() else 200
    return Console(file=file, markup=False, highlight=False, emoji=False, width=width)
