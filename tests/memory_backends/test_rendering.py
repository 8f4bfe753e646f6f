"""The memory block and the budget that every memory is cut to."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given, settings
from hypothesis import strategies as st

from mnemoscope.core.identity import ItemId, SessionId, TurnId
from mnemoscope.core.language.tokens import estimate_tokens
from mnemoscope.memory_backends.budgeting import RANKED, fit, item_tokens
from mnemoscope.memory_backends.record import Budget, MemoryItem
from mnemoscope.memory_backends.rendering import render_block, unit_text
from mnemoscope.scenarios.records import Turn

AT = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)


def turn(text: str, caption: str | None = None, at: datetime | None = AT) -> Turn:
    return Turn(
        turn_id=TurnId("D1:1"), session_id=SessionId("s1"), index=0, speaker="Oriel", role="peer", text=text,
        caption=caption, at=at,
    )  # fmt: skip


def item(text: str, number: int = 0, score: float | None = None, at: datetime | None = None) -> MemoryItem:
    return MemoryItem(ItemId(f"i{number}"), "fact", text, (), at, score=score, rank=number + 1)


def test_unit_text_says_when_who_what_and_what_an_image_shows() -> None:
    assert unit_text(turn("Look!", "a red kiln")) == "[8 May 2023, 13:56] Oriel: Look! [image: a red kiln]"
    assert unit_text(turn("", "a red kiln", None)) == "[undated] Oriel: [image: a red kiln]"
    assert unit_text(turn("我养了一只猫叫团子 👩‍👩‍👧")) == "[8 May 2023, 13:56] Oriel: 我养了一只猫叫团子 👩‍👩‍👧"


def test_a_block_shows_the_time_of_every_dated_memory_once() -> None:
    dated, stamped = item("lives in Porto", at=AT), item(unit_text(turn("I live in Ghent")), at=AT)
    assert render_block([dated, stamped]) == (
        "[8 May 2023, 13:56] lives in Porto\n[8 May 2023, 13:56] Oriel: I live in Ghent"
    )
    assert render_block([item("no time known")]) == "no time known"
    assert render_block([]) == ""


def test_items_of_several_lines_become_paragraphs() -> None:
    assert render_block([item("a\nb"), item("c")]) == "a\nb\n\nc"


def test_k_cuts_what_is_given_and_the_ranking_stays_deep() -> None:
    retrieval = fit([item(f"memory {n}", n, score=1 - n / 10) for n in range(5)], Budget(k=2))
    assert (retrieval.given, len(retrieval.items)) == (2, 5)
    assert retrieval.rendered == "memory 0\nmemory 1"
    assert retrieval.context_tokens == estimate_tokens("memory 0\nmemory 1")
    assert not retrieval.truncated
    assert not retrieval.tied_at_cut


def test_tokens_cut_what_is_given_and_say_so() -> None:
    items = [item("x" * 38, n) for n in range(5)]
    retrieval = fit(items, Budget(k=4, max_tokens=25, depth_tokens=32))
    assert (retrieval.given, retrieval.truncated, len(retrieval.items)) == (2, True, 5)
    assert fit(items, Budget(k=None, depth_tokens=32)).given == 5
    many = [item("x" * 38, n) for n in range(20)]
    assert fit(many, Budget(k=1, depth_tokens=32)).items == tuple(many[:RANKED])
    assert len(fit(many, Budget(k=1, depth_tokens=130)).items) == 13
    one_token = fit(items, Budget(k=3, max_tokens=1))
    assert (one_token.given, one_token.rendered, one_token.context_tokens, one_token.truncated) == (0, "", 0, True)


def test_zero_k_and_nothing_found_are_defined() -> None:
    assert fit([item("a")], Budget(k=0)).given == 0
    assert fit([], Budget()).items == ()


def test_a_tie_at_the_cut_is_reported() -> None:
    items = [item("a", 0, 0.5), item("b", 1, 0.4), item("c", 2, 0.4)]
    assert fit(items, Budget(k=2)).tied_at_cut
    assert not fit(items, Budget(k=1)).tied_at_cut
    assert not fit(items, Budget(k=3)).tied_at_cut
    assert not fit([item("a"), item("b")], Budget(k=1)).tied_at_cut


@settings(deadline=None)
@given(
    st.lists(st.text(max_size=40), max_size=12), st.integers(-1, 15), st.integers(0, 60), st.integers(0, 60),
    st.booleans(),
)  # fmt: skip
def test_no_budget_is_ever_exceeded(texts: list[str], k: int, tokens: int, depth: int, numbered: bool) -> None:
    items = [item(text, n, score=0.0) for n, text in enumerate(texts)]

    def numbered_block(shown: object) -> str:
        return "\n".join(f"[{n}] {i.text}" for n, i in enumerate(shown))  # type: ignore[var-annotated,arg-type]

    retrieval = fit(items, Budget(k, tokens, depth), numbered_block if numbered else render_block)
    assert retrieval.context_tokens == estimate_tokens(retrieval.rendered) <= tokens
    assert retrieval.given <= max(k, 0)
    assert retrieval.items == tuple(items[: len(retrieval.items)])
    assert len(retrieval.items) >= retrieval.given
    if len(retrieval.items) > min(max(k, RANKED), len(items)):
        assert sum(map(item_tokens, retrieval.items)) <= depth
