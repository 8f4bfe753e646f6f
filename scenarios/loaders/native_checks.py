"""What a schema cannot see in a native scenario: references, speakers, times, cuts, and gold that fits its probe."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from mnemoscope.scenarios.loaders.native_format import FactEntry, GoldEntry, ProbeEntry, ScenarioEntry
from mnemoscope.scenarios.loaders.native_index import (
    HistoryIndex,
    Moment,
    index_history,
    locate,
    read_time,
    session_id,
    turn_id,
)
from mnemoscope.scenarios.loaders.native_yaml import Path

__all__ = ["ABSENT", "Finding", "check_scenario", "nearest"]

ABSENT = object()
"""Nothing was seen: a finding about something that is missing."""

_NEEDS_PREMISE = ("counterfactual", "recollection", "plan")
_ISO = "write an ISO date such as 2024-05-08 or 2024-05-08 13:56"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong, at a path within the scenario."""

    path: Path
    what: str
    fix: str
    seen: object = ABSENT


def nearest(name: str, known: Iterable[str]) -> str:
    """Advice that names the closest known names."""
    names = list(known)
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.4) or names[:3]
    return f"use one of: {', '.join(close)}" if close else "there is none to refer to"


def check_scenario(entry: ScenarioEntry) -> Iterator[Finding]:
    """Everything that is wrong with a scenario whose shape is right, in the order of the file."""
    index = index_history(entry)
    yield from _repeated((("participants", i, "name"), p.name) for i, p in enumerate(entry.participants))
    yield from _ids(entry)
    yield from _history(entry, index)
    yield from _repeated((("probes", i, "id"), p.id) for i, p in enumerate(entry.probes))
    for number, probe in enumerate(entry.probes):
        yield from _ProbeCheck(entry, index, probe, ("probes", number)).findings()


def _repeated(values: Iterable[tuple[Path, str]]) -> Iterator[Finding]:
    seen: set[str] = set()
    for path, value in values:
        if value in seen:
            yield Finding(path, "this name is already taken", "give each its own", value)
        seen.add(value)


def _ids(entry: ScenarioEntry) -> Iterator[Finding]:
    def named() -> Iterator[tuple[Path, str]]:
        for i, session in enumerate(entry.sessions):
            yield ("sessions", i, "id"), session_id(session, i)
            for k in range(len(session.turns)):
                yield ("sessions", i, "turns", k, "id"), turn_id(session, i, k)

    yield from _repeated(named())


def _history(entry: ScenarioEntry, index: HistoryIndex) -> Iterator[Finding]:
    latest: datetime | None = None
    for i, session in enumerate(entry.sessions):
        times: list[tuple[Path, str]] = [(("sessions", i, "at"), session.at)]
        for k, turn in enumerate(session.turns):
            path: Path = ("sessions", i, "turns", k)
            if turn.speaker not in index.roles:
                advice = nearest(turn.speaker, index.roles)
                yield Finding((*path, "speaker"), "this speaker is not a participant", advice, turn.speaker)
            if turn.at is not None:
                times.append(((*path, "at"), turn.at))
        for path, text in times:
            found = _time(text)
            if found is None:
                yield Finding(path, "not a date", _ISO, text)
            elif latest is not None and found < latest:
                yield Finding(path, "earlier than what stands before it", "put sessions in the order of time", text)
            latest = found or latest


def _time(text: str | None) -> datetime | None:
    try:
        return read_time(text) if text is not None else None
    except ValueError:
        return None


def _facts_of(gold: GoldEntry) -> Iterator[tuple[str, int, FactEntry]]:
    """Current and stale facts, with the key and the place they stand at."""
    for key, facts in (("facts", gold.facts), ("stale", gold.stale)):
        yield from ((key, i, fact) for i, fact in enumerate(facts))


class _ProbeCheck:
    """The checks of one probe."""

    def __init__(self, entry: ScenarioEntry, index: HistoryIndex, probe: ProbeEntry, path: Path) -> None:
        self.entry, self.index, self.probe, self.path = entry, index, probe, path
        self.moment = locate(probe, index)
        self.items = [item.id for item in probe.pool or ()]

    def findings(self) -> Iterator[Finding]:
        yield from self._placing()
        yield from self._people()
        yield from self._now()
        yield from self._pool()
        yield from self._gold()
        yield from self._sources()
        yield from self._windows()

    def _at(self, *keys: str | int) -> Path:
        return (*self.path, *keys)

    def _placing(self) -> Iterator[Finding]:
        probe = self.probe
        if (probe.after is None) == (probe.in_place_of is None):
            yield Finding(
                self.path, "a probe has either `after` or `in_place_of`", "name the last turn or session known"
            )
        elif probe.in_place_of is not None:
            yield from self._replaced_turn(probe.in_place_of)
        else:
            if self.moment is None:
                known = [*self.index.turns, *self.index.sessions]
                advice = nearest(str(probe.after), known)
                yield Finding(self._at("after"), "this turn or session does not exist", advice, probe.after)
            if probe.ask is None:
                yield Finding(self._at("ask"), "a probe with `after` says something", "write what is asked under `ask`")

    def _replaced_turn(self, name: str) -> Iterator[Finding]:
        probe = self.probe
        if self.moment is None:
            advice = nearest(name, self.index.turns)
            yield Finding(self._at("in_place_of"), "this turn does not exist", advice, name)
            return
        session, number = self.index.places[self.moment.seq]
        turn = self.entry.sessions[session].turns[number]
        if self.index.roles.get(turn.speaker) == "assistant":
            yield Finding(self._at("in_place_of"), "this turn is the assistant's own", "name a turn of a person", name)
        if not turn.text.strip():
            yield Finding(self._at("in_place_of"), "this turn has no text", "name a turn that says something", name)
        for key, value in (("ask", probe.ask), ("speaker", probe.speaker)):
            if value is not None:
                yield Finding(self._at(key), "the turn named in `in_place_of` says this", "leave it out", value)

    def _people(self) -> Iterator[Finding]:
        probe, roles = self.probe, self.index.roles
        for key, name in (("speaker", probe.speaker), ("speaks_as", probe.speaks_as)):
            if name is not None and name not in roles:
                yield Finding(self._at(key), "this person is not a participant", nearest(name, roles), name)
        if probe.speaker is not None and roles.get(probe.speaker) == "assistant":
            yield Finding(self._at("speaker"), "the assistant cannot ask itself", "name a person", probe.speaker)
        if probe.speaker is None and probe.in_place_of is None and self.index.asker is None:
            advice = nearest("", (name for name, role in roles.items() if role != "assistant"))
            yield Finding(self._at("speaker"), "it is not clear who asks", advice)

    def _now(self) -> Iterator[Finding]:
        probe, moment = self.probe, self.moment
        if probe.now is None:
            if moment is not None and moment.session is None:
                fix = f"say when it is asked; {_ISO}"
                yield Finding(self._at("now"), "a probe after a session needs a time", fix)
            return
        now, known = _time(probe.now), self._last_known(moment)
        if now is None:
            yield Finding(self._at("now"), "not a date", _ISO, probe.now)
        elif known is not None and now < known:
            fix = f"the last turn it knows is of {known:%Y-%m-%d %H:%M}"
            yield Finding(self._at("now"), "earlier than what the probe knows", fix, probe.now)

    def _last_known(self, moment: Moment | None) -> datetime | None:
        if moment is None or moment.seq == 0:
            return None
        position, number = self.index.places[moment.seq - 1]
        session = self.entry.sessions[position]
        return _time(session.turns[number].at or session.at)

    def _pool(self) -> Iterator[Finding]:
        pool = self.probe.pool or ()
        if not pool and self.probe.style == "situational":
            yield Finding(self._at("pool"), "a situational probe has a pool", "list its memories under `pool`")
        yield from _repeated((self._at("pool", i, "id"), item.id) for i, item in enumerate(pool))
        yield from _repeated((self._at("pool", i, "text"), item.text.strip()) for i, item in enumerate(pool))
        now = _time(self.probe.now) or self._last_known(self.moment)
        for i, item in enumerate(pool):
            if item.id in self.index.turns or item.id in self.index.sessions:
                yield Finding(self._at("pool", i, "id"), "a turn or session has this id", "give each its own", item.id)
            at = _time(item.at)
            if item.at is not None and at is None:
                yield Finding(self._at("pool", i, "at"), "not a date", _ISO, item.at)
            elif at is not None and now is not None and at > now:
                yield Finding(
                    self._at("pool", i, "at"), "later than the probe", "leave out what is not yet known", item.at
                )

    def _gold(self) -> Iterator[Finding]:
        gold, style = self.probe.gold, self.probe.style
        if not gold.model_dump(exclude_defaults=True, exclude={"strata"}):
            yield Finding(self._at("gold"), "nothing says what a good reply is", "give answers, facts or a rubric")
        if style in _NEEDS_PREMISE and gold.false_premise is None:
            fix = "say under `gold.false_premise` what is asserted and what is true"
            yield Finding(self._at("gold", "false_premise"), f"a {style} probe rests on something wrong", fix)
        if gold.unanswerable and gold.answers:
            yield Finding(self._at("gold", "answers"), "an unanswerable probe has no answer", "leave one of them out")
        if gold.trap is not None and gold.trap in gold.answers:
            yield Finding(self._at("gold", "trap"), "the trap is one of the answers", "leave one out", gold.trap)
        yield from self._facts()
        for item in gold.roles:
            if item not in self.items:
                advice = nearest(item, self.items)
                yield Finding(self._at("gold", "roles", item), "this is no item of the pool", advice, item)
        for item in self.items:
            if item not in gold.roles:
                yield Finding(self._at("gold", "roles"), f"pool item {item} has no role", "add must, nice or irr")

    def _facts(self) -> Iterator[Finding]:
        gold = self.probe.gold
        listed = [(self._at("gold", key, i), fact) for key, i, fact in _facts_of(gold)]
        yield from _repeated(((*path, "id"), fact.id) for path, fact in listed)
        if gold.stale and not gold.facts:
            fix = "say under `gold.facts` what holds now"
            yield Finding(self._at("gold", "stale"), "what is out of date was followed by something", fix)
        current = {fact.text.strip() for fact in gold.facts}
        for i, fact in enumerate(gold.stale):
            if fact.text.strip() in current:
                fix = "keep it in one of the two"
                yield Finding(self._at("gold", "stale", i, "text"), "this stands under `facts` too", fix, fact.text)

    def _sources(self) -> Iterator[Finding]:
        gold = self.probe.gold
        for key, i, fact in _facts_of(gold):
            yield from self._references(self._at("gold", key, i, "sources"), fact.sources)
        if gold.false_premise is not None:
            yield from self._references(self._at("gold", "false_premise", "sources"), gold.false_premise.sources)
        path = self._at("gold", "evidence")
        yield from self._references(path, gold.evidence, sessions=self.index.sessions)
        kinds = {self._kind(name) for name in gold.evidence}
        if len(kinds - {"unknown"}) > 1:
            fix = "use ids of one kind: turns, sessions or pool items"
            yield Finding(path, "evidence of different kinds", fix, list(gold.evidence))

    def _kind(self, name: str) -> str:
        tables = (("turn", self.index.turns), ("session", self.index.sessions), ("item", self.items))
        return next((kind for kind, table in tables if name in table), "unknown")

    def _references(self, path: Path, names: Iterable[str], sessions: Collection[str] = ()) -> Iterator[Finding]:
        seen: set[str] = set()
        for i, name in enumerate(names):
            place = (*path, i)
            kind = self._kind(name)
            if kind == "unknown" or (kind == "session" and name not in sessions):
                what = "this turn does not exist" if not self.items else "this turn or pool item does not exist"
                yield Finding(place, what, nearest(name, [*self.index.turns, *sessions, *self.items]), name)
            elif name in seen:
                yield Finding(place, "this id is listed twice", "keep one of them", name)
            elif kind != "item" and self.moment is not None and self._start(name) >= self.moment.seq:
                fix = "move the cut behind it, or name an earlier one"
                yield Finding(place, "this stands after the probe's cut", fix, name)
            seen.add(name)

    def _start(self, name: str) -> int:
        turn = self.index.turns.get(name)
        return turn if turn is not None else self.index.bounds[self.index.sessions[name]][0]

    def _windows(self) -> Iterator[Finding]:
        facts = [fact.id for fact in self.probe.gold.facts]
        for i, window in enumerate(self.probe.gold.windows):
            path = self._at("gold", "windows", i)
            if window.fact not in facts:
                yield Finding((*path, "fact"), "this is no fact of the probe", nearest(window.fact, facts), window.fact)
            ends = [self.index.turns.get(name) for name in (window.from_turn, window.to_turn)]
            for key, name, end in zip(("from", "to"), (window.from_turn, window.to_turn), ends, strict=True):
                if end is None:
                    yield Finding((*path, key), "this turn does not exist", nearest(name, self.index.turns), name)
            first, last = ends
            if first is not None and last is not None and last < first:
                yield Finding((*path, "to"), "the window ends before it begins", "swap `from` and `to`", window.to_turn)
            elif first and window.from_turn == self.probe.in_place_of:
                what = "the window begins at the probe's own turn, which it does not know yet, and would miss it"
                yield Finding((*path, "from"), what, "begin at the turn before", window.from_turn)
