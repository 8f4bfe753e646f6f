"""Rewriting LoCoMo's questions: checks, repairs, resuming, and the file that LoCoMo-Conv's loader reads."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemoscope.core.errors import ConfigError, EndpointError
from mnemoscope.core.ports import Completion, Message
from mnemoscope.core.usage import Phase, Usage
from mnemoscope.scenarios.builders.rewrite import REPAIRS, build_rewrites, problems_of
from mnemoscope.scenarios.opening import open_source

LOCOMO = [
    {
        "sample_id": "conv-1",
        "conversation": {
            "speaker_a": "Mira",
            "speaker_b": "Tomasz",
            "session_1_date_time": "9:00 am on 8 March, 2022",
            "session_1": [
                {"speaker": "Mira", "dia_id": "D1:1", "text": "I painted a sunrise in Ghent."},
                {"speaker": "Tomasz", "dia_id": "D1:2", "text": "I bought a kiln."},
            ],
        },
        "qa": [
            {"question": "What did Mira paint?", "answer": "a sunrise", "evidence": ["D1:1"], "category": 4},
            {"question": "How many kilns has Tomasz?", "answer": 1, "evidence": ["D1:2"], "category": 1},
            {
                "question": "What did Mira buy in Lima?",
                "evidence": ["D1:1"],
                "category": 5,
                "adversarial_answer": "a hat",
            },
        ],
    }
]
GOOD: dict[str, dict[str, str]] = {
    "dialog": {"query": "Do you remember what picture I made back then?", "naturalness": "high"},
    "implicit": {"query": "I am looking at my empty wall again today.", "expected_memory_use": "Names the picture."},
    "counterfactual": {"query": "Where shall I hang my painting of a harbour?", "asserted_wrong": "a harbour"},
}


def style_of(messages: Sequence[Message]) -> str:
    return next(s for s, word in (("counterfactual", "asserted_wrong"), ("implicit", "expected_memory_use"),
                                  ("dialog", "naturalness")) if word in messages[0].content)  # fmt: skip


class Rewriter:
    """A model that answers by a rule; remembers the messages, and can fail for good."""

    key = "scripted-1"

    def __init__(self, rule: Callable[[str, int, Sequence[Message]], str], fails_after: int | None = None) -> None:
        self.rule, self.fails_after = rule, fails_after
        self.asked: list[Sequence[Message]] = []

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        phase: Phase,
        schema: Mapping[str, object] | None = None,
        max_tokens: int | None = None,
        replicate: int = 0,
    ) -> Completion:
        if self.fails_after is not None and len(self.asked) >= self.fails_after:
            raise EndpointError("no such key", cause="auth", retryable=False)
        self.asked.append(messages)
        assert phase == "rewrite" and schema is not None
        return Completion(self.rule(style_of(messages), replicate, messages), Usage({phase: 1}), self.key)


def good(style: str, attempt: int = 0, messages: Sequence[Message] = ()) -> str:
    return json.dumps({**GOOD[style], "speaker": "speaker_a", "reason": "It is about Mira."})


@pytest.fixture
def locomo(tmp_path: Path) -> Path:
    path = tmp_path / "locomo.json"
    path.write_text(json.dumps(LOCOMO), encoding="utf-8")
    return path


async def built(locomo: Path, model: Rewriter, **choices: object):
    out = locomo.with_name("dialog.json")
    return await build_rewrites(locomo, out, model, journal=locomo.with_name("journal.jsonl"), **choices), out  # type: ignore[arg-type]


async def test_what_is_made_loads_as_locomo_conv(locomo: Path) -> None:
    outcome, out = await built(locomo, Rewriter(good))
    assert outcome.counts == {"dialog passed": 3, "implicit passed": 3, "counterfactual passed": 2}
    assert outcome.usage.calls == 8
    (scenario,) = open_source(f"locomo-conv:{out}")
    assert [probe.probe_id.partition("/")[2] for probe in scenario.probes] == [
        *("q0/dialog", "q0/implicit", "q0/counterfactual", "q1/dialog", "q1/implicit", "q1/counterfactual"),
        *("q2/dialog", "q2/implicit"),
    ]
    assert {probe.speaker for probe in scenario.probes} == {"Mira"}
    counterfactual = scenario.gold_by_probe[scenario.probes[2].probe_id]
    assert counterfactual.false_premise and counterfactual.false_premise.asserted == "a harbour"
    provenance = json.loads(out.with_name("dialog.provenance.json").read_text(encoding="utf-8"))
    assert provenance["fields"]["implicit_query"] == "model: scripted-1"
    assert provenance["fields"]["answer"] == "copied: LoCoMo"
    assert provenance["checks"]["conv-1 qa 0 dialog"] == {"attempts": 1, "leak": 0.0, "problems": []}
    row = json.loads(out.read_text(encoding="utf-8"))[0]["qa"][0]
    assert row["subject_speaker_name"] == "Mira" and row["rewrite_error"] is None


async def test_a_leak_is_told_and_repaired(locomo: Path) -> None:
    def leaks_once(style: str, attempt: int, messages: Sequence[Message]) -> str:
        if style == "implicit" and attempt == 0:
            return good(style).replace("empty wall again", "wall with the sunrise")
        return good(style)

    model = Rewriter(leaks_once)
    outcome, _ = await built(locomo, model, only={"conv-1": [0]})
    assert outcome.rewritings[0, 0, "implicit"].attempts == 2 and outcome.counts["implicit passed"] == 1
    repair = next(messages for messages in model.asked if len(messages) == 4)
    assert "100% of the answer's words" in repair[-1].content and "sunrise" in repair[-1].content


async def test_after_three_repairs_the_least_leaking_attempt_is_kept_and_flagged(locomo: Path) -> None:
    def keeps_leaking(style: str, attempt: int, messages: Sequence[Message]) -> str:
        if style != "dialog":
            return good(style)
        return good(style).replace("picture I made", "sunrise") if attempt else "I would rather not."

    outcome, out = await built(locomo, Rewriter(keeps_leaking), only={"conv-1": [0]})
    made = outcome.rewritings[0, 0, "dialog"]
    assert made.leak == 1.0 and made.problems and made.attempts == 2
    assert outcome.counts["dialog flagged"] == 1 and outcome.usage.calls == 2 + 1 + REPAIRS
    (scenario,) = open_source(f"locomo-conv:{out}")
    assert "leaks-answer" in scenario.gold_by_probe[scenario.probes[0].probe_id].strata


async def test_a_model_that_cannot_be_read_leaves_the_reason(locomo: Path) -> None:
    outcome, out = await built(locomo, Rewriter(lambda *_: "No."), only={"conv-1": [0]}, styles=("implicit",))
    assert outcome.counts == {"implicit unreadable": 1}
    row = json.loads(out.read_text(encoding="utf-8"))[0]["qa"][0]
    assert row["implicit_query"] is None and row["implicit_error"] == "no JSON object in the reply"


async def test_an_interrupted_build_goes_on(locomo: Path) -> None:
    with pytest.raises(EndpointError):
        await built(locomo, Rewriter(good, fails_after=3), concurrency=1)
    assert not locomo.with_name("dialog.json").exists()
    journal = locomo.with_name("journal.jsonl")
    assert len(journal.read_text(encoding="utf-8").splitlines()) == 3
    journal.write_bytes(journal.read_bytes()[:-40])
    second = Rewriter(good)
    outcome, out = await built(locomo, second)
    assert (len(second.asked), outcome.counts["from the journal"]) == (6, 2)
    whole = out.read_bytes(), out.with_name("dialog.provenance.json").read_bytes()
    journal.unlink()
    await built(locomo, Rewriter(good))
    assert (out.read_bytes(), out.with_name("dialog.provenance.json").read_bytes()) == whole


async def test_unusable_requests(locomo: Path) -> None:
    with pytest.raises(ConfigError, match="unknown style 'rude'"):
        await built(locomo, Rewriter(good), styles=("rude",))
    with pytest.raises(ConfigError, match="no question to rewrite"):
        await built(locomo, Rewriter(good), only={"conv-1": [2]}, styles=("counterfactual",))


@pytest.mark.parametrize(
    ("style", "fields", "answer", "said"),
    [
        ("dialog", {"query": "What was it?"}, "Ghent", ["it has 3 words and needs at least 4"]),
        ("implicit", {"query": "My sunrise hangs in the hall."}, "sunrise", ["it gives away 100%"]),
        (
            "counterfactual",
            {"query": "I moved to Lima, any tips?", "asserted_wrong": "Oslo"},
            "Ghent",
            ["asserted_wrong"],
        ),
        (
            "counterfactual",
            {"query": "As I live in Ghent, where do I eat well?", "asserted_wrong": "Ghent"},
            "Ghent",
            ["it gives away 100%", "asserted_wrong is the true answer"],
        ),
        (
            "counterfactual",
            {"query": "Since May is over and not April, what now?", "asserted_wrong": "April"},
            "May",
            ["the message tells the true answer"],
        ),
        ("dialog", {"query": "What did I paint in those days?"}, None, []),
    ],
)
def test_rules(style: str, fields: dict[str, str], answer: str | None, said: list[str]) -> None:
    problems, _ = problems_of(style, fields, answer)
    assert len(problems) == len(said)
    assert all(part in problem for part, problem in zip(said, problems, strict=True))


@given(st.text(), st.text(), st.one_of(st.none(), st.text(min_size=1)), st.sampled_from(tuple(GOOD)))
def test_rules_never_fail(query: str, wrong: str, answer: str | None, style: str) -> None:
    problems, leak = problems_of(style, {"query": query, "asserted_wrong": wrong}, answer)
    assert leak is None or 0 <= leak <= 1
    assert all(problems)
