"""Stopping cleanly: the first signal lets the cells in flight finish, the second ends the process at once."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Literal

__all__ = ["Stop", "StopReason", "stop_on_signals"]

StopReason = Literal["interrupt", "terminate", "budget"]


class Stop:
    """A flag that is raised once and says why; it can be raised from a signal handler or another thread."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self.reason: StopReason | None = None

    def request(self, reason: StopReason) -> None:
        """Ask everyone to finish what is in flight and begin nothing new; the first reason stays."""
        if self.reason is None:
            self.reason = reason
        self._event.set()

    @property
    def requested(self) -> bool:
        """Whether anyone has asked."""
        return self._event.is_set()


@contextmanager
def stop_on_signals(stop: Stop) -> Iterator[None]:
    """Turn SIGINT and SIGTERM into a request to stop; a second one ends the process at once.

    Outside the main thread, where Python allows no handlers, nothing is changed.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def handle(number: int, frame: FrameType | None) -> None:
        if stop.requested:
            os._exit(128 + number)
        stop.request("interrupt" if number == signal.SIGINT else "terminate")
        sys.stderr.write("\nfinishing the cells in flight; press Ctrl-C again to stop at once\n")

    old = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)
