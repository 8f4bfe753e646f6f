"""`memgpt-style`: three tiers, their limits and pages, memory pressure, the loop of tools, and both ways to read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemoscope.core.errors import ConfigError, EndpointError
from mnemoscope.graphs.architecture import create_architecture
from mnemoscope.graphs.backend import MemoryBackend
from mnemoscope.graphs.contracts.desk import RESULT_CHARACTERS, Desk, Result
from mnemoscope.graphs.contracts.look_up import LOOK_UP, search_words
from mnemoscope.graphs.contracts.recursive_summary import RECURSIVE_SUMMARY, WORDS, Leaving
from mnemoscope.graphs.contracts.remember import REMEMBER
from mnemoscope.graphs.contracts.tool_calls import Call
from mnemoscope.graphs.core_memory import Block, Line, RefusedEditError
from mnemoscope.graphs.extracts import count_words
from mnemoscope.graphs.nodes.message_queue import KEEPS, leaving
from mnemoscope.graphs.nodes.tool_search import PAGE, paged
from mnemoscope.memory_backends.record import Budget, MemoryItem, Query, Retrieval, Source
from mnemoscope.scenarios.records import Turn
from mnemoscope.scenarios.replay import POOL_SESSION
from tests.graphs.graph_tools import START, FlakyEmbedder, fed, opened, ports, turn
from tests.graphs.replayed_model import ScriptedModel

NAME, LLM = "memgpt-style", "memgpt-style(mode=llm)"
SILENT = '{"calls": []}'


def call(tool: str, **args: object) -> dict[str, object]:
    return {"tool": tool, "args": args}


def step(*calls: dict[str, object], heartbeat: bool = False) -> str:
    return json.dumps({"calls": list(calls), "heartbeat": heartbeat}, ensure_ascii=False)


def insert(text: str, *messages: int) -> dict[str, object]:
    return call("archival_memory_insert", content=text, **({"messages": list(messages)} if messages else {}))


def human(text: str) -> dict[str, object]:
    return call("core_memory_append", label="human", content=text)


def line(text: str, turn_id: str = "t0") -> Line:
    return Line(text, (Source(turn_id, "cited"),), "Amy")


def said(*texts: str, role: str = "user") -> list[Turn]:
    return [turn(n, text).model_copy(update={"role": role}) for n, text in enumerate(texts)]


async def held(backend: MemoryBackend, kind: str) -> list[MemoryItem]:
    return [item async for item in backend.items() if item.kind == kind and item.is_live]


async def texts(backend: MemoryBackend, kind: str) -> list[str]:
    return [item.text for item in await held(backend, kind)]


async def scripted(
    lines: Sequence[str | Exception], turns: Sequence[Turn], name: str = LLM
) -> tuple[MemoryBackend, ScriptedModel]:
    model = ScriptedModel(lines)
    return await fed(name, turns, replace(ports(), model=model)), model


async def asked(backend: MemoryBackend, text: str, days: float | None = None, k: int = 10) -> Retrieval:
    now = None if days is None else START + timedelta(days=days)
    return await backend.retrieve(Query(text), Budget(k=k), now)


# core memory


def test_a_replacement_needs_the_words_as_they_stand() -> None:
    block = Block("human", 100, (line("Likes tea"),))
    with pytest.raises(RefusedEditError, match="has 'likes tea' 0 times"):
        block.replaced("likes tea", "likes coffee", ())
    assert block.replaced("Likes tea", "Likes coffee", ()).value == "Likes coffee"


def test_words_that_stand_there_twice_are_refused_unless_they_are_a_whole_line() -> None:
    block = Block("human", 100, (line("Amy has a cat called Tom"), line("Amy has a cat")))
    with pytest.raises(RefusedEditError, match="2 times"):
        block.replaced("a cat", "a dog", ())
    assert block.replaced("Amy has a cat", "", ()).value == "Amy has a cat called Tom"


def test_a_block_takes_2000_characters_and_not_one_more() -> None:
    full = Block("human", 2_000).appended(line("x" * 2_000))
    assert len(full.value) == 2_000
    with pytest.raises(RefusedEditError, match="2,001 of 2,000 characters"):
        full.appended(line(""))
    with pytest.raises(RefusedEditError, match="2,001 of 2,000 characters"):
        Block("human", 2_000).appended(line("x" * 2_001))


def test_a_replacement_across_lines_joins_their_turns() -> None:
    block = Block("human", 100, (line("Amy has a cat", "t1"), line("and a dog", "t2"), line("Amy sails", "t3")))
    edited = block.replaced("cat\nand a dog", "zoo", (Source("t4", "cited"),))
    assert edited.value == "Amy has a zoo\nAmy sails"
    assert [source.turn_id for source in edited.lines[0].sources] == ["t1", "t2", "t4"]


@given(st.lists(st.text("ab c", min_size=1, max_size=12).filter(str.strip), max_size=12), st.integers(1, 40))
def test_a_block_never_exceeds_its_limit(lines: list[str], limit: int) -> None:
    block = Block("human", limit)
    for text in lines:
        try:
            block = block.appended(line(text))
        except RefusedEditError:
            assert len("\n".join([*(old.text for old in block.lines), text])) > limit
    assert len(block.value) <= limit


# pages


def hits(count: int, size: int = 10) -> list[MemoryItem]:
    return [MemoryItem(f"m{n}", "message", f"{n}" * size, (), None, seq_to=n) for n in range(1, count + 1)]


def test_twelve_hits_on_page_two_are_six_to_ten_of_twelve() -> None:
    result = paged(Call("conversation_search", page=2), (hits(12), 12))
    assert [item.id for item in result.hits] == ["m6", "m7", "m8", "m9", "m10"]
    assert result.text == "6 to 10 of 12, page 2"
    assert paged(Call("conversation_search", page=4), (hits(12), 12)).text == "nothing on page 4; 12 in all"


@given(st.integers(0, 30))
def test_pages_share_out_all_hits_once(count: int) -> None:
    pages = [paged(Call("conversation_search", page=page), (hits(count), count)) for page in range(1, 9)]
    assert [item.id for page in pages for item in page.hits] == [item.id for item in hits(count)]
    assert all(len(page.hits) <= PAGE for page in pages)


def test_what_a_call_returns_is_limited() -> None:
    result = Result("conversation_search", "", tuple(hits(5, 1_400))).fitted()
    assert [item.id for item in result.hits] == ["m1", "m2"]
    assert len(Result("conversation_search", "", tuple(hits(1, 9_000))).fitted().hits) == 1
    shown = Desk((), (), 8_192, results=(Result("conversation_search", "1 of 1", tuple(hits(1, 9_000))),)).shown()
    assert len(shown) < RESULT_CHARACTERS + 200


# the rules


async def test_slots_of_a_speakers_life_go_to_core_memory_and_all_else_to_archival_memory() -> None:
    backend = await fed(NAME, said("I live in Oslo.", "The boat is blue.", "Where is the boat?"))
    assert await texts(backend, "core_block") == ["Amy (8 May 2023): Amy live in Oslo."]
    assert await texts(backend, "passage") == ["Amy (8 May 2023): The boat is blue."]
    assert len(await held(backend, "message")) == 3


async def test_a_new_home_replaces_the_line_and_the_old_one_is_found_as_of_before() -> None:
    moved = turn(1, "I moved to Bergen.").model_copy(update={"at": START + timedelta(days=60)})
    backend = await fed(NAME, [turn(0, "I live in Oslo."), moved])
    (item,) = await held(backend, "core_block")
    assert item.text == "Amy (7 July 2023): Amy moved to Bergen."
    assert [source.turn_id for source in item.sources] == ["t0", "t1"]
    assert [i.id for i in (await asked(backend, "Amy live in Oslo", 30)).items] == ["core-t0", "message-t0"]


@pytest.mark.parametrize(
    ("texts_said", "lines"),
    [
        (("I live in Oslo.", "I live in Oslo."), 1),
        (("I like cats.", "I like tea."), 2),
        (("I am allergic to walnuts.", "I am no longer allergic to walnuts."), 1),
        (("我住在成都", "我搬到北京了"), 1),
    ],
)
async def test_the_rule_appends_replaces_or_knows(texts_said: tuple[str, ...], lines: int) -> None:
    assert len(await held(await fed(NAME, said(*texts_said)), "core_block")) == lines


async def test_the_oldest_lines_make_room_and_keep_their_turns_in_archival_memory() -> None:
    backend = await fed(
        "memgpt-style(core=100)",
        [turn(n, f"I like {what}.") for n, what in enumerate(("cats", "tea", "opera", "maps"))],
    )
    lines, passages = await held(backend, "core_block"), await held(backend, "passage")
    assert len("\n".join(item.text for item in lines)) <= 100
    assert [item.text.split()[-1] for item in (*passages, *lines)] == ["cats.", "tea.", "opera.", "maps."]
    assert [item.sources[0].turn_id for item in (*passages, *lines)] == ["t0", "t1", "t2", "t3"]
    assert passages[0].observed_at == turn(0, "x").at and passages[0].seq_to == 0


async def test_a_statement_longer_than_a_block_is_stored_away() -> None:
    backend = await fed("memgpt-style(core=100)", [turn(0, f"I live in {'Llanfair' * 20}.")])
    assert (len(await held(backend, "core_block")), len(await held(backend, "passage"))) == (0, 1)


async def test_what_the_assistant_says_is_a_message_and_nothing_more() -> None:
    backend = await fed(NAME, said("You live in Oslo.", role="assistant"))
    stats = await backend.stats()
    assert stats.items_by_kind == {"message": 1}


async def test_a_memory_that_a_probe_brings_is_a_passage_as_it_stands() -> None:
    brought = turn(0, "The boat is blue.", POOL_SESSION, "memory")
    backend = await fed(NAME, [brought, turn(1, "I like cats.")])
    (passage,) = await held(backend, "passage")
    assert (passage.text, passage.sources) == ("The boat is blue.", (Source("t0", "verbatim"),))
    assert len(await held(backend, "message")) == 1


async def test_what_will_be_embedded_is_known_ahead() -> None:
    seen: list[str] = []

    class Noting(FlakyEmbedder):
        async def embed(self, texts: Sequence[str], purpose: str):  # type: ignore[no-untyped-def]
            seen.extend(texts)
            return await super().embed(texts, purpose)

    turns = [turn(n, text, speaker=("Amy", "Bo")[n % 2]) for n, text in enumerate(("I live in Oslo.", "You love it."))]
    await fed(NAME, turns, ports(Noting()))
    assert (
        seen
        == list(create_architecture(NAME).texts_to_embed(turns))
        == [
            "Amy (8 May 2023): Amy live in Oslo.",
            "Bo (8 May 2023): Amy love it.",
        ]
    )


# memory pressure


def test_three_quarters_of_the_queue_leave_and_the_last_three_never_do() -> None:
    turns = tuple(said(*["word " * 40] * 12))
    assert len(leaving(turns, 8_192)) == 9
    assert leaving(turns[:KEEPS], 8_192) == ()
    huge = (turns[0], turn(1, "word " * 8_000), *turns[2:4])
    assert leaving(huge, 8_192) == huge[:1]


async def test_the_window_overflows_and_one_summary_takes_the_place_of_what_left() -> None:
    turns = said(*[f"On trip {n} I painted the harbour and repaired an old violin." for n in range(120)])
    backend = await fed("memgpt-style(window=1024)", turns)
    (summary,) = await held(backend, "summary")
    assert 0 < count_words(summary.text) <= WORDS
    assert {source.method for source in summary.sources} == {"cited"} and len(summary.sources) < 60
    assert len(await held(backend, "message")) == 120
    retired = [item async for item in backend.items() if item.kind == "summary" and not item.is_live]
    assert len(retired) >= 2


async def test_one_message_larger_than_the_window_ends_no_run_and_clears_nothing() -> None:
    turns = said(
        "I like cats.", "harbour lights " * 3_500, "I like tea.", "I like opera.", "I like maps.", "Fine, then."
    )
    backend, model = await scripted([SILENT], turns, "memgpt-style(mode=llm,window=8192)")
    assert [item.sources[0].turn_id for item in await held(backend, "message")] == [f"t{n}" for n in range(6)]
    assert len(model.prompts) == 6 and all(len(prompt) < 4 * 8_192 for prompt in model.prompts)


async def test_the_agent_is_warned_once() -> None:
    turns = said(*["word " * 60] * 9)
    _, model = await scripted([SILENT], turns, "memgpt-style(mode=llm,window=1400)")
    assert ["System:" in prompt for prompt in model.prompts].count(True) == 1


async def test_a_mark_that_a_reply_passes_is_announced_with_the_next_message() -> None:
    turns = [
        one.model_copy(update={"role": ("user", "assistant")[n % 2]}) for n, one in enumerate(said(*["a " * 150] * 9))
    ]
    # the mark lies somewhere among the messages: behind one of the user's, or behind a reply, for which nobody is asked
    for window in range(1_064, 1_504, 20):
        _, model = await scripted([SILENT], turns, f"memgpt-style(mode=llm,window={window})")
        assert ["System:" in prompt for prompt in model.prompts].count(True) == 1, window


async def test_an_unreadable_summary_is_counted_and_sentences_are_chosen() -> None:
    turns = said(*[f"On trip {n} I painted the harbour and repaired an old violin." for n in range(50)])
    backend, _ = await scripted(["no"], turns, "memgpt-style(mode=llm,window=1024)")
    stats = await backend.stats()
    assert stats.parse_failures >= 51 and stats.items_by_kind["summary"] == 1


def test_a_summary_folds_the_earlier_one_in_and_stays_short() -> None:
    given_now = Leaving(tuple(said("I like cats.", "The boat is blue.")), "Amy: Amy lives in Oslo.")
    text = RECURSIVE_SUMMARY.read(RECURSIVE_SUMMARY.rule(given_now), given_now).value
    assert text == "Amy: Amy lives in Oslo.\nAmy: I like cats.\nAmy: The boat is blue."
    assert "Amy lives in Oslo" in RECURSIVE_SUMMARY.show(given_now)
    long = RECURSIVE_SUMMARY.read({"summary": "One two three. " * 90}, given_now)
    assert (count_words(long.value) <= WORDS, long.rejected) == (True, 1)


# the loop of tools


async def test_a_passage_names_the_message_it_is_of_and_what_the_loop_was_shown() -> None:
    lines = [
        step(insert("Amy has a boat called Freya.")),
        step(call("archival_memory_search", query="boat"), heartbeat=True),
        step(insert("Amy's boat Freya is blue."), insert("Amy's Freya is new.", 2), insert("Zeppelins burn.")),
    ]
    backend, _ = await scripted(lines, said("I have a boat called Freya.", "Freya is blue and new."))
    passages = {item.text: [(s.turn_id, s.method) for s in item.sources] for item in await held(backend, "passage")}
    assert passages == {
        "Amy has a boat called Freya.": [("t0", "cited")],
        "Amy's boat Freya is blue.": [("t1", "cited"), ("t0", "batch")],
        "Amy's Freya is new.": [("t1", "cited")],
        "Zeppelins burn.": [("t1", "unknown"), ("t0", "unknown")],
    }
    assert all(item.seq_from == int(min(s.turn_id for s in item.sources)[1]) for item in await held(backend, "passage"))


async def test_a_search_after_an_insert_finds_it() -> None:
    search = call("archival_memory_search", query="boat")
    _, model = await scripted([step(search, insert("The boat is blue."), search, heartbeat=True), SILENT], said("Hm."))
    first, second = model.prompts[1].split("archival_memory_search: ")[1:]
    assert first.startswith("nothing on page 1; 0 in all") and second.startswith("1 to 1 of 1")


async def test_what_is_shown_has_the_time_of_its_turn_and_never_todays() -> None:
    lines = [
        step(insert("The boat is blue.")),
        step(call("archival_memory_search", query="boat"), heartbeat=True),
        SILENT,
    ]
    later = turn(1, "And now?").model_copy(update={"at": START + timedelta(days=90)})
    _, model = await scripted(lines, [*said("The boat is blue."), later])
    assert "3. [8 May 2023, 13:56] The boat is blue." in model.prompts[2]


async def test_refusals_and_misuses_come_back_to_the_agent_and_misuses_are_counted() -> None:
    wrong = [
        (human("x" * 2_001), "2,001 of 2,000 characters", 0),
        (call("core_memory_replace", label="human", old="likes tea", new="y"), "has 'likes tea' 0 times", 0),
        (call("core_memory_append", label="pet", content="y"), "there is no block 'pet'; there are persona, human", 0),
        (call("conversation_search_date", start="May", end="June"), "must be days", 0),
        (call("delete_everything"), "there is no such tool", 1),
        (call("archival_memory_insert", content=7), "content must be a text", 1),
        (call("conversation_search", query="boat", page=0), "pages are counted from 1", 1),
        (insert("y", 9), "numbers go from 1 to 1", 1),
    ]
    for one, told, counted in wrong:
        backend, model = await scripted([step(one), SILENT], said("I like cats."))
        assert len(model.prompts) == 2 and f"{one['tool']}: error: " in model.prompts[1] and told in model.prompts[1]
        stats = await backend.stats()
        assert (stats.parse_failures, stats.items_by_kind) == (counted, {"message": 1})


async def test_a_loop_that_a_failed_call_prolonged_ends_when_the_next_step_succeeds() -> None:
    _, model = await scripted([step(human("x" * 3_000)), step(insert("Amy likes cats."))], said("I like cats."))
    assert len(model.prompts) == 2


@pytest.mark.parametrize("steps", [1, 10])
async def test_an_agent_that_always_wants_to_go_on_is_stopped(steps: int) -> None:
    search = step(call("conversation_search", query="boat"), heartbeat=True)
    _, model = await scripted([search], said("I like cats."), f"memgpt-style(mode=llm,steps={steps})")
    assert len(model.prompts) == steps


@pytest.mark.parametrize(
    ("reply", "failures", "stored"),
    [
        ('{"calls": [{"tool": "archival_memory_insert", "args": {"content": "Amy likes cats.",}},]}', 0, 1),
        ("{'calls': [{'tool': 'archival_memory_insert', 'args': {'content': 'Amy likes cats.'}}]}", 0, 1),
        ('[{"tool": "archival_memory_insert", "args": {"content": "Amy likes cats."}}]', 0, 1),
        ('{"calls": [{"tool": "archival_memory_insert", "args": {"content": "Amy likes', 1, 0),
        ("I will remember that.", 1, 0),
        ("{}", 1, 0),
    ],
)
async def test_a_damaged_reply_is_mended_or_counted(reply: str, failures: int, stored: int) -> None:
    backend, model = await scripted([reply], said("I like cats."))
    stats = await backend.stats()
    assert (stats.parse_failures, stats.items_by_kind.get("passage", 0), len(model.prompts)) == (failures, stored, 1)
    assert (stats.turns_covered, stats.turns_dropped) == (1, {})


@pytest.mark.parametrize(("dedup", "copies"), [("true", 1), ("false", 3)])
async def test_the_same_passage_three_times(dedup: str, copies: int) -> None:
    lines = [step(insert("The boat is blue."))]
    turns = said("The boat is blue.", "I said the boat is blue.", "Blue it is, the boat.")
    backend, _ = await scripted(lines, turns, f"memgpt-style(mode=llm,dedup={dedup})")
    passages = await held(backend, "passage")
    assert len(passages) == len({item.id for item in passages}) == copies
    assert {source.turn_id for item in passages for source in item.sources} == {"t0", "t1", "t2"}
    found = (await asked(backend, "What colour is the boat?")).items
    assert [item.kind for item in found].count("passage") == copies


async def test_a_line_stored_away_word_for_word_keeps_its_turns_and_its_time() -> None:
    lines = [
        step(human("Amy likes cats.")),
        step(insert("Amy likes cats."), call("core_memory_replace", label="human", old="Amy likes cats.", new="")),
    ]
    backend, _ = await scripted(lines, said("I like cats.", "Never mind."))
    (passage,) = await held(backend, "passage")
    assert (passage.sources, passage.observed_at) == ((Source("t0", "cited"),), START)
    assert await held(backend, "core_block") == []


async def test_a_line_that_was_edited_and_stored_away_in_one_loop_is_of_now() -> None:
    lines = [
        step(human("Amy likes cats.")),
        step(
            call("core_memory_replace", label="human", old="cats", new="dogs"),
            insert("Amy likes dogs."),
            call("core_memory_replace", label="human", old="Amy likes dogs.", new=""),
        ),
    ]
    backend, _ = await scripted(lines, said("I like cats.", "I like dogs."))
    (passage,) = await held(backend, "passage")
    assert ([source.turn_id for source in passage.sources], passage.seq_from, passage.seq_to) == (["t0", "t1"], 0, 1)
    assert passage.observed_at == turn(1, "x").at and await held(backend, "core_block") == []


async def test_a_page_that_is_null_is_the_first() -> None:
    search = step(call("conversation_search", query="boat", page=None), heartbeat=True)
    backend, model = await scripted([search, SILENT], said("Hm."))
    assert "nothing on page 1" in model.prompts[1] and (await backend.stats()).parse_failures == 0


async def test_an_endpoint_that_fails_in_the_middle_of_a_loop_stores_nothing_and_the_turn_is_tried_again() -> None:
    once = [step(insert("Amy likes cats."), heartbeat=True), EndpointError("down", cause="timeout", retryable=True)]
    backend = await opened(LLM, replace(ports(), model=ScriptedModel([*once, step(insert("Amy likes cats.")), SILENT])))
    receipt = await backend.write(said("I like cats.")[0])
    assert receipt.deferred == ("t0",) and [item async for item in backend.items()] == []
    receipt = await backend.flush("history_end", None, START)
    assert receipt.deferred == () and await texts(backend, "passage") == ["Amy likes cats."]


async def test_an_embedder_that_fails_stores_nothing() -> None:
    backend = await opened(NAME, ports(FlakyEmbedder(1)))
    assert (await backend.write(turn(0, "I live in Oslo."))).deferred == ("t0",)
    assert [item async for item in backend.items()] == []
    await backend.flush("history_end", None, START)
    assert len(await held(backend, "core_block")) == 1


# reading


async def test_a_message_is_found_by_its_words_as_they_stand_the_rarest_first() -> None:
    backend = await fed(NAME, said("Is the boat there?", "Is the boat Freya there?", "Is it there?"))
    found = [item.id for item in (await asked(backend, "Where does the BOAT Freya lie?")).items]
    assert found == ["message-t1", "message-t0"]


async def test_nothing_of_later_is_found() -> None:
    later = turn(1, "The boat is red.").model_copy(update={"at": START + timedelta(days=9)})
    for way in ("store-probe", "agentic"):
        backend = await fed(f"memgpt-style(read={way})", [turn(0, "The boat is blue."), later])
        found = (await asked(backend, "Which colour has the boat?", 1)).items
        assert found and {source.turn_id for item in found for source in item.sources} == {"t0"}


async def searching(lines: Sequence[str]) -> tuple[MemoryBackend, ScriptedModel]:
    """An agent whose every message was followed by silence, and which searches as the lines say."""
    turns = said("I live in Oslo.", "The boat is blue.", "The boat is called Freya.", "Nothing new.")
    model = ScriptedModel(lines)
    backend = await opened("memgpt-style(read=agentic,mode=llm)", replace(ports(), model=model))
    for one in turns:
        await backend.write(one)
    model.prompts.clear()
    return backend, model


async def test_the_agent_decides_what_is_searched_and_what_it_saw_is_handed_over() -> None:
    quiet = [SILENT] * 4
    backend, model = await searching(quiet)
    model.lines = [
        step(call("conversation_search", query="boat"), heartbeat=True),
        step(call("conversation_search_date", start="2023-05-08", end="2023-05-08", page=1), heartbeat=True),
        step(call("send_message", text="It is blue.")),
    ]
    found = await asked(backend, "Which colour has the boat?")
    assert [item.id for item in found.items[:2]] == ["message-t2", "message-t1"] and len(found.items) == 4
    assert found.answer == "It is blue." and len(model.prompts) == 3
    assert "Question:\nWhich colour has the boat?" in model.prompts[0] and "Freya" not in model.prompts[0]
    assert "1 to 2 of 2, page 1" in model.prompts[1]


async def test_an_agent_that_does_not_search_finds_what_it_knows_by_heart() -> None:
    backend = await opened(
        "memgpt-style(read=agentic,mode=llm)", replace(ports(), model=(m := ScriptedModel([SILENT])))
    )
    m.lines = [step(human("Amy lives in Oslo.")), SILENT]
    await backend.write(said("I live in Oslo.")[0])
    assert [item.id for item in (await asked(backend, "Where does Amy live?")).items] == ["core-t0"]


async def test_an_unreadable_search_is_counted_with_the_retrieval() -> None:
    backend, model = await searching([SILENT])
    model.lines = ["no idea"]
    found = await asked(backend, "Which colour has the boat?")
    assert (found.items, found.parse_failures, found.answer) == ((), 1, None)


async def test_a_search_that_never_stops_is_stopped_and_changes_nothing() -> None:
    backend, model = await searching([SILENT])
    model.lines = [step(call("archival_memory_search", query="boat"), insert("x"), heartbeat=True)]
    before = (await backend.snapshot()).sha256
    found = await asked(backend, "Which colour has the boat?")
    assert len(model.prompts) == 10 and found.parse_failures == 10
    assert (await backend.snapshot()).sha256 == before


async def test_rules_search_messages_and_then_passages() -> None:
    backend = await fed("memgpt-style(read=agentic)", said("The boat Freya is blue.", "I live in Oslo."))
    found = await asked(backend, "Which colour has Freya?")
    assert [item.kind for item in found.items] == ["message", "passage", "core_block"]


def test_the_rule_takes_three_steps() -> None:
    desk = Desk((), (), 8_192, question="Where is the spare key?")
    first = LOOK_UP.read(LOOK_UP.rule(desk), desk).value
    assert [one.texts["query"] for one in first.calls] == ["spare", "key"] and first.heartbeat
    seen = replace(desk, results=(Result("conversation_search", "nothing"),))
    second = LOOK_UP.read(LOOK_UP.rule(seen), seen).value
    assert [one.tool for one in second.calls] == ["archival_memory_search"] and second.heartbeat
    done = replace(seen, results=(*seen.results, Result("archival_memory_search", "nothing")))
    last = LOOK_UP.read(LOOK_UP.rule(done), done).value
    assert [one.texts for one in last.calls] == [{"text": "I found nothing about that."}] and not last.heartbeat


@pytest.mark.parametrize(
    ("text", "words"), [("???", ()), ("团子", ("团子",)), ("And then?", ()), ("Freya", ("freya",))]
)
def test_words_to_search_for(text: str, words: tuple[str, ...]) -> None:
    assert search_words(text) == words


# parameters


@pytest.mark.parametrize(
    "name",
    ["memgpt-style(read=tool)", "memgpt-style(window=100)", "memgpt-style(core=1)", "memgpt-style(steps=0)",
     "memgpt-style(dedup=1)", "memgpt-style(mode=agent)"],
)  # fmt: skip
def test_parameters_out_of_range_are_refused(name: str) -> None:
    with pytest.raises(ConfigError):
        create_architecture(name)


def test_a_name_with_its_parameters_makes_the_same_again() -> None:
    name = "memgpt-style(core=500,dedup=false,mode=llm,read=agentic,steps=4,window=4096)"
    made = create_architecture(name)
    assert create_architecture(made.name).name == made.name
    assert create_architecture("memgpt-style(window=8192,mode=heuristic)").name == NAME


def test_prompts_name_their_tools() -> None:
    assert "core_memory_replace(label, old, new, messages)" in REMEMBER.instruction
    assert "send_message" not in REMEMBER.instruction and "core_memory" not in LOOK_UP.instruction
