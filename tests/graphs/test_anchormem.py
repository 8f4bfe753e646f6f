"""`anchormem-style`: chunks, facts that anchor them, events over time; fan-out, provenance, the source's failures."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta

import numpy as np
import pytest

from mnemoscope.core.errors import ConfigError, EndpointError
from mnemoscope.core.ports import Completion, Message
from mnemoscope.core.usage import Phase, Usage
from mnemoscope.graphs.architecture import create_architecture
from mnemoscope.graphs.backend import MemoryBackend, Ports
from mnemoscope.graphs.conformance.twin_model import TwinModel
from mnemoscope.graphs.nodes.anchors import told_groups
from mnemoscope.memory_backends.record import Budget, MemoryItem, Query, Retrieval
from mnemoscope.scenarios.records import Turn
from mnemoscope.scenarios.replay import POOL_SESSION
from tests.graphs.graph_tools import START, FlakyEmbedder, opened, ports, turn

NAME, LLM, PAIRS = "anchormem-style", "anchormem-style(mode=llm)", "anchormem-style(least_new=2,mode=llm)"
REFUSAL = "I could not find facts, sorry"


class Angles:
    """An embedder whose vectors a test draws: unit vectors in the plane, by the last known word that a text has."""

    id, dim = "angles@2", 2

    def __init__(self, **degrees: float) -> None:
        self.degrees, self.texts = degrees, list[str]()

    async def embed(self, texts: Sequence[str], purpose: str) -> np.ndarray:
        self.texts += texts
        angles = [next((d for word, d in self.degrees.items() if word in text), 180.0) for text in texts]
        return np.asarray([[math.cos(math.radians(a)), math.sin(math.radians(a))] for a in angles], np.float32)

    def unknown_share(self, texts: Sequence[str]) -> float | None:
        return None


@dataclass
class Saying:
    """A model that says what a test makes of the contract's title and what it shows."""

    say: Callable[[str, str], str]
    key: str = "saying-1"
    asked: list[tuple[str, str]] = field(default_factory=list)

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        phase: Phase,
        schema: Mapping[str, object] | None = None,
        max_tokens: int | None = None,
        replicate: int = 0,
    ) -> Completion:
        title = str((schema or {})["title"])
        self.asked.append((title, messages[-1].content))
        return Completion(self.say(title, messages[-1].content), Usage({phase: 1}), self.key)

    def shown(self, title: str) -> list[str]:
        return [text for asked, text in self.asked if asked == title]


class Dawdling(TwinModel):
    """Answers by rule, the later asked the sooner."""

    def __init__(self) -> None:
        self.calls = 0

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        phase: Phase,
        schema: Mapping[str, object] | None = None,
        max_tokens: int | None = None,
        replicate: int = 0,
    ) -> Completion:
        self.calls += 1
        for _ in range(max(0, 40 - 3 * self.calls)):
            await asyncio.sleep(0)
        return await super().complete(messages, phase=phase, schema=schema)


def sessions(*said: Sequence[str]) -> list[Turn]:
    """One session a day; Amy and Bo take turns."""
    turns: list[Turn] = []
    for day, texts in enumerate(said):
        for number, text in enumerate(texts):
            at = START + timedelta(days=day, minutes=number)
            one = turn(len(turns), text, f"s{day}", ("Amy", "Bo")[number % 2])
            turns.append(one.model_copy(update={"at": at}))
    return turns


async def fed(name: str, turns: Sequence[Turn], given: Ports | None = None) -> MemoryBackend:
    """A memory that has taken in whole sessions, as a replay gives them."""
    backend = await opened(name, given)
    for number, one in enumerate(turns):
        await backend.write(one)
        if number + 1 == len(turns) or turns[number + 1].session_id != one.session_id:
            await backend.flush("session_end", one.session_id, one.at)
    return backend


async def stored(backend: MemoryBackend, kind: str) -> list[MemoryItem]:
    return [item async for item in backend.items() if item.kind == kind]


def turns_of(item: MemoryItem) -> list[str]:
    return [source.turn_id for source in item.sources]


async def asked(backend: MemoryBackend, text: str, days: float | None = None, k: int | None = 10) -> Retrieval:
    now = None if days is None else START + timedelta(days=days)
    return await backend.retrieve(Query(text), Budget(k=k), now)


DOGS = (["I got a dog named Rex."], ["I walk the dog daily."], ["The dog learned a trick."], ["I sold the piano."])
NEAR = {"dog": 0.0, "piano": 90.0}


async def test_a_session_becomes_overlapping_chunks_and_facts_that_lead_to_them() -> None:
    said = ["I adopted a cat.", "I bought a boat.", "I live in Oslo.", "I play chess.", "I hate rain."]
    backend = await fed(NAME, sessions(said))
    chunks, facts = await stored(backend, "chunk"), await stored(backend, "fact")
    assert [turns_of(chunk) for chunk in chunks] == [["t0", "t1", "t2"], ["t2", "t3", "t4"]]
    assert {source.method for chunk in chunks for source in chunk.sources} == {"verbatim"}
    assert [(fact.text, turns_of(fact), len(fact.links)) for fact in facts] == [
        ("Amy: Amy adopted a cat.", ["t0"], 1),
        ("Bo: Bo bought a boat.", ["t1"], 1),
        ("Amy: Amy live in Oslo.", ["t2"], 2),
        ("Bo: Bo play chess.", ["t3"], 1),
        ("Amy: Amy hate rain.", ["t4"], 1),
    ]
    assert facts[2].links == tuple(chunk.id for chunk in chunks)


async def test_nothing_of_the_session_in_progress_is_remembered() -> None:
    turns = sessions(["I adopted a cat."], ["I bought a boat."])
    backend = await fed(NAME, turns[:1])
    receipt = await backend.write(turns[1])
    assert receipt.deferred == ("t1",)
    assert [turns_of(item) for item in (await asked(backend, "cat or boat")).items] == [["t0"]]
    await backend.flush("session_end", turns[1].session_id, turns[1].at)
    assert sorted(map(turns_of, (await asked(backend, "cat or boat")).items)) == [["t0"], ["t1"]]


async def test_the_same_fact_in_two_chunks_keeps_both() -> None:
    turns = sessions(["I love hiking."], ["I bought a boat."], ["I love hiking."])
    embedder = Angles(hiking=0.0, boat=90.0)
    backend = await fed(NAME, turns, ports(embedder))
    fact = (await stored(backend, "fact"))[0]
    assert (fact.text, turns_of(fact), fact.links) == ("Amy: Amy love hiking.", ["t0", "t2"], ("t0", "t2"))
    assert embedder.texts.count(fact.text) == 1
    assert [item.id for item in (await asked(backend, "hiking", k=2)).given_items] == ["t0", "t2"]
    assert [item.id for item in (await asked(backend, "hiking", days=1.5)).items] == ["t0", "t1"]


async def test_facts_alike_over_time_are_told_as_an_event_with_their_turns() -> None:
    backend = await fed(NAME, sessions(*DOGS), ports(Angles(**NEAR)))
    facts, (*_, event) = await stored(backend, "fact"), await stored(backend, "event")
    assert event.text.splitlines() == [
        "[8 May 2023, 13:56] Amy: Amy got a dog named Rex.",
        "[9 May 2023, 13:56] Amy: Amy walk the dog daily.",
        "[10 May 2023, 13:56] Amy: The dog learned a trick.",
    ]
    assert event.links == tuple(fact.id for fact in facts[:3])
    assert [(s.turn_id, s.method) for s in event.sources] == [(f"t{n}", "inherited") for n in range(3)]
    assert (event.seq_from, event.seq_to, event.observed_at) == (0, 2, START + timedelta(days=2))


@pytest.mark.parametrize("thanks", ["Thanks, Amy!", "That's gorgeous, Amy!", "真为你高兴！"])
async def test_pleasantries_are_no_facts_and_make_no_event_but_stay_in_their_chunk(thanks: str) -> None:
    backend = await fed(NAME, sessions(*([f"I sold piano number {n}.", thanks] for n in "abcd")), ports(Angles()))
    assert [fact.text for fact in await stored(backend, "fact")] == [f"Amy: Amy sold piano number {n}." for n in "abcd"]
    assert all(thanks not in event.text for event in await stored(backend, "event"))
    assert all(thanks in chunk.text for chunk in await stored(backend, "chunk"))


async def test_what_was_told_is_told_again_only_with_enough_to_add() -> None:
    assert not await stored(await fed(NAME, sessions(*DOGS[:2]), ports(Angles(**NEAR))), "event")  # a pair
    five = [*DOGS[:3], ["I brush the dog often."], ["I bathed the dog today."]]
    counts = [
        len(await stored(await fed(NAME, sessions(*five[:n]), ports(Angles(**NEAR))), "event")) for n in (3, 4, 5)
    ]
    assert counts == [1, 1, 1]
    six = [*five, ["We found the dog in a ditch."]]
    assert len(await stored(await fed(NAME, sessions(*six), ports(Angles(**NEAR))), "event")) == 2


async def test_neither_facts_of_one_chunk_nor_what_is_below_the_threshold_is_an_event() -> None:
    together = sessions([text for (text,) in DOGS[:3]])
    assert not await stored(await fed(NAME, together, ports(Angles(**NEAR))), "event")
    apart = {"Rex": 0.0, "daily": 40.0, "trick": 80.0}
    assert not await stored(await fed(NAME, sessions(*DOGS), ports(Angles(**apart))), "event")
    assert await stored(await fed("anchormem-style(threshold=0.7)", sessions(*DOGS), ports(Angles(**apart))), "event")


async def test_a_read_hands_over_chunks_word_for_word_and_events_in_order_of_time() -> None:
    backend = await fed(NAME, sessions(*reversed(DOGS)), ports(Angles(**NEAR)))
    found = await asked(backend, "piano", k=3)
    assert [(item.kind, item.id, item.score) for item in found.given_items] == [
        ("turn", "t0", 1.0),
        ("event", found.items[1].id, 1.0),
        ("turn", "t1", 0.0),
    ]
    assert found.rendered.split("\n\n")[0] == "[8 May 2023, 13:56] Amy: I sold the piano."
    assert [block.partition("]")[0] for block in found.rendered.split("\n\n")] == [
        "[8 May 2023, 13:56",
        "[9 May 2023, 13:56",
        "[9 May 2023, 13:56",
    ]
    again = await asked(backend, "piano", k=3)
    assert (again.rendered, again.items) == (found.rendered, found.items)


async def test_beyond_the_nearest_facts_the_ranking_goes_on_without_scores() -> None:
    turns = sessions(*([f"I own boat{n} now."] for n in range(9)))
    embedder = Angles(**{f"boat{n}": 10.0 * n for n in range(9)}, start=0.0)
    backend = await fed("anchormem-style(top=3,least_new=50,neighbours=1)", turns, ports(embedder))
    found = await asked(backend, "start", k=None)
    chunks = [item for item in found.items if item.kind == "turn"]
    assert [item.id for item in chunks] == [f"t{n}" for n in range(9)]
    assert [item.score is not None for item in chunks] == [True] * 3 + [False] * 6
    assert [item.rank for item in found.items] == list(range(1, len(found.items) + 1))


async def test_the_query_is_embedded_once() -> None:
    backend = await fed(NAME, sessions(*DOGS))
    assert (await asked(backend, "dog")).usage.embedded_texts == 1


async def test_the_session_that_no_question_cites_is_found_too() -> None:
    backend = await fed(NAME, sessions(["I adopted a cat named Plum."], ["My brother studies botany in Ghent."]))
    assert turns_of((await asked(backend, "Who studies botany?")).items[0]) == ["t1"]


async def test_a_short_turn_counts_where_it_was_said() -> None:
    turns = sessions(["I adopted a cat named Plum.", "Thanks!"], ["My brother studies botany.", "Thanks!"])
    backend = await fed(NAME, turns)
    found = (await asked(backend, "botany", k=1)).given_items
    assert [turns_of(item) for item in found] == [["t2", "t3"]]


async def test_what_a_read_at_an_earlier_time_sees_was_said_by_then() -> None:
    backend = await fed(NAME, sessions(*DOGS), ports(Angles(**NEAR)))
    found = await asked(backend, "dog", days=1.5)
    assert {turn_id for item in found.items for turn_id in turns_of(item)} == {"t0", "t1"}


def dog_facts(title: str, shown: str) -> str:
    if title == "extract-facts":
        return json.dumps({"facts": [{"text": f"Amy and {shown.rstrip().splitlines()[-1][-20:]}", "sources": [1]}]})
    return json.dumps({"events": [{"text": "Amy got a dog and walks it.", "sources": [1, 2]}]})


async def test_a_model_is_asked_once_per_chunk_and_once_per_group() -> None:
    model = Saying(dog_facts)
    backend = await fed(LLM, sessions(*DOGS), replace(ports(Angles(**NEAR)), model=model))
    assert len(model.shown("extract-facts")) == 4
    (shown,) = model.shown("write-events")
    assert "Facts:\n1. [8 May 2023, 13:56] Amy and" in shown
    assert "Dialogues:\n[8 May 2023, 13:56] Amy: I got a dog named Rex.\n---\n[9 May" in shown
    (event,) = await stored(backend, "event")
    assert (event.text, turns_of(event)) == ("Amy got a dog and walks it.", ["t0", "t1"])
    assert (await backend.stats()).usage.calls_by_phase == {"extract": 4, "summarise": 1}


async def test_compat_leaves_the_chunk_of_the_anchor_out() -> None:
    model = Saying(dog_facts)
    await fed(
        "anchormem-style(least_new=2,compat=true,mode=llm)",
        sessions(*DOGS[:2]),
        replace(ports(Angles(**NEAR)), model=model),
    )
    (shown,) = model.shown("write-events")
    assert shown.partition("Dialogues:\n")[2].strip() == "[9 May 2023, 13:56] Amy: I walk the dog daily."


async def test_parentheses_inside_a_list_of_events_are_just_text() -> None:
    def say(title: str, shown: str) -> str:
        listed = '["Liam grew basil.","Sarah (his sister) helped."]'
        return dog_facts(title, shown) if title == "extract-facts" else listed

    backend = await fed(PAIRS, sessions(*DOGS[:2]), replace(ports(Angles(**NEAR)), model=Saying(say)))
    events = await stored(backend, "event")
    assert [event.text for event in events] == ["Liam grew basil.", "Sarah (his sister) helped."]
    # nothing of it is in the facts: it may be invented, and counts as such
    assert {(s.turn_id, s.method) for event in events for s in event.sources} == {("t0", "unknown"), ("t1", "unknown")}


async def test_prose_is_no_fact_and_no_event_and_is_counted() -> None:
    silent = await fed(LLM, sessions(*DOGS), replace(ports(), model=Saying(lambda title, shown: REFUSAL)))
    stats = await silent.stats()
    assert (dict(stats.items_by_kind), stats.parse_failures, stats.turns_covered) == ({"turn": 4}, 4, 4)
    assert not (await asked(silent, "dog")).items

    model = Saying(lambda title, shown: dog_facts(title, shown) if title == "extract-facts" else REFUSAL)
    backend = await fed(LLM, sessions(*DOGS), replace(ports(Angles(**NEAR)), model=model))
    assert (await backend.stats()).parse_failures == len(model.shown("write-events")) == 1
    anchors = [fact for fact in await stored(backend, "fact") if told_groups(fact)]
    assert [len(group) for anchor in anchors for group in told_groups(anchor)] == [3]


async def test_numbers_that_were_not_offered_are_rejected_and_counted() -> None:
    def say(title: str, shown: str) -> str:
        if title == "extract-facts":
            return dog_facts(title, shown)
        return json.dumps({"events": [{"text": "Amy and dog", "sources": [2, 7]}, {"text": "Made up", "sources": [9]}]})

    backend = await fed(PAIRS, sessions(*DOGS[:2]), replace(ports(Angles(**NEAR)), model=Saying(say)))
    assert [(event.text, turns_of(event)) for event in await stored(backend, "event")] == [("Amy and dog", ["t1"])]
    assert (await backend.stats()).parse_failures == 2


async def test_two_groups_that_tell_the_same_share_the_event() -> None:
    cats = [["I got a cat named Plum."], ["I feed the cat daily."]]
    embedder = Angles(**NEAR, cat=90.0)
    backend = await fed(
        PAIRS,
        sessions(*DOGS[:2], *cats),
        replace(ports(embedder), model=Saying(dog_facts)),
    )
    (event,) = await stored(backend, "event")
    assert (turns_of(event), len(event.links)) == (["t0", "t1", "t2", "t3"], 4)


async def test_who_answers_first_decides_nothing() -> None:
    said = [[f"I got dog number {day}.", "Lovely news.", f"I bought boat {day}.", "I see."] for day in range(4)]
    hashes = []
    for model in (TwinModel(), Dawdling()):
        backend = await fed(
            "anchormem-style(threshold=0.3,least_new=1,mode=llm)", sessions(*said), replace(ports(), model=model)
        )
        assert await stored(backend, "event")
        hashes.append((await backend.snapshot()).sha256)
    assert hashes[0] == hashes[1]


@pytest.mark.parametrize("fails", [2, 3])
async def test_an_embedder_that_fails_changes_nothing_and_the_session_is_tried_again(fails: int) -> None:
    embedder = FlakyEmbedder(fails)
    name = "anchormem-style(threshold=0.1,least_new=2)"
    turns = sessions(["I got a dog named Rex."], ["I got a dog named Max."])
    backend = await fed(name, turns, ports(embedder))
    assert embedder.calls == fails
    stats = await backend.stats()
    assert (dict(stats.items_by_kind), stats.turns_deferred) == ({"fact": 1, "turn": 1}, 1)
    receipt = await backend.flush("history_end", None, turns[-1].at)
    assert receipt.turn_ids == ("t1",)
    undisturbed = await fed(name, turns)
    assert [item.id async for item in backend.items()] == [item.id async for item in undisturbed.items()]
    assert len(await stored(backend, "event")) == 1


async def test_a_model_that_fails_on_one_chunk_of_many_leaves_the_memory_as_it_was() -> None:
    calls = 0

    def say(title: str, shown: str) -> str:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise EndpointError("down", cause="server", retryable=True)
        return dog_facts(title, shown)

    turns = sessions(["I got a dog.", "How nice for you.", "It barks.", "I heard it.", "I walk it."])
    backend = await fed(LLM, turns, replace(ports(), model=Saying(say)))
    assert [item async for item in backend.items()] == []
    await backend.flush("history_end", None, turns[-1].at)
    assert len(await stored(backend, "chunk")) == 2


async def test_memories_that_a_probe_brings_stand_alone_and_end_no_session() -> None:
    backend = await opened(NAME)
    talk = sessions(["I adopted a cat.", "I bought a boat."])
    brought = [turn(n, f"Memory {n} about the harbour.", POOL_SESSION, "memory") for n in (7, 8)]
    await backend.write(talk[0])
    for one in brought:
        await backend.write(one)
    receipt = await backend.flush("session_end", POOL_SESSION, brought[-1].at)
    assert (receipt.turn_ids, receipt.deferred) == (("t0", "t7", "t8"), ("t0",))
    assert sorted(item.text for item in (await asked(backend, "harbour")).items if item.kind == "turn") == [
        one.text for one in brought
    ]
    await backend.write(talk[1])
    await backend.flush("history_end", None, talk[-1].at)
    assert turns_of((await stored(backend, "chunk"))[0]) == ["t0", "t1"]


async def test_a_restored_memory_goes_on_as_if_it_had_never_stopped() -> None:
    turns = sessions(*DOGS)
    whole = await fed(NAME, turns, ports(Angles(**NEAR)))
    half = await fed(NAME, turns[:2], ports(Angles(**NEAR)))
    other = await opened(NAME, ports(Angles(**NEAR)))
    await other.restore(await half.snapshot())
    for one in turns[2:]:
        await other.write(one)
        await other.flush("session_end", one.session_id, one.at)
    assert [item async for item in other.items()] == [item async for item in whole.items()]


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("anchormem-style(threshold=1.5)", "threshold is 1.5; it must be a number from 0 to 1"),
        ("anchormem-style(window=2,overlap=2)", "overlap is 2"),
        ("anchormem-style(neighbours=0)", "neighbours is 0"),
        ("anchormem-style(compat=true)", "compat decides what a model is shown; add mode=llm"),
    ],
)
def test_parameters_out_of_range_are_refused(name: str, complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint.replace("(", r"\(")):
        create_architecture(name)


def test_the_name_round_trips_with_the_parameters_of_the_paper() -> None:
    name = "anchormem-style(threshold=0.85,neighbours=3)"
    assert create_architecture(name).name == name
