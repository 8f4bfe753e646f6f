"""Builders of small cases for the evaluators' tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

import pytest

from mnemoscope.core.identity import ItemId, ProbeId, SessionId, TurnId
from mnemoscope.evaluators.case import EvaluationCase, StoredView
from mnemoscope.graphs.plan import ResponsePlan
from mnemoscope.graphs.reply import HiddenTrace, Reply
from mnemoscope.memory_backends.record import MemoryItem, Provenance, Retrieval, Source
from mnemoscope.scenarios.records import Cut, Gold, MemoryPool, PoolItem, Probe, Style, Turn

START = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)


def turn(turn_id: str, text: str, index: int = 0, session: str = "s1") -> Turn:
    return Turn(
        turn_id=TurnId(turn_id),
        session_id=SessionId(session),
        index=index,
        speaker="Mira",
        role="user",
        text=text,
        at=START + timedelta(minutes=index),
    )


def item(
    item_id: str, text: str, sources: Sequence[str] = (), method: Provenance = "verbatim", *, live: bool = True
) -> MemoryItem:
    return MemoryItem(
        id=ItemId(item_id),
        kind="turn",
        text=text,
        sources=tuple(Source(TurnId(source), method) for source in sources),
        observed_at=START,
        valid_to=None if live else START,
    )


def case(
    *,
    reply: str = "",
    gold: Gold | None = None,
    style: Style = "question",
    text: str = "What?",
    history: Sequence[Turn] = (),
    recent: Sequence[Turn] = (),
    items: Sequence[MemoryItem] | None = (),
    given: int | None = None,
    stored: Sequence[MemoryItem] | None = None,
    pool: dict[str, str] | None = None,
    plan: ResponsePlan | None = None,
    cut: int | None = None,
    error: str | None = None,
) -> EvaluationCase:
    seq = len(history) if cut is None else cut
    probe = Probe(
        probe_id=ProbeId("p1"),
        style=style,
        speaker="Mira",
        text=text,
        cut=Cut(seq=seq, turn_id=None),
        now=START,
        recent_turns=tuple(recent),
        pool=None
        if pool is None
        else MemoryPool(items=tuple(PoolItem(item_id=ItemId(i), text=t) for i, t in pool.items())),
    )
    retrieval = None if items is None else Retrieval(items=tuple(items), given=len(items) if given is None else given)
    return EvaluationCase(
        probe=probe,
        gold=gold or Gold(),
        reply=Reply(
            visible_text=reply,
            hidden_trace=HiddenTrace(drafts=("a hidden draft that says everything",)),
            retrieval=retrieval,
            plan=plan,
            status="ok" if error is None else "error",
            error=error,
        ),
        history=tuple(history),
        stored=StoredView(items=tuple(items or () if stored is None else stored), turns_written=len(history)),
    )


@pytest.fixture
def make_turn() -> Callable[..., Turn]:
    return turn


@pytest.fixture
def make_item() -> Callable[..., MemoryItem]:
    return item


@pytest.fixture
def make_case() -> Callable[..., EvaluationCase]:
    return case
