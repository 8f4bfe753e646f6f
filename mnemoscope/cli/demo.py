"""`mnemoscope demo`: the bundled scenarios through the usual systems, offline, with a table and a report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mnemoscope.cli.output import JsonFlag, emit_json, note, show

if TYPE_CHECKING:
    from mnemoscope.config import RunConfig

__all__ = ["PROFILES", "demo", "demo_config"]

PROFILES = ("baseline", "slots")


def demo(
    out: Annotated[Path, typer.Option("--out", help="Folder for run.db and report.html.")] = Path("demo-out"),
    workers: Annotated[int | None, typer.Option(help="Processes. Default: as many as are worth starting.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Compare seven memories and two ways to answer on the bundled scenarios; nothing leaves this machine.

    It takes about a minute. An interrupted demo goes on where it was; a finished one in the same folder is made anew.
    """
    from mnemoscope.cli.run import code_of, do_run, summary
    from mnemoscope.core.errors import ConfigError, OtherRunError

    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"output folder {out} cannot be made: {error.strerror}; give another --out") from None
    config = demo_config(out / "run.db", workers)
    _clear_finished(out / "run.db")
    try:
        outcome = do_run(config, resume=True)
    except OtherRunError:
        note("the demo in this folder was begun by another version; it is made anew")
        _remove(out / "run.db")
        outcome = do_run(config, resume=True)
    code = code_of(outcome, config)
    if code == 0:
        _show(outcome.path, out / "report.html", as_json=as_json, head=summary(outcome))
    else:
        note(f'{outcome.status}: go on with: mnemoscope demo --out "{out}"')
    raise typer.Exit(code)


def demo_config(out: Path, workers: int | None = None) -> RunConfig:
    """What the demo runs."""
    from mnemoscope.config import DEFAULT_ARCHITECTURES, load_config

    return load_config(
        None,
        {
            "scenarios": ("demo",),
            "architectures": DEFAULT_ARCHITECTURES,
            "profiles": PROFILES,
            "workers": workers,
            "out": out,
        },
    )


def _clear_finished(run_file: Path) -> None:
    """Remove an earlier demo's finished run; anything else that stands there is refused."""
    from mnemoscope.core.errors import RunFileError
    from mnemoscope.runfile import open_run

    if not run_file.exists():
        return
    with open_run(run_file) as run:
        if tuple(run.config.scenarios) != ("demo",):
            raise RunFileError(f"{run_file} is a run of your own and was not touched; give another --out")
        finished = run.is_complete
    if finished:
        _remove(run_file)


def _remove(run_file: Path) -> None:
    for name in (run_file.name, f"{run_file.name}-wal", f"{run_file.name}-shm"):
        run_file.with_name(name).unlink(missing_ok=True)


def _show(run_file: Path, report: Path, *, as_json: bool, head: dict[str, object]) -> None:
    from mnemoscope.cli.tables import comparison_tables
    from mnemoscope.comparison.comparing import compare_runs
    from mnemoscope.report.writing import write_report

    written = write_report([run_file], report)
    comparison = compare_runs([run_file], "headline")
    if as_json:
        emit_json({**head, "report": str(written.path), "comparison": comparison.to_json()})
        return
    for block in comparison_tables(comparison, by=None, pairs=False):
        show(block)
    for warning in comparison.warnings:
        note(f"warning: {warning}")
    show(f"content {head['content_hash']}")
    show(f'run file {run_file}\nreport   {written.path}\ndifferences between systems: mnemoscope compare "{run_file}"')
