"""Planner `strategic`: the set of memories that is most likely to be the right one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from mnemoscope.core.errors import ConfigError, shown
from mnemoscope.core.spec import Value
from mnemoscope.graphs.nodes.planners import slots_for
from mnemoscope.graphs.nodes.ports import PlanningTask
from mnemoscope.graphs.parameters import named, within
from mnemoscope.graphs.plan import ResponsePlan
from mnemoscope.graphs.strategic.choosing import best_set
from mnemoscope.graphs.strategic.features import Matrix, read_features
from mnemoscope.graphs.strategic.weights import Used, bundled_weights, read_weights

__all__ = ["Strategic", "people_of"]

_RISK = 0.5


class Strategic:
    """Uses the set of memories with the highest expected compliance, from trained P(must), P(nice), P(irrelevant).

    Trained on StratMem-Bench (arXiv 2604.26243). Items of a training pair are planned by the model that has not seen
    the pair; the plan says which model it was.

    Args:
        risk: .01 to .99: more brings in more welcome memories, and more that are off the matter.
        weights: A file that `mnemoscope planner train` wrote; None: the bundled ones.
    """

    def __init__(self, risk: float = _RISK, weights: str | None = None) -> None:
        self._risk = within("risk", risk, 0.01, 0.99)
        if weights is not None and not isinstance(weights, str):
            raise ConfigError(f"weights is {shown(weights)}; it must be the path of a file")
        self._weights = bundled_weights() if weights is None else read_weights(Path(weights))
        values: dict[str, Value] = {"risk": self._risk, "weights": weights or ""}
        self.name = named("strategic", values, {"risk": _RISK, "weights": ""})

    async def chances(self, task: PlanningTask) -> tuple[Used, Matrix]:
        """The model for a task, and its `must, nice, irrelevant` per memory.

        Raises:
            ConfigError: No embedder, or another one than the weights were trained with.
        """
        used = self._weights.used_for(people_of(task))
        trained_with = self._weights.provenance.embedder
        if used.model.reads_meaning and task.embedder is not None and task.embedder.id != trained_with:
            raise ConfigError(
                f"planner strategic was trained with the vectors of {trained_with}, not {task.embedder.id}; "
                "use that embedder, or train weights with this one: mnemoscope planner train"
            )
        found: Mapping[str, Matrix] = await read_features(task, meaning=used.model.reads_meaning)
        return used, used.model.chances(found)

    async def plan(self, task: PlanningTask) -> ResponsePlan:
        """Must slots for the chosen memories, suppressed ones for the rest; silent where there is no memory."""
        if not task.memories:
            return ResponsePlan(self.name, moves=("hold",), speak="silent")
        used, chances = await self.chances(task)
        chosen = {task.memories[place].id for place in best_set(chances, self._risk)}
        slots = slots_for(task.memories, lambda item: "must" if item.id in chosen else "suppress")
        return ResponsePlan(f"{self.name}: {used.says}", slots)


def people_of(task: PlanningTask) -> frozenset[str]:
    """Who takes part, as far as the assistant sees it: the asker, its own role, and who said its memories."""
    names = {task.asker, task.speaks_as, *(item.attrs.get("speaker") for item in task.memories)}
    return frozenset(name for name in names if name)
