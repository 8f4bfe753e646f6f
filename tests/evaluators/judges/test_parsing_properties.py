"""What holds for any text: nothing is raised, nothing outside the closed set comes back, wrapping changes nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemoscope.evaluators.judges.parsing import (
    RELEASES,
    Parsed,
    as_yes_no,
    axes,
    choice,
    indices,
    items,
    level,
    share,
    visible_text,
    yes_no,
)
from mnemoscope.evaluators.judges.parsing.release import cut_references, locomo_coverage

PIECES = (
    "yes", "no", "Yes", "NO", "A", "B", "C", "TIE", "not ", "n't", "Answer: ", "Final answer is ", "Score: ", "1",
    "0.5", "0", "10", ".", ",", " ", "\n", ":", "-", "**", '"', "'", "(", ")", "[", "]", "{", "}", "{'", "true",
    '{"verdict": ', "False", "null", "NaN", "<think>", "</think>", "<|end|>", "```", "```json\n", "\\", "是", "不是",
    "没有", "，", "。", "because ", "\u200b", "Relevance: ", "I can't judge ", "\\boxed{", "½", "９", "٣",
)  # fmt: skip
SAID = st.one_of(st.text(max_size=80), st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
REASONS = st.sampled_from([None, "stop", "length", "content_filter", "refusal", "anything"])
CLEAN = SAID.filter(lambda text: "`" not in text)

THREE = (0.0, 0.5, 1.0)
PARSERS: dict[str, Callable[..., Parsed[object]]] = {
    "yes_no": yes_no,  # type: ignore[dict-item]
    "choice": partial(choice, labels=("A", "B", "C")),
    "level": partial(level, levels=THREE),
    "share": share,  # type: ignore[dict-item]
    "indices": partial(indices, count=3),
}
ALLOWED: dict[str, Callable[[object], bool]] = {
    "yes_no": lambda value: value in ("yes", "no"),
    "choice": lambda value: value in ("A", "B", "C"),
    "level": lambda value: type(value) is float and value in THREE,
    "share": lambda value: type(value) is float and 0 <= value <= 1,
    "indices": lambda value: isinstance(value, tuple) and set(value) <= {1, 2, 3} and len(set(value)) == len(value),
}
each_parser = pytest.mark.parametrize("name", sorted(PARSERS))


@each_parser
@given(text=SAID | st.none(), reason=REASONS)
def test_any_text_gives_a_value_of_the_set_or_a_problem(name: str, text: str | None, reason: str | None) -> None:
    parsed = PARSERS[name](text, finish_reason=reason)
    assert (parsed.value is None) == (parsed.problem is not None)
    assert parsed.value is None or ALLOWED[name](parsed.value)
    assert len(set(parsed.repairs)) == len(parsed.repairs)


@each_parser
@given(
    value=st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | SAID, lambda x: st.lists(x, max_size=3)
    )
)
def test_any_json_value_gives_a_value_of_the_set_or_a_problem(name: str, value: object) -> None:
    parsed = PARSERS[name](json.dumps({"verdict": value}), field="verdict")
    assert (parsed.value is None) == (parsed.problem is not None)
    assert parsed.value is None or ALLOWED[name](parsed.value)


@each_parser
@given(text=CLEAN, before=st.sampled_from(["", " ", "\n\n", "\t"]), language=st.sampled_from(["", "json", "text"]))
def test_fences_and_white_space_change_nothing(name: str, text: str, before: str, language: str) -> None:
    parse = PARSERS[name]
    plainly = parse(text)
    for wrapped in (f"{before}{text}{before}", f"{before}```{language}\n{text}\n```{before}"):
        found = parse(wrapped)
        assert found.value == plainly.value
        assert (found.problem and found.problem.kind) == (plainly.problem and plainly.problem.kind)


@each_parser
@given(text=CLEAN, thought=st.sampled_from(["yes", "Answer: A", "Score: 1", '{"verdict": true}', "[1]", ""]))
def test_thinking_before_a_reply_changes_nothing(name: str, text: str, thought: str) -> None:
    if any(mark in text for mark in ("think", "<|")):
        return
    assert PARSERS[name](f"<think>{thought}</think>{text}").value == PARSERS[name](text).value


@given(text=SAID, reason=REASONS)
def test_lists_and_axes_answer_for_everything_asked(text: str, reason: str | None) -> None:
    found = items(text, ["1", "b"], as_yes_no, finish_reason=reason)
    assert list(found.by_id) == ["1", "b"]
    for item in found.by_id.values():
        assert item.verdict.value in (None, "yes", "no")
        assert (item.verdict.value is None) == (item.verdict.problem is not None)
    levels = axes(text, ("relevance", "tone"), THREE, finish_reason=reason)
    assert list(levels) == ["relevance", "tone"]
    assert all((one.value in THREE) != (one.problem is not None) for one in levels.values())


@given(order=st.permutations(["1", "2", "3", "4"]), verdicts=st.tuples(*[st.booleans()] * 4))
def test_the_order_of_a_list_means_nothing(order: list[str], verdicts: tuple[bool, ...]) -> None:
    truth = dict(zip(("1", "2", "3", "4"), verdicts, strict=True))
    text = json.dumps({"judgments": [{"fact": fact, "covered": truth[fact]} for fact in order]})
    found = items(text, ["1", "2", "3", "4"], as_yes_no)
    assert {fact: item.verdict.value == "yes" for fact, item in found.by_id.items()} == truth


@given(SAID)
def test_what_is_visible_stays_visible(text: str) -> None:
    once, _ = visible_text(text)
    assert len(once) <= len(text)
    assert once == once.strip()


@given(SAID | st.none())
def test_published_readings_never_fail(text: str | None) -> None:
    for release in RELEASES.values():
        for read in release.readers.values():
            read(text)
    covered = locomo_coverage(text, 3)
    assert covered is None or len(covered) == 3


@given(st.dictionaries(st.text(max_size=4), st.text(max_size=40)), st.integers(0, 30))
def test_cut_texts_are_listed(references: dict[str, str], limit: int) -> None:
    cut, affected = cut_references(references, limit)
    assert set(affected) == {name for name, text in references.items() if len(text) > limit}
    assert all(references[name].startswith(text) for name, text in cut.items())
