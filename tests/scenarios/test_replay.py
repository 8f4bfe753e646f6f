"""The replayer: order, cuts, forks, pools; nothing after a cut arrives before its fork."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given

from mnemoscope.core.identity import ItemId, ProbeId, ScenarioId, SessionId, TurnId
from mnemoscope.scenarios.records import Card, Cut, Gold, MemoryPool, PoolItem, Probe, Scenario, Session, Turn
from mnemoscope.scenarios.replay import ForkAt, HistoryEnd, ReplayEvent, SessionEnd, SkipTurn, WriteTurn, replay
from tests.strategies import scenarios

NOON = datetime(2024, 5, 8, 12, tzinfo=UTC)


def turn(index: int, session: int, text: str = "text") -> Turn:
    return Turn(
        turn_id=TurnId(f"t{index}"),
        session_id=SessionId(f"s{session}"),
        index=index,
        speaker="Mira",
        role="peer",
        text=text,
        at=NOON.replace(minute=index),
    )


def probe(name: str, seq: int, *, recent: tuple[Turn, ...] = (), items: tuple[PoolItem, ...] = ()) -> Probe:
    return Probe(
        probe_id=ProbeId(name),
        style="question",
        speaker="asker",
        text="?",
        cut=Cut(seq=seq, turn_id=TurnId(f"t{seq - 1}") if seq else None),
        now=NOON,
        recent_turns=recent,
        pool=MemoryPool(items=items) if items else None,
    )


def scenario(sessions: list[list[Turn]], probes: list[Probe]) -> Scenario:
    return Scenario(
        scenario_id=ScenarioId("s"),
        benchmark="-",
        cluster="-",
        participants=(),
        sessions=tuple(Session(session_id=t[0].session_id, at=t[0].at, turns=tuple(t)) for t in sessions),
        probes=tuple(probes),
        gold_by_probe={p.probe_id: Gold() for p in probes},
        card=Card(benchmark="-", source="-", licence="-", annotation="-"),
    )


def short(event: ReplayEvent) -> str:
    match event:
        case WriteTurn(written):
            return f"write {written.turn_id}"
        case SkipTurn(skipped, reason):
            return f"skip {skipped.turn_id} {reason}"
        case SessionEnd(session_id, _):
            return f"end {session_id}"
        case HistoryEnd(_):
            return "history end"
        case ForkAt(cut, probes):
            return f"fork {cut.seq} {'+'.join(p.probe_id for p in probes)}"


def stream(made: Scenario, *, pool_as_turns: bool = False) -> list[str]:
    return [short(event) for event in replay(made, pool_as_turns=pool_as_turns)]


def test_forks_stand_inside_a_session_after_it_and_at_the_end() -> None:
    first, second = [turn(0, 1), turn(1, 1, " "), turn(2, 1)], [turn(3, 2)]
    probes = [
        probe("end", 4),
        probe("between", 3),
        probe("inside", 1, recent=(first[0],)),
        probe("last-inside", 4, recent=(second[0],)),
        probe("next-session-shown", 3, recent=(second[0],)),
        probe("before", 0),
        probe("end-too", 4),
        probe("mid-cut", 2),
    ]
    assert stream(scenario([first, second], probes)) == [
        "fork 0 before",
        "write t0",
        "fork 1 inside",
        "skip t1 empty",
        "fork 2 mid-cut",
        "write t2",
        "end s1",
        "fork 3 between+next-session-shown",
        "write t3",
        "fork 4 last-inside",
        "end s2",
        "history end",
        "fork 4 end+end-too",
    ]


def test_times_are_the_conversations() -> None:
    events = list(replay(scenario([[turn(0, 1), turn(1, 1)], [turn(2, 2)]], []), pool_as_turns=False))
    ends = [event.now for event in events if isinstance(event, SessionEnd | HistoryEnd)]
    assert ends == [NOON.replace(minute=1), NOON.replace(minute=2), NOON.replace(minute=2)]


def test_a_pool_without_a_history_is_written_ended_and_then_asked() -> None:
    items = (
        PoolItem(item_id=ItemId("m-b"), text="fact b", at=NOON.replace(year=2023)),
        PoolItem(item_id=ItemId("m-a"), text="fact a"),
    )
    made = scenario([], [probe("q", 0, items=items, recent=(turn(0, 9),))])
    assert stream(made, pool_as_turns=True) == ["write m-b", "write m-a", "end pool", "history end", "fork 0 q"]
    assert stream(made, pool_as_turns=False) == ["history end", "fork 0 q"]
    written = [event.turn for event in replay(made, pool_as_turns=True) if isinstance(event, WriteTurn)]
    assert [(t.speaker, t.role, t.session_id, t.index) for t in written] == [
        ("memory", "peer", "pool", 0),
        ("memory", "peer", "pool", 1),
    ]
    assert [t.at for t in written] == [NOON.replace(year=2023), NOON]
    assert [t.text for t in written] == ["fact b", "fact a"]
    ends = [event.now for event in replay(made, pool_as_turns=True) if isinstance(event, SessionEnd | HistoryEnd)]
    assert ends == [NOON, NOON]


def test_pools_beside_a_history_are_written_at_their_moment_and_once() -> None:
    a, b = (PoolItem(item_id=ItemId(f"m-{name}"), text=name) for name in "ab")
    made = scenario(
        [[turn(0, 1)], [turn(1, 2)]],
        [probe("mid", 1, items=(a,)), probe("end", 2, items=(b, a)), probe("plain", 2)],
    )
    assert stream(made, pool_as_turns=True) == [
        "write t0",
        "end s1",
        "write m-a",
        "end pool",
        "fork 1 mid",
        "write t1",
        "end s2",
        "write m-b",
        "end pool",
        "history end",
        "fork 2 end+plain",
    ]


@given(scenarios())
def test_every_turn_comes_once_and_none_after_a_cut_comes_before_its_fork(made: Scenario) -> None:
    for pool_as_turns in (False, True):
        events = list(replay(made, pool_as_turns=pool_as_turns))
        seen: list[Turn] = []
        ended: list[str] = []
        asked: list[str] = []
        history_over = False
        for event in events:
            if isinstance(event, WriteTurn | SkipTurn):
                if event.turn.session_id == "pool":
                    continue
                assert not history_over
                assert event.turn.session_id not in ended
                assert isinstance(event, SkipTurn) == event.turn.is_empty
                seen.append(event.turn)
            elif isinstance(event, SessionEnd) and event.session_id != "pool":
                ended.append(event.session_id)
                assert event.session_id == seen[-1].session_id
            elif isinstance(event, HistoryEnd):
                assert not history_over
                history_over = True
            elif isinstance(event, ForkAt):
                _check_fork(event, seen, ended, history_over, made)
                asked.extend(p.probe_id for p in event.probes)
        assert tuple(seen) == made.turns
        assert ended == [s.session_id for s in made.sessions]
        assert sorted(asked) == sorted(p.probe_id for p in made.probes)
        assert history_over


def _check_fork(fork: ForkAt, seen: list[Turn], ended: list[str], history_over: bool, made: Scenario) -> None:
    assert len(seen) == fork.cut.seq
    assert {p.cut.seq for p in fork.probes} == {fork.cut.seq}
    if any(p.recent_turns for p in fork.probes):
        assert all(p.recent_turns for p in fork.probes)
        assert seen[-1].session_id not in ended
    else:
        at_end = fork.cut.seq == len(made.turns)
        assert history_over == at_end


@given(scenarios())
def test_pool_items_are_known_before_their_fork_and_written_once(made: Scenario) -> None:
    written: list[str] = []
    for event in replay(made, pool_as_turns=True):
        if isinstance(event, WriteTurn) and event.turn.session_id == "pool":
            written.append(event.turn.turn_id)
        if isinstance(event, ForkAt):
            for asked in event.probes:
                items = asked.pool.items if asked.pool else ()
                assert {item.item_id for item in items} <= set(written)
    assert len(set(written)) == len(written)
    without = [e for e in replay(made, pool_as_turns=False) if isinstance(e, WriteTurn)]
    assert all(e.turn.session_id != "pool" for e in without)
