"""`memoryos-style`: paging, segments, heat, what is learnt, what is let go of; by rule and by a model."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemoscope.core.errors import BackendError, ConfigError, EndpointError
from mnemoscope.core.identity import ItemId
from mnemoscope.graphs.architecture import create_architecture
from mnemoscope.graphs.backend import MemoryBackend, Ports
from mnemoscope.graphs.contracts.asking import ask
from mnemoscope.graphs.contracts.continuity import CONTINUITY, TwoPages
from mnemoscope.graphs.contracts.extract_facts import Extraction
from mnemoscope.graphs.contracts.knowledge import KNOWLEDGE
from mnemoscope.graphs.contracts.meta_info import META_INFO, Thread
from mnemoscope.graphs.contracts.rewrite_profile import REWRITE_PROFILE, Portrait
from mnemoscope.graphs.contracts.themes import THEMES, Batch
from mnemoscope.graphs.segments import WEIGHTS, Segment, best_segment, least_used, moved_on
from mnemoscope.memory_backends.record import Budget, MemoryItem, Query, Retrieval
from mnemoscope.scenarios.records import Turn
from mnemoscope.scenarios.replay import POOL_SESSION
from tests.graphs.graph_tools import START, FlakyEmbedder, fed, opened, ports, turn
from tests.graphs.replayed_model import ScriptedModel

NAME = "memoryos-style"
PACKAGE = WEIGHTS["package"]
YES = '{"same_topic": true}'


def said(number: int, text: str, *, by: str = "user", session: str = "s1") -> Turn:
    one = turn(number, text, session, "Amy" if by == "user" else "Sol")
    return one.model_copy(update={"role": by})


def exchanges(*texts: str) -> list[Turn]:
    """Each text with a reply to it."""
    return [
        said(2 * n + part, spoken, by=by)
        for n, text in enumerate(texts)
        for part, (spoken, by) in enumerate(((text, "user"), ("I see, thank you.", "assistant")))
    ]


def boats(count: int) -> list[Turn]:
    return exchanges(*(f"My red sailing boat lies in harbour {n}." for n in range(count)))


def themes(*entries: tuple[str, Sequence[object]]) -> str:
    listed = [{"theme": text, "keywords": [text], "content": text, "pages": list(pages)} for text, pages in entries]
    return json.dumps({"themes": listed}, ensure_ascii=False)


async def stored(backend: MemoryBackend, kind: str | None = None, *, live: bool = True) -> list[MemoryItem]:
    found = [item async for item in backend.items()]
    return [item for item in found if (kind is None or item.kind == kind) and (item.is_live or not live)]


async def texts(backend: MemoryBackend, kind: str) -> list[str]:
    return [item.text for item in await stored(backend, kind)]


async def asked(backend: MemoryBackend, text: str, *, now: datetime | None = None, mode: str = "pure") -> Retrieval:
    return await backend.retrieve(Query(text), Budget(k=50), now, mode)


class Answering:
    """Answers each contract with its own lines, one after the other, the last one for ever."""

    key = "answering-1"

    def __init__(self, **lines: Sequence[str | Exception]) -> None:
        self.models = {title.replace("_", "-"): ScriptedModel(said) for title, said in lines.items()}

    async def complete(self, messages, *, schema, **rest):
        return await self.models[schema["title"]].complete(messages, schema=schema, **rest)

    def prompts(self, title: str) -> list[str]:
        return self.models[title].prompts


def answering(**lines: Sequence[str | Exception]) -> Answering:
    """Pages that go on with each other, about one theme that teaches nothing, unless other lines are given."""
    usual = {
        "continuity": [YES],
        "meta_info": ['{"text": "Their boat."}'],
        "themes": [themes(("red boats", [1]))],
        "rewrite_profile": ['{"profile": "", "changed": false}'],
        "knowledge": ['{"user": [], "assistant": []}'],
    }
    return Answering(**(usual | lines))


async def by(model: Answering, turns: Sequence[Turn], name: str = f"{NAME}(stm=1,mode=llm)") -> MemoryBackend:
    return await patient(turns, name, replace(ports(), model=model))


async def patient(turns: Sequence[Turn], name: str, given: Ports) -> MemoryBackend:
    """Fed by somebody who tries the end of the history again where it failed."""
    backend = await opened(name, given)
    for one in turns:
        await backend.write(one)
    try:
        await backend.flush("history_end", None, turns[-1].at)
    except BackendError:
        await backend.flush("history_end", None, turns[-1].at)
    return backend


# paging


@given(st.integers(0, 60), st.integers(1, 12), st.data())
def test_a_queue_is_never_longer_than_it_may_be_and_pages_leave_in_batches(pages: int, stm: int, data) -> None:
    batch = data.draw(st.integers(1, stm))
    left = moved_on(pages, stm, batch)
    assert left % batch == 0
    assert pages - stm <= left <= max(0, pages - 1)
    assert left == 0 or left - moved_on(pages - 1, stm, batch) in (0, batch)


@pytest.mark.parametrize(("name", "moved"), [(NAME, 2), (f"{NAME}(stm=3)", 9), (f"{NAME}(stm=4,batch=3)", 9)])
async def test_pages_leave_a_full_queue_and_reach_a_segment(name: str, moved: int) -> None:
    backend = await fed(name, boats(12))
    assert len(await stored(backend, "page")) == 12
    linked = [page for segment in await stored(backend, "segment") for page in segment.links]
    assert sorted(linked) == sorted(f"page-t{2 * n}" for n in range(moved))


async def test_a_page_is_a_users_turns_with_the_reply_to_them() -> None:
    backend = await fed(NAME, exchanges("I bought a kayak.", "It is blue."))
    first, second = await stored(backend, "page")
    assert first.text == "[8 May 2023, 13:56] Amy: I bought a kayak.\n[8 May 2023, 13:57] Sol: I see, thank you."
    assert [(s.turn_id, s.method, s.weight) for s in second.sources] == [
        ("t2", "verbatim", 0.5),
        ("t3", "verbatim", 0.5),
    ]


@pytest.mark.parametrize("stm", [1, 10])
async def test_pages_with_one_side_and_turns_in_a_row_are_kept(stm: int) -> None:
    sides = ("assistant", "user", "user", "user", "assistant", "assistant", "user")
    turns = [said(n, f"Remark {n} about the boat.", by=by) for n, by in enumerate(sides)]
    alone = [said(9 + n, f"Monologue {n}.", session="s2") for n in range(3)]
    backend = await fed(f"{NAME}(stm={stm})", [*turns, *alone])
    kept = "\n".join(await texts(backend, "page"))
    assert all(one.text in kept for one in (*turns, *alone))
    stats = await backend.stats()
    assert (stats.turns_covered, stats.turns_dropped) == (10, {})


async def test_pages_that_go_on_are_linked_and_shown_with_their_thread() -> None:
    turns = [*boats(3), said(9, "Quarterly taxes confuse everybody at the bakery.", session="s2")]
    backend = await fed(f"{NAME}(stm=1)", [*turns, said(10, "Goodbye for now.", session="s3")])
    pages = await stored(backend, "page")
    assert [page.links for page in pages] == [(), ("page-t0",), ("page-t2",), (), ()]
    found = {item.id: item.text for item in (await asked(backend, "red sailing boat harbour")).items}
    assert "(Thread:" not in found["page-t0"]
    assert "(Thread: Amy: My red sailing boat lies in harbour" in found["page-t2"]


async def test_memories_of_a_pool_are_bare_facts_that_continue_nothing() -> None:
    turns = [said(n, f"My red sailing boat lies in harbour {n}.", session=POOL_SESSION) for n in range(12)]
    backend = await fed(f"{NAME}(stm=1)", turns)
    pages = await stored(backend, "page")
    assert [page.text for page in pages] == [one.text for one in turns]
    assert not any(page.links for page in pages)
    assert await stored(backend, "statement") == []


# segments, heat and what goes


def segment(name: str, **values: object) -> Segment:
    return replace(Segment(ItemId(name), frozenset(), ()), **values)


def test_a_theme_joins_by_cosine_plus_shared_keywords() -> None:
    old, other = segment("a", keywords=frozenset({"boat", "sea"})), segment("b", keywords=frozenset({"tax"}))
    assert best_segment([old, other], [0.2, 0.4], ["boat", "sea", "sail", "tea"]) == (old, 0.7)
    assert best_segment([old, other], [0.2, 0.4], []) == (other, 0.4)
    assert best_segment([old, other], [0.4, 0.4], []) == (old, 0.4)
    assert best_segment([], [], ["boat"]) is None


def test_heat_is_visits_pages_and_recency_in_conversation_time() -> None:
    one = segment("a", visits=2, length=3, last_visit=START)
    assert one.heat(START, PACKAGE) == 6.0
    assert one.heat(START + timedelta(hours=24), PACKAGE) == pytest.approx(5 + 0.36788, abs=1e-5)
    assert one.heat(START - timedelta(days=3), PACKAGE) == one.heat(None, PACKAGE) == 6.0
    assert one.heat(START, WEIGHTS["paper"]) == pytest.approx(4.0001)
    assert one.analysed().heat(START, PACKAGE) == 1.0


def test_a_time_with_a_zone_survives_being_kept() -> None:
    east = datetime(2023, 5, 8, 9, 30, tzinfo=timezone(timedelta(hours=8)))
    one = segment("a", keywords=frozenset({"boat"}), pages=(ItemId("p"),), visits=1, length=2, used=3, last_visit=east)
    kept = MemoryItem(one.id, "segment", "", (), None, links=one.pages, attrs=one.attrs)
    assert Segment.of(kept) == one


def test_least_used_go_first_and_never_a_brand_new_one() -> None:
    old = segment("old", used=2, last_visit=START)
    stale, fresh = segment("stale", used=1, last_visit=START), segment("new", last_visit=START)
    assert least_used([old, stale, fresh], 2, ["new"]) == [stale]
    assert least_used([old, stale, fresh], 1, ["new"]) == [stale, old]
    assert least_used([old, stale], 1, ["old", "stale"]) == []
    tied = [segment("a", last_visit=START + timedelta(1)), segment("b", last_visit=START), segment("c")]
    assert [one.id for one in least_used(tied, 0, [])] == ["c", "b", "a"]


async def test_with_room_for_one_segment_the_new_one_stays_and_the_old_one_is_a_tombstone() -> None:
    turns = exchanges(
        "My red sailing boat leaks.", "Quarterly taxes confuse everybody.", "Grandmother bakes rye bread."
    )
    backend = await opened(f"{NAME}(stm=1,segments=1)")
    receipts = [await backend.write(one) for one in turns]
    receipts.append(await backend.flush("history_end", None, turns[-1].at))
    assert [item.text for item in await stored(backend, "segment")] == [
        "Amy: Quarterly taxes confuse everybody.\nSol: I see, thank you."
    ]
    assert [gone for receipt in receipts for gone in receipt.invalidated] == ["segment-t0", "page-t0"]
    assert (await backend.stats()).turns_forgotten == 2
    then = await asked(backend, "red sailing boat leaks", now=START + timedelta(minutes=4))
    assert "page-t0" in {item.id for item in then.items}
    assert "page-t0" not in {item.id for item in (await asked(backend, "red sailing boat leaks")).items}


async def test_a_hot_segment_is_analysed_once_and_starts_cold() -> None:
    backend = await fed(f"{NAME}(stm=1)", boats(5))
    (only,) = await stored(backend, "segment")
    assert (only.attrs["length"], only.attrs["visits"]) == ("0", "0")
    statements = await stored(backend, "statement")
    assert [one.text for one in statements] == [
        f"Amy (8 May 2023): Amy's red sailing boat lies in harbour {n}." for n in range(4)
    ]
    assert [(s.turn_id, s.method) for one in statements for s in one.sources] == [
        (f"t{2 * n}", "cited") for n in range(4)
    ]
    grown = await fed(f"{NAME}(stm=1)", boats(8))
    assert len(await stored(grown, "statement")) == 4
    assert len(await stored(await fed(f"{NAME}(stm=1)", boats(9)), "statement")) == 8


async def test_visits_heat_a_segment_up() -> None:
    backend = await opened(f"{NAME}(stm=1)")
    for one in boats(3):
        await backend.write(one)
    assert await stored(backend, "statement") == []
    for _ in range(3):
        assert (await asked(backend, "red sailing boat", now=START + timedelta(minutes=9), mode="live")).mutated
    (only,) = await stored(backend, "segment")
    assert (only.attrs["visits"], only.attrs["used"]) == ("3", "3")
    for one in boats(5)[6:]:
        await backend.write(one)
    assert len(await stored(backend, "statement")) >= 2


async def test_pure_reads_change_nothing_and_answer_the_same() -> None:
    backend = await fed(f"{NAME}(stm=2)", boats(6))
    before = (await backend.snapshot()).sha256
    first, second = [(await asked(backend, "red sailing boat", now=START + timedelta(9))) for _ in range(2)]
    assert [item.text for item in first.items] == [item.text for item in second.items]
    assert not first.mutated
    assert (await backend.snapshot()).sha256 == before
    await asked(backend, "red sailing boat", now=START + timedelta(9), mode="live")
    assert (await backend.snapshot()).sha256 != before


async def test_statements_beyond_the_capacity_are_let_go_and_counted() -> None:
    backend = await opened(f"{NAME}(stm=1,knowledge=2)")
    receipts = [await backend.write(one) for one in boats(10)]
    kept = await stored(backend, "statement")
    assert len(kept) == 2
    everything = await stored(backend, "statement", live=False)
    gone = {one for receipt in receipts for one in receipt.invalidated}
    assert gone == {item.id for item in everything} - {item.id for item in kept}
    assert gone


# reading


async def test_the_profile_comes_first_then_pages_then_the_rest_of_what_is_kept() -> None:
    turns = exchanges("I live in Oslo.", *(f"My red sailing boat in Oslo, part {n}, is a joy." for n in range(6)))
    backend = await fed(f"{NAME}(stm=2)", turns)
    live = {item.kind for item in await stored(backend)}
    found = await asked(backend, "the red sailing boat")
    kinds = [item.kind for item in found.items]
    assert live >= {"page", "segment", "statement"}
    assert "segment" not in kinds
    assert kinds.index("page") < kinds.index("statement")
    assert {"page-t10", "page-t12"} <= {item.id for item in found.items}
    assert len({item.id for item in found.items}) == len(found.items)


async def test_the_queue_as_it_was_then_and_nothing_later_is_handed_over() -> None:
    backend = await fed(f"{NAME}(stm=2)", boats(8))
    now = START + timedelta(minutes=3)
    found = {
        item.id for item in (await asked(backend, "red sailing boat harbour", now=now)).items if item.kind == "page"
    }
    assert found == {"page-t0", "page-t2"}


# contracts


async def by_rule(contract, given):
    return (await ask(contract, given, "heuristic", None)).value


async def by_model(contract, given, reply: str):
    answer = await ask(contract, given, "llm", ScriptedModel([reply]))
    return answer.value, answer.parse_failures


async def test_continuity_is_nearness_or_a_shared_name() -> None:
    assert await by_rule(CONTINUITY, TwoPages("a", "b", 0.35)) is True
    assert await by_rule(CONTINUITY, TwoPages("a", "b", 0.34)) is False
    assert await by_rule(CONTINUITY, TwoPages("a", "b", 0.0, frozenset({"oslo"}))) is True
    assert await by_model(CONTINUITY, TwoPages("a", "b", 1.0), '{"same_topic": "perhaps"}') == (None, 1)


async def test_an_overview_keeps_what_was_before_where_the_reply_is_empty() -> None:
    thread = Thread("Amy: The boat leaks.", (said(0, "Hi Sol! The boat is mended now. How are you?"),))
    assert await by_rule(META_INFO, thread) == "Amy: The boat leaks.\nAmy: The boat is mended now."
    assert await by_model(META_INFO, thread, '{"text": " "}') == ("Amy: The boat leaks.", 1)


PAGES = tuple((said(n, text),) for n, text in enumerate(("The boat leaks.", "Taxes are due.", "The boat is red.")))
CLOSE = ((1.0, 0.1, 0.6), (0.1, 1.0, 0.2), (0.6, 0.2, 1.0))


async def test_themes_are_clusters_of_near_pages() -> None:
    found = await by_rule(THEMES, Batch(PAGES, CLOSE))
    assert [(theme.pages, theme.content) for theme in found] == [
        ((1, 3), "Amy: The boat leaks.\nAmy: The boat is red."),
        ((2,), "Amy: Taxes are due."),
    ]


@pytest.mark.parametrize(
    ("reply", "pages", "counted"),
    [
        (f"```json\n{themes(('boat', [1, 3]), ('tax', [2]))}\n```", [(1, 3), (2,)], 0),
        (f"<think>two</think>{themes(('boat', [1, 3]), ('tax', [2, 9]))}", [(1, 3), (2,)], 1),
        (themes(("boat", [1, 3])), [(1, 3), (2,)], 1),
        (themes(("ghost", [7])), [(1,), (2,), (3,)], 4),
        (themes((" ", [1, 2, 3])), [(1,), (2,), (3,)], 4),
    ],
)
async def test_themes_of_a_model_are_held_against_what_was_offered(reply: str, pages: list, counted: int) -> None:
    found, failures = await by_model(THEMES, Batch(PAGES, CLOSE), reply)
    assert [theme.pages for theme in found] == pages
    assert failures >= counted > 0 or failures == counted == 0


async def test_a_profile_has_the_newest_value_of_each_slot_and_nothing_of_the_assistant() -> None:
    turns = (said(0, "I live in Oslo."), said(1, "I live in Rome.", by="assistant"), said(2, "I have a dog named Rex."))
    profile = await by_rule(REWRITE_PROFILE, Portrait("", turns))
    assert "Oslo" in profile and "Rex" in profile and "Rome" not in profile
    moved = await by_rule(REWRITE_PROFILE, Portrait(profile, (said(3, "I moved to Bergen."),)))
    assert "Oslo" not in moved and "Bergen" in moved and "Rex" in moved
    assert await by_rule(REWRITE_PROFILE, Portrait(moved, (said(4, "I moved to Bergen."),))) == moved


@pytest.mark.parametrize("junk", ["N/A", "", "None.", "Amy."])
async def test_a_profile_rewritten_to_junk_keeps_the_old_one(junk: str) -> None:
    old = "Amy lives in Oslo with her dog Rex, builds boats, loves rye bread and works at the harbour office."
    reply = json.dumps({"profile": junk, "changed": True})
    assert await by_model(REWRITE_PROFILE, Portrait(old, (said(0, "Hello."),)), reply) == (old, 1)
    unchanged = json.dumps({"profile": junk, "changed": False})
    assert await by_model(REWRITE_PROFILE, Portrait(old, (said(0, "Hello."),)), unchanged) == (old, 0)


async def test_knowledge_is_kept_apart_by_whom_it_is_about() -> None:
    turns = (said(0, "I am allergic to walnuts."), said(1, "I keep a list of safe recipes for Amy.", by="assistant"))
    owned = await by_rule(KNOWLEDGE, Extraction(turns))
    assert [fact.numbers for fact in owned.user] == [(1,)]
    assert [fact.numbers for fact in owned.assistant] == [(2,)]
    reply = json.dumps(
        {"user": [{"text": "Amy sails.", "sources": [1, 8]}], "assistant": [{"text": "x", "sources": [5]}]}
    )
    owned, failures = await by_model(KNOWLEDGE, Extraction(turns), reply)
    assert ([fact.text for fact in owned.user], owned.assistant, failures) == (["Amy sails."], (), 2)


# a model's answers, good and bad


async def test_a_model_decides_about_threads_themes_profile_and_knowledge() -> None:
    profile = json.dumps({"profile": "Amy owns a red sailing boat.", "changed": True})
    learnt = json.dumps({"user": [{"text": "Amy's red sailing boat moves about.", "sources": [1, 3]}], "assistant": []})
    model = answering(rewrite_profile=[profile], knowledge=[learnt])
    backend = await by(model, boats(5))
    asked_for = {title: len(one.prompts) for title, one in model.models.items()}
    assert asked_for == {"continuity": 3, "meta-info": 4, "themes": 4, "rewrite-profile": 1, "knowledge": 1}
    assert [len(item.links) for item in await stored(backend, "segment")] == [4]
    assert await texts(backend, "profile") == ["Amy owns a red sailing boat."]
    (statement,) = await stored(backend, "statement")
    assert [(s.turn_id, s.method) for s in statement.sources] == [("t0", "cited"), ("t2", "cited")]
    assert (await backend.stats()).parse_failures == 0
    assert "Their boat." in model.prompts("meta-info")[1]


async def test_a_new_profile_replaces_the_old_one_which_is_found_as_of_then() -> None:
    lines = [json.dumps({"profile": f"Amy owns {n} boats.", "changed": True}) for n in ("two", "three")]
    backend = await by(answering(rewrite_profile=lines), boats(9))
    assert await texts(backend, "profile") == ["Amy owns three boats."]
    first, second = await stored(backend, "profile", live=False)
    assert (second.supersedes, second.sources[: len(first.sources)]) == (first.id, first.sources)
    assert (await asked(backend, "boats")).items[0].text == "Amy owns three boats."
    assert (await asked(backend, "boats", now=first.observed_at)).items[0].text == "Amy owns two boats."


async def test_what_a_profile_invents_has_unknown_sources() -> None:
    profile = json.dumps({"profile": "Grandmother collects Venetian glass.", "changed": True})
    (item,) = await stored(await by(answering(rewrite_profile=[profile]), boats(5)), "profile")
    assert {source.method for source in item.sources} == {"unknown"}


async def test_unreadable_themes_leave_the_pages_as_they_stand_and_no_common_bucket() -> None:
    backend = await by(answering(themes=["I cannot help with that."]), boats(3))
    segments = await stored(backend, "segment")
    assert segments[0].text == "Amy: My red sailing boat lies in harbour 0.\nSol: I see, thank you."
    assert sorted(page for one in segments for page in one.links) == ["page-t0", "page-t2"]
    stats = await backend.stats()
    assert (stats.parse_failures, stats.turns_covered) == (2, 6)


@pytest.mark.parametrize(("compat", "expected"), [("false", [1, 1]), ("true", [2, 2])])
async def test_every_theme_gets_all_pages_only_where_the_source_is_matched(compat: str, expected: list[int]) -> None:
    model = answering(themes=[themes(("red boats", [1]), ("quarterly taxes", [2]))])
    backend = await by(model, boats(3), f"{NAME}(stm=2,batch=2,compat={compat},mode=llm)")
    assert [len(item.links) for item in await stored(backend, "segment")] == expected


async def test_unreadable_knowledge_is_asked_again_when_the_segment_is_hot_again() -> None:
    learnt = json.dumps({"user": [{"text": "Amy's boat is red.", "sources": [1]}], "assistant": []})
    model = answering(knowledge=["no idea", learnt])
    backend = await by(model, boats(9))
    assert await texts(backend, "statement") == ["Amy's boat is red."]
    last = model.prompts("knowledge")[-1]
    assert "harbour 0" in last
    assert "harbour 7" in last
    assert (await backend.stats()).parse_failures == 1


@pytest.mark.parametrize("title", ["continuity", "meta_info", "themes", "rewrite_profile", "knowledge"])
async def test_a_model_that_fails_changes_nothing_and_is_asked_again(title: str) -> None:
    usual = answering().models[title.replace("_", "-")].lines
    down = EndpointError("down", cause="timeout", retryable=True)
    broken = await by(answering(**{title: [down, *usual]}), boats(6))
    assert await stored(broken) == await stored(await by(answering(), boats(6)))


@pytest.mark.parametrize("call", range(1, 11))
async def test_an_embedder_that_fails_changes_nothing_and_is_asked_again(call: int) -> None:
    name = f"{NAME}(stm=1)"
    flaky = FlakyEmbedder(call)
    backend = await patient(boats(5), name, replace(ports(), embedder=flaky))
    assert flaky.calls > call
    assert await stored(backend) == await stored(await fed(name, boats(5)))


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("stm=0", "stm is 0"),
        ("stm=3,batch=4", "batch is 4; it must be a whole number from 1 to 3"),
        ("segments=0", "segments is 0"),
        ("knowledge=0", "knowledge is 0"),
        ("heat=hot", "heat is 'hot'; it must be one of package, paper"),
        ("compat=1", "compat is 1; it must be true or false"),
    ],
)
def test_bad_parameters_name_the_range(text: str, wrong: str) -> None:
    with pytest.raises(ConfigError, match=wrong):
        create_architecture(f"{NAME}({text})")
