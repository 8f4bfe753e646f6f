"""How a run shows that it goes on: a bar on a terminal, a plain line every few seconds elsewhere."""

from __future__ import annotations

import sys
import threading
import time
from typing import TYPE_CHECKING

from mnemoscope.cli.output import note, stderr_console

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from mnemoscope.engine.progress import Progress as ProgressPort

__all__ = ["BarProgress", "LineProgress", "open_progress"]

INTERVAL = 5.0
"""Seconds between two plain lines."""


def open_progress() -> ProgressPort:
    """What suits standard error as it is now."""
    return BarProgress() if sys.stderr.isatty() else LineProgress()


class LineProgress:
    """A line when something begins, and one every few seconds while cells come in."""

    def __init__(self) -> None:
        self._total = self._before = self._now = self._failed = 0
        self._started = 0.0
        self._over = threading.Event()

    def begin(self, total: int, done: int) -> None:
        """Say how much there is, and start to tell of it."""
        self._total, self._before, self._started = total, done, time.monotonic()
        note(f"{total:,} cells" + (f", {done:,} of them done before" if done else ""))
        threading.Thread(target=self._tick, daemon=True).start()

    def cell(self, *, failed: bool) -> None:
        """Count."""
        self._now += 1
        self._failed += failed

    def note(self, text: str) -> None:
        """Print."""
        note(text)

    def end(self) -> None:
        """The last line."""
        self._over.set()
        self._line()

    def _tick(self) -> None:
        while not self._over.wait(INTERVAL):
            self._line()

    def _line(self) -> None:
        done, seconds = self._before + self._now, time.monotonic() - self._started
        rate = self._now / seconds if seconds > 0 else 0.0
        left = f", {_duration((self._total - done) / rate)} left" if rate > 0 and done < self._total else ""
        share = done / self._total if self._total else 1.0
        note(f"{done:,}/{self._total:,} cells ({share:.0%}), {rate:.1f}/s{left}, {self._failed:,} failed")


class BarProgress:
    """One bar with rate, time left and failures."""

    def __init__(self) -> None:
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        self._failed = 0

    def begin(self, total: int, done: int) -> None:
        """Draw the bar."""
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
        from rich.progress import TimeRemainingColumn as TimeLeftColumn

        columns = (
            *(TextColumn("cells"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[rate]}")),
            *(TimeElapsedColumn(), TextColumn("left"), TimeLeftColumn(), TextColumn("{task.fields[failed]} failed")),
        )
        self._bar = Progress(*columns, console=stderr_console())
        self._task = self._bar.add_task("cells", total=total, completed=done, failed=0, rate="")
        self._bar.start()

    def cell(self, *, failed: bool) -> None:
        """Move the bar."""
        self._failed += failed
        if self._bar is not None and self._task is not None:
            speed = self._bar.tasks[0].speed
            rate = "" if speed is None else f"{speed:.1f}/s"
            self._bar.update(self._task, advance=1, failed=self._failed, rate=rate)

    def note(self, text: str) -> None:
        """Print above the bar."""
        note(text)

    def end(self) -> None:
        """Leave the bar as it stands."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
