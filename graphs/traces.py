"""Where spans go: nowhere, into a list, or for one block somewhere else."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from mnemoscope.core.ports import Span, Trace

__all__ = ["ListTrace", "NullTrace", "redirected", "tracing"]


@dataclass(slots=True)
class ListTrace:
    """Keeps spans in a list, in order of their ends."""

    spans: list[Span] = field(default_factory=list)

    @contextmanager
    def span(self, name: str) -> Iterator[None]:
        """Times the block and records a span, with the error if one leaves it."""
        started, error = time.perf_counter(), None
        try:
            yield
        except BaseException as raised:
            error = f"{type(raised).__name__}: {raised}"
            raise
        finally:
            self.record(Span(name, (time.perf_counter() - started) * 1e3, 0, "", error=error))

    def record(self, span: Span) -> None:
        """Add a finished span."""
        self.spans.append(span)


class NullTrace:
    """Keeps nothing and measures nothing."""

    @contextmanager
    def span(self, name: str) -> Iterator[None]:
        """Runs the block."""
        yield

    def record(self, span: Span) -> None:
        """Forget the span."""


_REDIRECTED: ContextVar[Trace | None] = ContextVar("mnemoscope_trace", default=None)


@contextmanager
def tracing(trace: Trace) -> Iterator[None]:
    """Send the spans of all graphs run inside the block to one trace, the memory's READ graph included."""
    token = _REDIRECTED.set(trace)
    try:
        yield
    finally:
        _REDIRECTED.reset(token)


def redirected() -> Trace | None:
    """The trace of the innermost `tracing` block; None outside."""
    return _REDIRECTED.get()
