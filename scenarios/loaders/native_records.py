"""Records made from native blocks: authors' ids become positions, pool items get ids that tell nothing."""

from __future__ import annotations

from collections.abc import Sequence

from mnemoscope.core.identity import ItemId, ProbeId, ScenarioId, SessionId, TurnId, derive_seed, sha256_of
from mnemoscope.scenarios.loaders.native_format import ProbeEntry, ScenarioEntry
from mnemoscope.scenarios.loaders.native_index import (
    HistoryIndex,
    index_history,
    locate,
    read_time,
    session_id,
    turn_id,
)
from mnemoscope.scenarios.records import (
    Card,
    Cut,
    FalsePremise,
    Gold,
    GoldFact,
    MemoryPool,
    Participant,
    PoolItem,
    Probe,
    Scenario,
    Session,
    Turn,
    Window,
)

__all__ = ["build_scenario"]


def build_scenario(entry: ScenarioEntry, card: Card, *, captions: bool, seed: int) -> Scenario:
    """The record of a scenario that `check_scenario` found nothing wrong with.

    Args:
        entry: The scenario as written.
        card: Where it comes from.
        captions: Whether image captions are part of what memories and assistants see.
        seed: Order of memory pools.
    """
    return _Builder(entry, card, captions=captions, seed=seed).scenario()


class _Builder:
    """Makes the records of one checked scenario."""

    def __init__(self, entry: ScenarioEntry, card: Card, *, captions: bool, seed: int) -> None:
        self.entry, self.card, self.captions, self.seed = entry, card, captions, seed
        self.index: HistoryIndex = index_history(entry)
        self.sessions = tuple(self._session(position) for position in range(len(entry.sessions)))
        self.turns = tuple(turn for session in self.sessions for turn in session.turns)

    def scenario(self) -> Scenario:
        built = [self._probe(probe) for probe in self.entry.probes]
        return Scenario(
            scenario_id=ScenarioId(self.entry.id),
            benchmark=self.card.benchmark,
            cluster=self.entry.cluster or self.entry.id,
            participants=tuple(Participant(name=p.name, role=p.role) for p in self.entry.participants),
            sessions=self.sessions,
            probes=tuple(probe for probe, _ in built),
            gold_by_probe={probe.probe_id: gold for probe, gold in built},
            card=self.card,
        )

    def _session(self, position: int) -> Session:
        entry = self.entry.sessions[position]
        name = SessionId(session_id(entry, position))
        start = self.index.bounds[position][0]
        turns = tuple(
            Turn(
                turn_id=TurnId(turn_id(entry, position, number)),
                session_id=name,
                index=start + number,
                speaker=turn.speaker,
                role=self.index.roles[turn.speaker],
                text=turn.text,
                caption=turn.caption if self.captions else None,
                at=read_time(turn.at or entry.at),
            )
            for number, turn in enumerate(entry.turns)
        )
        return Session(session_id=name, at=read_time(entry.at), turns=turns)

    def _probe(self, entry: ProbeEntry) -> tuple[Probe, Gold]:
        moment = locate(entry, self.index)
        assert moment is not None
        replaced = self.turns[moment.seq] if entry.in_place_of is not None else None
        recent: tuple[Turn, ...] = ()
        now = read_time(entry.now) if entry.now is not None else None
        if moment.session is not None:
            recent = self.turns[self.index.bounds[moment.session][0] : moment.seq]
            spoken = replaced or recent[-1]
            now = now or spoken.at
        items = {item.id: ItemId(f"m-{sha256_of(item.text)[:12]}") for item in entry.pool or ()}
        probe = Probe(
            probe_id=ProbeId(f"{self.entry.id}/{entry.id}"),
            style=entry.style,
            speaker=replaced.speaker if replaced else entry.speaker or self.index.asker or "",
            text=replaced.text if replaced else entry.ask or "",
            cut=Cut(seq=moment.seq, turn_id=self.turns[moment.seq - 1].turn_id if moment.seq else None),
            now=now,
            speaks_as=entry.speaks_as,
            recent_turns=recent,
            persona=entry.persona,
            pool=self._pool(entry, items),
        )
        return probe, self._gold(entry, items)

    def _pool(self, entry: ProbeEntry, items: dict[str, ItemId]) -> MemoryPool | None:
        if entry.pool is None:
            return None
        pool = [
            PoolItem(item_id=items[item.id], text=item.text, at=read_time(item.at) if item.at else None)
            for item in entry.pool
        ]
        order = (self.seed, "pool", self.entry.id, entry.id)
        return MemoryPool(items=tuple(sorted(pool, key=lambda item: derive_seed(*order, item.item_id))))

    def _gold(self, entry: ProbeEntry, items: dict[str, ItemId]) -> Gold:
        gold, premise = entry.gold, entry.gold.false_premise

        def ids(names: Sequence[str]) -> tuple[str, ...]:
            return tuple(items.get(name, name) for name in names)

        is_sessions = any(name in self.index.sessions for name in gold.evidence)
        is_items = any(name in items for name in gold.evidence)
        return Gold(
            answers=gold.answers,
            evidence=ids(gold.evidence),
            evidence_unit="session" if is_sessions else "item" if is_items else "turn",
            facts=tuple(GoldFact(fact_id=f.id, text=f.text, sources=ids(f.sources)) for f in gold.facts),
            stale=tuple(GoldFact(fact_id=f.id, text=f.text, sources=ids(f.sources)) for f in gold.stale),
            trap=gold.trap,
            unanswerable=gold.unanswerable,
            false_premise=None
            if premise is None
            else FalsePremise(asserted=premise.asserted, truth=premise.truth, sources=ids(premise.sources)),
            rubric=gold.rubric,
            roles={items[name]: role for name, role in gold.roles.items()},
            windows=tuple(
                Window(
                    fact_id=window.fact,
                    kind=window.kind,
                    from_index=self.index.turns[window.from_turn],
                    to_index=self.index.turns[window.to_turn],
                )
                for window in gold.windows
            ),
            expected=gold.expected,
            strata=gold.strata,
        )
