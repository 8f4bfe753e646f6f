"""`a-mem-style`: notes, their links and their evolution, by rule and by a scripted model."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemoscope.core.errors import ConfigError, EndpointError
from mnemoscope.graphs.architecture import create_architecture
from mnemoscope.graphs.backend import MemoryBackend, Ports
from mnemoscope.graphs.conformance.twin_model import TwinModel
from mnemoscope.graphs.contracts.annotate import ANNOTATE, LONGEST_CONTEXT, Annotation
from mnemoscope.graphs.contracts.evolve import EVOLVE, Change, Evolution, EvolveGiven, Neighbour
from mnemoscope.graphs.drawing import draw_mermaid
from mnemoscope.graphs.notes import Note
from mnemoscope.memory_backends.embedders.hashing import HashEmbedder
from mnemoscope.memory_backends.record import Budget, MemoryItem, Query, Source
from tests.graphs.graph_tools import START, FlakyEmbedder, fed, opened, ports, turn
from tests.graphs.replayed_model import ScriptedModel

LLM = "a-mem-style(mode=llm)"
TOPICS = (
    "The pottery wheel squeaks again.",
    "My cousin plays the oboe badly.",
    "Rain ruined the picnic blanket.",
    "The dentist was surprisingly gentle.",
    "Trains to Ghent leave hourly.",
    "Our basil plant is flowering.",
    "A museum opened in the brewery.",
    "The marathon route crosses two bridges.",
    "Chess club meets without me now.",
    "I adopted a greyhound called Biscuit.",
)


def annotated(*keywords: str, context: str = "", tags: Sequence[str] = ()) -> str:
    return json.dumps({"keywords": keywords, "context": context, "tags": tags})


def evolved(connect: Sequence[int] = (), own: Sequence[str] = (), changes: Sequence[dict[str, object]] = ()) -> str:
    return json.dumps({"connect": connect, "own_tags": own, "changes": changes})


def with_model(*lines: str | Exception) -> Ports:
    return replace(ports(), model=ScriptedModel(lines))


async def notes(memory: MemoryBackend) -> dict[str, MemoryItem]:
    return {item.id: item async for item in memory.items()}


async def test_a_turn_becomes_a_note_with_keywords_context_and_tags() -> None:
    memory = await fed("a-mem-style", [turn(0, "Hi! I adopted a rescue greyhound in Bergen yesterday.")])
    (note,) = (await notes(memory)).values()
    assert note.text.splitlines() == [
        "[8 May 2023, 13:56] Amy: Hi! I adopted a rescue greyhound in Bergen yesterday.",
        "context: Amy adopted a rescue greyhound in Bergen yesterday [7 May 2023].",
        "keywords: Bergen, rescue greyhound, adopted",
        "tags: Bergen, rescue greyhound, adopted",
    ]
    assert (note.id, note.kind, note.sources) == ("note-t0", "note", (Source("t0", "verbatim"),))


async def test_notes_on_one_matter_are_linked_by_id_and_share_a_tag() -> None:
    told = [
        turn(0, "The brass telescope, the walnut desk, the harp and Biscuit came along."),
        turn(1, "Rain ruined the picnic."),
        turn(2, "The walnut desk, the harp, Biscuit and the brass telescope are unpacked."),
    ]
    memory = await fed("a-mem-style", told)
    stored = await notes(memory)
    assert stored["note-t2"].links == ("note-t0",)
    old, new = stored["note-t0"], stored["note-t0~2"]
    assert not old.is_live
    assert (new.supersedes, new.sources[1].turn_id, new.sources[1].method) == ("note-t0", "t2", "inherited")
    assert set(new.attrs["tags"].splitlines()) > set(old.attrs["tags"].splitlines())
    assert new.text.splitlines()[0] == old.text.splitlines()[0], "what was said stays"
    assert stored["note-t1"].is_live and "note-t1~2" not in stored


@pytest.mark.parametrize("said", ["123", "None", "[1, 2]", "{}", "true"])
async def test_what_looks_like_data_comes_back_as_it_was_said(said: str) -> None:
    memory = await fed("a-mem-style", [turn(0, said)])
    found = await memory.retrieve(Query(said), Budget(), None)
    assert [item.text.splitlines()[0] for item in found.items] == [f"[8 May 2023, 13:56] Amy: {said}"]


async def test_a_second_memory_leaves_the_first_alone() -> None:
    first = await fed("a-mem-style", [turn(0, TOPICS[9])])
    await opened("a-mem-style")
    assert (await first.retrieve(Query("greyhound"), Budget(), None)).given == 1


async def test_links_name_notes_by_id_and_what_was_not_offered_is_counted() -> None:
    model = with_model(annotated("oboe"), annotated("harp"), evolved([7, 0, 1]))
    memory = await opened(LLM, model)
    await memory.write(turn(0, "I play the oboe."))
    receipt = await memory.write(turn(1, "I play the harp."))
    assert receipt.parse_failures == 2
    assert (await notes(memory))["note-t1"].links == ("note-t0",)


async def test_a_change_reaches_the_neighbour_that_it_names() -> None:
    change = evolved(changes=[{"note": 1, "context": "Amy's greyhound Biscuit sleeps", "tags": ["dogs"]}])
    quiet = [line for _ in TOPICS[1:] for line in (annotated("x"), evolved())]
    memory = await opened(LLM, with_model(annotated("x"), *quiet, annotated("x"), change))
    for number, text in enumerate(TOPICS):
        await memory.write(turn(number, text))
    receipt = await memory.write(turn(10, "The greyhound called Biscuit sleeps on my bed."))
    assert (receipt.added, receipt.updated, receipt.invalidated) == (("note-t10",), ("note-t9~2",), ("note-t9",))
    assert Note.of((await notes(memory))["note-t9~2"]) == Note(
        f"[8 May 2023, 14:05] Amy: {TOPICS[9]}", Annotation(("x",), "Amy's greyhound Biscuit sleeps", ("dogs",))
    )


async def test_a_changed_note_is_embedded_at_once_as_it_stands() -> None:
    told = [turn(n, f"The walnut desk, the harp, Biscuit and the telescope, day {n}.") for n in range(3)]
    memory = await fed("a-mem-style", told)
    live = [item for item in (await notes(memory)).values() if item.is_live]
    assert any(item.version > 1 for item in live)
    rows = await HashEmbedder(64).embed([Note.of(item).embedded for item in live], "document")
    store = memory._context.store  # type: ignore[attr-defined]
    np.testing.assert_allclose(store.vectors([item.id for item in live]), rows, atol=1e-6)


async def test_own_tags_replace_those_of_the_new_note() -> None:
    model = with_model(annotated("oboe"), annotated("harp", tags=["noise"]), evolved([1], ["music"]))
    memory = await fed(LLM, [turn(0, "I play the oboe."), turn(1, "I play the harp.")], model)
    note = (await notes(memory))["note-t1"]
    assert (note.attrs["tags"], note.links) == ("music", ("note-t0",))
    assert note.text.endswith("tags: music")


async def test_a_read_as_of_an_earlier_time_finds_the_older_description() -> None:
    change = evolved([1], changes=[{"note": 1, "context": "Amy left Oslo for Bergen"}])
    model = with_model(annotated("Oslo"), annotated("Bergen"), change, '{"keywords": ["Oslo"]}')
    later = turn(1, "I moved to Bergen.").model_copy(update={"at": START + timedelta(days=60)})
    memory = await fed(LLM, [turn(0, "I live in Oslo."), later], model)
    before = await memory.retrieve(Query("Where does Amy live?"), Budget(), START + timedelta(days=30))
    after = await memory.retrieve(Query("Where does Amy live?"), Budget(), None)
    assert [item.id for item in before.items] == ["note-t0"]
    assert "Bergen" not in before.rendered
    assert {item.id for item in after.items} == {"note-t0~2", "note-t1"}


async def test_a_note_changed_by_an_earlier_turn_is_not_known_before_it_was_said() -> None:
    late = turn(0, "I live in Oslo.").model_copy(update={"at": START + timedelta(days=9)})
    change = evolved(changes=[{"note": 1, "tags": ["homes"]}])
    memory = await fed(LLM, [late, turn(1, "I like Oslo.")], with_model(annotated("a"), annotated("b"), change, "{}"))
    found = await memory.retrieve(Query("Oslo"), Budget(), START + timedelta(days=1))
    assert [item.id for item in found.items] == ["note-t1"]


async def test_a_context_that_neither_note_supports_names_its_cause_as_unknown() -> None:
    change = evolved(changes=[{"note": 1, "context": "Quantum chromodynamics explains everything"}])
    model = with_model(annotated("oboe"), annotated("harp"), change)
    memory = await fed(LLM, [turn(0, "I play the oboe."), turn(1, "I play the harp.")], model)
    assert [source.method for source in (await notes(memory))["note-t0~2"].sources] == ["verbatim", "unknown"]


@pytest.mark.parametrize("how", ["I would tag this as music.", '{"keywords": ["a"]}', "null", ""])
async def test_a_turn_whose_annotation_cannot_be_read_is_kept_without_one(how: str) -> None:
    memory = await opened(LLM, with_model(how))
    receipt = await memory.write(turn(0, "I play the oboe."))
    (note,) = (await notes(memory)).values()
    assert (receipt.parse_failures, note.text) == (1, "[8 May 2023, 13:56] Amy: I play the oboe.")


async def test_the_answer_of_the_original_is_counted_and_changes_nothing() -> None:
    original = {"should_evolve": True, "actions": ["update_neighbors"], "suggested_connections": [0]}
    original |= {"tags_to_update": [], "new_context_neighborhood": ["x"], "new_tags_neighborhood": [["x"]]}
    memory = await opened(LLM, with_model(annotated("oboe"), annotated("harp"), json.dumps(original)))
    await memory.write(turn(0, "I play the oboe."))
    receipt = await memory.write(turn(1, "I play the harp."))
    assert (receipt.parse_failures, receipt.updated) == (1, ())
    assert [item.links for item in (await notes(memory)).values()] == [(), ()]


async def test_a_query_whose_keywords_cannot_be_read_is_searched_as_it_stands() -> None:
    memory = await opened(LLM, with_model(annotated("oboe"), "No idea."))
    await memory.write(turn(0, "I play the oboe."))
    found = await memory.retrieve(Query("Who plays the oboe?"), Budget(), None)
    assert (found.parse_failures, found.given) == (1, 1)


async def test_a_linked_note_follows_its_hit_ahead_of_nearer_ones() -> None:
    model = with_model(
        annotated("violin"),
        *(annotated("tax"), evolved()),
        *(annotated("tax"), evolved()),
        *(annotated("tax return"), evolved([3])),
        '{"keywords": ["tax return form"]}',
    )
    told = [turn(0, "My violin has a crack."), *(turn(n, f"The tax form {n} is due.") for n in (1, 2))]
    memory = await opened(LLM, model)
    for one in [*told, turn(3, "The tax return form is lost.")]:
        await memory.write(one)
    for k in (1, 2):
        found = await memory.retrieve(Query("Where is the tax return form?"), Budget(k=k), None)
        assert [item.id for item in found.items] == ["note-t3", "note-t0", "note-t1", "note-t2"]
        assert [item.rank for item in found.items] == [1, 2, 3, 4]
        assert (found.given, found.items[1].score) == (k, None)


async def test_a_link_leads_to_the_version_that_holds() -> None:
    change = evolved([1], changes=[{"note": 1, "tags": ["music"]}])
    model = with_model(
        annotated("a"), annotated("b"), change, annotated("c"), evolved([1, 2]), '{"keywords": ["tuba"]}'
    )
    told = [turn(0, "I play the oboe."), turn(1, "I play the harp."), turn(2, "The tuba is loud.")]
    memory = await fed(LLM, told, model)
    found = await memory.retrieve(Query("tuba"), Budget(), None)
    assert found.items[0].links and set(found.items[0].links) == {"note-t0", "note-t1"}
    assert {item.id for item in found.items} == {"note-t0~2", "note-t1", "note-t2"}


@pytest.mark.parametrize("call", [1, 2, 3])
async def test_an_embedder_that_fails_leaves_the_memory_as_it_would_have_been(call: int) -> None:
    told = [turn(n, f"The walnut desk, the harp, Biscuit and the telescope, day {n}.") for n in range(3)]
    sound, patient = await fed("a-mem-style", told), await fed("a-mem-style", told, ports(FlakyEmbedder(call)))
    assert (await sound.snapshot()).sha256 == (await patient.snapshot()).sha256


async def test_a_model_that_fails_at_evolving_leaves_the_store_alone() -> None:
    down = EndpointError("down", cause="server", retryable=True)
    model = with_model(annotated("oboe"), annotated("harp"), down, annotated("harp"), evolved([1]))
    memory = await opened(LLM, model)
    await memory.write(turn(0, "I play the oboe."))
    receipt = await memory.write(turn(1, "I play the harp."))
    assert receipt.deferred == ("t1",) and list(await notes(memory)) == ["note-t0"]
    await memory.flush("history_end", None, START)
    assert (await notes(memory))["note-t1"].links == ("note-t0",)


async def test_without_evolution_nothing_is_linked_and_only_the_annotation_is_asked() -> None:
    told = [turn(n, f"The walnut desk, the harp, Biscuit and the telescope, day {n}.") for n in range(3)]
    memory = await fed("a-mem-style(evolve=false,mode=llm)", told, replace(ports(), model=TwinModel()))
    assert [item.links for item in (await notes(memory)).values()] == [()] * 3
    assert (await memory.stats()).usage.calls_by_phase == {"extract": 3}
    assert "expand_links" not in draw_mermaid(create_architecture("a-mem-style(evolve=false)"))


async def test_both_modes_agree_where_a_model_answers_as_the_rule_does() -> None:
    told = [turn(n, text) for n, text in enumerate([*TOPICS, *TOPICS[:3]])]
    by_rule = await notes(await fed("a-mem-style", told))
    assert by_rule == await notes(await fed(LLM, told, replace(ports(), model=TwinModel())))
    assert any(item.links for item in by_rule.values())


def test_the_rule_links_by_nearness_or_by_keywords_from_its_thresholds_on() -> None:
    def neighbour(nearness: float, *keywords: str) -> Neighbour:
        return Neighbour(Note("stored", Annotation(keywords)), nearness)

    new = Note("new", Annotation(("Harp", "oboe", "tuba")))
    near = (neighbour(0.6), neighbour(0.59), neighbour(0.0, "harp", "x"), neighbour(0.0, "harp", "x", "y"))
    assert EVOLVE.rule(EvolveGiven(new, near))["connect"] == [1]
    half = (neighbour(0.0, "harp", "OBOE", "x"), neighbour(0.0, "harp"))
    assert EVOLVE.rule(EvolveGiven(new, half)) == {
        "connect": [1, 2],
        "own_tags": [],
        "changes": [{"note": 1, "tags": ["harp", "OBOE"]}, {"note": 2, "tags": ["harp"]}],
    }


def test_the_rule_gives_no_more_tags_than_a_note_may_have() -> None:
    tags = tuple("abcdef")
    stored = Neighbour(Note("stored", Annotation((*tags, "harp"), tags=tags)), 0.9)
    given_ = EvolveGiven(Note("new", Annotation(("harp",))), (stored,))
    assert EVOLVE.rule(given_) == {"connect": [1], "own_tags": [], "changes": []}


def test_changes_of_unknown_notes_second_changes_and_empty_ones_are_left_out_and_counted() -> None:
    given_ = EvolveGiven(Note("new", Annotation()), (Neighbour(Note("stored", Annotation()), 0.5),) * 2)
    changes = [{"note": 3, "tags": ["a"]}, {"note": 1}, {"note": 2, "tags": ["a"]}, {"note": 2, "tags": ["b"]}]
    reading = EVOLVE.read({"connect": [2, 9], "own_tags": ["a", " "], "changes": changes}, given_)
    assert reading.value == Evolution((2,), ("a",), (Change(2, None, ("a",)),))
    assert reading.rejected == 5


def test_annotations_are_kept_within_their_limits_and_what_is_cut_is_counted() -> None:
    value = {"keywords": list("abcdefghij"), "context": f"Short. {'long ' * 60}", "tags": ["x", "x", ""]}
    reading = ANNOTATE.read(value, turn(0, "Hi"))
    assert reading.value == Annotation(tuple("abcdefgh"), "Short.", ("x",))
    assert reading.rejected == 2 + 1 + 2
    endless = ANNOTATE.read({"keywords": [], "context": "x" * 900, "tags": []}, turn(0, "Hi")).value.context
    assert len(endless) == LONGEST_CONTEXT


@pytest.mark.parametrize(
    ("text", "keyword"), [("我养了一只猫叫团子", "团子"), ("I work at the lighthouse.", "lighthouse"), ("None", "None")]
)
def test_the_rule_finds_keywords_and_a_context(text: str, keyword: str) -> None:
    annotation = ANNOTATE.read(ANNOTATE.rule(turn(0, text)), turn(0, text)).value
    assert keyword in annotation.keywords and annotation.context


def test_the_rule_describes_a_shared_image() -> None:
    shared = turn(0, "").model_copy(update={"caption": "a lake at dawn"})
    assert ANNOTATE.rule(shared) == {
        "keywords": ["lake", "dawn"],
        "context": "Amy shared an image: a lake at dawn",
        "tags": ["lake", "dawn"],
    }


PHRASES = st.lists(st.text(min_size=1, max_size=9).map(lambda text: " ".join(text.split())).filter(bool), max_size=4)


@given(st.text(max_size=60), PHRASES, st.text(max_size=30).map(lambda text: " ".join(text.split())), PHRASES)
def test_a_note_is_read_back_as_it_was_stored(content: str, keywords: list[str], context: str, tags: list[str]) -> None:
    note = Note(content, Annotation(tuple(keywords), context, tuple(tags)))
    item = MemoryItem("n", "note", note.text, (), None, attrs=note.attrs)
    assert Note.of(item) == note


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("a-mem-style(neighbours=0)", "neighbours is 0; it must be a whole number from 1 to 50"),
        ("a-mem-style(evolve=maybe)", "evolve is 'maybe'; it must be true or false"),
        ("a-mem-style(mode=magic)", "mode is 'magic'"),
    ],
)
def test_wrong_parameters_are_refused(name: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message.replace("(", r"\(")):
        create_architecture(name)


@pytest.mark.parametrize("name", ["a-mem-style", "a-mem-style(neighbours=3)", "a-mem-style(evolve=false,mode=llm)"])
def test_names_round_trip(name: str) -> None:
    assert create_architecture(name).name == name
