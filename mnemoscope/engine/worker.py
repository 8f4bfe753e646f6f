"""A worker process: takes lanes as lines of JSON on its input, tells of finished cells on its output.

It ends when its input ends, so it never outlives the run that started it, however that run died.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any, TextIO

from mnemoscope.offline import stay_offline

__all__ = ["main"]

FATAL = 70
"""Exit code after a failure that was told on the output."""


def main() -> int:
    """Serve one run until told that there is no more work."""
    stay_offline()
    # Whatever a library prints must not get between the lines of the protocol.
    output = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    start = json.loads(sys.stdin.readline() or "null")
    if start is None:
        return 0
    try:
        return _serve(start, output)
    except Exception as error:
        tell(output, kind="fatal", error=type(error).__name__, text=str(error))
        return FATAL


def tell(output: TextIO, **message: object) -> None:
    """One line to the run that started this worker."""
    try:
        output.write(json.dumps(message) + "\n")
        output.flush()
    except BrokenPipeError:
        os._exit(1)


def _serve(start: dict[str, Any], output: TextIO) -> int:
    from mnemoscope.config import RunConfig
    from mnemoscope.engine.grid import Lane
    from mnemoscope.engine.stopping import Stop
    from mnemoscope.engine.work import Told, run_lanes
    from mnemoscope.runfile.rows import CellKey
    from mnemoscope.runfile.writer import RunFile

    stop = Stop()
    signal.signal(signal.SIGTERM, lambda number, frame: stop.request("terminate"))

    async def work() -> None:
        queue: asyncio.Queue[Lane | None] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def listen() -> None:
            for line in sys.stdin:
                order = json.loads(line)
                if order["kind"] == "stop":
                    stop.request("interrupt")
                    loop.call_soon_threadsafe(queue.put_nowait, None)
                elif order["kind"] == "end":
                    loop.call_soon_threadsafe(queue.put_nowait, None)
                else:
                    lane = Lane(
                        order["scenario_id"],
                        order["memory"],
                        tuple((name, profile) for name, profile in order["systems"]),
                        tuple(CellKey(*cell) for cell in order["cells"]),
                        order["system"],
                        order["replicate"],
                    )
                    loop.call_soon_threadsafe(queue.put_nowait, lane)
            os._exit(1)

        async def take() -> Lane | None:
            lane = await queue.get()
            if lane is None:
                queue.put_nowait(None)  # there may be others who wait for the end
            return lane

        threading.Thread(target=listen, daemon=True).start()
        with RunFile.resume(Path(start["path"])) as file:
            await run_lanes(
                RunConfig.model_validate(start["config"]),
                file,
                take,
                stop=stop,
                concurrency=start["concurrency"],
                told=Told(
                    began=lambda lane: tell(output, kind="began", lane=lane.key),
                    cell=lambda failed: tell(output, kind="cell", failed=failed),
                    ended=lambda lane: tell(output, kind="ended", lane=lane.key),
                ),
            )
        if stop.reason == "budget":
            tell(output, kind="budget")

    asyncio.run(work())
    return 0


if __name__ == "__main__":
    sys.exit(main())
