"""The controls and conditions of the benchmarks: what each hands over, and on which grounds."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from mnemoscope.core.errors import ConfigError
from mnemoscope.core.ports import Completion, Message
from mnemoscope.core.usage import Phase, Usage
from mnemoscope.graphs.architecture import create_architecture
from mnemoscope.graphs.extracts import count_words
from mnemoscope.graphs.importance import salience
from mnemoscope.memory_backends.embedders.hashing import HashEmbedder
from mnemoscope.memory_backends.record import Budget, Query
from mnemoscope.scenarios.records import Gold, Turn
from tests.graphs.graph_tools import START, Golds, fed, opened, ports, turn

LATER = START + timedelta(days=9)
TALK = [turn(n, f"remark number {n} about the harbour", f"s{n // 10}") for n in range(30)]


def ids(found: object) -> list[str]:
    return [item.id for item in found.given_items]


def said(number: int, text: str, role: str = "user", session: str = "s1", **meta: str) -> Turn:
    speaker = {"user": "Amy", "assistant": "Helper", "peer": "Bo"}[role]
    return turn(number, text, session, speaker).model_copy(update={"role": role, "meta": meta})


class ScriptedModel:
    """Gives its replies one after the other, the last one for ever; remembers what it was asked."""

    key = "scripted-1"

    def __init__(self, *replies: str) -> None:
        self.replies, self.asked = replies, list[Sequence[Message]]()

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        phase: Phase,
        schema: Mapping[str, object] | None = None,
        max_tokens: int | None = None,
        replicate: int = 0,
    ) -> Completion:
        self.asked.append(messages)
        text = self.replies[min(len(self.asked), len(self.replies)) - 1]
        return Completion(text, Usage({phase: 1}, prompt_tokens=7), self.key)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("oracle(5)", "oracle(around=5)"),
        ("oracle(around=0)", "oracle"),
        ("random(n=3)", "random"),
        ("random(avoid=gold,seed=42)", "random(seed=42,avoid=gold)"),
        ("full-context(last_chars=95000)", "full-context(last_chars=95000)"),
        ("compressed(by=bm25,mode=llm)", "compressed(by=bm25,mode=llm)"),
        ("summary(words=150)", "summary"),
        ("lc(share=25,summary=true)", "lc(share=25,summary=true)"),
        ("rag(25, k=10)", "rag(share=25)"),
        ("lc(summary=llm)", "lc(summary=llm)"),
    ],
)
def test_names_read_back(text: str, name: str) -> None:
    assert create_architecture(text).name == name == create_architecture(name).name


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("lc(share=0)", "share is 0; it must be a whole number from 1 to 100"),
        ("lc(summary=1)", "summary is 1; it must be true, false or llm"),
        ("rag(importance=guessed)", "importance is 'guessed'; it must be one of auto, given, salience"),
        ("oracle(around=-1)", "around is -1"),
        ("compressed(by=hybrid)", "by is 'hybrid'; it must be one of dense, bm25"),
        ("random(avoid=all)", "avoid is 'all'; it must be one of nothing, gold"),
    ],
)
def test_bad_parameters_name_the_range(text: str, wrong: str) -> None:
    with pytest.raises(ConfigError) as error:
        create_architecture(text)
    assert wrong in str(error.value)


def test_evidence_classes_say_where_a_rule_stands_for_a_model() -> None:
    classes = {
        name: create_architecture(name).evidence_class
        for name in (
            *(
                "lc",
                "lc(share=25)",
                "lc(share=25,importance=given)",
                "lc(summary=true)",
                "lc(summary=llm)",
                "lc(share=25,summary=llm)",
                "summary",
                "summary(mode=llm)",
            ),
            *("compressed", "compressed(mode=llm)", "random", "oracle(around=5)"),
        )
    }
    assert [name for name, given in classes.items() if given == "twin"] == [
        "lc(share=25)", "lc(summary=true)", "lc(share=25,summary=llm)", "summary", "compressed",
    ]  # fmt: skip
    assert {classes[name] for name in ("summary(mode=llm)", "compressed(mode=llm)", "lc(summary=llm)")} == {"model"}


async def test_oracle_with_context_stays_within_the_session() -> None:
    golds = Golds(p=Gold(evidence=("t2", "t17")), roles=Gold(roles={"t5": "must", "t6": "irr"}))
    backend = await fed("oracle(around=5)", TALK, ports(gold=golds))
    found = await backend.retrieve(Query("?", probe_id="p"), Budget(k=1), LATER)
    assert ids(found) == [f"t{n}" for n in (*range(8), *range(12, 20))]
    assert [item.rank for item in found.items] == list(range(1, 17)) and not found.ranked
    pool = [turn(n, f"fact {n}", "pool", "memory") for n in range(8)]
    backend = await fed("oracle(around=5)", pool, ports(gold=golds))
    assert ids(await backend.retrieve(Query("?", probe_id="roles"), Budget(), LATER)) == ["t5"]


async def test_random_draws_by_probe_and_never_by_what_else_is_asked() -> None:
    backend = await fed("random(n=3)", TALK)
    first = [ids(await backend.retrieve(Query("?", probe_id=f"p{n}"), Budget(k=1), LATER)) for n in range(40)]
    again = [ids(await backend.retrieve(Query("?", probe_id=f"p{n}"), Budget(k=1), LATER)) for n in reversed(range(40))]
    assert first == again[::-1]
    assert all(len(drawn) == 3 and drawn == sorted(drawn, key=lambda name: int(name[1:])) for drawn in first)
    assert len({name for drawn in first for name in drawn}) > 20, "draws differ from probe to probe"
    other = await fed("random(n=3,seed=1)", TALK)
    assert ids(await other.retrieve(Query("?", probe_id="p0"), Budget(), LATER)) != first[0]


async def test_random_can_leave_gold_out_and_is_privileged_then() -> None:
    golds = Golds(p=Gold(evidence=tuple(f"t{n}" for n in range(28))))
    backend = await fed("random(n=5,avoid=gold)", TALK, ports(gold=golds))
    assert backend.capabilities.privileged and not create_architecture("random").capabilities.privileged
    assert ids(await backend.retrieve(Query("?", probe_id="p"), Budget(), LATER)) == ["t28", "t29"]


async def test_full_context_keeps_the_last_characters_and_whole_turns() -> None:
    whole = await (await fed("full-context", TALK)).retrieve(Query("x"), Budget(), LATER)
    for limit in (len(whole.rendered), 300, 60, 5):
        found = await (await fed(f"full-context(last_chars={limit})", TALK)).retrieve(Query("x"), Budget(), LATER)
        assert len(found.rendered) <= limit and whole.rendered.endswith(found.rendered)
        assert found.truncated == (limit < len(whole.rendered))
    assert found.given == 0


async def test_compressed_takes_sentences_that_bear_on_the_question() -> None:
    turns = [
        turn(0, "It rained. The boat is painted blue! We had soup."),
        turn(1, "The blue boat lies in Ostend. I slept badly."),
        turn(2, "Nothing new here."),
    ]
    backend = await fed("compressed(by=bm25,tokens=28)", turns)
    found = await backend.retrieve(Query("Where is the blue boat?"), Budget(k=1), LATER)
    assert found.rendered.splitlines() == [
        "[8 May 2023, 13:56] Amy: The boat is painted blue!",
        "[8 May 2023, 13:57] Amy: The blue boat lies in Ostend.",
    ]
    (item,) = found.items
    assert [(source.turn_id, source.method) for source in item.sources] == [("t0", "cited"), ("t1", "cited")]
    assert found.given == 1 and not found.ranked and not create_architecture("compressed").capabilities.privileged


async def test_compressed_by_a_model_is_the_models_text() -> None:
    model = ScriptedModel("  The boat is blue.  ")
    backend = await fed("compressed(by=bm25,mode=llm)", TALK, replace(ports(), model=model))
    found = await backend.retrieve(Query("harbour 3?"), Budget(), LATER)
    assert found.items[0].text == "The boat is blue." and found.usage.calls_by_phase == {"summarise": 1}
    assert {source.method for source in found.items[0].sources} == {"batch"} and len(found.items[0].sources) == 10
    assert "The user says: harbour 3?" in model.asked[0][-1].content
    with pytest.raises(ConfigError, match="--memory-model"):
        await (await fed("compressed(by=bm25,mode=llm)", TALK)).retrieve(Query("harbour?"), Budget(), LATER)


async def test_summary_is_of_the_last_session_and_earlier_ones_are_forgotten() -> None:
    turns = [said(0, "I adopted a cat."), said(1, "I moved to Ghent.", session="s2"), said(2, "Hi!", session="s3")]
    backend = await opened("summary")
    for one in turns[:2]:
        await backend.write(one)
        await backend.flush("session_end", one.session_id, one.at)
    await backend.write(turns[2])
    found = await backend.retrieve(Query("x"), Budget(k=1), LATER)
    assert found.rendered == "[8 May 2023, 13:57] Amy: I moved to Ghent."
    early = await backend.retrieve(Query("x"), Budget(), turns[0].at)
    assert "cat" in early.rendered, "what held then"
    stats = await backend.stats()
    assert (stats.turns_dropped, stats.turns_covered, stats.turns_deferred) == ({"policy": 1}, 1, 1)


async def test_a_given_summary_is_used_as_it_is_and_never_before_its_session_is_over() -> None:
    turns = [said(0, "I adopted a cat."), said(1, "Nice!", "assistant", session_summary="The user has a cat, Mo.")]
    backend = await opened("summary")
    for one in turns:
        await backend.write(one)
    assert not (await backend.retrieve(Query("x"), Budget(), LATER)).items
    await backend.flush("session_end", "s1", turns[1].at)
    found = await backend.retrieve(Query("x"), Budget(), LATER)
    assert found.items[0].text == "The user has a cat, Mo." and found.items[0].attrs["origin"] == "given"
    assert {source.method for source in found.items[0].sources} == {"batch"}


async def test_a_long_session_is_summarised_in_words_and_chinese_characters_count_half() -> None:
    english = [said(n, f"Today number {n} was a day with many different words in it.") for n in range(40)]
    chinese = [said(n, f"今天是第{n}天我去了海边看见很多船和海鸥。") for n in range(40)]
    for turns in (english, chinese):
        found = await (await fed("summary", turns)).retrieve(Query("x"), Budget(), LATER)
        assert 60 < count_words(found.items[0].text) <= 150


async def test_a_models_summary_and_what_stands_in_for_an_unreadable_one() -> None:
    turns = [said(0, "I adopted a cat."), said(1, "I moved to Ghent.", session="s2")]
    model = ScriptedModel(json.dumps({"summary": "Amy has a cat."}), "I cannot do that.")
    backend = await fed("summary(mode=llm)", turns, replace(ports(), model=model))
    texts = [(item.text, item.attrs["origin"]) async for item in backend.items()]
    assert texts == [("Amy has a cat.", "model"), ("Amy: I moved to Ghent.", "chosen sentences")]
    assert (await backend.stats()).parse_failures == 1
    assert backend.estimate(turns).calls == 2


async def test_a_model_that_writes_too_much_is_cut_at_a_sentence_and_counted() -> None:
    model = ScriptedModel(json.dumps({"summary": "Amy has a cat. " + "It is grey. " * 60}))
    backend = await fed("summary(mode=llm)", [said(0, "I adopted a cat.")], replace(ports(), model=model))
    (item,) = [item async for item in backend.items()]
    assert 140 < count_words(item.text) <= 150 and item.text.endswith("grey.")
    assert (await backend.stats()).parse_failures == 1
    assert "at most 150 words" in model.asked[0][0].content


async def test_a_summary_beside_the_share_can_be_a_models() -> None:
    model = ScriptedModel(json.dumps({"summary": "Amy greeted her diary."}))
    backend = await fed("lc(summary=llm)", DIARY, replace(ports(), model=model))
    found = await backend.retrieve(Query("x"), Budget(), LATER)
    assert found.items[0].text == "Amy greeted her diary." and found.items[0].kind == "summary"
    assert len(model.asked) == 2 == backend.estimate(DIARY).calls
    first = await opened("lc(summary=true)")
    await first.write(DIARY[0])
    assert not (await first.retrieve(Query("x"), Budget(), LATER)).items, "in the first session there is no summary"


DIARY = [
    said(0, "Good morning.", "assistant"),
    said(1, "Hello.", importance="0.1"),
    said(2, "Hello Amy!", "assistant"),
    said(3, "My sister Lena had a baby on 3 May.", importance="0.9"),
    said(4, "And I am tired.", importance="0.2"),
    said(5, "Congratulations!", "assistant"),
    said(6, "Bye.", importance="0.05"),
    said(7, "Good night.", "assistant"),
    said(8, "Hm.", session="s2", importance="0.9"),
]


async def test_lc_takes_the_share_by_given_importance_with_replies_in_order() -> None:
    backend = await fed("lc(share=50,importance=given)", DIARY)
    found = await backend.retrieve(Query("anything"), Budget(k=1), LATER)
    assert ids(found) == ["t3..t5", "t8"], "two of four exchanges; the reply to two turns comes once"
    assert found.rendered.count("Congratulations!") == 1 and "Good morning" not in found.rendered
    half = await (await fed("lc(share=25)", DIARY)).retrieve(Query("x"), Budget(), LATER)
    assert ids(half) == ["t3..t5"], "of equal scores the earlier exchange"
    whole = await (await fed("lc", DIARY)).retrieve(Query("x"), Budget(), LATER)
    assert ids(whole) == ["t0", "t1..t2", "t3..t5", "t6..t7", "t8"]


async def test_lc_works_importance_out_on_what_was_said_until_then() -> None:
    quiet = [said(n, text, session=f"s{n}") for n, text in enumerate(("Fine.", "I moved to Ghent in 2021.", "Yes."))]
    loud = said(3, "My brother Tom adopted 3 dogs and quit his job in Liège.", session="s3")
    backend = await fed("lc(share=10)", [*quiet, loud])
    assert ids(await backend.retrieve(Query("x"), Budget(), quiet[-1].at)) == ["t1"]
    assert ids(await backend.retrieve(Query("x"), Budget(), loud.at)) == ["t3"]


async def test_missing_importance_falls_back_or_is_an_error() -> None:
    partly = [*DIARY[:-1], said(8, "I started a new job in Bruges.", session="s2")]
    found = await (await fed("lc(share=25)", partly)).retrieve(Query("x"), Budget(), LATER)
    assert ids(found) == ["t3..t5"]
    given = await fed("lc(share=25,importance=given)", partly)
    with pytest.raises(ConfigError, match="no importance is given for t8"):
        await given.retrieve(Query("x"), Budget(), LATER)
    with pytest.raises(ConfigError, match="'much' is no number"):
        await fed("lc(share=25)", [said(0, "Hi.", importance="much")])


async def test_salience_in_english_and_chinese() -> None:
    english = salience(["ok thanks", "see you soon", "My sister Lena lives in Ghent and has 2 dogs", "yes please do"])
    chinese = salience(["好的谢谢", "再见", "我养了一只猫，它叫团子，今年3岁了", "嗯嗯"])
    assert english.index(max(english)) == chinese.index(max(chinese)) == 2
    assert salience([]) == [] and salience(["one"]) == [0.0]


async def test_rag_searches_only_the_share_and_gives_ten_at_most() -> None:
    turns = [said(n, f"remark {n} about the boat", session=f"s{n}", importance=f"{n / 100}") for n in range(40)]
    found = await (await fed("rag(share=50)", turns)).retrieve(Query("boat 3"), Budget(k=30), LATER)
    assert found.given == 10 and found.ranked and len(found.items) == 20
    assert {int(item.id[1:]) for item in found.items} == set(range(20, 40))
    scores = [item.score for item in found.items]
    assert scores == sorted(scores, reverse=True)
    few = await (await fed("rag(share=50,k=4)", turns)).retrieve(Query("boat 3"), Budget(k=2), LATER)
    assert few.given == 2


async def test_a_summary_stands_in_front_and_is_cut_last() -> None:
    turns = [said(n, f"I painted boat {n} in the old harbour.", session=f"s{n // 4}") for n in range(12)]
    for name in ("lc(summary=true)", "rag(summary=true,k=2)"):
        backend = await fed(name, turns)
        found = await backend.retrieve(Query("boat"), Budget(), LATER)
        assert [item.kind for item in found.given_items].count("summary") == 1 == found.items[0].rank
        assert found.items[0].kind == "summary" and "boat 11" in found.items[0].text
        assert (await backend.stats()).turns_dropped == {}, "the turns themselves are kept"
    assert found.given == 3, "the summary does not count towards k"
    lc = await fed("lc(summary=true)", turns)
    short = await lc.retrieve(Query("boat"), Budget(max_tokens=140), LATER)
    assert short.truncated and short.context_tokens <= 140
    assert short.items[0].kind == "summary" and ids(short)[1:] == ["t8..t11"]


@pytest.mark.parametrize("name", ["rag", "rag(summary=true)"])
async def test_what_is_to_be_embedded_is_what_is_embedded(name: str) -> None:
    class Recorder(HashEmbedder):
        async def embed(self, texts, purpose):
            seen.extend(texts)
            return await super().embed(texts, purpose)

    seen: list[str] = []
    await fed(name, DIARY, ports(Recorder(64)))
    assert seen == list(create_architecture(name).texts_to_embed(DIARY)) and len(seen) == 5 + 2 * ("summary" in name)
