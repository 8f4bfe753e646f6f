"""Hypothesis strategies that tests share."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import strategies as st

from mnemoscope.core.identity import ItemId, ProbeId, ScenarioId, SessionId, TurnId
from mnemoscope.scenarios.records import (
    Card,
    Cut,
    Gold,
    MemoryPool,
    Participant,
    PoolItem,
    Probe,
    Scenario,
    Session,
    Turn,
)

texts = st.text(max_size=60)
"""Any text, surrogates excluded: emoji, CJK, right-to-left and control characters included."""

turn_texts = st.sampled_from(["I adopted a cat.", "ok", "", "  ", "\u200b", "我上周领养了一只猫。"])
"""Texts of turns, some of which say nothing."""


@st.composite
def scenarios(draw: st.DrawFn, *, pools: bool = True) -> Scenario:
    """Scenarios of up to four sessions with probes at any cut, some inside the current session, some with a pool."""
    start = datetime(2024, 3, 1, 9, tzinfo=UTC)
    sessions: list[Session] = []
    turns: list[Turn] = []
    for number, texts_of_session in enumerate(
        draw(st.lists(st.lists(turn_texts, min_size=1, max_size=4), max_size=4)), 1
    ):
        session_id = SessionId(f"session_{number}")
        fresh = [
            Turn(
                turn_id=TurnId(f"D{number}:{i + 1}"),
                session_id=session_id,
                index=len(turns) + i,
                speaker=("Mira", "Tomasz")[i % 2],
                role="peer",
                text=text,
                at=start + timedelta(days=number, seconds=i),
            )
            for i, text in enumerate(texts_of_session)
        ]
        turns.extend(fresh)
        sessions.append(Session(session_id=session_id, at=fresh[0].at, turns=tuple(fresh)))
    probes = [draw(_probes(number, tuple(turns), start, pools=pools)) for number in range(draw(st.integers(0, 4)))]
    return Scenario(
        scenario_id=ScenarioId("drawn"),
        benchmark="drawn",
        cluster="drawn",
        participants=(Participant(name="Mira", role="peer"), Participant(name="Tomasz", role="peer")),
        sessions=tuple(sessions),
        probes=tuple(probes),
        gold_by_probe={probe.probe_id: Gold() for probe in probes},
        card=Card(benchmark="drawn", source="-", licence="-", annotation="-"),
    )


@st.composite
def _probes(draw: st.DrawFn, number: int, turns: tuple[Turn, ...], start: datetime, *, pools: bool) -> Probe:
    seq = draw(st.integers(0, len(turns)))
    known = turns[:seq]
    session_id = known[-1].session_id if known else None
    recent = tuple(turn for turn in known if turn.session_id == session_id) if draw(st.booleans()) else ()
    names = draw(st.lists(st.sampled_from("abcdef"), unique=True, max_size=3)) if pools else []
    items = tuple(PoolItem(item_id=ItemId(f"m-{name}"), text=f"fact {name}") for name in names)
    return Probe(
        probe_id=ProbeId(f"p{number}"),
        style="question",
        speaker="asker",
        text="What do you remember?",
        cut=Cut(seq=seq, turn_id=known[-1].turn_id if known else None),
        now=known[-1].at if known else start,
        recent_turns=recent,
        pool=MemoryPool(items=items) if items else None,
    )
