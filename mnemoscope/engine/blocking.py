"""Waiting for asynchronous work from plain code, in a script and in a notebook alike."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from contextvars import copy_context
from typing import TypeVar

__all__ = ["wait_for"]

T = TypeVar("T")


def wait_for(work: Callable[[], Coroutine[object, object, T]]) -> T:
    """Do asynchronous work to its end and return its result.

    Where the calling thread runs an event loop already, as a notebook's does, the work gets a thread and a loop of its
    own; the caller waits either way.

    Args:
        work: Makes the coroutine; it is called where the work is done.

    Example:
        >>> async def double(number: int) -> int:
        ...     return 2 * number
        >>> wait_for(lambda: double(21))
        42
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work())
    found: list[T] = []
    failed: list[BaseException] = []

    def there() -> None:
        try:
            found.append(asyncio.run(work()))
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=copy_context().run, args=(there,), name="mnemoscope")
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return found[0]
