"""The command line: one lazy entry per command, and the one place where errors become exit codes."""

from __future__ import annotations

import importlib
import signal
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from types import FrameType
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from mnemoscope import __version__
from mnemoscope.cli.failure import report_failure
from mnemoscope.offline import stay_offline

__all__ = ["COMMANDS", "build", "main"]

COMMANDS = {
    "demo": "demo:demo",
    "run": "run:run",
    "score": "score:score",
    "compare": "compare:compare",
    "outcomes": "outcomes:outcomes",
    "report": "report:report",
    "export": "export:export",
    "import": "import_:import_",
    "scenario": "scenario:app",
    "architecture": "architecture:app",
    "graph": "graph:app",
    "judge": "judge:app",
    "planner": "planner:app",
    "model": "model:app",
    "doctor": "doctor:doctor",
}
"""Command to module and attribute, in the order of the help; a module is imported when its command is used."""


class _LazyGroup(TyperGroup):
    """Commands that are imported when they are asked for."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [name for name, target in COMMANDS.items() if find_spec(_module(target)) is not None]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in self.commands and cmd_name in self.list_commands(ctx):
            self.add_command(_load(cmd_name), cmd_name)
        return self.commands.get(cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and args[0] not in COMMANDS:  # the nearest names are looked for among loaded commands
            for name in self.list_commands(ctx):
                self.get_command(ctx, name)
        return super().resolve_command(ctx, args)


def _module(target: str) -> str:
    return f"{__name__}.{target.partition(':')[0]}"


def _load(name: str) -> Any:
    target = getattr(importlib.import_module(_module(COMMANDS[name])), COMMANDS[name].partition(":")[2])
    if isinstance(target, typer.Typer):
        group = typer.main.get_group(target)
        group.name = name
        return group
    alone = typer.Typer(add_completion=False)
    alone.command(name)(target)
    return typer.main.get_command(alone)


def _show_version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"mnemoscope {__version__}\n")
        raise typer.Exit


def build() -> Any:
    """The whole command, with its commands still unloaded."""
    app = typer.Typer(
        cls=_LazyGroup, name="mnemoscope", no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False
    )

    @app.callback()
    def root(
        version: Annotated[
            bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and stop.")
        ] = False,
        debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks, without local variables.")] = False,
    ) -> None:
        """Replay conversations through memory-augmented assistants and see where a memory was lost.

        Exit codes: 0 done, 1 failed, 2 bad arguments or data, 3 stopped by a budget, 130 and 143 interrupted.
        """

    return typer.main.get_group(app)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        argv: Arguments without the program's name; None: those of this process.

    Returns:
        The exit code.
    """
    stay_offline()
    given = list(sys.argv[1:] if argv is None else argv)
    debug = "--debug" in given
    args = [argument for argument in given if argument != "--debug"]
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    before = _on_terminate()
    try:
        build().main(args=args, prog_name="mnemoscope", standalone_mode=True)
    except SystemExit as leave:
        return leave.code if isinstance(leave.code, int) else 0 if leave.code is None else 1
    except Exception as error:
        return report_failure(error, debug=debug)
    finally:
        if before is not None:
            signal.signal(signal.SIGTERM, before)
    return 0


def _on_terminate() -> Any:
    def leave(number: int, frame: FrameType | None) -> NoReturn:
        raise SystemExit(128 + number)

    try:
        return signal.signal(signal.SIGTERM, leave)
    except ValueError:  # not the main thread
        return None
