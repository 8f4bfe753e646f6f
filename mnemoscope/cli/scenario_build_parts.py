"""What the commands of `mnemoscope scenario build` share: progress, journals, and how a set is written and told of."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from mnemoscope.cli.output import emit_json, note, show, stderr_console

if TYPE_CHECKING:
    from mnemoscope.core.ports import Embedder
    from mnemoscope.scenarios.builders.built import BuiltSet
    from mnemoscope.scenarios.builders.journal import Journal
    from mnemoscope.scenarios.records import Scenario

__all__ = [
    "counting",
    "drawn",
    "finish",
    "journal_path",
    "open_likeness",
    "path_of",
    "refuse_existing",
    "resumable",
    "scenarios",
    "working",
]

_EVERY = 5.0
"""Seconds between two plain lines."""
T = TypeVar("T")


def finish(
    built: BuiltSet, out: Path, *, as_json: bool, extra: dict[str, object] | None = None, said: Sequence[str] = ()
) -> None:
    """Try the shortcuts, write the set, and say what came out."""
    from mnemoscope.scenarios.builders.built import built_records, provenance_path, write_built
    from mnemoscope.scenarios.builders.shortcut import check_shortcuts

    with working("checking shortcuts"):
        shortcuts = check_shortcuts(built_records(built))
        write_built(out, built, checks=shortcuts.to_json())
    if as_json:
        probes = sum(shortcuts.probes.values())
        emit_json(
            {
                "out": str(out),
                "provenance": str(provenance_path(out)),
                "scenarios": len(built.scenarios),
                "probes": probes,
                "counts": dict(sorted(built.counts.items())),
                "shortcuts": shortcuts.to_json(),
                **(extra or {}),
            }
        )
        return
    lines = [f"{name}: {count:,}" for name, count in sorted(built.counts.items())]
    show("\n".join([*lines, *said, *shortcuts.lines()]))
    show(f"{len(built.scenarios):,} scenarios in {out}, origins in {provenance_path(out)}; load them with native:{out}")


def path_of(spec: str, kind: str) -> Path:
    """The path of a spec of the one kind that a builder reads."""
    from mnemoscope.core.errors import ConfigError
    from mnemoscope.scenarios.opening import parse_source_spec

    found, path, _ = parse_source_spec(spec)
    if found != kind or path is None:
        raise ConfigError(f"this is built from {kind}:PATH, not from {spec!r}")
    return path


def scenarios(spec: str, encoding: str) -> Iterator[Scenario]:
    """The scenarios of a spec, one at a time."""
    from mnemoscope.cli.progress import reading
    from mnemoscope.scenarios.opening import open_source

    with reading() as told:
        yield from counted(open_source(spec, encoding=encoding, progress=told), f"reading {spec}")


def drawn(spec: str, limit: int, seed: int, encoding: str) -> dict[str, list[int]]:
    """Conversation to numbers of questions, drawn as a run's limit is."""
    from mnemoscope.engine.selection import choose_probes

    given = list(scenarios(spec, encoding))
    chosen = choose_probes(given, styles=(), limit=limit, seed=seed)
    return {
        scenario.scenario_id: [
            place for place, probe in enumerate(scenario.probes) if probe.probe_id in chosen[scenario.scenario_id]
        ]
        for scenario in given
        if scenario.scenario_id in chosen
    }


def refuse_existing(out: Path, *, force: bool) -> None:
    """Refuse to write over a file, or to where there is no folder.

    Raises:
        ConfigError: It is so.
    """
    from mnemoscope.core.errors import ConfigError

    beside = out.with_name(f"{out.stem}.provenance.json")
    there = next((path for path in (out, beside) if path.exists()), None)
    if out.is_dir():
        raise ConfigError(f"{out} is a folder; --out names a file here")
    if there is not None and not force:
        raise ConfigError(f"{there} is there already; add --force to replace it, or name another --out")
    if not out.parent.is_dir():
        raise ConfigError(f"there is no folder {out.parent} to write {out.name} to")


def journal_path(out: Path) -> Path:
    """Where finished items are kept while a file is being built."""
    return out.with_name(f"{out.stem}.journal.jsonl")


@contextmanager
def resumable(out: Path, *, force: bool) -> Iterator[Journal]:
    """A journal beside the output, taken away once the output is written."""
    from mnemoscope.scenarios.builders.journal import Journal

    refuse_existing(out, force=force)
    path = journal_path(out)
    if path.exists():
        note(f"going on with {path}")
    yield Journal(path)
    path.unlink(missing_ok=True)


@contextmanager
def open_likeness(text: str | None, cache: Path | None) -> Iterator[Embedder | None]:
    """An embedder by name; None where none is named."""
    if text is None:
        yield None
        return
    from mnemoscope.config import RunConfig
    from mnemoscope.engine.tools import Tools

    with Tools(RunConfig(embedder=text, cache=None if cache is None else str(cache))) as tools:
        yield tools.embedder


@contextmanager
def working(what: str) -> Iterator[None]:
    """Says what is being done; on a terminal it moves."""
    if not sys.stderr.isatty():
        note(what)
        yield
        return
    with stderr_console().status(what):
        yield


def counted(items: Iterable[T], what: str) -> Iterator[T]:
    """The items, with a line every few seconds, so that a long reading shows that it goes on."""
    note(what)
    last, count = time.monotonic(), 0
    for count, item in enumerate(items, start=1):
        yield item
        if time.monotonic() - last > _EVERY:
            last = time.monotonic()
            note(f"{what}: {count:,} scenarios")


@contextmanager
def counting(what: str) -> Iterator[Callable[[int, int], None]]:
    """Gives what is told of finished items: a bar on a terminal, a line every few seconds elsewhere."""
    if sys.stderr.isatty():
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=stderr_console()) as bar:
            task = bar.add_task(what, total=None)
            yield lambda done, total: bar.update(task, completed=done, total=total)
        return
    last = time.monotonic()

    def told(done: int, total: int) -> None:
        nonlocal last
        if done == total or time.monotonic() - last > _EVERY:
            last = time.monotonic()
            note(f"{done:,}/{total:,} {what}")

    yield told
