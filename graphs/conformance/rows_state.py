"""Rows about state: serialised writes, isolation, snapshots, forks."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from mnemoscope.core.errors import EmbedderMismatchError
from mnemoscope.core.identity import canonical_json
from mnemoscope.graphs.backend import MemoryBackend
from mnemoscope.graphs.conformance.kit import Fates, Kit, Row, require
from mnemoscope.graphs.conformance.material import chat
from mnemoscope.graphs.conformance.report import NotApplicableError, ViolationError
from mnemoscope.memory_backends.embedders.hashing import HashEmbedder

__all__ = ["ROWS"]

_CUTS = (10, 11)
"""Within a session; a buffer of two or of three turns is half full at one of them."""
_NAMES = ("a", "a b", "A", "a/b", "../a")


async def concurrent_writes(kit: Kit) -> None:
    turns = chat(8, per_session=8)
    one_by_one, _ = await kit.fed(turns)
    together = await kit.open()
    fates = Fates(dict.fromkeys(turn.turn_id for turn in turns), set(), {})
    for receipt in await asyncio.gather(*(together.write(turn) for turn in turns)):
        fates.note(receipt)
    fates.note(await together.flush("session_end", turns[-1].session_id, turns[-1].at))
    fates.note(await together.flush("history_end", None, turns[-1].at))
    await kit.covered(together, fates)
    require(await _sha(together) == await _sha(one_by_one), "eight writes at once differ from eight in a row")


async def isolation(kit: Kit) -> None:
    histories = {name: chat(6, canary=f"CANARY{number}") for number, name in enumerate(_NAMES)}
    interleaved = {name: await kit.open(name) for name in _NAMES}
    fates = {name: Fates({}, set(), {}) for name in _NAMES}
    for number in range(6):
        for name in _NAMES:
            await kit.feed(interleaved[name], histories[name][number : number + 1], ends=False, fates=fates[name])
    for number, name in enumerate(_NAMES):
        backend = interleaved[name]
        await backend.flush("history_end", None, histories[name][-1].at)
        found = await kit.ask(backend, "the harbour CANARY0 CANARY1 CANARY2 CANARY3 CANARY4", gold=["t0", "t1"])
        seen = canonical_json([found.rendered, [item.text for item in await kit.stored(backend)]])
        foreign = [f"CANARY{other}" for other in range(len(_NAMES)) if other != number and f"CANARY{other}" in seen]
        require(not foreign, f"scope {name!r} sees {foreign}")
        alone = await kit.open(name)
        await kit.feed(alone, histories[name], ends=False)
        await alone.flush("history_end", None, histories[name][-1].at)
        require(await _sha(alone) == await _sha(backend), f"scope {name!r} differs from the same scope alone")


async def restored(kit: Kit) -> None:
    uninterrupted = await _sha((await kit.fed(chat(20)))[0])
    for cut in _CUTS:
        await _restored_at(kit, cut, uninterrupted)
    await _forked(kit)


async def _restored_at(kit: Kit, cut: int, uninterrupted: str) -> None:
    backend = await kit.open()
    await kit.feed(backend, chat(20)[:cut], ends=False)
    middle = await backend.snapshot()
    await _continue(kit, backend, cut)
    require(await _sha(backend) == uninterrupted, "taking a snapshot changed the memory")
    await backend.restore(middle)
    require(await _sha(backend) == middle.sha256, "a restored memory has another snapshot")
    await _continue(kit, backend, cut)
    require(await _sha(backend) == uninterrupted, "restored and continued is not the uninterrupted run")
    fresh = await kit.open()
    await fresh.restore(middle)
    await _continue(kit, fresh, cut)
    require(await _sha(fresh) == uninterrupted, "another instance, restored and continued, differs")


async def _forked(kit: Kit) -> None:
    backend = await kit.open()
    await kit.feed(backend, chat(20)[:10], ends=False)
    before = await _sha(backend)
    fork = await backend.fork()
    require(await _sha(fork) == before, "a fork differs from what it was forked from")
    await _continue(kit, fork, 10)
    require(await _sha(backend) == before, "what is written to a fork reaches the memory that it was forked from")


async def foreign_embedder(kit: Kit) -> None:
    backend, _ = await kit.fed(chat(4))
    snapshot = await backend.snapshot()
    if not backend.capabilities.needs_embedder or snapshot.dim is None:
        raise NotApplicableError("stores no vectors")
    other = await kit.open(ports=replace(kit.ports_factory(), embedder=HashEmbedder(snapshot.dim // 2 + 1)))
    try:
        await other.restore(snapshot)
    except EmbedderMismatchError:
        return
    raise ViolationError("vectors of another embedder were restored without a word")


async def _continue(kit: Kit, backend: MemoryBackend, cut: int) -> None:
    """The rest of the history, from within the session that the first part ends in."""
    await kit.feed(backend, chat(20)[cut:])


async def _sha(backend: MemoryBackend) -> str:
    return (await backend.snapshot()).sha256


ROWS = (
    Row("C12", "concurrent writes equal sequential ones", concurrent_writes),
    Row("C13", "scopes with similar names never meet", isolation),
    Row("C14", "restored and continued equals uninterrupted; a fork stands alone", restored),
    Row("C15", "vectors of another embedder are refused", foreign_embedder),
)
