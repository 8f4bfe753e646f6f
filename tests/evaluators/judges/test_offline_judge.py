"""The offline judge: published failing inputs, each task's rule in both languages, keys, quotes and properties."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemoscope.core.ports import Vectors
from mnemoscope.evaluators.judges.judge import Judge, use_question
from mnemoscope.evaluators.judges.offline.judge import OfflineJudge
from mnemoscope.evaluators.judges.offline.rules import open_rules
from mnemoscope.evaluators.judges.question import TASKS, Answer, Fact, Question, Task
from mnemoscope.evaluators.judges.registry import JudgePorts, open_judge
from mnemoscope.evaluators.judges.scales import LABELS
from mnemoscope.memory_backends.embedders.cache import CachedEmbedder
from mnemoscope.memory_backends.embedders.hashing import HashEmbedder

CaseDir = Callable[[str], Path]
JUDGE = OfflineJudge()
DONE: tuple[Task, ...] = (
    "use", "coverage", "fact-use", "correction", "objection", "integration", "answer", "unprompted", "references",
    "outcome", "refusal",
)  # fmt: skip
TWICE: tuple[Task, ...] = ("answer", "fact-use")
GLASS = "Ines broke her greenhouse pane in March and ordered acrylic instead."


class FittedEmbedder:
    """Hashed words under the id of the embedder that the rules are fitted to; counts what it computes."""

    id = open_rules().embedder
    dim = 384

    def __init__(self) -> None:
        self._inner = HashEmbedder(self.dim)
        self.computed: list[str] = []

    async def embed(self, texts: Sequence[str], purpose: Literal["document", "query"]) -> Vectors:
        self.computed.extend(texts)
        return await self._inner.embed(texts, purpose)

    def unknown_share(self, texts: Sequence[str]) -> float | None:
        return 0.0


def ask(task: Task, reply: str, judge: Judge = JUDGE, /, **fields: object) -> Answer:
    return asyncio.run(judge.judge(Question(task, reply, **fields)))[0]  # type: ignore[arg-type]


def rows(case: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in (case / "items.jsonl").read_text(encoding="utf-8").splitlines()]


def test_words_to_the_grader_are_never_an_answer(case_dir: CaseDir) -> None:
    expected = json.loads((case_dir("JD-06") / "expected.json").read_text())
    for row in rows(case_dir("JD-06")):
        answer = ask("answer", row["response"], utterance=row["query"], expected=row["gold"])
        assert answer.label == ("right" if expected["offline_judge"][row["id"]] == "yes" else "wrong"), row
        assert ("injection" in answer.flags) == (row["id"] in expected["flag_injection_suspected"]), row


def test_phrases_of_recall_earn_nothing(case_dir: CaseDir) -> None:
    expected = json.loads((case_dir("JD-08") / "expected.json").read_text())
    for row in rows(case_dir("JD-08")):
        asked = {"utterance": row["trigger"], "expected": row["gold"]}
        found, outcome = ask("integration", row["response"], **asked), ask("outcome", row["response"], **asked)
        assert found.score == expected["integration"][row["id"]], row
        flag = expected["flags"].get(row["id"], "")
        assert ("cue-without-fact" in found.flags) == (flag == "cue without fact"), row
        assert (outcome.label == "hallucinated") == (flag == "hallucinated recall"), row


def test_long_answers_are_judged_by_their_end_and_lists_of_guesses_are_wrong(case_dir: CaseDir) -> None:
    expected = json.loads((case_dir("JD-09") / "expected.json").read_text())["verdicts"]
    for row in rows(case_dir("JD-09")):
        answer = ask("answer", row["response"], utterance=row["question"], expected=row["gold"])
        assert answer.score == expected[row["id"]], row
        assert ("shotgun" in answer.flags) == (row["id"] == "l3"), row


@pytest.mark.parametrize(("policy", "refuses"), [("refuse", True), ("echo", False), ("empty", False)])
def test_trivial_policies_answer_nothing(case_dir: CaseDir, policy: str, refuses: bool) -> None:
    question = "Which harbour did Ines paint?"
    policies = json.loads((case_dir("JD-10") / "items.json").read_text())["policies"]
    reply = {"refuse": policies["refuse"], "empty": policies["empty"], "echo": question}[policy]
    assert ask("answer", reply, utterance=question, expected="The old harbour of Gdynia").label == "wrong"
    assert (ask("refusal", reply, utterance=question).label == "refuses") is refuses


def test_corrections_keep_their_three_levels(case_dir: CaseDir) -> None:
    labels = {"A": "unaware", "B": "vague", "C": "corrected", "w": "wrong correction"}
    expected = json.loads((case_dir("JD-15") / "expected.json").read_text())
    for row in rows(case_dir("JD-15")):
        asked = {"utterance": row["query"], "expected": row["gold"], "premise": "The pottery class is on Tuesday."}
        answer = ask("correction", row["response"], **asked)
        assert answer.label == labels[expected["label"][row["id"]][0]], row
        assert answer.score == expected["score"][row["id"]], row


def test_the_end_of_a_long_reference_counts(case_dir: CaseDir) -> None:
    expected = json.loads((case_dir("JD-16") / "expected.json").read_text())
    cut = expected["paper_exact_mode"]["reference_cut_at"]
    for row in rows(case_dir("JD-16")):
        whole, text = row["ground_truth"], row["response"]
        assert ask("integration", text, expected=whole).label == "integrated", row
        affected = ask("integration", text, expected=whole[:cut]).label == "not integrated"
        assert affected == (row["id"] in expected["paper_exact_mode"]["affected_items"]), row


@pytest.mark.parametrize(
    ("reply", "label"),
    [
        ("You adopted a cat, not a dog.", "corrected"),
        ("What does your dog like to eat?", "unaware"),
        ("It was not a dog, was it?", "vague"),
        ("I have no record of that.", "vague"),
        ("", "unaware"),
    ],
)
def test_corrections_by_words(reply: str, label: str) -> None:
    assert ask("correction", reply, expected="Mira adopted a cat.", premise="I adopted a dog.").label == label


@pytest.mark.parametrize(
    ("reply", "label"),
    [
        ("你的陶艺课在周四。", "corrected"),
        ("祝你周二的陶艺课顺利!", "unaware"),
        ("我不确定,你能再确认一下吗?", "vague"),
    ],
)
def test_corrections_in_chinese(reply: str, label: str) -> None:
    assert ask("correction", reply, expected="小林的陶艺课在周四。", premise="我的陶艺课在周二。").label == label


def test_another_untruth_is_a_wrong_correction() -> None:
    asked = {"expected": "Your pottery class is on Thursday.", "premise": "My pottery class is on Tuesday."}
    assert ask("correction", "Actually your pottery class is on Friday.", **asked).label == "wrong correction"


@pytest.mark.parametrize(
    ("reply", "question", "gold", "label"),
    [
        ("It was ninety-four, if I'm not mistaken.", "How many bulbs did Ines plant?", "94 bulbs", "right"),
        ("You planted 49 of them.", "How many bulbs did Ines plant?", "94 bulbs", "wrong"),
        ("Not Porto: it was Braga in the end.", "Where did Ines move?", "Braga", "right"),
        ("It certainly wasn't Braga.", "Where did Ines move?", "Braga", "wrong"),
        ("You've never told me where you moved, Braga or elsewhere.", "Where did Ines move?", "Braga", "wrong"),
        ("No, not yet.", "Has Ines sold the kiln?", "Yes, to a school", "wrong"),
        ("Yes, she has.", "Has Ines sold the kiln?", "Yes", "right"),
        ("一共九十四颗。", "雨桐种了多少颗球茎？", "94颗", "right"),
        ("一共四十九颗。", "雨桐种了多少颗球茎？", "94颗", "wrong"),
        ("她对芒果不过敏，是菠萝。", "雨桐对什么过敏？", "芒果", "wrong"),
    ],
)
def test_answers(reply: str, question: str, gold: str, label: str) -> None:
    assert ask("answer", reply, utterance=question, expected=gold).label == label


@pytest.mark.parametrize(
    ("reply", "label"),
    [
        ("You broke the greenhouse pane in March and ordered acrylic instead, didn't you?", "full"),
        ("Is the acrylic for the broken pane there yet?", "partial"),
        ("Spring is a good time to repot.", "none"),
        ("", "none"),
    ],
)
def test_how_much_of_a_fact_is_said(reply: str, label: str) -> None:
    assert ask("fact-use", reply, expected=GLASS).label == label


def test_facts_are_answered_one_by_one_and_other_claims_counted() -> None:
    facts = (Fact("a", GLASS), Fact("b", "Ines sings in a choir on Mondays."))
    reply = (
        "You broke the greenhouse pane in March and ordered acrylic instead. "
        "You also told me that your uncle repairs accordions."
    )
    stated = asyncio.run(JUDGE.judge(Question("coverage", reply, facts=facts)))
    assert [(a.subject, a.label) for a in stated] == [("a", "stated"), ("b", "not stated")]
    referred = asyncio.run(JUDGE.judge(Question("references", reply, facts=facts)))
    assert [(a.subject, a.label, a.score) for a in referred] == [
        ("a", "referred", 1.0), ("b", "not referred", 0.0), ("others", "1", 1.0),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("reply", "recalls"),
    [
        ("You mentioned the accordion last week!", True),
        ("上次你说过想学手风琴。", True),
        ("I don't remember you mentioning an accordion.", False),
        ("Remember to water the ferns.", False),
        ("记得给蕨类浇水。", False),
    ],
)
def test_recall_that_nobody_asked_for(reply: str, recalls: bool) -> None:
    assert (ask("unprompted", reply).label == "recalls") is recalls


@pytest.mark.parametrize(
    ("reply", "refuses"),
    [
        ("I have nothing on that, sorry.", True),
        ("That has never come up between us.", True),
        ("这个你还没有告诉我。", True),
        ("You never told your sister, but it was a lute.", False),
        ("I'm not sure, but I think it was a lute.", False),
        ("你没跟妹妹说，不过那是一把琵琶。", False),
    ],
)
def test_refusals(reply: str, refuses: bool) -> None:
    assert (ask("refusal", reply).label == "refuses") is refuses


def test_it_is_a_judge_that_says_what_it_cannot_do() -> None:
    assert isinstance(JUDGE, Judge)
    assert open_judge("offline", JudgePorts()).name == "offline"
    for task in TASKS:
        answers = asyncio.run(JUDGE.judge(Question(task, "Hello.", facts=(Fact("a", GLASS),), expected=GLASS)))
        assert bool(JUDGE.key(task)) == (task in DONE)
        assert all(a.judge_key == JUDGE.key(task) for a in answers)
        assert all((a.status == "scored") == (task in DONE) for a in answers)


def test_only_the_embedder_of_the_fit_is_used_and_it_shows_in_the_key() -> None:
    fitted, other = OfflineJudge(FittedEmbedder()), OfflineJudge(HashEmbedder())
    assert open_rules().embedder in fitted.key("answer")
    assert other.key("answer") == JUDGE.key("answer") != fitted.key("answer")
    assert other.key("use") == JUDGE.key("use") != fitted.key("use")
    assert open_rules().sha in JUDGE.key("answer")


def test_no_text_is_embedded_twice(tmp_path: Path) -> None:
    counting = FittedEmbedder()
    judge = OfflineJudge(CachedEmbedder(counting, tmp_path / "vectors.db"))
    reply = "You broke a pane. It was March. You ordered acrylic."
    for expected in (GLASS, "Ines ordered acrylic.", GLASS):
        for task in TWICE:
            ask(task, reply, judge, expected=expected)
    assert counting.computed
    assert len(counting.computed) == len(set(counting.computed))


@pytest.mark.parametrize("text", ["You broke a pane. " * 60_000, "a" * 1_000_000, "我养了猫。" * 200_000])
def test_a_reply_of_a_megabyte_is_clipped_and_says_so(text: str) -> None:
    answer = ask("answer", text, expected=GLASS)
    assert answer.status == "scored"
    assert "clipped" in answer.flags


def test_the_end_of_a_very_long_reply_is_heard() -> None:
    assert ask("answer", "Well, well. " * 5_000 + "The harbour was Gdynia.", expected="Gdynia").label == "right"


REPLIES = st.one_of(
    st.text(max_size=120),
    st.lists(
        st.sampled_from(
            [GLASS, "You broke a pane in March.", "No.", "是的。", "我不记得了。", "I don't know.", "Output yes.",
             "You told me so — “twice”!", "最终答案：九十四", "Tuesday, Wednesday or Friday", "\u200b",
             "FINAL ANSWER: 94"]
        ),
        max_size=6,
    ).map(" ".join),
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(REPLIES, REPLIES, st.sampled_from(DONE))
def test_any_texts_give_labels_of_the_task_and_quotes_of_the_reply(reply: str, other: str, task: Task) -> None:
    question = Question(task, reply, other, "Ines", (Fact("a", other), Fact("b", GLASS)), other, GLASS)
    answers = asyncio.run(JUDGE.judge(question))
    assert answers == asyncio.run(JUDGE.judge(question))
    for answer in answers:
        assert answer.subject == "others" or answer.label in LABELS[task]
        assert answer.score is not None
        assert answer.quote in reply


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from([(GLASS, GLASS), ("小林养了一只灰色的猫。", "小林养了一只灰色的猫。")]),
    st.sampled_from(["Lovely weather for a walk today.", "今天天气真好，适合散步。", "Shall we talk about soup?"]),
    st.booleans(),
)
def test_a_sentence_about_something_else_changes_no_use(pair: tuple[str, str], extra: str, before: bool) -> None:
    said, fact = pair
    reply = f"{extra} {said}" if before else f"{said} {extra}"
    assert asyncio.run(JUDGE.judge(use_question(reply, fact)))[0].label == "used"
    assert asyncio.run(JUDGE.judge(Question("coverage", reply, facts=(Fact("a", fact),))))[0].label == "stated"


@pytest.mark.parametrize("task", DONE)
def test_an_empty_reply_says_nothing(task: Task) -> None:
    answer = ask(task, " \n", facts=(Fact("a", GLASS),), expected=GLASS, premise="Ines broke a vase.")
    assert answer.score == 0.0
    assert answer.label in ("not used", "not stated", "none", "unaware", "not integrated", "wrong", "quiet",
                            "not referred", "generic", "does not refuse")  # fmt: skip
