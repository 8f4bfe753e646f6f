"""`mem0-v2-style`: one pass that only adds, names in a side table, and a ranking that words and names only re-order."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from mnemoscope.core.errors import ConfigError
from mnemoscope.graphs.architecture import create_architecture
from mnemoscope.graphs.backend import MemoryBackend
from mnemoscope.graphs.nodes.entity_links import names_in
from mnemoscope.memory_backends.embedders.hashing import HashEmbedder
from mnemoscope.memory_backends.record import Budget, MemoryItem, Query, Retrieval
from mnemoscope.scenarios.records import Turn
from tests.graphs.graph_tools import START, FlakyEmbedder, fed, opened, ports, turn
from tests.graphs.replayed_model import ScriptedModel

NAME, LLM = "mem0-v2-style", "mem0-v2-style(mode=llm)"


class Drawn:
    """An embedder whose vectors a test draws: unit vectors in the plane, by what a text contains."""

    id, dim = "drawn@2", 2

    def __init__(self, **degrees: float) -> None:
        self.degrees = degrees

    async def embed(self, texts: Sequence[str], purpose: str) -> np.ndarray:
        angles = [next((d for word, d in self.degrees.items() if word in text), 90.0) for text in texts]
        return np.asarray([[math.cos(math.radians(a)), math.sin(math.radians(a))] for a in angles], np.float32)

    def unknown_share(self, texts: Sequence[str]) -> float | None:
        return None


def facts(*stated: tuple[str, int]) -> str:
    return json.dumps({"facts": [{"text": text, "sources": [number]} for text, number in stated]}, ensure_ascii=False)


async def stored(backend: MemoryBackend, kind: str = "fact") -> list[MemoryItem]:
    return [item async for item in backend.items() if item.kind == kind]


async def asked(backend: MemoryBackend, text: str, days: float | None = None, k: int = 10) -> Retrieval:
    now = None if days is None else START + timedelta(days=days)
    return await backend.retrieve(Query(text), Budget(k=k), now)


async def told(*texts: str, name: str = "mem0-v2-style(add_per=turn)", **degrees: float) -> MemoryBackend:
    turns = [
        turn(n, text, f"s{n}").model_copy(update={"at": START + timedelta(days=n)}) for n, text in enumerate(texts)
    ]
    return await fed(name, turns, ports(Drawn(**degrees) if degrees else None))


async def scripted(lines: Sequence[str], turns: Sequence[Turn], name: str = LLM) -> tuple[MemoryBackend, ScriptedModel]:
    model = ScriptedModel(lines)
    return await fed(name, turns, replace(ports(), model=model)), model


async def test_what_contradicts_is_kept_beside_what_it_contradicts() -> None:
    backend = await told("I live in Oslo.", "I moved to Bergen.")
    assert [item.is_live for item in await stored(backend)] == [True, True]
    assert (await backend.stats()).tombstones == 0
    assert [item.text for item in (await asked(backend, "Oslo or Bergen", 0.5)).items] == [
        "Amy (8 May 2023): Amy live in Oslo."
    ]


async def test_a_duplicate_word_for_word_gives_its_turn_to_the_stored_fact() -> None:
    same_day = [turn(n, "The spare key is under the flowerpot.", f"s{n}") for n in range(3)]
    (item,) = await stored(await fed(NAME, same_day))
    assert [source.turn_id for source in item.sources] == ["t0", "t1", "t2"]


async def test_the_same_words_on_another_day_are_another_fact() -> None:
    assert len(await stored(await told("The spare key is under the pot.", "The spare key is under the pot."))) == 2


async def test_duplicates_are_looked_for_among_the_ten_nearest_only() -> None:
    lines = [facts(*((f"Amy likes {word}.", 1) for word in "abcdefghijkl")), facts(("Amy likes l.", 1))]
    near = {f"likes {word}": 40.0 + n for n, word in enumerate("abcdefghijk")}
    embedder = Drawn(**{"remark": 40.0, **near, "likes l": 120.0})
    turns = [turn(n, "remark", f"s{n}") for n in range(2)]
    backend = await fed(LLM, turns, replace(ports(embedder), model=ScriptedModel(lines)))
    texts = [item.text for item in await stored(backend)]
    assert texts.count("Amy likes l.") == 2


async def test_the_extractor_sees_the_last_ten_turns_cut_short_and_the_nearest_facts_by_number() -> None:
    turns = [turn(n, f"Remark {n} " + "x" * 400, "s0") for n in range(14)]
    lines = [facts((f"Amy made remark {n}.", 1)) for n in range(7)]
    backend, model = await scripted(lines, turns)
    before = model.prompts[-1].partition("Earlier turns")[2].partition("\nTurns:")[0]
    assert [f"Remark {n} " in before for n in range(14)] == [2 <= n < 12 for n in range(14)]
    assert "x" * 291 in before and "x" * 293 not in before
    known = model.prompts[-1].partition("Stored statements:\n")[2].partition("\n\n")[0]
    assert sorted(line.partition(". ")[2] for line in known.splitlines()[:6]) == [
        f"Amy made remark {n}." for n in range(6)
    ]
    assert "fact-" not in model.prompts[-1] and (await backend.stats()).usage.calls_by_phase["extract"] == 7


async def test_one_extraction_takes_in_a_turn_a_pair_or_a_session() -> None:
    turns = [turn(n, f"Remark {n} is made.", f"s{n // 4}") for n in range(8)]
    for per, calls in (("turn", 8), ("pair", 4), ("session", 2)):
        _, model = await scripted([facts()], turns, f"mem0-v2-style(add_per={per},mode=llm)")
        assert len(model.prompts) == calls


async def test_fourteen_turns_at_once_leave_the_last_ten_for_the_next() -> None:
    turns = [turn(n, f"Remark {n} is made.", "s0") for n in range(14)] + [turn(14, "And more is said.", "s1")]
    _, model = await scripted([facts()], turns, "mem0-v2-style(add_per=session,mode=llm)")
    before = model.prompts[-1].partition("Earlier turns")[2].partition("\nTurns:")[0]
    assert [n for n in range(14) if f"Remark {n} is" in before] == list(range(4, 14))


async def test_names_are_entities_reused_by_spelling_and_by_nearness() -> None:
    backend = await told(
        "I met Kim in New Harbor.", "Then KIM left.", "Now we like New Harbour.", HarborX=1.0, Harbour=10.0, Harbor=5.0
    )
    names = {item.text: item for item in await stored(backend, "entity")}
    assert "New Harbour" not in names and "KIM" not in names
    linked = [set(item.links) for item in await stored(backend)]
    harbor = names["New Harbor"]
    assert [harbor.id in links for links in linked] == [True, False, True]
    assert [source.turn_id for source in harbor.sources] == ["t0"]


async def test_entities_are_never_handed_out() -> None:
    backend = await told("I met Kim in Bergen.", "Kim has a boat.")
    assert {item.kind for item in (await asked(backend, "Kim in Bergen", k=99)).items} == {"fact"}


def test_whose_fact_it_is_counts_as_a_name_and_a_role_does_not() -> None:
    assert names_in("Amy (8 May 2023): Amy live in Oslo.", "Amy") == ("Amy", "Oslo")
    assert names_in("user (8 May 2023): user live in Oslo.", "user") == ("Oslo",)
    assert names_in("小明 (8 May 2023): 小明养了一只猫叫团子", "小明") == ("小明", "团子")


async def test_words_re_rank_what_is_near_and_bring_in_nothing_else() -> None:
    said = ("I saw a heron at noon.", "I left a boat there.", "I know a boat far away.")
    backend = await told(*said, heron=10.0, left=11.0, far=100.0, query=0.0)
    found = (await asked(backend, "query boat")).items
    assert [item.sources[0].turn_id for item in found] == ["t1", "t0"]
    by_meaning = (await asked(backend, "query")).items
    assert [(item.sources[0].turn_id, item.score) for item in by_meaning] == [
        ("t0", pytest.approx(math.cos(math.radians(10)), abs=1e-5)),
        ("t1", pytest.approx(math.cos(math.radians(11)), abs=1e-5)),
    ]


@pytest.mark.parametrize(
    ("query", "middle", "steep"),
    [("boat", 5, 0.7), ("boat bb cc dd", 7, 0.6), ("boat bb cc dd ee ff gg", 9, 0.5), ("boat " + "bb " * 15, 12, 0.5)],
)
async def test_the_score_is_that_of_the_package(query: str, middle: float, steep: float) -> None:
    backend = await told("I left a boat there.", left=30.0, boat=0.0)
    (found,) = (await asked(backend, query)).items
    raw = math.log(1 + 0.5 / 1.5) / (1 + 1.5)  # one text of average length: Lucene's BM25 of one term
    expected = (math.cos(math.radians(30)) + 1 / (1 + math.exp(-steep * (raw - middle)))) / 2
    assert found.score == pytest.approx(expected, abs=1e-4)


async def test_a_shared_name_lifts_a_fact_the_less_the_more_facts_share_it() -> None:
    said = ("I gave a stone to Kim.", "I kept a stone at home.")
    angles = {"gave": 20.0, "kept": 20.0, "Kim": 0.0}
    near = math.cos(math.radians(20))
    for others, boost in ((0, 0.5), (40, 0.5 / (1 + 0.001 * 40**2))):
        backend = await told(*said, *(f"Kim said remark {n} to me." for n in range(others)), **angles)
        # another spelling: near the name, and no word of any fact
        scores = {i.sources[0].turn_id: i.score for i in (await asked(backend, "Tell of Kimmy", k=99)).items}
        assert scores["t0"] == pytest.approx((near + boost) / 1.5, abs=1e-5)
        assert scores["t1"] == pytest.approx(near / 1.5, abs=1e-5)


async def test_names_count_only_what_was_known_by_then() -> None:
    texts = ("I met Kim at the boat.", *(f"Kim said remark {n}." for n in range(30)))
    whole, short = await told(*texts), await told(texts[0])
    assert (await asked(whole, "Who is Kim?", 0.5)).items[0].score != (await asked(whole, "Who is Kim?")).items[0].score
    before, alone = await asked(whole, "Is Kim there", 0.5), await asked(short, "Is Kim there", 0.5)
    assert [item.id for item in before.items] == [item.id for item in alone.items]


async def test_the_head_of_a_ranking_does_not_depend_on_its_depth() -> None:
    backend = await told(*(f"the boat made trip {n}" for n in range(90)), name="mem0-v2-style(add_per=turn,k=1)")
    short = (await asked(backend, "boat trip 7", k=5)).items
    deep = (await backend.retrieve(Query("boat trip 7"), Budget(k=80, depth_tokens=99_999), None)).items
    assert [item.id for item in deep[: len(short)]] == [item.id for item in short]
    assert [item.score is None for item in deep] == [n >= 60 for n in range(90)]
    assert [item.rank for item in deep] == list(range(1, 91))


async def test_a_relative_day_is_worked_out_from_the_turn_and_today_never_shows() -> None:
    (item,) = await stored(await told("I ran a charity race yesterday."))
    assert item.text == "Amy (8 May 2023): Amy ran a charity race yesterday [7 May 2023]."


async def test_one_fact_told_eight_times_at_once_is_one_memory() -> None:
    backend, turns = await opened(NAME), [turn(n, "The boat is blue.") for n in range(8)]
    await asyncio.gather(*(backend.write(one) for one in turns))
    await backend.flush("history_end", None, START)
    (item,) = await stored(backend)
    assert {source.turn_id for source in item.sources} == {one.turn_id for one in turns}


async def test_an_assistant_that_quotes_memories_feeds_nothing_back() -> None:
    said = turn(0, "I am allergic to walnuts.").model_copy(update={"role": "user"})
    echo = turn(1, "Noted: you are allergic to walnuts.", speaker="Aide").model_copy(update={"role": "assistant"})
    backend = await fed(NAME, [said, echo])
    assert [source.turn_id for item in await stored(backend) for source in item.sources] == ["t0"]


async def test_speakers_keep_their_names_though_both_have_the_role_of_user() -> None:
    turns = [turn(0, "I have a cat."), turn(1, "I have a dog.", speaker="Bo")]
    backend = await fed(NAME, [one.model_copy(update={"role": "user"}) for one in turns])
    assert [item.text.partition(": ")[2] for item in await stored(backend)] == ["Amy has a cat.", "Bo has a dog."]


async def test_chinese_is_found_by_words_and_names() -> None:
    backend = await told("我在成都工作", "我养了一只猫叫团子")
    assert (await asked(backend, "团子")).items[0].sources[0].turn_id == "t1"
    assert "团子" in [item.text for item in await stored(backend, "entity")]


@pytest.mark.parametrize("reply", ["null", "", '{"memory": []}', "I cannot help with that."])
async def test_an_unreadable_reply_is_counted_and_its_turns_are_dropped(reply: str) -> None:
    backend, _ = await scripted([reply], [turn(0, "I like the boat.")])
    stats = await backend.stats()
    assert (stats.parse_failures, stats.turns_dropped) == (1, {"unreadable reply": 1})
    assert not await stored(backend)


async def test_an_invented_fact_has_sources_of_unknown_kind_and_an_invented_turn_none() -> None:
    lines = [
        json.dumps({"facts": [{"text": "Zoltan owns nine castles.", "sources": [1]}, {"text": "x", "sources": [9]}]})
    ]
    backend, _ = await scripted(lines, [turn(0, "I like the boat.")])
    (item,) = await stored(backend)
    assert item.sources[0].method == "unknown" and (await backend.stats()).parse_failures == 1


@pytest.mark.parametrize("failing", range(1, 5))
async def test_a_failing_embedder_leaves_the_memory_as_it_was_and_the_run_is_repeated(failing: int) -> None:
    turns = [turn(n, f"I met Kim{n} at pier {n}.", f"s{n // 2}") for n in range(4)]
    smooth = await fed(NAME, turns)
    flaky = await opened(NAME, ports(FlakyEmbedder(failing)))
    for one in turns:
        await flaky.write(one)
    await flaky.flush("session_end", None, START)
    await flaky.flush("history_end", None, START)
    for kind in ("fact", "entity"):
        assert await stored(flaky, kind) == await stored(smooth, kind)


async def test_all_that_is_embedded_is_embedded_ahead() -> None:
    seen: list[str] = []

    class Recorder(HashEmbedder):
        async def embed(self, texts: Sequence[str], purpose: str) -> np.ndarray:
            seen.extend(texts)
            return await super().embed(texts, "document")

    turns = [turn(n, f"I met Kim at pier {n} in New Harbor.", f"s{n // 5}") for n in range(10)]
    await fed(NAME, turns, ports(Recorder(64)))
    assert set(seen) <= set(create_architecture(NAME).texts_to_embed(turns))


def test_parameters_are_checked_and_named() -> None:
    assert create_architecture("mem0-v2-style(add_per=session,k=200)").name == "mem0-v2-style(add_per=session,k=200)"
    for bad in ("mem0-v2-style(k=0)", "mem0-v2-style(add_per=day)", "mem0-v2-style(mode=magic)"):
        with pytest.raises(ConfigError):
            create_architecture(bad)
