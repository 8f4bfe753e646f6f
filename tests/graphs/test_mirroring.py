"""Two people as user and assistant: what each mapping shows, and that it matters only to memories that need pairs."""

from __future__ import annotations

from datetime import timedelta

import pytest

from mnemoscope.core.errors import BackendError
from mnemoscope.graphs.architecture import create_architecture
from mnemoscope.graphs.conformance import run_conformance
from mnemoscope.graphs.mirroring import MirroredBackend, memory_of
from mnemoscope.graphs.registry import ARCHITECTURES
from mnemoscope.memory_backends.record import Budget, Query, Scope
from mnemoscope.scenarios.records import Participant, Scenario
from mnemoscope.scenarios.replay import WriteTurn, replay
from mnemoscope.scenarios.speakers import SPEAKER_MAPPINGS, SpeakerMapping
from tests.graphs.graph_tools import ports
from tests.scenarios.builder_tools import made

TALK = made()
QUESTION = Query("the quince tree behind the stable", probe_id="made/q0")


async def ingested(name: str, mapping: SpeakerMapping, scenario: Scenario = TALK):
    """A memory of the scenario, filled as a run fills it."""
    architecture = create_architecture(name)
    memory = memory_of(architecture, scenario, mapping)
    gold = type("Golds", (), {"gold": lambda self, probe: scenario.gold_by_probe[probe]})()
    await memory.open(Scope(scenario.scenario_id), ports(gold=gold))
    shown = mapping if architecture.capabilities.needs_pairs else "as-is"
    for event in replay(scenario, pool_as_turns=True, speakers=shown):
        if isinstance(event, WriteTurn):
            await memory.write(event.turn)
        elif hasattr(event, "session_id"):
            await memory.flush("session_end", event.session_id, event.now)
    await memory.flush("history_end", None, scenario.turns[-1].at)
    return memory


async def content(name: str, mapping: SpeakerMapping) -> tuple[object, ...]:
    memory = await ingested(name, mapping)
    found = await memory.retrieve(QUESTION, Budget(), TALK.turns[-1].at)
    return [item async for item in memory.items()], found.rendered, (await memory.snapshot()).sha256


def test_the_mappings_show_roles_and_leave_probes_alone() -> None:
    def roles(mapping: SpeakerMapping) -> set[tuple[str, str]]:
        events = replay(TALK, pool_as_turns=True, speakers=mapping)
        return {(e.turn.speaker, e.turn.role) for e in events if isinstance(e, WriteTurn)}

    assert roles("speaker-b-as-assistant") == {("Mira", "user"), ("Tomasz", "assistant")}
    assert roles("as-is") == roles("mirrored") == {("Mira", "peer"), ("Tomasz", "peer")}


@pytest.mark.parametrize("name", [n for n in ARCHITECTURES if not create_architecture(n).capabilities.needs_pairs])
async def test_memories_that_need_no_pairs_hold_the_same_under_every_mapping(name: str) -> None:
    first, *others = [await content(name, mapping) for mapping in SPEAKER_MAPPINGS]
    assert others == [first, first]


async def test_a_memory_that_needs_pairs_differs() -> None:
    shown = {mapping: await content("lc(share=25)", mapping) for mapping in SPEAKER_MAPPINGS}
    assert len({rendered for _, rendered, _ in shown.values()}) == 3
    assert [n for n in ARCHITECTURES if create_architecture(n).capabilities.needs_pairs] == [
        "lc",
        "memoryos-style",
        "rag",
    ]


async def test_a_user_and_an_assistant_are_never_mapped() -> None:
    people = (Participant(name="Mira", role="user"), Participant(name="Tomasz", role="assistant"))
    spoken = tuple(
        session.model_copy(
            update={
                "turns": tuple(
                    t.model_copy(update={"role": "user" if t.speaker == "Mira" else "assistant"}) for t in session.turns
                )
            }
        )
        for session in TALK.sessions
    )
    scenario = TALK.model_copy(update={"participants": people, "sessions": spoken})
    hashes = {(await (await ingested("lc", mapping, scenario)).snapshot()).sha256 for mapping in SPEAKER_MAPPINGS}
    assert len(hashes) == 1


async def test_each_person_is_the_user_of_their_own_memory() -> None:
    memory = await ingested("rag(share=25,k=2)", "mirrored")
    assert isinstance(memory, MirroredBackend)
    now = TALK.turns[-1].at
    mine = await memory.retrieve(Query("grandfather's red accordion", asker="Tomasz"), Budget(), now)
    assert mine.items and {item.id.partition("/")[0] for item in mine.items} == {"Tomasz"}
    hers = await memory.retrieve(Query("grandfather's red accordion", asker="Mira"), Budget(), now)
    assert {item.id.partition("/")[0] for item in hers.items} == {"Mira"}
    both = await memory.retrieve(Query("grandfather's red accordion", asker="asker"), Budget(k=3), now)
    assert {item.id.partition("/")[0] for item in both.items} == {"Mira", "Tomasz"} and both.given == 3
    assert len({item.text for item in both.items}) == len(both.items), "the same text once"
    stats = await memory.stats()
    assert stats.turns_written == stats.turns_covered == 16, "each turn counts once"
    assert memory.estimate(TALK.turns).embedded_texts == len(
        memory.texts_to_embed(TALK.turns, create_architecture("rag").texts_to_embed)
    )


async def test_blocks_are_merged_in_order_within_the_budget() -> None:
    memory = await ingested("lc", "mirrored")
    found = await memory.retrieve(Query("anything", asker="asker"), Budget(k=1), TALK.turns[-1].at)
    order = [item.seq_from for item in found.given_items]
    assert order == sorted(order) and not found.ranked
    short = await memory.retrieve(
        Query("anything", asker="asker"), Budget(max_tokens=120), TALK.turns[-1].at + timedelta(days=1)
    )
    assert short.truncated and short.context_tokens <= 120 and short.given_items[-1].seq_to == 15


@pytest.mark.parametrize("name", ["lc(share=25,summary=true)", "rag"])
def test_a_mirrored_memory_conforms(name: str) -> None:
    architecture = create_architecture(name)
    report = run_conformance(lambda: MirroredBackend(architecture.backend, ("Amy", "Bo")), size=60)
    assert report.passed, str(report)


async def test_a_damaged_or_foreign_snapshot_is_refused() -> None:
    snapshot = await (await ingested("lc", "mirrored")).snapshot()
    other = MirroredBackend(create_architecture("lc").backend, ("Mira", "Ada"))
    await other.open(Scope(TALK.scenario_id), ports())
    with pytest.raises(BackendError, match="other people"):
        await other.restore(snapshot)
    with pytest.raises(BackendError, match="damaged"):
        await other.restore(type(snapshot)(snapshot.data[:-1], 1, snapshot.sha256, None, None))
    plain = await (await ingested("lc", "as-is")).snapshot()
    with pytest.raises(BackendError, match="not one of a mirrored memory"):
        await other.restore(plain)
