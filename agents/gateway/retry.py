"""Trying again: exponential pauses with jitter, the server's own `Retry-After` up to a limit, and an end."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt

from mnemoscope.core.errors import EndpointError
from mnemoscope.core.ports import Rng

__all__ = ["RetryPolicy", "Sleep"]

logger = logging.getLogger(__name__)

T = TypeVar("T")
Sleep = Callable[[float], Awaitable[None]]
_FIRST_PAUSE = 0.5
_LONGEST_PAUSE = 30.0


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and how patiently a call is repeated."""

    retries: int
    """Further tries after the first."""
    max_wait: float
    """Longest `Retry-After` that is honoured, in seconds."""
    rng: Rng
    """Spreads the pauses; it decides nothing else."""
    sleep: Sleep

    async def run(self, call: Callable[[], Awaitable[T]]) -> T:
        """Call until it succeeds, fails for good, or the tries are spent.

        Raises:
            EndpointError: The last failure, or at once one that no further try can mend.
        """
        retrying = AsyncRetrying(
            stop=stop_after_attempt(self.retries + 1),
            wait=self._pause,
            retry=retry_if_exception(self._may_heal),
            sleep=self.sleep,
            before_sleep=_say_wait,
            reraise=True,
        )
        try:
            return await retrying(call)
        except EndpointError as error:
            failure = error
        if failure.retryable and failure.retry_after is not None and failure.retry_after > self.max_wait:
            raise EndpointError(
                f"{failure} (the server asked to wait {failure.retry_after:.0f} s, above the limit of "
                f"{self.max_wait:g} s; raise it with max_wait=)",
                cause=failure.cause,
                retryable=True,
                retry_after=failure.retry_after,
            )
        raise failure

    def _may_heal(self, error: BaseException) -> bool:
        if not isinstance(error, EndpointError) or not error.retryable:
            return False
        return error.retry_after is None or error.retry_after <= self.max_wait

    def _pause(self, state: RetryCallState) -> float:
        asked = _failure(state).retry_after
        if asked is not None:
            return asked + float(self.rng.uniform(0.0, 0.1)) * max(asked, _FIRST_PAUSE)
        ceiling = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2.0**state.attempt_number)
        return float(self.rng.uniform(ceiling / 2, ceiling))


def _failure(state: RetryCallState) -> EndpointError:
    error = state.outcome.exception() if state.outcome else None
    assert isinstance(error, EndpointError), "only our own errors are retried"
    return error


def _say_wait(state: RetryCallState) -> None:
    failure = _failure(state)
    asked = ", asked by the server" if failure.retry_after is not None else ""
    logger.warning("waiting %.1f s%s before try %d: %s", state.upcoming_sleep, asked, state.attempt_number + 1, failure)
