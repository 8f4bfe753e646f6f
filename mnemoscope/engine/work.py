"""Running lanes in this process: what a worker does, and what a run without workers does."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import lru_cache

from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from mnemoscope.config import RunConfig
from mnemoscope.core.identity import sha256_of
from mnemoscope.engine.grid import Lane
from mnemoscope.engine.lane import LaneRunner
from mnemoscope.engine.stopping import Stop
from mnemoscope.engine.tools import Tools
from mnemoscope.runfile.writer import RunFile

__all__ = ["Told", "open_lanes", "run_lanes"]


@dataclass(frozen=True, slots=True)
class Told:
    """Who is told of what, while lanes run."""

    began: Callable[[Lane], None]
    cell: Callable[[bool], None]
    """A cell is stored; True: it failed."""
    ended: Callable[[Lane], None]


def open_lanes(config: RunConfig, concurrency: int) -> int:
    """How many lanes one process keeps open.

    With a model several are, so that short lanes keep calls in flight; without one the processor is the limit, and
    one lane at a time keeps memory small.
    """
    return concurrency if config.model is not None or config.memory_model is not None else 1


async def run_lanes(
    config: RunConfig,
    file: RunFile,
    take: Callable[[], Awaitable[Lane | None]],
    *,
    stop: Stop,
    concurrency: int,
    told: Told,
) -> None:
    """Take lanes until there are none, or until asked to stop.

    Args:
        config: Of the run.
        file: Where results go.
        take: Gives the next lane; None: there are no more.
        stop: Asked before each lane and each cell.
        concurrency: Cells in flight.
        told: Is told of lanes and cells.

    Raises:
        RunFileError: Results cannot be stored.
    """
    scenario = lru_cache(maxsize=4)(file.scenario)
    tools = Tools(config, run=_name_of(file))
    runner = LaneRunner(tools, file, stop, told.cell, concurrency)

    async def drain() -> None:
        while not stop.requested and (lane := await take()) is not None:
            told.began(lane)
            await runner.run(lane, scenario(lane.scenario_id))
            told.ended(lane)

    # One thread of linear algebra per process: the searches are small, and processes already share the cores out.
    try:
        with threadpool_limits(limits=1, user_api="blas"):
            async with asyncio.TaskGroup() as group:
                for _ in range(open_lanes(config, concurrency)):
                    group.create_task(drain())
    except BaseExceptionGroup as failures:
        raise _first(failures) from None
    finally:
        await tools.aclose()


def _name_of(file: RunFile) -> str:
    """The same whenever and by however many processes a run is done; other runs have other names."""
    return sha256_of(f"{socket.gethostname()} {file.path.resolve()} {file.setting('created_at')}")[:16]


def _first(failures: BaseExceptionGroup[BaseException]) -> BaseException:
    error = failures.exceptions[0]
    return _first(error) if isinstance(error, BaseExceptionGroup) else error
