"""`memora-style`: values under short indexes, cues that entries share, merging, and searches that follow cues."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemoscope.core.errors import ConfigError
from mnemoscope.core.ports import Completion, Message
from mnemoscope.core.usage import Phase, Usage
from mnemoscope.graphs.architecture import create_architecture
from mnemoscope.graphs.backend import MemoryBackend
from mnemoscope.graphs.conformance.material import chat
from mnemoscope.graphs.conformance.twin_model import TwinModel
from mnemoscope.graphs.contracts.abstract import ABSTRACT
from mnemoscope.graphs.contracts.asking import in_hand
from mnemoscope.graphs.contracts.cues import CUES, Cued
from mnemoscope.graphs.contracts.segment import SEGMENT, Stretch
from mnemoscope.memory_backends.embedders.hashing import HashEmbedder
from mnemoscope.memory_backends.record import Budget, MemoryItem, Query, Retrieval
from mnemoscope.scenarios.records import Turn
from mnemoscope.scenarios.replay import POOL_SESSION
from tests.graphs.graph_tools import START, FlakyEmbedder, fed, opened, ports, turn

NAME, BARE = "memora-style", "memora-style(episodic=false)"
LLM, BARE_LLM = "memora-style(mode=llm)", "memora-style(episodic=false,mode=llm)"
POLICY_LLM = "memora-style(read=policy,episodic=false,mode=llm)"
MONTHS = timedelta(days=60)


class Replies(TwinModel):
    """Scripted replies to some contracts, the last one of each for ever; the rules answer the others."""

    key = "replies-1"

    def __init__(self, **lines: Sequence[object]) -> None:
        self.lines = {
            name: [one if isinstance(one, str) else json.dumps(one) for one in said] for name, said in lines.items()
        }
        self.prompts: dict[str, list[str]] = defaultdict(list)

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        phase: Phase,
        schema: Mapping[str, object] | None = None,
        max_tokens: int | None = None,
        replicate: int = 0,
    ) -> Completion:
        asked = in_hand()
        assert asked is not None
        name = asked[0].name.replace("-", "_")
        self.prompts[name].append(messages[-1].content)
        if name not in self.lines:
            return await super().complete(messages, phase=phase, schema=schema, max_tokens=max_tokens)
        said = self.lines[name]
        return Completion(said[min(len(self.prompts[name]), len(said)) - 1], Usage({phase: 1}), self.key)


class Drawn:
    """An embedder whose vectors a test draws: unit vectors in the plane, by what a text contains; else orthogonal."""

    id, dim = "drawn@3", 3

    def __init__(self, **degrees: float) -> None:
        self.degrees = degrees

    async def embed(self, texts: Sequence[str], purpose: str) -> np.ndarray:
        return np.asarray([self._row(text) for text in texts], np.float32)

    def _row(self, text: str) -> list[float]:
        angle = next((degrees for word, degrees in self.degrees.items() if word in text), None)
        return [0.0, 0.0, 1.0] if angle is None else [math.cos(math.radians(angle)), math.sin(math.radians(angle)), 0.0]

    def unknown_share(self, texts: Sequence[str]) -> float | None:
        return None


def entry(index: str, value: str, *sources: int) -> dict[str, object]:
    return {"index": index, "value": value, "sources": list(sources)}


def drawn(*entries: dict[str, object]) -> dict[str, object]:
    return {"entries": list(entries)}


def months_later(one: Turn) -> Turn:
    return one.model_copy(update={"at": one.at + MONTHS})


async def items(backend: MemoryBackend, *kinds: str) -> list[MemoryItem]:
    return [item async for item in backend.items() if not kinds or item.kind in kinds]


async def sessions(name: str, *turns: Turn, model: Replies | None = None, **given: object) -> MemoryBackend:
    """A memory that was told of each turn in a session of its own."""
    backend = await opened(name, replace(ports(**given), model=model))  # type: ignore[arg-type]
    for one in turns:
        await backend.write(one)
        await backend.flush("session_end", one.session_id, one.at)
    return backend


async def found(backend: MemoryBackend, text: str, budget: Budget | None = None, **kwargs: object) -> Retrieval:
    return await backend.retrieve(Query(text), budget or Budget(), kwargs.get("now"), "pure")  # type: ignore[arg-type]


# What is kept


async def test_episodes_facts_and_cues_with_their_turns() -> None:
    talk = [
        turn(0, "I adopted a rescue greyhound in Bergen. Do you like dogs?"),
        turn(1, "Hi!", speaker="Bo"),
        turn(2, "My cousin repairs violins.", speaker="Bo"),
    ]
    backend = await fed(NAME, talk)
    (episode,) = await items(backend, "episode")
    assert episode.text.splitlines()[1] == "[8 May 2023, 13:57] Bo: Hi!"
    assert [(source.turn_id, source.method) for source in episode.sources] == [(f"t{n}", "verbatim") for n in range(3)]
    facts = await items(backend, "entry")
    assert [(fact.text, [(s.turn_id, s.method) for s in fact.sources]) for fact in facts] == [
        ("Amy: I adopted a rescue greyhound in Bergen.", [("t0", "cited")]),
        ("Bo: My cousin repairs violins.", [("t2", "cited")]),
    ]
    assert facts[0].attrs["index"] == "Amy: Bergen, rescue greyhound, adopted"
    cues = {cue.id: cue for cue in await items(backend, "cue")}
    assert {cues[link].text for link in facts[0].links} == {
        "Amy Bergen",
        "Amy rescue greyhound",
        "Bergen rescue greyhound",
    }
    assert all(facts[0].id in cues[link].links for link in facts[0].links)


async def test_entries_share_a_cue() -> None:
    backend = await sessions(
        BARE, turn(0, "I walked with my greyhound."), turn(1, "I slept beside my GREYHOUND.", "s2")
    )
    (cue,) = [one for one in await items(backend, "cue") if one.text.casefold() == "amy greyhound"]
    assert cue.links == ("entry-t0", "entry-t1")
    assert [source.turn_id for source in cue.sources] == ["t0", "t1"]


async def test_the_index_is_embedded_and_the_value_is_shown() -> None:
    class Recorder(HashEmbedder):
        async def embed(self, texts: Sequence[str], purpose: str) -> np.ndarray:
            seen.extend(texts)
            return await super().embed(texts, purpose)  # type: ignore[arg-type]

    seen: list[str] = []
    talk = [turn(n, f"I photographed lighthouse {n} near Vardø.", f"s{n // 3}") for n in range(6)]
    backend = await fed(NAME, talk, ports(Recorder(64)))
    assert seen == list(create_architecture(NAME).texts_to_embed(talk))
    assert not any("I photographed" in text for text in seen)
    result = await found(backend, "lighthouse near Vardø")
    assert "[8 May 2023, 13:56] Amy: I photographed lighthouse 0 near Vardø." in result.rendered
    assert {item.kind for item in result.items} == {"entry", "episode"}


async def test_turns_wait_for_the_end_of_their_session() -> None:
    backend = await opened(NAME)
    receipt = await backend.write(turn(0, "I adopted a tortoise."))
    assert receipt.deferred == ("t0",) and not await items(backend)
    receipt = await backend.write(turn(1, "I sold the piano.", "s2"))
    assert receipt.turn_ids == ("t1", "t0") and receipt.deferred == ("t1",)


async def test_without_episodes_turns_that_say_nothing_are_dropped_with_the_reason() -> None:
    backend = await fed(BARE, [turn(0, "I adopted a tortoise."), turn(1, "What is its name?"), turn(2, "Hi Bo!")])
    assert (await backend.stats()).turns_dropped == {"greeting": 1, "question": 1}
    assert not await items(backend, "episode")


async def test_what_a_person_has_one_of_is_indexed_by_its_slot() -> None:
    talk = (turn(0, "I moved to Bergen with my cousin."), turn(1, "My sister works at Acme."))
    entries = ABSTRACT.rule(talk)["entries"]
    assert [one["index"] for one in entries] == ["Amy lives in", "Amy's sister works at"]  # type: ignore[union-attr, index]


def test_cues_pair_names_with_what_goes_with_them() -> None:
    cues = CUES.rule(
        (Cued("x", "Amy: Kim plays the cello in Vardø", ("Amy",)), Cued("Amy and Bo: harbour maps", "", ("Amy", "Bo")))
    )
    assert [one["cues"] for one in cues["cues"]] == [  # type: ignore[union-attr, index]
        ["Amy Vardø", "Kim Vardø", "Amy Kim plays"],
        ["Amy harbour maps", "Bo harbour maps"],
    ]


async def test_a_memory_from_a_pool_is_a_fact_of_its_own() -> None:
    backend = await opened(NAME)
    await backend.write(turn(0, "I adopted a tortoise."))
    pooled = turn(1, "Amy owns a boat.", POOL_SESSION)
    receipt = await backend.write(pooled)
    (fact,) = await items(backend)
    assert receipt.added == (fact.id,) and (fact.kind, fact.text, fact.attrs["index"]) == (
        "entry",
        "Amy owns a boat.",
        "Amy owns a boat.",
    )
    assert [(source.turn_id, source.method) for source in fact.sources] == [("t1", "verbatim")] and not fact.links
    assert (await backend.stats()).turns_deferred == 1


# Segments


@given(
    st.lists(st.sampled_from(["the old harbour", "a violin", "her cousin", "maps of Vardø"]), min_size=1, max_size=45)
)
def test_the_rule_divides_a_stretch_into_segments_of_two_to_eight(texts: list[str]) -> None:
    stretch = Stretch(tuple(turn(n, text) for n, text in enumerate(texts)))
    reading = SEGMENT.read(SEGMENT.rule(stretch), stretch)
    lengths = [one.end - one.start + 1 for one in reading.value]
    assert reading.rejected == 0 and sum(lengths) == len(texts)
    assert all(min(2, len(texts)) <= length <= 8 for length in lengths)


@given(st.lists(st.tuples(st.integers(-3, 30), st.integers(-3, 30), st.sampled_from(["boats", " "]))))
def test_any_answer_divides_all_turns_and_what_it_lacks_is_counted(spans: list[tuple[int, int, str]]) -> None:
    stretch = Stretch(tuple(chat(20)))
    answer = {"segments": [{"start": start, "end": end, "topic": topic} for start, end, topic in spans]}
    reading = SEGMENT.read(answer, stretch)
    numbers = [n for one in reading.value for n in range(one.start, one.end + 1)]
    assert numbers == list(range(1, 21)) and all(one.end - one.start < 8 and one.topic for one in reading.value)
    as_said = [(one.start, one.end, one.topic) for one in reading.value] == sorted(spans)
    assert (reading.rejected == 0) == as_said


def test_the_rule_cuts_where_the_talk_turns_to_something_else() -> None:
    texts = ["the harbour boats"] * 5 + ["violin strings"] * 4
    stretch = Stretch(tuple(turn(n, text) for n, text in enumerate(texts)))
    assert [(one.start, one.end) for one in SEGMENT.read(SEGMENT.rule(stretch), stretch).value] == [(1, 5), (6, 9)]


async def test_a_gap_goes_to_the_segment_before_it_and_is_counted() -> None:
    model = Replies(
        segment=[{"segments": [{"start": 1, "end": 2, "topic": "boats"}, {"start": 5, "end": 6, "topic": "maps"}]}]
    )
    backend = await fed(LLM, chat(6, per_session=6), replace(ports(), model=model))
    assert [len(one.sources) for one in await items(backend, "episode")] == [4, 2]
    assert [one.attrs["index"] for one in await items(backend, "episode")] == ["Amy and Bo: boats", "Amy and Bo: maps"]
    assert (await backend.stats()).parse_failures == 1


async def test_a_session_of_300_turns_is_segmented_as_it_comes() -> None:
    model = Replies()
    backend = await opened(LLM, replace(ports(), model=model))
    for one in chat(300, per_session=300):
        await backend.write(one)
    stats = await backend.stats()
    assert (stats.turns_covered, stats.turns_deferred) == (280, 20)
    assert len(model.prompts["segment"]) == 7 and max(map(len, model.prompts["segment"])) < 5_000
    assert max(len(one.sources) for one in await items(backend, "episode")) <= 8
    assert max(len(one.sources) for one in await items(backend, "entry")) == 1


async def test_a_fact_of_one_sentence_in_a_session_of_25_turns_names_its_turn_and_not_the_session() -> None:
    talk = [turn(n, f"The tax form {n} is due.") for n in range(24)]
    backend = await fed(NAME, [*talk, turn(24, "I adopted a greyhound called Rex.")])
    (fact,) = [one for one in await items(backend, "entry") if "greyhound" in one.text]
    assert [(source.turn_id, source.method) for source in fact.sources] == [("t24", "cited")]


# Consolidation


async def test_a_new_value_of_a_slot_replaces_the_old_one_which_earlier_reads_find() -> None:
    backend = await sessions(BARE, turn(0, "I live in Oslo."), months_later(turn(1, "I moved to Bergen.", "s2")))
    old, new = await items(backend, "entry")
    assert (new.text, new.supersedes, old.valid_to) == ("Amy: I moved to Bergen.", old.id, new.observed_at)
    assert [source.turn_id for source in new.sources] == ["t0", "t1"]
    assert {cue.text: cue.is_live for cue in await items(backend, "cue")} == {
        "Amy Oslo": False, "Amy Bergen": True, "Amy moved": True, "Bergen moved": True,
    }  # fmt: skip
    assert "Bergen" in (await found(backend, "Amy lives in")).rendered
    june = START + MONTHS / 2
    for question in ("Amy lives in", "Amy Oslo"):
        then = await found(backend, question, now=june)
        assert "Oslo" in then.rendered and "Bergen" not in then.rendered


async def test_a_later_episode_of_one_session_replaces_what_an_earlier_one_said() -> None:
    talk = [turn(n, f"I photographed the harbour, picture {n}.") for n in range(1, 9)]
    backend = await fed(BARE, [turn(0, "I live in Oslo."), *talk, turn(9, "I moved to Bergen.")])
    homes = [one for one in await items(backend, "entry") if one.attrs["index"] == "Amy lives in"]
    assert [(one.text, one.is_live) for one in homes] == [
        ("Amy: I live in Oslo.", False),
        ("Amy: I moved to Bergen.", True),
    ]
    assert {source.turn_id for source in homes[1].sources} == {"t0", "t9"}


async def test_the_same_words_give_their_turn_and_make_no_version() -> None:
    backend = await sessions(
        BARE, turn(0, "The spare key is under the flowerpot."), turn(1, "The spare key is under the flowerpot!", "s2")
    )
    (fact,) = await items(backend, "entry")
    assert [source.turn_id for source in fact.sources] == ["t0", "t1"] and fact.version == 1


async def test_the_same_words_about_another_day_are_a_memory_of_their_own() -> None:
    text = "I went to the opera yesterday."
    backend = await sessions(BARE, turn(0, text), turn(1, text, "s2"), months_later(turn(2, text, "s3")))
    facts = await items(backend, "entry")
    assert [[source.turn_id for source in fact.sources] for fact in facts] == [["t0", "t1"], ["t2"]]


async def test_of_two_that_say_the_same_the_fuller_one_stays() -> None:
    told = [turn(0, "I live in Oslo near the old brewery."), turn(1, "I live in Oslo.", "s2")]
    for order in (told, [told[1], told[0]]):
        backend = await sessions(BARE, *order)
        live = [one for one in await items(backend, "entry") if one.is_live]
        assert [one.text for one in live] == ["Amy: I live in Oslo near the old brewery."]
        assert {source.turn_id for source in live[0].sources} == {"t0", "t1"}


async def test_two_people_are_never_merged() -> None:
    backend = await sessions(
        BARE, turn(0, "I live in Oslo."), turn(1, "I live in Rome.", "s2", "Bo"), embedder=Drawn(lives=0)
    )
    assert [one.is_live for one in await items(backend, "entry")] == [True, True]


async def test_without_consolidation_every_entry_stands_for_itself() -> None:
    backend = await sessions(
        "memora-style(episodic=false,consolidate=false)",
        turn(0, "I live in Oslo."),
        turn(1, "I moved to Bergen.", "s2"),
    )
    assert [one.is_live for one in await items(backend, "entry")] == [True, True]


REX = [drawn(entry("Rex's age", "Amy's dog Rex is 2.", 1)), drawn(entry("Rex's age", "Amy's dog Rex turned 3.", 1))]


async def test_an_update_by_a_model_keeps_the_turns_of_both() -> None:
    merge = {"merge": True, "target": 1, "value": "Amy's dog Rex was 2 and turned 3.", "index": "age of Rex, Amy's dog"}
    model = Replies(abstract=REX, consolidate=[merge], cues=[{"cues": [{"entry": 1, "cues": ["Rex age"]}]}])
    backend = await sessions(LLM, turn(0, "My dog Rex is 2."), turn(1, "Rex turned 3.", "s2"), model=model)
    old, new = await items(backend, "entry")
    assert [source.turn_id for source in new.sources] == ["t0", "t1"] and not old.is_live
    assert (new.text, new.attrs["index"]) == (merge["value"], merge["index"])
    assert "Rex's age | Amy's dog Rex turned 3." in model.prompts["consolidate"][0]
    # what the merge put in other words was given cues again
    assert "age of Rex, Amy's dog | Amy's dog Rex was 2 and turned 3." in model.prompts["cues"][-1]
    assert (await found(backend, "age of Rex, Amy's dog")).items[0].id == new.id


@pytest.mark.parametrize(
    ("merge", "texts"), [(False, ["Amy joined Acme.", "Amy joined Initech."]), (True, ["Amy joined Initech."])]
)
async def test_two_values_under_one_index_are_compared_and_none_is_skipped(merge: bool, texts: list[str]) -> None:
    said = [drawn(entry("Amy's new job", f"Amy joined {firm}.", 1)) for firm in ("Acme", "Initech")]
    model = Replies(abstract=said, consolidate=[{"merge": merge, "target": 1}])
    backend = await sessions(LLM, turn(0, "I joined Acme."), turn(1, "I joined Initech.", "s2"), model=model)
    assert [one.text for one in await items(backend, "entry") if one.is_live] == texts


@pytest.mark.parametrize(("degrees", "asked"), [(36, 1), (37, 0)])
async def test_a_model_is_asked_from_a_cosine_of_0_8(degrees: float, asked: int) -> None:
    model = Replies(
        abstract=[drawn(entry("first", "Amy paints.", 1)), drawn(entry("second", "Amy draws.", 1))],
        consolidate=[{"merge": False}],
    )
    talk = (turn(0, "I paint every day."), turn(1, "I draw every day.", "s2"))
    await sessions(BARE_LLM, *talk, model=model, embedder=Drawn(first=0, second=degrees))
    assert len(model.prompts["consolidate"]) == asked


async def test_five_candidates_at_most() -> None:
    firms = [drawn(entry("Amy's job", f"Amy works at firm {n}.", 1)) for n in range(8)]
    model = Replies(abstract=firms, consolidate=[{"merge": False}])
    await sessions(BARE_LLM, *(turn(n, f"I work at firm {n}.", f"s{n}") for n in range(8)), model=model)
    assert [prompt.count("Amy's job |") for prompt in model.prompts["consolidate"]] == [2, 3, 4, 5, 6, 6, 6]


async def test_one_stored_entry_is_changed_once_per_run() -> None:
    merge = {"merge": True, "target": 1}
    model = Replies(
        abstract=[
            drawn(entry("Amy's job", "Amy works at Acme.", 1)),
            drawn(entry("Amy's job", "Amy works at Initech.", 1), entry("Amy's job", "Amy works at Globex.", 2)),
        ],
        consolidate=[merge],
    )
    talk = (turn(0, "I work at Acme."), turn(1, "I work at Initech.", "s2"), turn(2, "I work at Globex.", "s2"))
    backend = await opened(BARE_LLM, replace(ports(), model=model))
    for one in talk:
        await backend.write(one)
    await backend.flush("history_end", None, talk[-1].at)
    assert [(one.id, one.is_live) for one in await items(backend, "entry")] == [
        ("entry-t0", False), ("entry-t0~2", True), ("entry-t2", True),
    ]  # fmt: skip


async def test_a_merged_text_that_nobody_said_is_marked() -> None:
    merge = {"merge": True, "target": 1, "value": "Gravity bends starlight around massive galaxies."}
    backend = await sessions(
        BARE_LLM,
        turn(0, "My dog Rex is 2."),
        turn(1, "Rex turned 3.", "s2"),
        model=Replies(abstract=REX, consolidate=[merge]),
    )
    assert [(s.turn_id, s.method) for s in (await items(backend, "entry"))[-1].sources] == [
        ("t0", "cited"),
        ("t1", "unknown"),
    ]


async def test_out_of_order_an_update_holds_from_when_both_were_said() -> None:
    backend = await sessions(BARE, months_later(turn(0, "I live in Oslo.")), turn(1, "I moved to Bergen.", "s2"))
    assert (await items(backend, "entry"))[-1].observed_at == START + MONTHS
    assert not (await found(backend, "Amy lives in", now=START + MONTHS / 2)).items


# Replies that cannot be used


@pytest.mark.parametrize(
    ("contract", "reply", "failures"),
    [
        ("segment", "no idea", 1),
        (
            "segment",
            {"segments": [{"start": 3, "end": 6, "topic": "boats"}, {"start": 7, "end": 12, "topic": "boats"}]},
            1,
        ),
        ("abstract", "no idea", 2),
        ("abstract", drawn(entry("Amy's boat", "Amy owns a boat.", 99)), 2),
        ("abstract", drawn(entry(" ", "Amy owns a boat.", 1)), 2),
        ("cues", "no idea", 1),
        ("cues", {"cues": [{"entry": 77, "cues": ["Amy boat"]}]}, 1),
        ("cues", {"cues": [{"entry": 1, "cues": ["a b", "c d", "e f", "g h"]}]}, 1),
    ],
)
async def test_a_reply_that_cannot_be_used_is_counted_and_loses_no_turn(
    contract: str, reply: object, failures: int
) -> None:
    model = Replies(**{contract: [reply]})
    talk = [turn(n, f"I {verb} the boat {n}.") for n, verb in enumerate(["painted", "sold", "repaired", "named"] * 3)]
    backend = await fed(LLM, talk, replace(ports(), model=model))
    stats = await backend.stats()
    assert stats.parse_failures == failures and stats.turns_covered == len(talk)
    assert {source.turn_id for item in await items(backend) for source in item.sources} == {one.turn_id for one in talk}


async def test_without_episodes_an_unreadable_extraction_drops_its_turns_by_name() -> None:
    backend = await fed(BARE_LLM, [turn(0, "I sold the piano.")], replace(ports(), model=Replies(abstract=["no idea"])))
    assert (await backend.stats()).turns_dropped == {"unreadable reply": 1}


@pytest.mark.parametrize(
    "reply", ["no idea", {"merge": True}, {"merge": True, "target": 9}, {"merge": True, "target": 0}]
)
async def test_a_merge_into_what_was_not_offered_is_none_and_is_counted(reply: object) -> None:
    backend = await sessions(
        BARE_LLM,
        turn(0, "My dog Rex is 2."),
        turn(1, "Rex turned 3.", "s2"),
        model=Replies(abstract=REX, consolidate=[reply]),
    )
    assert [one.is_live for one in await items(backend, "entry")] == [True, True]
    assert (await backend.stats()).parse_failures == 1


@pytest.mark.parametrize("failing", [1, 2])
async def test_an_endpoint_that_fails_leaves_the_store_as_it_was(failing: int) -> None:
    talk = [turn(0, "I live in Oslo."), turn(1, "My cousin repairs violins.")]
    backend = await opened(NAME, ports(FlakyEmbedder(failing)))  # type: ignore[arg-type]
    for one in talk:
        await backend.write(one)
    assert (await backend.flush("session_end", None, talk[-1].at)).deferred == ("t0", "t1")
    assert not await items(backend)
    await backend.flush("history_end", None, talk[-1].at)
    whole = await fed(NAME, talk)
    assert await items(backend) == await items(whole)


# Reading


async def test_the_ranks_by_index_count_twice_those_by_cue() -> None:
    model = Replies(
        abstract=[
            drawn(entry("near", "Amy: first.", 1)),
            drawn(entry("far", "Amy: second.", 1)),
            drawn(entry("close", "Amy: third.", 1)),
        ],
        cues=[{"cues": [{"entry": 1, "cues": [cue]}]} for cue in ("none here", "hit", "hit")],
    )
    talk = [turn(n, f"I said {word}.", f"s{n}") for n, word in enumerate(["first", "second", "third"])]
    angles = Drawn(near=10, close=20, hit=5, question=0)
    backend = await sessions(BARE_LLM, *talk, model=model, embedder=angles)
    result = await found(backend, "question")
    # the third one has rank 2 by index and 1 by cue, the second one rank 2 by cue alone
    assert [(item.text, item.score) for item in result.items] == [
        ("Amy: third.", round(2 / 62 + 1 / 61, 6)),
        ("Amy: first.", round(2 / 61, 6)),
        ("Amy: second.", round(1 / 62, 6)),
    ]


@pytest.mark.parametrize(
    ("name", "degrees", "number"), [(BARE, 66, 1), (BARE, 67, 0), ("memora-style(episodic=false,least=0)", 89, 1)]
)
async def test_nothing_counts_as_found_below_a_cosine_of_0_4(name: str, degrees: float, number: int) -> None:
    backend = await sessions(name, turn(0, "I repair violins."), embedder=Drawn(violins=degrees, question=0))
    assert len((await found(backend, "question")).items) == number


async def test_the_head_does_not_depend_on_how_deep_the_budget_asks() -> None:
    talk = [turn(n, f"I photographed lighthouse number{n} near Vardø.", f"s{n // 6}") for n in range(60)]
    backend = await fed(NAME, talk)
    short = await found(backend, "lighthouse near Vardø", Budget(k=5, depth_tokens=0))
    deep = await found(backend, "lighthouse near Vardø", Budget(k=40, depth_tokens=9_000))
    assert len(deep.items) > 20 and deep.items[:10] == short.items[:10]
    assert len({item.id for item in deep.items}) == len(deep.items)


def chain() -> tuple[list[Turn], Replies]:
    """Three facts: the first one is like the question, and each shares a cue with the next one."""
    model = Replies(
        abstract=[
            drawn(entry(index, f"Amy: {value}.", 1))
            for index, value in (("start", "one"), ("hidden", "two"), ("buried", "three"))
        ],
        cues=[{"cues": [{"entry": 1, "cues": cues}]} for cues in (["bridge"], ["bridge", "tunnel"], ["tunnel"])],
    )
    return [turn(n, f"I said {word}.", f"s{n}") for n, word in enumerate(["one", "two", "three"])], model


ANGLES = {
    "start": 10.0,
    "hidden": 85.0,
    "buried": 170.0,
    "bridge": 40.0,
    "tunnel": -50.0,
    "question": 0.0,
    "anew": 175.0,
}


async def test_the_policy_follows_cues_to_what_is_not_like_the_question() -> None:
    talk, model = chain()
    backend = await sessions(POLICY_LLM, *talk, model=model, embedder=Drawn(**ANGLES))
    result = await found(backend, "question")
    assert [item.text for item in result.items] == ["Amy: one.", "Amy: two.", "Amy: three."]
    prompts = model.prompts["policy_step"]
    assert [prompt.partition("Cues:\n")[2].strip() for prompt in prompts] == [
        "1. bridge\n2. tunnel",
        "1. tunnel",
        "none",
    ]
    assert "Amy: one." in prompts[0] and "Amy: two." not in prompts[0], "what is unlike the question is not in hand"


@pytest.mark.parametrize(
    ("bridge", "tunnel", "steps", "reached"),
    [
        (61, -61, 1, ["one", "two"]),  # neither is as near as 0.5; two entries are kept in any case
        (59, -61, 2, ["one", "two"]),
        (40, -50, 3, ["one", "two", "three"]),
        (40, 71, 2, ["one", "two", "three"]),  # 31 degrees apart, cosine 0.86: both are followed in one step
        (40, 72, 2, ["one", "two"]),  # 32 degrees apart, cosine 0.85 less a little
    ],
)
async def test_the_rule_follows_cues_from_a_cosine_of_0_5_and_two_of_0_85_as_one(
    bridge: float, tunnel: float, steps: int, reached: list[str]
) -> None:
    talk, model = chain()
    angles = Drawn(**(ANGLES | {"bridge": bridge, "tunnel": tunnel}))
    backend = await sessions(POLICY_LLM, *talk, model=model, embedder=angles)
    result = await found(backend, "question")
    assert [item.text for item in result.items] == [f"Amy: {word}." for word in reached]
    assert len(model.prompts["policy_step"]) == steps


async def test_a_model_that_never_stops_is_stopped() -> None:
    model = Replies(policy_step=[{"action": "REQUERY", "query": "more"}])
    backend = await sessions("memora-style(read=policy,mode=llm)", turn(0, "I repair violins."), model=model)
    assert (await found(backend, "violins")).items
    assert len(model.prompts["policy_step"]) == 6


async def test_asking_anew_brings_in_what_is_like_the_new_words() -> None:
    talk, model = chain()
    model.lines["policy_step"] = [json.dumps({"action": "REQUERY", "query": "anew"}), json.dumps({"action": "STOP"})]
    angles = Drawn(**ANGLES)
    backend = await sessions(POLICY_LLM, *talk, model=model, embedder=angles)
    assert [item.text for item in (await found(backend, "question")).items] == ["Amy: three.", "Amy: one."]


@pytest.mark.parametrize(
    "reply", ["no idea", {"action": "EXPAND", "cue": 44}, {"action": "REQUERY", "query": " "}, {"action": "LOOK"}]
)
async def test_a_step_that_cannot_be_taken_ends_the_search_and_is_counted(reply: object) -> None:
    model = Replies(policy_step=[reply])
    backend = await sessions("memora-style(read=policy,mode=llm)", turn(0, "I repair violins."), model=model)
    result = await found(backend, "violins")
    assert result.items and result.parse_failures == 1 and len(model.prompts["policy_step"]) == 1


async def test_the_policy_keeps_two_entries_however_unlike_the_question() -> None:
    talk = [turn(n, f"I repair {what}.", f"s{n}") for n, what in enumerate(["violins", "clocks", "boats"])]
    backend = await sessions(
        "memora-style(read=policy,episodic=false)", *talk, embedder=Drawn(violins=80, clocks=85, boats=89, question=0)
    )
    assert [item.text for item in (await found(backend, "question")).items] == [
        "Amy: I repair violins.",
        "Amy: I repair clocks.",
    ]


async def test_an_earlier_read_follows_cues_to_nothing_later() -> None:
    for way in ("semantic", "policy"):
        talk = [turn(0, "My greyhound barks."), months_later(turn(1, "My greyhound sleeps.", "s2"))]
        backend = await sessions(f"memora-style(read={way})", *talk)
        then = await found(backend, "Amy greyhound", now=START + MONTHS / 2)
        assert {source.turn_id for item in then.items for source in item.sources} == {"t0"}


async def test_closing_one_memory_leaves_another_one_alone() -> None:
    one, other = [await sessions(NAME, turn(0, f"I repair {what}.")) for what in ("violins", "clocks")]
    await one.close()
    assert "clocks" in (await found(other, "repair clocks")).rendered


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("memora-style(read=both)", "read is 'both'; it must be one of semantic, policy"),
        ("memora-style(least=2)", "least is 2; it must be a number from 0 to 1"),
        ("memora-style(episodic=1)", "episodic is 1; it must be true or false"),
        ("memora-style(consolidate=0.8)", "consolidate is 0.8; it must be true or false"),
        ("memora-style(mode=fast)", "mode is 'fast'"),
    ],
)
def test_bad_parameters_say_what_they_may_be(name: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said.replace("(", r"\(")):
        create_architecture(name)
