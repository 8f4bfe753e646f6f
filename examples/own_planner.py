"""A planner of one's own beside two that are there: run, compare, report, in one script and without a key.

Run: python examples/own_planner.py [FOLDER]      (about half a minute; writes run.db and report.html to the folder)
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from mnemoscope.graphs.nodes.ports import PlanningTask
from mnemoscope.graphs.plan import ResponsePlan, Slot

HERE = Path(__file__).resolve()


class Shortest:
    """Says the `k` shortest memories: a plan that nobody should want, and so a useful thing to compare with.

    Args:
        k: Memories to say.
    """

    def __init__(self, k: int = 2) -> None:
        self.k, self.name = k, f"shortest({k})"

    async def plan(self, task: PlanningTask) -> ResponsePlan:
        """A must slot for each of the shortest memories; the others are kept out of the reply."""
        by_length = sorted(task.memories, key=lambda memory: (len(memory.text), memory.id))
        chosen = {memory.id for memory in by_length[: self.k]}
        return ResponsePlan(
            self.name,
            tuple(
                Slot(f"slot-{place}", memory.id, "must" if memory.id in chosen else "suppress")
                for place, memory in enumerate(task.memories, start=1)
            ),
        )


def mnemoscope(*args: str) -> None:
    """The command line, called beside this file, so that it finds the planner; its output goes where ours goes."""
    subprocess.run([sys.executable, "-m", "mnemoscope", *args], check=True, cwd=HERE.parent)  # noqa: S603 - our own words


def main() -> None:
    """Compare three planners on the bundled scenarios."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "own-planner-out").resolve()
    folder.mkdir(parents=True, exist_ok=True)
    run, report = str(folder / "run.db"), str(folder / "report.html")
    profiles = [f"{HERE.name}:Shortest(2)", "top-k(2)", "all"]
    chosen = [part for profile in profiles for part in ("--profile", profile)]
    mnemoscope("run", "--scenario", "demo", "--architecture", "hybrid", *chosen, "--workers", "1", "--out", run)
    mnemoscope("compare", run, "--metric", "integration", "--baseline", "hybrid@top-k(2)")
    mnemoscope("report", run, "--out", report)


if __name__ == "__main__":
    main()
