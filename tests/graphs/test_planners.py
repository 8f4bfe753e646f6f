"""Planners: which memories become which slots."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from mnemoscope.core.errors import ConfigError
from mnemoscope.graphs.assistant import Assistant, AssistantContext, AssistantNodes
from mnemoscope.graphs.nodes.generators import writing_task
from mnemoscope.graphs.nodes.planners import Oracle, TopK, Unplanned, UseAll, UseNothing
from mnemoscope.graphs.nodes.ports import GenerationTask, PlanningTask
from mnemoscope.graphs.plan import Conflict, ResponsePlan, Slot
from mnemoscope.memory_backends.embedders.hashing import HashEmbedder
from mnemoscope.memory_backends.record import Budget, MemoryItem, Source
from mnemoscope.scenarios.records import Gold
from tests.graphs.graph_tools import ScriptedWriter, fed, probe, turn

FACTS = ("Amy has a boat.", "Bo likes soup.", "The boat is blue.", "It rained.")
MEMORIES = tuple(
    MemoryItem(f"m{n}", "fact", text, (Source(f"m{n}", "verbatim"),), None) for n, text in enumerate(FACTS)
)


def task(memories: tuple[MemoryItem, ...] = MEMORIES, *, ranked: bool = False, embedder: object = None) -> PlanningTask:
    return PlanningTask("What colour is the boat?", "Bo", memories, ranked, embedder=embedder or HashEmbedder(256))


def roles(plan: ResponsePlan) -> dict[str, str]:
    return {slot.memory_id: slot.role for slot in plan.slots}


async def test_simple_planners() -> None:
    assert set(roles(await Unplanned().plan(task())).values()) == {"nice"}
    assert set(roles(await UseAll().plan(task())).values()) == {"must"}
    nothing = await UseNothing().plan(task())
    assert (nothing.slots, nothing.speak, nothing.moves) == ((), "silent", ("hold",))


async def test_top_k_takes_the_order_of_a_ranking() -> None:
    plan = await TopK(2).plan(task(ranked=True))
    assert roles(plan) == {"m0": "must", "m1": "must", "m2": "suppress", "m3": "suppress"}
    assert plan.planner == "top-k(2)" and plan.memory_ids("must") == ("m0", "m1")


async def test_top_k_is_the_same_for_every_order_of_a_pool() -> None:
    chosen = set()
    for order in itertools.permutations(MEMORIES):
        plan = await TopK(2).plan(task(order))
        assert [slot.memory_id for slot in plan.slots] == [item.id for item in order]
        chosen.add(frozenset(plan.memory_ids("must")))
    assert chosen == {frozenset({"m0", "m2"})}


async def test_top_k_breaks_ties_by_id() -> None:
    twins = tuple(MemoryItem(name, "fact", "the same", (), None) for name in ("b", "c", "a"))
    assert roles(await TopK(2).plan(task(twins))) == {"b": "must", "c": "suppress", "a": "must"}


async def test_top_k_needs_an_embedder_only_for_an_unranked_pool() -> None:
    with pytest.raises(ConfigError, match="needs an embedder"):
        await TopK(1).plan(PlanningTask("?", "Bo", MEMORIES, ranked=False))
    assert (await TopK(1).plan(PlanningTask("?", "Bo", (), ranked=False, embedder=HashEmbedder(8)))).slots == ()


async def test_oracle_plans_by_label_or_by_evidence() -> None:
    by_role = Gold(roles={"m0": "must", "m1": "irr", "m2": "nice", "m3": "irr"})
    plan = await Oracle().plan_with_gold(task(), by_role)
    assert roles(plan) == {"m0": "must", "m1": "suppress", "m2": "must", "m3": "suppress"}
    by_evidence = await Oracle().plan_with_gold(task(), Gold(evidence=("m3",)))
    assert by_evidence.memory_ids("must") == ("m3",) and by_evidence.speak == "mention"
    nothing = await Oracle().plan_with_gold(task(), Gold(evidence=("m9",)))
    assert nothing.speak == "silent" and nothing.memory_ids("must") == ()


def test_what_a_writer_sees_of_a_plan() -> None:
    plan = ResponsePlan(
        "mine",
        (
            Slot("a", "m0", "must"),
            Slot("b", "m1", "suppress"),
            Slot("c", "m2", "nice", speak="use"),
        ),
        conflicts=(Conflict("it was sunny", "It rained.", "m3"), Conflict("no boat", "a boat", "m0")),
    )
    seen = writing_task(GenerationTask(probe(), plan, MEMORIES, ScriptedWriter([""])))
    assert [(p.slot_id, p.text, p.required, p.silent, p.truth_for) for p in seen.points] == [
        ("a", "Amy has a boat.", True, False, "no boat"),
        ("c", "The boat is blue.", False, True, None),
        ("correction-1", "It rained.", True, False, "it was sunny"),
    ]
    assert seen.memory_block == "Amy has a boat.\nThe boat is blue.\nIt rained."


MINE = '''"""A planner of one's own."""

from mnemoscope.graphs import ResponsePlan, Slot


class Newest:
    """Says the newest memory and keeps the rest out."""

    name = "newest"

    async def plan(self, task):
        newest = max(task.memories, key=lambda item: item.seq_to, default=None)
        return ResponsePlan(
            self.name,
            tuple(Slot(item.id, item.id, "must" if item is newest else "suppress") for item in task.memories),
        )


class Inventive:
    name = "inventive"

    async def plan(self, task):
        return ResponsePlan(self.name, (Slot("x", "no-such-memory", "must"),))
'''


async def test_a_planner_of_one_s_own_is_a_short_class(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(MINE, encoding="utf-8")
    backend = await fed("bm25", [turn(0, "The boat is blue."), turn(1, "The boat is green.")])
    writer = ScriptedWriter(["Green."])
    assistant = Assistant(AssistantNodes(plan_response=f"{tmp_path}/mine.py:Newest"))
    reply = await assistant.respond(probe(), AssistantContext(backend, Budget(), writer))
    assert roles(reply.plan) == {"t0": "suppress", "t1": "must"}
    assert [point.text for point in writer.tasks[0].points] == ["[8 May 2023, 13:57] Amy: The boat is green."]
    inventive = Assistant(AssistantNodes(plan_response=f"{tmp_path}/mine.py:Inventive"))
    reply = await inventive.respond(probe(), AssistantContext(backend, Budget(), writer))
    assert reply.error == "ConfigError: planner inventive plans memories that were not given: no-such-memory"
