"""How a run shows that it goes on: a bar on a terminal, a plain line every few seconds elsewhere."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from mnemoscope.cli.output import note, stderr_console

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from mnemoscope.engine.progress import Progress as ProgressPort
    from mnemoscope.scenarios.source import ReadProgress

__all__ = ["BarProgress", "LineProgress", "open_progress", "reading"]

INTERVAL = 5.0
"""Seconds between two plain lines."""
_TELLING = 0.1
"""Share of the cells after which the pace tells something: until then, memories are mostly still being written."""


def open_progress() -> ProgressPort:
    """What suits standard error as it is now."""
    return BarProgress() if sys.stderr.isatty() else LineProgress()


@contextmanager
def reading() -> Iterator[Callable[[ReadProgress], None]]:
    """Gives what is told of the reading of a large file; a small one shows nothing."""
    shown: BarProgress | LineProgress = BarProgress() if sys.stderr.isatty() else LineProgress()
    try:
        yield shown.read
    finally:
        shown.close()


class LineProgress:
    """A line when something begins, and one every few seconds while a file is read and while cells come in."""

    def __init__(self) -> None:
        self._read_at = time.monotonic()
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
        self._read_at = time.monotonic()
        note(text)

    def read(self, at: ReadProgress) -> None:
        """A line, where the last one is some time ago."""
        if time.monotonic() - self._read_at >= INTERVAL:
            self._read_at = time.monotonic()
            share = f" ({at.bytes_read / at.bytes_total:.0%})" if at.bytes_total else ""
            note(f"reading {at.file}: {at.items:,} records{share}")

    def close(self) -> None:
        """Nothing is left to take away."""

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
        tells = self._now >= _TELLING * (self._total - self._before) and rate > 0 and done < self._total
        left = f", {_duration((self._total - done) / rate)} left" if tells else ""
        share = done / self._total if self._total else 1.0
        note(f"{done:,}/{self._total:,} cells ({share:.0%}), {rate:.1f}/s{left}, {self._failed:,} failed")


class BarProgress:
    """One bar with rate, time left and failures."""

    def __init__(self) -> None:
        self._bar: Progress | None = None
        self._reading: Progress | None = None
        self._task: TaskID | None = None
        self._failed = 0

    def begin(self, total: int, done: int) -> None:
        """Draw the bar."""
        self.close()
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
        self.close()
        note(text)

    def read(self, at: ReadProgress) -> None:
        """Move the bar of the file that is being read; it goes away with the next thing that is shown."""
        if self._reading is None:
            from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

            columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
            self._reading = Progress(*columns, console=stderr_console(), transient=True)
            self._reading.add_task(f"reading {at.file}", total=at.bytes_total)
            self._reading.start()
        task = self._reading.tasks[0]
        self._reading.update(task.id, completed=at.bytes_read, description=f"reading {at.file}: {at.items:,} records")

    def close(self) -> None:
        """Take the bar of a file away."""
        if self._reading is not None:
            self._reading.stop()
            self._reading = None

    def end(self) -> None:
        """Leave the bar as it stands."""
        self.close()
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
