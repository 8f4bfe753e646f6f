"""How fast an endpoint is asked: requests per minute, and calls in flight that shrink when it says "slow down"."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from weakref import WeakKeyDictionary

from mnemoscope.agents.gateway.retry import Sleep

__all__ = ["Limiter", "shared_limiter"]

_MINUTE = 60.0
_SHARED: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, Limiter]] = WeakKeyDictionary()
_CALM = 10
"""Answered calls after which one more may be in flight again."""


class Limiter:
    """One endpoint's gate, shared by every model there. It belongs to one event loop.

    Args:
        concurrency: Most calls in flight.
        rpm: Most calls started in any 60 s; None: no limit.
        sleep: Waits; a test passes one that takes no time.
        monotonic: Seconds on a clock that never goes back.
    """

    def __init__(self, concurrency: int, rpm: int | None, sleep: Sleep, monotonic: Callable[[], float]) -> None:
        self._most = self._allowed = concurrency
        self._rpm, self._sleep, self._monotonic = rpm, sleep, monotonic
        self._in_flight = self._answered = 0
        self._started: deque[float] = deque()
        self._free = asyncio.Condition()
        self._turnstile = asyncio.Lock()

    def tighten(self, concurrency: int, rpm: int | None) -> None:
        """A further model at this endpoint has limits of its own: the tighter ones hold."""
        self._most, self._allowed = min(self._most, concurrency), min(self._allowed, concurrency)
        self._rpm = min((limit for limit in (self._rpm, rpm) if limit is not None), default=None)

    @property
    def allowed(self) -> int:
        """Calls that may be in flight now."""
        return self._allowed

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """Hold one of the calls in flight."""
        async with self._free:
            await self._free.wait_for(lambda: self._in_flight < self._allowed)
            self._in_flight += 1
        try:
            await self._pass_turnstile()
            yield
        finally:
            async with self._free:
                self._in_flight -= 1
                self._free.notify_all()

    def slow_down(self) -> None:
        """The endpoint said that it is asked too often: halve the calls in flight."""
        self._allowed, self._answered = max(1, self._allowed // 2), 0

    def answered(self) -> None:
        """The endpoint answered; after enough of it, one more call may be in flight."""
        self._answered += 1
        if self._answered >= _CALM and self._allowed < self._most:
            self._allowed, self._answered = self._allowed + 1, 0

    async def _pass_turnstile(self) -> None:
        if self._rpm is None:
            return
        async with self._turnstile:
            while True:
                now = self._monotonic()
                while self._started and now - self._started[0] >= _MINUTE:
                    self._started.popleft()
                if len(self._started) < self._rpm:
                    self._started.append(now)
                    return
                await self._sleep(self._started[0] + _MINUTE - now)


def shared_limiter(
    host: str, concurrency: int, rpm: int | None, sleep: Sleep, monotonic: Callable[[], float]
) -> Limiter:
    """The running event loop's limiter for an endpoint; models there share it and the tightest limits hold."""
    by_host = _SHARED.setdefault(asyncio.get_running_loop(), {})
    if host not in by_host:
        by_host[host] = Limiter(concurrency, rpm, sleep, monotonic)
    by_host[host].tighten(concurrency, rpm)
    return by_host[host]
