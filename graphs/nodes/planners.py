"""Nodes for `plan_response`: which memories a reply uses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from mnemoscope.core.errors import ConfigError
from mnemoscope.core.identity import ItemId
from mnemoscope.graphs.nodes.gold import hits_gold
from mnemoscope.graphs.nodes.ports import PlanningTask
from mnemoscope.graphs.parameters import whole, within
from mnemoscope.graphs.plan import ResponsePlan, Slot, SlotRole
from mnemoscope.memory_backends.record import MemoryItem
from mnemoscope.scenarios.records import Gold

__all__ = ["Oracle", "Threshold", "TopK", "Unplanned", "UseAll", "UseNothing", "slots_for"]

MOST_MEMORIES = 1_000


def slots_for(memories: Sequence[MemoryItem], role: Callable[[MemoryItem], SlotRole]) -> tuple[Slot, ...]:
    """One slot per memory, in the given order: `must` and `nice` to be mentioned, `suppress` to be kept out.

    Slot ids are `slot-1`, `slot-2`, … in the order of the memories.
    """
    return tuple(
        Slot(f"slot-{number}", item.id, chosen, speak="silent" if chosen == "suppress" else "mention")
        for number, (item, chosen) in enumerate(((item, role(item)) for item in memories), start=1)
    )


class Unplanned:
    """The baseline: every memory is offered, and the writer decides."""

    name = "unplanned"

    async def plan(self, task: PlanningTask) -> ResponsePlan:
        """A nice slot per memory."""
        return ResponsePlan(self.name, slots_for(task.memories, lambda _: "nice"))


class UseNothing:
    """The floor of every use metric: memory is not brought up."""

    name = "none"

    async def plan(self, task: PlanningTask) -> ResponsePlan:
        """No slot, silent."""
        return ResponsePlan(self.name, moves=("hold",), speak="silent")


class UseAll:
    """Everything that was given has to be said."""

    name = "all"

    async def plan(self, task: PlanningTask) -> ResponsePlan:
        """A must slot per memory."""
        return ResponsePlan(self.name, slots_for(task.memories, lambda _: "must"))


class TopK:
    """The `k` memories nearest to the utterance have to be said, the others stay out.

    Nearest is the order of the retrieval where it means relevance; otherwise cosine similarity of embeddings, ties
    broken by id, so that the choice does not depend on the order in which memories are given.

    Args:
        k: Memories to use, 1 to 1,000.
    """

    def __init__(self, k: int = 2) -> None:
        self._k = whole("k", k, 1, MOST_MEMORIES)
        self.name = f"top-k({self._k})"

    async def plan(self, task: PlanningTask) -> ResponsePlan:
        """Must slots for the best, suppressed ones for the rest.

        Raises:
            ConfigError: Similarity is needed and there is no embedder.
        """
        order = task.memories if task.ranked else await _by_similarity(task)
        best = {item.id for item in order[: self._k]}
        return ResponsePlan(self.name, slots_for(task.memories, lambda item: "must" if item.id in best else "suppress"))


class Threshold:
    """Every memory at least so near to the utterance has to be said, the others stay out; silent where none is.

    Args:
        at: Lowest cosine similarity of embeddings, -1 to 1.
    """

    def __init__(self, at: float = 0.4) -> None:
        self._at = within("at", at, -1.0, 1.0)
        self.name = f"threshold(at={self._at:g})"

    async def plan(self, task: PlanningTask) -> ResponsePlan:
        """Must slots for the near ones, suppressed ones for the rest.

        Raises:
            ConfigError: There is no embedder.
        """
        near = dict(await _similarities(task, self.name))
        slots = slots_for(task.memories, lambda item: "must" if near[item.id] >= self._at else "suppress")
        used = any(slot.role == "must" for slot in slots)
        return ResponsePlan(self.name, slots, ("answer",) if used else ("hold",), speak="mention" if used else "silent")


class Oracle:
    """The ceiling of planning: uses what gold says is needed or welcome. Privileged."""

    name = "oracle"
    privileged: Literal[True] = True

    async def plan_with_gold(self, task: PlanningTask, gold: Gold) -> ResponsePlan:
        """Must slots for gold's must and nice memories or, without such labels, for those that hold evidence."""
        slots = slots_for(task.memories, lambda item: "must" if hits_gold(item, gold) else "suppress")
        needed = any(slot.role == "must" for slot in slots)
        return ResponsePlan(
            self.name, slots, ("answer",) if needed else ("hold",), speak="mention" if needed else "silent"
        )


async def _by_similarity(task: PlanningTask) -> list[MemoryItem]:
    near = dict(await _similarities(task, "top-k"))
    return sorted(task.memories, key=lambda item: (-near[item.id], item.id))


async def _similarities(task: PlanningTask, planner: str) -> list[tuple[ItemId, float]]:
    """Cosine of each memory to the utterance, rounded to 1e-6; memories by id, so that order changes nothing."""
    by_id = sorted(task.memories, key=lambda item: item.id)
    if not by_id:
        return []
    if task.embedder is None:
        raise ConfigError(f"{planner} needs an embedder where the memories come in no order of relevance")
    query = (await task.embedder.embed([task.utterance], "query"))[0]
    near = np.round((await task.embedder.embed([item.text for item in by_id], "document")) @ query, 6)
    return [(item.id, float(value)) for item, value in zip(by_id, near, strict=True)]
