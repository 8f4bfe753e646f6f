"""Rows about finding: dates, the future, purity, edge cases of the budget and the query."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import regex
from pydantic import ValidationError

from mnemoscope.core.errors import EndpointError
from mnemoscope.core.identity import ItemId
from mnemoscope.graphs.backend import UnfinishedReadError
from mnemoscope.graphs.conformance.kit import Kit, Row, require
from mnemoscope.graphs.conformance.material import MAY, chat, say
from mnemoscope.graphs.conformance.twin_model import FailingModel
from mnemoscope.memory_backends.record import Budget, Retrieval
from mnemoscope.scenarios.records import MemoryPool, PoolItem, Turn

__all__ = ["ROWS"]

_YEAR = regex.compile(r"\b(?:19|20)\d\d\b")
_DAY = regex.compile(r"\b[78] May 2023\b|2023-05-0[78]")
_QUESTIONS = ("Who painted the harbour?", "the marathon on trip 5", "violin", "an old map that Bo borrowed")


async def relative_dates(kit: Kit) -> None:
    turn = say(0, "Yesterday I saw a lunar eclipse.")
    backend, fates = await kit.fed([turn])
    found = await kit.found(backend, fates, "lunar eclipse", turn.turn_id)
    require(bool(_DAY.search(found.rendered)), f"the day cannot be told from {found.rendered!r}")
    years = set(_YEAR.findall(found.rendered))
    require(years <= {"2023"}, f"a year appears that the conversation does not have: {sorted(years)}")


async def pure_reads(kit: Kit) -> None:
    backend, _ = await kit.fed(chat(20))
    gold = [f"t{number}" for number in range(4)]
    before = (await backend.snapshot()).sha256
    forwards = [_content(await kit.ask(backend, text, gold=gold)) for text in _QUESTIONS]
    backwards = [_content(await kit.ask(backend, text, gold=gold)) for text in reversed(_QUESTIONS)]
    again = [_content(await kit.ask(backend, text, gold=gold)) for text in _QUESTIONS]
    require(forwards == again == backwards[::-1], "the same question gives another answer, or their order matters")
    require((await backend.snapshot()).sha256 == before, "a pure read changed the memory")


async def no_future(kit: Kit) -> None:
    turns = chat(20)
    known, later = turns[:10], {turn.turn_id for turn in turns[10:]}
    now = known[-1].at
    gold = [turn.turn_id for turn in turns]
    backend = await kit.open()
    fates = await kit.feed(backend, known, ends=False)
    in_prefix = [_content(await kit.ask(backend, text, now=now, gold=gold)) for text in _QUESTIONS]
    await kit.feed(backend, turns[10:], fates=fates)
    cut_short = await kit.open()
    await kit.feed(cut_short, known, ends=False)
    in_short = [_content(await kit.ask(cut_short, text, now=now, gold=gold)) for text in _QUESTIONS]
    require(in_prefix == in_short, "the beginning of a history is remembered otherwise than a history that ends there")
    for text in (*_QUESTIONS, turns[15].text):
        found = await kit.ask(backend, text, now=now, gold=gold)
        leaked = [item.id for item in found.items if item.sources and {s.turn_id for s in item.sources} <= later]
        require(not leaked, f"asked as of turn 10, items of later turns are found: {leaked}")


async def edge_cases(kit: Kit) -> None:
    empty = await kit.open("empty")
    require(not (await kit.ask(empty, "harbour")).items, "an empty memory finds something")
    backend, _ = await kit.fed(chat(5))
    gold = [f"t{number}" for number in range(5)]
    for blank in ("", "   ", "\u200b\n"):
        found = await kit.ask(backend, blank, gold=gold)
        require(found.blank_query and not found.items, f"the blank query {blank!r} is not marked or finds something")
    await kit.ask(backend, "???", gold=gold)
    for budget in (Budget(k=0), Budget(k=1_000), Budget(k=None), Budget(max_tokens=1), Budget(max_tokens=0)):
        found = await kit.ask(backend, "the harbour", budget=budget, gold=gold)
        require(0 <= found.given <= len(found.items), f"{budget} hands over {found.given} of {len(found.items)} items")
        if budget.max_tokens is not None:
            require(found.context_tokens <= budget.max_tokens, f"{budget} is exceeded: {found.context_tokens} tokens")
        if budget.k == 0 and _counts_items(kit):
            require(found.given == 0 and not found.rendered, "k = 0 hands something over")
    await _whole_pool(kit)


async def odd_times(kit: Kit) -> None:
    east = timezone(timedelta(hours=9))
    turns = [
        say(0, "The third remark about the harbour.", at=MAY + timedelta(days=2)),
        say(1, "The first remark about the harbour.", at=MAY.astimezone(east)),
        say(2, "The second remark about the harbour.", at=MAY + timedelta(hours=12)),
        say(3, "Another second remark about the harbour.", at=MAY + timedelta(hours=12)),
        say(4, "Just after midnight, about the harbour.", at=datetime(2023, 9, 13, 0, 9, tzinfo=UTC)),
    ]
    backend, fates = await kit.fed(turns)
    await kit.covered(backend, fates)
    now = MAY + timedelta(days=1)
    later = {turn.turn_id for turn in turns if turn.at is not None and turn.at > now}
    found = await kit.ask(backend, "remarks about the harbour", now=now, gold=[turn.turn_id for turn in turns])
    early = [item.id for item in found.items if {source.turn_id for source in item.sources} <= later]
    require(not early, f"time is not read from the clock of the turn: {early} are found too early")
    try:
        Turn.model_validate({**turns[0].model_dump(), "at": datetime(2023, 5, 8)})  # noqa: DTZ001 - must be refused
    except ValidationError:
        return
    require(False, "a time without an offset is accepted")


async def own_answers(kit: Kit) -> None:
    backend, _ = await kit.fed(chat(20))
    gold = [f"t{number}" for number in range(4)]
    found = [await kit.ask(backend, text, gold=gold) for text in _QUESTIONS]
    if not backend.capabilities.answers:
        spoken = [one.answer for one in found if one.answer is not None]
        require(not spoken, f"it answers {spoken[:1]}, and its capabilities do not say so")
        return
    require(all(one.steps for one in found), "it answers, and does not say by which steps")
    again = [await kit.ask(backend, text, gold=gold) for text in _QUESTIONS]
    require([one.answer for one in found] == [one.answer for one in again], "the same question has another answer")
    require((await kit.ask(backend, "\u200b")).answer is None, "a blank query is answered")
    await _interrupted(kit)


async def _interrupted(kit: Kit) -> None:
    """The second call of a loop fails; what the first one came to is kept."""
    ports = kit.ports_factory()
    if ports.model is None:
        return
    backend = await kit.open("interrupted", replace(ports, model=FailingModel(ports.model, fail_on=2)))
    try:
        await kit.ask(backend, _QUESTIONS[0])
    except UnfinishedReadError as unfinished:
        kept = unfinished.reached
        require(
            bool(kept.steps) and kept.usage.calls > 0, "an outage in mid-loop loses the steps before it, or their cost"
        )
    except EndpointError:
        require(False, "an outage in mid-loop loses all that was found before it")


async def _whole_pool(kit: Kit) -> None:
    if not kit.factory().capabilities.gives_pool:
        return
    entries = tuple(PoolItem(item_id=ItemId(f"m{n}"), text=f"Fact {n} about the harbour.") for n in (3, 1, 2))
    found = await kit.ask(await kit.open("pool"), "harbour", budget=Budget(k=1), pool=MemoryPool(items=entries))
    given = [item.id for item in found.given_items]
    require(given == ["m3", "m1", "m2"], f"the pool is not handed over as it stands: {given}")


def _counts_items(kit: Kit) -> bool:
    can = kit.factory().capabilities
    return not (can.blob_context or can.gives_pool or can.privileged)


def _content(found: Retrieval) -> tuple[object, ...]:
    return found.given, found.rendered, [(item.id, item.text, item.rank, item.score) for item in found.items]


ROWS = (
    Row("C04", "relative dates can be resolved; the wall clock never shows", relative_dates),
    Row("C16", "pure reads leave no trace, in any order", pure_reads),
    Row("C17", "nothing of the future: a prefix equals a shorter history", no_future),
    Row("C18", "k = 0, k above the store, an empty store, a blank query, a budget of one token", edge_cases),
    Row("C19", "times out of order, equal, with offsets", odd_times),
    Row("C26", "what answers by itself says so, by which steps, and keeps them in an outage", own_answers),
)
