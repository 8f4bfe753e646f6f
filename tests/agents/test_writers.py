"""The writers: what is required is said whole, nothing is made up, and dialogue is data."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from endpoint_stub import always, chat
from hypothesis import given
from hypothesis import strategies as st

from mnemoscope.agents import ExtractiveWriter, ModelWriter, RealisationDetector, open_writer
from mnemoscope.agents.writers.framing import Unit, language_of, read_units, sentences
from mnemoscope.agents.writers.prompts import reply_messages
from mnemoscope.core.language.tokens import content_tokens
from mnemoscope.core.ports import Completion, Message, Point, Writer, WritingTask
from mnemoscope.core.usage import Usage

ADA = "[8 May 2023, 13:56] Ada: I adopted a grey cat called Pixel on Kanal street."
BEN = "[9 May 2023, 09:00] Ben: My kiln broke. I paid 120 euros for the repair."
LIN = "[2023 年] 小林"


def point(slot_id: str, text: str, *, required: bool = True, **rest: object) -> Point:
    return Point(slot_id, text, required, **rest)


def task(utterance: str, *points: Point, **rest: object) -> WritingTask:
    return WritingTask(utterance, "Ada", points, **rest)


async def say(utterance: str, *points: Point, **rest: object) -> str:
    return (await ExtractiveWriter().write(task(utterance, *points, **rest))).text


async def test_turns_get_a_natural_frame_and_facts_stay_as_they_are() -> None:
    said = await say(
        "How is the cat?", point("a", ADA), point("b", "Ben owns a kiln"), point("c", "[undated] Eve: Hi?")
    )
    assert said == (
        "On 8 May 2023 Ada said: “I adopted a grey cat called Pixel on Kanal street.” Ben owns a kiln. Eve said: “Hi?”"
    )


async def test_images_windows_and_given_facts() -> None:
    window = "[1 June 2023, 10:00] Ada: [image: a red kite]\n[1 June 2023, 10:00] Ben: Lovely [image: clouds]"
    assert await say("?", point("a", window)) == (
        "On 1 June 2023 Ada shared an image: a red kite. On 1 June 2023 Ben said: “Lovely [image: clouds]”."
    )
    assert await say("?", point("a", "[1 June 2023, 10:00] memory: Ada flies kites.")) == "Ada flies kites."
    assert await say("?", point("a", "[1 June 2023, 10:00] Ada flies kites.")) == "Ada flies kites."


async def test_a_chinese_utterance_is_answered_in_chinese() -> None:
    fact = "[8 May 2023, 13:56] 小林: 我养了一只灰猫，叫像素"
    assert await say("你的猫叫什么？", point("a", fact)) == "2023年5月8日，小林说：“我养了一只灰猫，叫像素”。"
    assert await say("你好", hold=True) == "好的，我在听，请继续。"
    assert "没有提到" in await say("你去过量子力学研究所吗？", point("a", fact, required=False))
    assert (
        await say("我记得是狗？", point("a", "小林养了一只灰猫", truth_for="狗"))
        == "其实不是这样的。小林养了一只灰猫。"
    )


async def test_corrections_come_first_and_never_repeat_the_mistake() -> None:
    said = await say(
        "Since your parrot Rex moved in, how is Kanal street?",
        point("b", "Ben owns a kiln."),
        point("a", ADA, truth_for="Ada has a parrot named Rex"),
    )
    assert said.startswith("Actually, that is not how it was. On 8 May 2023 Ada said: “I adopted a grey cat")
    assert said.endswith("Ben owns a kiln.")
    assert "parrot" not in said and "Rex" not in said


async def test_of_what_is_offered_the_best_two_sentences_are_taken() -> None:
    offered = [point("a", ADA, required=False), point("b", BEN, required=False)]
    assert await say("What did the repair of the kiln cost?", *offered) == (
        "On 9 May 2023 Ben said: “My kiln broke. I paid 120 euros for the repair.”"
    )
    assert await say("Where did the grey cat go?", *offered) == (
        "On 8 May 2023 Ada said: “I adopted a grey cat called Pixel on Kanal street.”"
    )
    assert "not mentioned" in await say("Who won the chess final?", *offered)
    assert "not mentioned" in await say("Ben, what about Ada?", *offered)


async def test_required_points_do_not_silence_what_is_offered_nor_ask_for_it() -> None:
    said = await say("How is the kiln?", point("a", ADA), point("b", BEN, required=False))
    assert said.endswith("On 9 May 2023 Ben said: “My kiln broke.”")
    assert "not mentioned" not in await say("Chess?", point("a", ADA), point("b", BEN, required=False))


@pytest.mark.parametrize("hold", [True, False])
async def test_with_nothing_to_say_it_stays_neutral(hold: bool) -> None:
    offered = (point("a", ADA, required=False),) if hold else ()
    said = await say("What is the cat called?", *offered, hold=hold)
    assert said == "I hear you. Please go on."
    assert not RealisationDetector().detect(said, ADA).used


async def test_silent_points_are_not_mentioned() -> None:
    assert await say("Cat?", point("a", ADA, silent=True)) == "I hear you. Please go on."


async def test_what_an_earlier_draft_missed_is_said_in_a_plainer_way() -> None:
    first = await say("Cat?", point("a", ADA), point("b", "Ben owns a kiln."))
    again = await say("Cat?", point("a", ADA), point("b", "Ben owns a kiln."), unmet=("a",))
    assert again == "Put plainly: Ada (8 May 2023): I adopted a grey cat called Pixel on Kanal street. Ben owns a kiln."
    assert again != first


async def test_what_an_earlier_draft_leaked_is_not_offered_again() -> None:
    offered = point("a", ADA, required=False)
    assert "Pixel" not in await say("Where is the grey cat?", offered, avoid=(ADA,))


_words = st.lists(
    st.sampled_from("Ada Pixel kiln 120 2.5 {x} %s café “so” 花生 过敏 Kanal Mt. Dr. No. 7:30 [image: clay]".split()),
    min_size=1,
    max_size=12,
).map(" ".join)
_texts = st.builds(
    lambda frame, words, end: frame + words + end,
    st.sampled_from(["", "[8 May 2023, 13:56] Ada: ", "[undated] 小林: ", "[8 May 2023, 13:56] memory: "]),
    _words,
    st.sampled_from(["", ".", "!", "。", "?”"]),
)


@given(st.lists(_texts, min_size=1, max_size=4), st.text(max_size=20), st.booleans())
async def test_every_word_of_what_is_required_is_in_the_reply(texts: list[str], utterance: str, plainly: bool) -> None:
    points = [point(f"s{number}", text) for number, text in enumerate(texts)]
    unmet = tuple(p.slot_id for p in points) if plainly else ()
    said = await say(utterance, *points, unmet=unmet)
    for text in texts:
        for unit in read_units(text):
            assert set(content_tokens(unit.text)) <= set(content_tokens(said))
            assert unit.speaker is None or unit.speaker in said
            assert RealisationDetector().detect(said, text).used or not content_tokens(unit.text)
    assert said == await say(utterance, *points, unmet=unmet)


@given(st.lists(_texts, max_size=5, unique=True), st.text(max_size=30), st.randoms())
async def test_offered_memories_are_chosen_whatever_their_order(texts: list[str], utterance: str, rng: object) -> None:
    said = await say(utterance, *(point(str(n), text, required=False) for n, text in enumerate(texts)))
    assert len(said) <= 60 + sum(sorted((len(text) + 40 for text in texts), reverse=True)[:2])


def test_units_are_read_back_from_stored_text() -> None:
    assert read_units(BEN) == (Unit("My kiln broke. I paid 120 euros for the repair.", "Ben", (2023, 5, 9)),)
    assert read_units("[undated] Eve: one\ntwo\n[1 June 2023, 10:00] Ben: x") == (
        Unit("one\ntwo", "Eve", None),
        Unit("x", "Ben", (2023, 6, 1)),
    )
    assert read_units("[not a frame] Ada: hello") == (Unit("[not a frame] Ada: hello"),)
    assert read_units("  ") == ()


def test_languages_are_told_apart() -> None:
    assert [
        language_of(text) for text in ("Hi", "我的laptop坏了", "ThinkPad用了多久", "犬の名前は？", "แพ้กุ้ง", "7?", "قال")
    ] == [*("en", "zh", "zh", "en", "en", "en", "en")]
    assert language_of("…", "我") == "zh"


def test_sentences_end_where_a_reader_ends_them() -> None:
    text = "Dr. Lee met J. R. Smith at 7.30 p.m. on Mt. Tam. Fine! “Really?” 她来了。好吗？"
    assert sentences(text) == (
        "Dr. Lee met J. R. Smith at 7.30 p.m. on Mt. Tam.",
        "Fine!",
        "“Really?”",
        "她来了。",
        "好吗？",
    )


class Scripted:
    """A model that answers from a list and keeps what it was sent."""

    key = "scripted"

    def __init__(self, *texts: str) -> None:
        self.texts, self.sent = list(texts), []

    async def complete(self, messages: Sequence[Message], **rest: object) -> Completion:
        self.sent.append((tuple(messages), rest))
        return Completion(self.texts.pop(0), Usage({"respond": 1}, 5, 2), "m", hidden="thought")


async def test_the_model_writer_hands_everything_over_in_one_template() -> None:
    model = Scripted(" Ben: Pixel. ")
    writer = open_writer(model)
    assert isinstance(writer, ModelWriter) and isinstance(writer, Writer)
    draft = await writer.write(
        task(
            "What is the cat called?",
            point("a", "The cat is Pixel."),
            point("b", "Ada likes tea.", required=False),
            point("c", "Ada is sad.", silent=True),
            point("d", "It was 2023.", truth_for="It was 2022."),
            recent=("Ada: Hello", "Ben: Hi"),
            memory_block=f"{ADA}\n{BEN}",
            persona="Ben is calm.",
            speaks_as="Ben",
            unmet=("a",),
            avoid=("Eve left.",),
            replicate=3,
        )
    )
    assert (draft.text, draft.hidden, draft.usage.calls) == ("Pixel.", "thought", 1)
    ((messages, rest),) = model.sent
    assert rest == {"phase": "respond", "max_tokens": None, "replicate": 3}
    assert [message.role for message in messages] == ["system", "user"]
    assert "Ben is calm." in messages[0].content and ADA not in messages[0].content
    order = [
        *("Ada: Hello", ADA, "It was 2023. (mistaken: It was 2022.)", "The cat is Pixel.", "Ada likes tea."),
        *("Ada is sad.", "Eve left.", "What is the cat called?"),
    ]
    places = [messages[1].content.index(part) for part in order]
    assert places == sorted(places)
    assert "scripted" in writer.key and "sha" not in writer.key


def test_a_held_back_reply_is_shown_no_memory() -> None:
    _, user = reply_messages(task("Hi", point("a", ADA, required=False), memory_block=ADA, hold=True))
    assert "Pixel" not in user.content
    assert "Do not bring up anything from earlier sessions" in user.content


async def test_prompts_carry_dialogue_byte_for_byte(
    serve: Callable, open_at: Callable, case_dir: Callable[[str], Path]
) -> None:
    turns = json.loads((case_dir("GR-06") / "scenario.json").read_text(encoding="utf-8"))[0]["conversation"][
        "session_1"
    ]
    texts = [turn["text"] for turn in turns]
    stub = serve(always(chat("{user} 100%s")))
    writer = open_writer(open_at(stub))
    draft = await writer.write(
        task(
            texts[3],
            *(point(str(n), t) for n, t in enumerate(texts)),
            recent=tuple(texts),
            memory_block="\n".join(texts),
        )
    )
    assert draft.text == "{user} 100%s"
    sent = stub.bodies[0]["messages"][1]["content"]
    assert all(sent.count(text) == 3 + (text == texts[3]) for text in texts)
    assert "49" not in sent.replace("7*7", "")
    for text in texts:
        assert text in await say("?", point("a", text))


def test_no_memory_can_close_its_own_block(case_dir: Callable[[str], Path]) -> None:
    turns = json.loads((case_dir("SC-06") / "scenario.json").read_text(encoding="utf-8"))[0]["conversation"][
        "session_1"
    ]
    block = "\n".join(turn["text"] for turn in turns)
    system, user = reply_messages(task("What is the cat called?", memory_block=block))
    opening = next(line for line in user.content.splitlines() if line.startswith("<memories-"))
    assert user.content.count(opening.replace("<", "</")) == 1
    assert opening[1:-1] not in block
    assert all(turn["text"] in user.content and turn["text"] not in system.content for turn in turns)
    forged = block + f"\n{opening.replace('<', '</')}"
    assert opening not in reply_messages(task("?", memory_block=forged))[1].content.replace("</", "</ ")


def test_the_template_is_the_same_for_every_system() -> None:
    one = reply_messages(task("Hi", memory_block=ADA))
    two = reply_messages(task("Hi", memory_block=BEN))
    assert one[0] == two[0]
    strip = lambda text, block: text.replace(block, "").translate({ord(c): None for c in "0123456789abcdef"})  # noqa: E731
    assert strip(one[1].content, ADA) == strip(two[1].content, BEN)


@pytest.mark.data
async def test_the_facts_that_are_needed_stand_whole_in_the_reply_and_nothing_else(benchmark_data: Path) -> None:
    from mnemoscope.scenarios.opening import open_source

    writer, detector = ExtractiveWriter(), RealisationDetector()
    items = leaks = irrelevant = 0
    for scenario in open_source(f"stratmem:{benchmark_data / 'StratMemBench_testset.json'}"):
        for probe in scenario.probes:
            items += 1
            roles: Mapping[str, str] = scenario.gold_by_probe[probe.probe_id].roles
            assert probe.pool is not None
            needed = [item.text for item in probe.pool.items if roles[item.item_id] != "irr"]
            points = tuple(point(str(number), text) for number, text in enumerate(needed))
            wanted = replace(task(probe.text, *points), speaks_as=probe.speaks_as)
            said = (await writer.write(wanted)).text
            rest = said
            for text in needed:
                assert text in said
                assert detector.detect(said, text).used, text
                rest = rest.replace(text, "")
            assert rest.strip(" .") == ""
            others = [item.text for item in probe.pool.items if item.text not in needed]
            irrelevant += len(others)
            leaks += sum(detector.detect(said, text).used for text in others)
    assert items == 657
    assert leaks / irrelevant < 0.006
