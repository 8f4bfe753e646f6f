"""Nodes for `generate`: from a plan and its memories to a draft."""

from __future__ import annotations

from collections.abc import Mapping

from mnemoscope.core.identity import ItemId
from mnemoscope.core.ports import Draft, Point, WritingTask
from mnemoscope.graphs.nodes.ports import GenerationTask
from mnemoscope.memory_backends.record import MemoryItem
from mnemoscope.memory_backends.rendering import render_block

__all__ = ["Plain", "writing_task"]


class Plain:
    """Hands the plan to the writer in one step: required and offered memories, the current session, the persona."""

    name = "plain"

    async def write(self, task: GenerationTask) -> Draft:
        """What the writer makes of it."""
        return await task.writer.write(writing_task(task))


def writing_task(task: GenerationTask) -> WritingTask:
    """All that a writer sees. Memories that the plan suppresses or leaves out are no part of it.

    The memory block holds the planned memories in the order of the retrieval.
    """
    probe, plan = task.probe, task.plan
    wanted = {slot.memory_id for slot in plan.slots if slot.role != "suppress"}
    wanted.update(conflict.memory_id for conflict in plan.conflicts)
    return WritingTask(
        utterance=probe.text,
        asker=probe.speaker,
        points=_points(task),
        recent=tuple(f"{turn.speaker}: {turn.content}" for turn in probe.recent_turns),
        memory_block=render_block([item for item in task.memories if item.id in wanted]),
        persona=probe.persona,
        speaks_as=probe.speaks_as,
        hold=plan.speak == "silent",
        unmet=task.unmet,
        avoid=_leaks(task),
        replicate=task.replicate,
    )


def _leaks(task: GenerationTask) -> tuple[str, ...]:
    leaked = {slot.memory_id for slot in task.plan.slots if slot.slot_id in task.leaked}
    return tuple(item.text for item in task.memories if item.id in leaked)


def _points(task: GenerationTask) -> tuple[Point, ...]:
    items: Mapping[ItemId, MemoryItem] = {item.id: item for item in task.memories}
    corrects = {conflict.memory_id: conflict.asserted for conflict in task.plan.conflicts}
    points = [
        _point(slot.slot_id, items[slot.memory_id], slot.role == "must", corrects.pop(slot.memory_id, None), slot.speak)
        for slot in task.plan.slots
        if slot.role != "suppress" and slot.memory_id in items
    ]
    corrections = [
        _point(f"correction-{number}", items[memory_id], True, asserted, "mention")
        for number, (memory_id, asserted) in enumerate(corrects.items(), start=1)
        if memory_id in items
    ]
    return (*points, *corrections)


def _point(slot_id: str, item: MemoryItem, required: bool, truth_for: str | None, speak: str) -> Point:
    return Point(
        slot_id=slot_id,
        text=item.text,
        required=required,
        speaker=item.attrs.get("speaker"),
        at=item.observed_at,
        truth_for=truth_for,
        silent=speak != "mention",
    )
