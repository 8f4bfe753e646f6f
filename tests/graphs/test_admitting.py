"""The gate in front of a WRITE graph: which turns come in, on which grounds, and that nothing else changes."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemoscope.core.errors import ConfigError
from mnemoscope.graphs.admitting import NOT_ADMITTED
from mnemoscope.graphs.architecture import Architecture, create_architecture
from mnemoscope.graphs.drawing import draw_mermaid
from mnemoscope.graphs.importance import Heard, salience
from mnemoscope.memory_backends.record import Budget, Query, Scope
from mnemoscope.scenarios.replay import POOL_SESSION
from tests.graphs.graph_tools import START, FlakyEmbedder, fed, opened, ports, turn
from tests.graphs.test_variants import LATER, ScriptedModel

SMALL = ("Hi!", "Thanks, you too.", "Ok.", "Sounds good to me.")
TALK = [
    turn(0, "I moved to Ghent with my sister Lena in 2021."),
    *(turn(n, text) for n, text in enumerate(SMALL, start=1)),
    turn(5, "My dog Otto is afraid of the vacuum cleaner."),
    turn(6, "Ok, see you."),
]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("dense(admit=always)", "dense"),
        ("dense(admit=salience)", "dense(admit=salience)"),
        ("dense(admit=salience(-0.3))", "dense(admit=salience)"),
        ("dense(window=3,admit=salience(at_least=0.25))", "dense(window=3,admit=salience(0.25))"),
        ("lc(25,admit=llm)", "lc(share=25,admit=llm)"),
        ("mem0-v1-style(admit=salience(0),mode=llm)", "mem0-v1-style(mode=llm,admit=salience(0))"),
    ],
)
def test_names_read_back(text: str, name: str) -> None:
    assert create_architecture(text).name == name == create_architecture(name).name


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("dense(admit=never)", "admit is 'never'; it must be one of always, salience, llm"),
        ("dense(admit=salience(much))", "admit is 'salience(much)'; write salience(AT_LEAST) with a number"),
        ("dense(admit=salience(11))", "with a number from -10 to 10"),
        ("dense(admit=salience(0,1))", "write salience(AT_LEAST)"),
        ("dense(admit=llm(2))", "llm takes no parameter"),
        ("mnemoscope.graphs.compiled:GraphBackend(admit=salience)", "GraphBackend"),
    ],
)
def test_bad_gates_say_what_to_write(text: str, wrong: str) -> None:
    with pytest.raises(ConfigError) as error:
        create_architecture(text)
    assert wrong in str(error.value)


def test_a_memory_class_has_no_graph_to_put_a_gate_in() -> None:
    with pytest.raises(ConfigError, match="admit needs a WRITE graph"):
        create_architecture("tests.graphs.test_admitting:Plain(admit=salience)")


class Plain(type(create_architecture("none").backend())):
    """A memory class of somebody's own."""

    def __init__(self) -> None:
        super().__init__(create_architecture("none"))


@pytest.mark.parametrize("name", ["bm25", "dense", "recent", "lc", "comedy-style", "mem0-v1-style"])
async def test_small_talk_stays_out_of_any_memory(name: str) -> None:
    backend = await fed(f"{name}({'' if name != 'recent' else '9,'}admit=salience(0.2))", TALK)
    stats = await backend.stats()
    stored = {source.turn_id async for item in backend.items() for source in item.sources}
    assert stats.turns_dropped.get(NOT_ADMITTED) == 5 and {"t0", "t5"} <= stored <= {"t0", "t5"}
    assert stats.turns_covered + sum(stats.turns_dropped.values()) == stats.turns_written == len(TALK)
    found = await backend.retrieve(Query("Who is Otto?"), Budget(), LATER)
    assert "Otto" in found.rendered and "vacuum" in found.rendered


async def test_what_comes_in_depends_on_nothing_later() -> None:
    whole = await fed("bm25(admit=salience(0.2))", TALK)
    kept = {item.id async for item in whole.items()}
    for length in range(1, len(TALK)):
        cut_short = await fed("bm25(admit=salience(0.2))", TALK[:length])
        assert {item.id async for item in cut_short.items()} == kept & {one.turn_id for one in TALK[:length]}


async def test_pool_memories_and_the_ends_of_sessions_pass_and_empty_turns_are_the_memorys() -> None:
    fact = turn(9, "Ok.").model_copy(update={"session_id": POOL_SESSION})
    blank = turn(8, " ")
    backend = await fed("bm25(window=4,admit=salience(5))", [*TALK, blank, fact])
    assert [item.id async for item in backend.items()] == ["t9"]
    assert (await backend.stats()).turns_dropped == {NOT_ADMITTED: len(TALK), "empty": 1}
    gated = await opened("bm25(window=3,admit=salience)")
    await gated.write(TALK[0])
    receipt = await gated.flush("session_end", "s1", START)
    assert receipt.added == ("t0",), "the end of a session reaches the memory"


async def test_a_snapshot_knows_what_was_heard() -> None:
    name = "dense(admit=salience(0.2))"
    whole = await fed(name, TALK)
    first = await opened(name)
    for one in TALK[:3]:
        await first.write(one)
    second = await opened(name)
    await second.restore(await first.snapshot())
    for one in TALK[3:]:
        await second.write(one)
    await second.flush("history_end", None, TALK[-1].at)
    assert (await second.snapshot()).sha256 == (await whole.snapshot()).sha256
    forgetful = await opened(name)
    for one in TALK[5:]:
        await forgetful.write(one)
    assert b'"admission"' in (await forgetful.snapshot()).data
    assert b'"admission"' not in (await (await fed("dense", TALK)).snapshot()).data


async def test_a_turn_that_an_endpoint_held_up_is_heard_once() -> None:
    smooth = await fed("dense(admit=salience(0.2))", TALK)
    bumpy = await fed("dense(admit=salience(0.2))", TALK, ports(FlakyEmbedder(1)))
    assert (await bumpy.snapshot()).data.partition(b"\n")[0].count(b'"admission"') == 1
    header = [json.loads((await one.snapshot()).data.partition(b"\n")[0])["admission"] for one in (smooth, bumpy)]
    assert header[0] == header[1]


async def test_a_model_decides_with_the_turns_before_in_view_and_in_doubt_nothing_is_lost() -> None:
    keep, drop = json.dumps({"keep": True}), json.dumps({"keep": False})
    model = ScriptedModel(keep, drop, "Well, that depends.", drop, drop, keep, drop)
    backend = await fed("bm25(admit=llm)", TALK, replace(ports(), model=model))
    stats = await backend.stats()
    assert [item.id async for item in backend.items()] == ["t0", "t2", "t5"]
    assert stats.parse_failures == 1 and stats.usage.calls_by_phase == {"decide": 7}
    assert backend.estimate(TALK).calls_by_phase == {"decide": 7}
    last = model.asked[-1][-1].content
    assert "Otto" in last and "Sounds good" in last and "Thanks" not in last, "three turns before, and no more"
    with pytest.raises(ConfigError, match="--memory-model"):
        await fed("bm25(admit=llm)", TALK)


def test_what_a_gate_makes_of_an_architecture() -> None:
    plain, gated = create_architecture("dense"), create_architecture("dense(admit=salience)")
    asking, both = create_architecture("dense(admit=llm)"), create_architecture("summary(admit=llm)")
    assert (plain.evidence_class, gated.evidence_class, asking.evidence_class) == ("package", "twin", "model")
    assert (both.evidence_class, both.mode, gated.mode) == ("twin", "llm", "heuristic")
    assert plain.capabilities.keeps_turns and not gated.capabilities.keeps_turns
    assert "salience keeps out" in gated.loses and gated.summary.startswith(plain.summary)
    assert "write_admit -->|if admitted| write_observe" in draw_mermaid(gated)
    assert "admit" not in draw_mermaid(plain), "the architecture itself is left as it was"


def test_a_graph_that_begins_with_a_choice_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from langgraph.graph import START as FIRST

    from mnemoscope.graphs import admitting as module

    plain = create_architecture("none")
    assert isinstance(plain, Architecture) and plain.write is not None
    plain.write.add_conditional_edges(FIRST, lambda state: "drop", {"drop": "drop"})
    with pytest.raises(ConfigError, match="begins with a choice"):
        module.admitting(plain, module.read_gate("salience"))


@given(st.lists(st.text(alphabet="abc ABC.我养猫1", max_size=30), min_size=1, max_size=30))
def test_hearing_texts_one_by_one_ends_with_the_counts_of_all(texts: list[str]) -> None:
    heard = Heard()
    for text in texts:
        before = heard
        score, heard = heard.hear(text)
        assert (score, heard) == before.hear(text), "nothing is changed in place"
        assert -20 < score < 20
    assert heard.texts == len(texts) and heard.squares >= -1e-9
    assert all(1 <= count <= len(texts) for count in heard.having.values())


def test_salience_of_a_stream_ranks_about_as_that_of_the_whole() -> None:
    texts = [one.text for one in TALK] * 3
    heard, scores = Heard(), []
    for text in texts:
        score, heard = heard.hear(text)
        scores.append(score)
    at_once = salience(texts)
    last = range(len(TALK) * 2, len(texts))
    best = sorted(last, key=lambda n: -scores[n])[:2]
    assert sorted(best) == sorted(sorted(last, key=lambda n: -at_once[n])[:2])


async def test_scopes_do_not_hear_each_other() -> None:
    one, other = await opened("bm25(admit=salience)", scope="a"), await opened("bm25(admit=salience)", scope="b")
    await one.write(TALK[0])
    assert b'"admission"' not in (await other.snapshot()).data
    await one.close()
    with pytest.raises(Exception, match="open already"):
        await other.open(Scope("c"), ports())
