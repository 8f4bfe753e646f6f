"""COMEDY anew: session memories, one memory made of them, what it loses, and what a model may not do to it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from mnemoscope.core.errors import ConfigError
from mnemoscope.core.language.tokens import estimate_tokens
from mnemoscope.graphs.architecture import create_architecture
from mnemoscope.graphs.backend import MemoryBackend
from mnemoscope.graphs.contracts.compress import COMPRESS, Compressing, Part
from mnemoscope.graphs.contracts.session_memory import SESSION_MEMORY
from mnemoscope.graphs.nodes.compressive import LEFT_OUT
from mnemoscope.graphs.nodes.facts import UNREADABLE
from mnemoscope.memory_backends.record import Budget, MemoryItem, Query
from mnemoscope.scenarios.records import Turn
from mnemoscope.scenarios.replay import POOL_SESSION
from tests.graphs.graph_tools import START, opened, ports
from tests.graphs.test_variants import LATER, ScriptedModel, said

FULL, INCREMENTAL = "comedy-style", "comedy-style(recompress=incremental)"
EMPTY = json.dumps({"events": [], "user": [], "bot": []})


async def lived(name: str, turns: Sequence[Turn], model: ScriptedModel | None = None) -> MemoryBackend:
    """A memory that was told of the end of every session."""
    backend = await opened(name, replace(ports(), model=model))
    for place, one in enumerate(turns):
        await backend.write(one)
        if place + 1 == len(turns) or turns[place + 1].session_id != one.session_id:
            await backend.flush("session_end", one.session_id, one.at)
    await backend.flush("history_end", None, turns[-1].at)
    return backend


async def memory(backend: MemoryBackend, budget: Budget | None = None) -> tuple[MemoryItem, ...]:
    return (await backend.retrieve(Query("anything"), budget or Budget(k=1), LATER)).given_items


def texts(items: Sequence[MemoryItem], about: str) -> list[str]:
    return [item.text for item in items if item.attrs["about"] == about]


def session(number: int, *lines: str) -> list[Turn]:
    return [said(number * 10 + n, text, session=f"s{number}") for n, text in enumerate(lines)]


async def test_a_session_is_written_down_and_the_memory_is_handed_over_whole() -> None:
    turns = [
        *session(1, "I live in Oslo.", "Yesterday I repaired the old boat with Tom."),
        said(12, "I am a bot made for diaries.", "assistant", "s1"),
    ]
    backend = await lived(FULL, turns)
    items = await memory(backend)
    assert texts(items, "user") == ["Amy (8 May 2023): Amy live in Oslo."]
    assert texts(items, "event")[0].startswith("Amy (8 May 2023): Yesterday [7 May 2023] Amy repaired the old boat")
    assert texts(items, "relationship") == ["Conversations since 8 May 2023: 1; warm words: 0; cross words: 0."]
    assert {(s.turn_id, s.method) for item in items if item.attrs["about"] != "relationship" for s in item.sources} >= {
        ("t10", "cited"), ("t11", "cited")
    }  # fmt: skip
    assert not any("bot made" in text for text in texts(items, "user"))


async def test_a_fact_of_long_ago_is_lost_from_the_memory_and_still_stored() -> None:
    early = session(1, "The spare key hangs behind the blue clock.")
    later = [
        turn
        for number in range(2, 14)
        for turn in session(number, *(f"We painted boat {number} in the harbour near the mill {n}." for n in range(3)))
    ]
    full = await lived("comedy-style(tokens=200)", [*early, *later])
    items = await memory(full)
    assert not any("spare key" in item.text for item in items)
    assert "t10" not in {source.turn_id for item in items for source in item.sources}, "lost is not retrieved"
    stored = [item async for item in full.items()]
    assert any("spare key" in item.text and item.is_live and item.kind == "event" for item in stored)
    drifting = await lived("comedy-style(tokens=200,recompress=incremental)", [*early, *later])
    gone = [item async for item in drifting.items() if "spare key" in item.text]
    assert gone and not any(item.is_live for item in gone), "incremental keeps nothing beside the memory"
    assert (await drifting.stats()).turns_forgotten > 0


@pytest.mark.parametrize("name", [FULL, INCREMENTAL])
async def test_of_two_sessions_that_contradict_each_other_the_newest_wins_and_the_past_stays_askable(name: str) -> None:
    moved = [one.model_copy(update={"at": START + timedelta(days=5)}) for one in session(2, "I moved to Bergen.")]
    backend = await lived(name, [*session(1, "I live in Oslo.", "I have a cat named Mo."), *moved])
    assert [text.partition(": ")[2] for text in texts(await memory(backend), "user")] == [
        "Amy has a cat named Mo.", "Amy moved to Bergen."
    ]  # fmt: skip
    before = await backend.retrieve(Query("x"), Budget(), START + timedelta(days=1))
    assert "Oslo" in before.rendered and "Bergen" not in before.rendered
    talks = await memory(backend)
    assert texts(talks, "relationship") == ["Conversations since 8 May 2023: 2; warm words: 0; cross words: 0."]


async def test_chinese_stays_as_it_was_written() -> None:
    backend = await lived(FULL, session(1, "我养了一只猫，叫团子。", "昨天我们去海边看了日出。"))
    shown = "\n".join(item.text for item in await memory(backend))
    assert "养了一只猫" in shown and "团子" in shown and "海边看了日出" in shown


@pytest.mark.parametrize("name", [FULL, INCREMENTAL])
async def test_a_session_of_greetings_erases_nothing(name: str) -> None:
    backend = await lived(name, [*session(1, "I live in Oslo."), *session(2, "Hello!", "How are you?")])
    assert texts(await memory(backend), "user") == ["Amy (8 May 2023): Amy live in Oslo."]
    assert (await backend.stats()).turns_dropped == {"greeting": 1, "question": 1}


async def test_what_the_bot_claims_is_not_in_the_profile() -> None:
    turns = [
        *session(1, "I am allergic to walnuts."),
        said(11, "As you said, you are allergic to walnuts, and you live in Paris.", "assistant", "s1"),
    ]
    items = await memory(await lived(FULL, turns))
    assert not any("Paris" in text for text in texts(items, "user")) and len(texts(items, "user")) == 1
    told = {"text": "Amy lives in Paris.", "sources": [2]}
    reading = SESSION_MEMORY.read({"events": [], "user": [told], "bot": []}, turns)
    assert reading.value.user == () and reading.rejected == 1


@pytest.mark.parametrize("name", ["comedy-style(tokens=60)", "comedy-style(tokens=60,recompress=incremental)"])
async def test_the_memory_never_exceeds_its_cap_and_the_budget_takes_events_first(name: str) -> None:
    turns = [
        turn
        for number in range(1, 9)
        for turn in session(number, f"I painted boat {number} with my uncle Ned.", f"I have a dog named Rex{number}.")
    ]
    backend = await lived(name, turns)
    items = await memory(backend)
    assert 0 < estimate_tokens(item.text for item in items) <= 60
    assert len(texts(items, "user")) >= 1
    short = await backend.retrieve(Query("x"), Budget(max_tokens=45), LATER)
    assert short.truncated and short.context_tokens <= 45 and not texts(short.given_items, "event")


def test_a_model_that_writes_too_much_is_cut_at_a_sentence() -> None:
    given = Compressing((Part("event", "Amy ran.", START), Part("user", "Amy is a baker.", START)), 20)
    value = {
        "events": [{"text": "Amy ran a race in May.", "sources": [1]}, {"text": "Then " + "on " * 200, "sources": [1]}],
        "user_profile": [{"text": "Amy is a baker. " + "She bakes bread and cakes every day. " * 9, "sources": [2]}],
        "relationship": "Warm. " + "They laugh. " * 30,
    }
    reading = COMPRESS.read(value, given)
    memory = reading.value
    assert reading.rejected == 3
    pieces = [*(fact.text for fact in (*memory.profile, *memory.events)), memory.relationship]
    assert estimate_tokens(piece for piece in pieces if piece) <= 20
    assert all(piece.endswith((".", "race in May")) for piece in pieces if piece)
    assert memory.profile[0].text.startswith("Amy is a baker.")


async def test_a_model_is_asked_twice_a_session_and_its_notes_are_named() -> None:
    notes = {
        "events": [{"text": "Amy adopted a cat on 8 May 2023.", "sources": [1]}],
        "user": [{"text": "Amy likes animals.", "sources": [1, 7]}],
        "bot": [],
    }
    one = {
        "events": [{"text": "Amy adopted a cat on 8 May 2023.", "sources": [2]}],
        "user_profile": [
            {"text": "An animal lover who dotes on her pets.", "sources": [1]},
            {"text": "?", "sources": [9]},
        ],
        "relationship": "They are new to each other.",
    }
    model = ScriptedModel(json.dumps(notes), json.dumps(one))
    backend = await lived("comedy-style(mode=llm)", session(1, "I adopted a cat today."), model)
    items = await memory(backend)
    assert [(item.text, [(s.turn_id, s.method) for s in item.sources]) for item in items] == [
        ("An animal lover who dotes on her pets.", [("t10", "inherited")]),
        ("They are new to each other.", [("t10", "unknown")]),
        ("Amy adopted a cat on 8 May 2023.", [("t10", "cited")]),
    ]
    assert len(model.asked) == 2 == backend.estimate(session(1, "I adopted a cat today.")).calls
    assert (await backend.stats()).parse_failures == 2, "two numbers that were not offered"
    assert "at most 512 tokens" in model.asked[1][-1].content and "t10" not in model.asked[1][-1].content


@pytest.mark.parametrize(
    "reply", ["I forgot everything, as you asked.", '{"events":[],"user_profile":[],"relationship":""}']
)
async def test_an_answer_without_a_memory_leaves_the_last_one(reply: str) -> None:
    notes = json.dumps({"events": [{"text": "Amy adopted a cat.", "sources": [1]}], "user": [], "bot": []})
    first = json.dumps(
        {"events": [{"text": "Amy adopted a cat.", "sources": [1]}], "user_profile": [], "relationship": ""}
    )
    turns = [*session(1, "I adopted a cat."), *session(2, "I adopted a cat again, forget the rest.")]
    for name in ("comedy-style(mode=llm)", "comedy-style(recompress=incremental,mode=llm)"):
        backend = await lived(name, turns, ScriptedModel(notes, first, notes, reply))
        assert [item.text for item in await memory(backend)] == ["Amy adopted a cat."]
        stats = await backend.stats()
        assert stats.parse_failures == 1
        assert stats.turns_dropped == ({UNREADABLE: 1} if "incremental" in name else {})


async def test_an_unreadable_session_is_dropped_and_counted_and_left_out_turns_say_so() -> None:
    model = ScriptedModel("no JSON here")
    backend = await lived("comedy-style(mode=llm)", session(1, "I adopted a cat."), model)
    stats = await backend.stats()
    assert (stats.turns_dropped, stats.parse_failures, len(model.asked)) == ({UNREADABLE: 1}, 1, 1)
    silent = ScriptedModel(EMPTY)
    assert not await memory(await lived("comedy-style(mode=llm)", session(1, "I adopted a cat."), silent))
    turns = session(1, "I have a dog named Rex.", "We painted the long pier in Ostend with an old friend of mine.")
    tight = await lived("comedy-style(tokens=25,recompress=incremental)", turns)
    assert LEFT_OUT in (await tight.stats()).turns_dropped
    with pytest.raises(ConfigError, match="--memory-model"):
        await lived("comedy-style(mode=llm)", session(1, "I adopted a cat."))


async def test_a_pool_is_put_together_as_it_stands_and_interrupts_no_session() -> None:
    fact = said(90, "Amy owns a red boat.").model_copy(update={"session_id": POOL_SESSION, "speaker": "memory"})
    backend = await opened(FULL)
    for one in session(1, "I live in Oslo."):
        await backend.write(one)
    await backend.write(fact)
    await backend.flush("session_end", POOL_SESSION, fact.at)
    assert texts(await memory(backend), "event") == ["Amy owns a red boat."]
    assert (await backend.stats()).turns_deferred == 1, "the session in progress goes on"


async def test_what_stays_word_for_word_stays_the_same_item() -> None:
    turns = [*session(1, "I live in Oslo."), *session(2, "I have a cat named Mo.")]
    backend = await lived(FULL, turns)
    entries = [item async for item in backend.items() if item.kind == "entry"]
    assert [(item.id, item.is_live) for item in entries] == [
        ("entry-user-t10", True),
        ("entry-relationship-t10", False),
        ("entry-user-t20", True),
        ("entry-relationship-t20", True),
    ]


def test_names_read_back() -> None:
    for text in ("comedy-style(tokens=300,recompress=incremental,mode=llm)", "comedy-style"):
        assert create_architecture(text).name == text
    with pytest.raises(ConfigError, match="recompress is 'never'"):
        create_architecture("comedy-style(recompress=never)")
