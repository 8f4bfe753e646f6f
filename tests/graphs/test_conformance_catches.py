"""The conformance kit catches what it is for: each broken memory fails the rows that name its fault."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from mnemoscope.core.errors import EndpointError
from mnemoscope.graphs.architecture import create_architecture
from mnemoscope.graphs.compiled import GraphBackend
from mnemoscope.graphs.conformance import run_conformance
from mnemoscope.memory_backends.record import Capabilities, Query, Snapshot, WriteReceipt
from mnemoscope.scenarios.records import Turn


class Faulty(GraphBackend):
    """bm25, to be broken in one way."""

    base = "bm25"

    def __init__(self) -> None:
        super().__init__(create_architecture(self.base))


class DropsSilently(Faulty):
    async def write(self, turn: Turn) -> WriteReceipt:
        if turn.index % 5 == 3:
            return WriteReceipt((turn.turn_id,))
        return await super().write(turn)


class ForgetsTheRest(Faulty):
    base = "bm25(window=3)"

    async def flush(self, reason: Any, session_id: Any, now: Any) -> WriteReceipt:
        return WriteReceipt(())


class LeaksTheFuture(Faulty):
    async def retrieve(self, query: Query, budget: Any, now: Any, mode: Any = "pure") -> Any:
        return await super().retrieve(query, budget, None, mode)


class KeepsWhatChanged(Faulty):
    """Says that it replaces what later turns contradict, and keeps both."""

    @property
    def capabilities(self) -> Capabilities:
        return replace(super().capabilities, updates=True)


class ChangesOnRead(Faulty):
    async def retrieve(self, query: Query, budget: Any, now: Any, mode: Any = "pure") -> Any:
        found = await super().retrieve(query, budget, now, mode)
        self._memory.parse_failures += 1
        return found


class MixesScopes(Faulty):
    shared: Any = None

    async def open(self, scope: Any, ports: Any) -> None:
        await super().open(scope, ports)
        assert self._context is not None
        if scope.scenario_id in ("a", "a b"):
            type(self).shared = type(self).shared or self._context.store
            self._context = replace(self._context, store=type(self).shared)

    async def write(self, turn: Turn) -> WriteReceipt:
        scope = self._opened("write").scope
        return await super().write(
            turn.model_copy(update={"turn_id": f"{turn.turn_id}"}) if scope.scenario_id != "a b" else turn
        )


class LosesText(Faulty):
    async def write(self, turn: Turn) -> WriteReceipt:
        return await super().write(turn.model_copy(update={"text": turn.text.encode("ascii", "ignore").decode()}))


class NamesForeignTurns(Faulty):
    async def items(self) -> Any:
        async for item in super().items():
            source = replace(item.sources[0], turn_id="t999")
            yield replace(item, sources=(*item.sources, source))


class FindsAllWithoutAQuery(Faulty):
    async def retrieve(self, query: Query, budget: Any, now: Any, mode: Any = "pure") -> Any:
        if query.text.strip("\u200b \n"):
            return await super().retrieve(query, budget, now, mode)
        return await super().retrieve(replace(query, text="harbour"), budget, now, mode)


class IgnoresTheBudget(Faulty):
    async def retrieve(self, query: Query, budget: Any, now: Any, mode: Any = "pure") -> Any:
        return await super().retrieve(query, replace(budget, k=5, max_tokens=None), now, mode)


class AnswersUnannounced(Faulty):
    async def retrieve(self, query: Query, budget: Any, now: Any, mode: Any = "pure") -> Any:
        return replace(await super().retrieve(query, budget, now, mode), answer="It is blue.")


class Loop(Faulty):
    base = "memgpt-style(mode=llm,read=agentic)"


class HidesItsSteps(Loop):
    async def retrieve(self, query: Query, budget: Any, now: Any, mode: Any = "pure") -> Any:
        return replace(await super().retrieve(query, budget, now, mode), steps=())


class AnswersAnythingElse(Loop):
    asked = 0

    async def retrieve(self, query: Query, budget: Any, now: Any, mode: Any = "pure") -> Any:
        self.asked += 1
        return replace(await super().retrieve(query, budget, now, mode), answer=f"Answer {self.asked}.")


class LosesAnInterruptedLoop(Loop):
    async def retrieve(self, query: Query, budget: Any, now: Any, mode: Any = "pure") -> Any:
        try:
            return await super().retrieve(query, budget, now, mode)
        except EndpointError as failure:
            raise EndpointError(str(failure), cause=failure.cause) from None


class ForgetsItsBuffer(Faulty):
    base = "bm25(window=3)"

    async def restore(self, snapshot: Snapshot) -> None:
        await super().restore(snapshot)
        self._memory.buffer, self._memory.waiting = (), ()


class WritesWithoutALock(Faulty):
    def __init__(self) -> None:
        super().__init__()

        class NoLock:
            async def __aenter__(self) -> None: ...
            async def __aexit__(self, *_: object) -> None: ...

        self._lock = NoLock()  # type: ignore[assignment]


class ForksIntoItself(Faulty):
    async def fork(self) -> Any:
        return self


class TakesAnyVectors(Faulty):
    base = "dense"

    async def restore(self, snapshot: Snapshot) -> None:
        return None


class SwallowsFailures(Faulty):
    base = "dense"

    async def write(self, turn: Turn) -> WriteReceipt:
        receipt = await super().write(turn)
        if receipt.deferred:
            self._memory.backlog = ()
            self._memory.ledger.withdraw(turn.turn_id)
        return replace(receipt, deferred=())


@pytest.mark.parametrize(
    ("memory", "rows"),
    [
        (DropsSilently, {"C08", "C22", "C23"}),
        (ForgetsTheRest, {"C01", "C23"}),
        (LeaksTheFuture, {"C03", "C17", "C19"}),
        (KeepsWhatChanged, {"C03"}),
        (ChangesOnRead, {"C16"}),
        (MixesScopes, {"C13"}),
        (LosesText, {"C05", "C06"}),
        (NamesForeignTurns, {"C01", "C09"}),
        (FindsAllWithoutAQuery, {"C18"}),
        (IgnoresTheBudget, {"C18"}),
        (AnswersUnannounced, {"C26"}),
        (HidesItsSteps, {"C26"}),
        (AnswersAnythingElse, {"C26"}),
        (LosesAnInterruptedLoop, {"C26"}),
        (ForgetsItsBuffer, {"C14"}),
        (ForksIntoItself, {"C14"}),
        (TakesAnyVectors, {"C15"}),
        (SwallowsFailures, {"C11"}),
    ],
)
def test_faulty_memory_is_caught(memory: Callable[[], Faulty], rows: set[str]) -> None:
    report = run_conformance(memory, size=40, rows=sorted(rows))
    assert {row.id for row in report.failures} == rows, str(report)
    assert all(row.detail for row in report.failures)


def test_a_sound_memory_passes_the_same_rows() -> None:
    assert run_conformance(Faulty, size=40).passed
    assert run_conformance(Loop, rows=["C26"]).passed


def test_unlocked_writes_are_caught() -> None:
    class Windowed(WritesWithoutALock):
        base = "dense(window=3)"

    assert [row.id for row in run_conformance(Windowed, rows=["C12"]).failures] == ["C12"]


def test_a_row_that_raises_is_a_failure_and_not_a_crash() -> None:
    class Crashes(Faulty):
        async def stats(self) -> Any:
            raise ZeroDivisionError("by zero")

    (row,) = run_conformance(Crashes, rows=["C01"]).rows
    assert (row.status, row.detail) == ("failed", "ZeroDivisionError: by zero")
