"""Nodes that draw facts from a batch of turns: what architectures of atomic facts share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from langgraph.runtime import Runtime

from mnemoscope.core.errors import BackendError
from mnemoscope.core.identity import TurnId
from mnemoscope.core.ports import Vectors
from mnemoscope.core.usage import Usage
from mnemoscope.graphs.architecture import Mode
from mnemoscope.graphs.contracts.asking import Answer, ask, planned_call
from mnemoscope.graphs.contracts.contract import Contract
from mnemoscope.graphs.contracts.extract_facts import EXTRACT_FACTS, Extraction, Fact, why_nothing
from mnemoscope.graphs.provenance import cite
from mnemoscope.graphs.state import MemoryContext, WriteState
from mnemoscope.graphs.windows import windows_of
from mnemoscope.memory_backends.record import ItemKind, Source
from mnemoscope.scenarios.records import Turn
from mnemoscope.scenarios.replay import POOL_SESSION

__all__ = [
    "FACTS",
    "UNREADABLE",
    "Drawn",
    "ExtractFacts",
    "FactState",
    "document_vectors",
    "drawn_from",
    "extraction_calls",
    "fact_texts",
    "facts_by_rule",
    "from_pool",
    "left_out",
    "nothing_drawn",
]

FACTS: tuple[ItemKind, ...] = ("fact",)
"""What searches of these architectures look for; side tables are never handed out."""
UNREADABLE = "unreadable reply"
"""Why turns are dropped whose extraction came back as something that cannot be read."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """A fact with the turns that it was drawn from."""

    text: str
    turns: tuple[Turn, ...]
    sources: tuple[Source, ...]

    @property
    def speaker(self) -> str:
        """Who spoke first in those turns."""
        return self.turns[0].speaker


class FactState(WriteState, total=False):
    """One run of a WRITE graph that draws facts."""

    before: tuple[Turn, ...]
    """Earlier turns, for understanding."""
    facts: tuple[Drawn, ...]
    vectors: Vectors
    """One row per fact."""


class ExtractFacts:
    """Node `extract`: facts of the ready batches, each with its turns; turns without one are dropped with the reason.

    Args:
        mode: Whether a model is asked, once per batch.
    """

    def __init__(self, mode: Mode) -> None:
        self.mode = mode

    async def __call__(self, state: FactState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
        """Reads `ready` and `before`; sets `facts`, `dropped` and `parse_failures`."""
        facts: list[Drawn] = []
        dropped: dict[TurnId, str] = {}
        failures = 0
        for batch in state["ready"]:
            if (brought := from_pool(batch)) is not None:
                facts.append(brought)
                continue
            answer = await self.answer(batch, state, runtime)
            failures += answer.parse_failures
            if answer.value is None:
                dropped |= dict.fromkeys((turn.turn_id for turn in batch), UNREADABLE)
                continue
            facts += (found := drawn_from(answer.value, batch))
            dropped |= left_out(batch, [source for fact in found for source in fact.sources])
        return {"facts": tuple(facts), "dropped": dropped, "parse_failures": failures}

    async def answer(
        self, batch: tuple[Turn, ...], state: FactState, runtime: Runtime[MemoryContext]
    ) -> Answer[tuple[Fact, ...]]:
        """The facts of one batch; an architecture that asks otherwise overrides this."""
        given = Extraction(batch, state["before"])
        return await ask(EXTRACT_FACTS, given, self.mode, runtime.context.ports.model)


def drawn_from(facts: Sequence[Fact], batch: Sequence[Turn]) -> tuple[Drawn, ...]:
    """The facts of a batch with their turns; what two turns say in the same words is one fact of both."""
    numbers: dict[str, tuple[int, ...]] = {}
    for fact in facts:
        known = numbers.get(fact.text)
        numbers[fact.text] = fact.numbers if known is None else _united(known, fact.numbers)
    return tuple(_drawn(Fact(text, named), batch) for text, named in numbers.items())


def from_pool(batch: Sequence[Turn]) -> Drawn | None:
    """A memory that a probe brings along, which is a fact as it stands; None for turns of the conversation."""
    if batch[0].session_id != POOL_SESSION:
        return None
    turn = batch[0]
    return Drawn(turn.content, (turn,), (Source(turn.turn_id, "verbatim"),))


def left_out(turns: Sequence[Turn], kept: Sequence[Source]) -> dict[TurnId, str]:
    """The turns that nothing was kept of, each with the reason."""
    covered = {source.turn_id for source in kept}
    return {turn.turn_id: why_nothing(turn) for turn in turns if turn.turn_id not in covered}


def nothing_drawn(state: FactState) -> bool:
    """There is no fact: the rest of the WRITE graph has nothing to do."""
    return not state.get("facts")


async def document_vectors(texts: Sequence[str], runtime: Runtime[MemoryContext]) -> Vectors:
    """Vectors of texts that are to be stored, one row each.

    Raises:
        BackendError: There is no embedder.
    """
    embedder = runtime.context.ports.embedder
    if embedder is None:
        raise BackendError("there is no embedder", phase="write")
    return await embedder.embed(texts, "document")


def extraction_calls(size: int) -> Callable[[Sequence[Turn]], Usage]:
    """An estimate of what drawing facts by a model costs: one call per batch of so many turns."""

    def asks(turns: Sequence[Turn]) -> Usage:
        total = Usage()
        for batch in windows_of(turns, size, 0):
            total = total + planned_call(EXTRACT_FACTS, EXTRACT_FACTS.show(Extraction(batch)))
        return total

    return asks


def fact_texts(size: int) -> Callable[[Sequence[Turn]], Sequence[str]]:
    """The texts of the facts that rules draw from given sessions, for embedding them ahead."""

    def texts(turns: Sequence[Turn]) -> Sequence[str]:
        given = [Extraction(batch) for batch in windows_of(turns, size, 0)]
        return [fact.text for one in given for fact in facts_by_rule(one)]

    return texts


def facts_by_rule(
    given: Extraction, contract: Contract[Extraction, tuple[Fact, ...]] = EXTRACT_FACTS
) -> tuple[Drawn, ...]:
    """What the rule of a contract draws from given turns, as a node of `heuristic` mode does."""
    brought = from_pool(given.turns)
    if brought is not None:
        return (brought,)
    return drawn_from(contract.read(contract.rule(given), given).value, given.turns)


def _united(some: tuple[int, ...], others: tuple[int, ...]) -> tuple[int, ...]:
    """Numbers of both; none on either side means all turns."""
    return tuple(sorted({*some, *others})) if some and others else ()


def _drawn(fact: Fact, batch: Sequence[Turn]) -> Drawn:
    named = tuple(batch[number - 1] for number in sorted(fact.numbers)) or tuple(batch)
    return Drawn(fact.text, named, cite(batch, fact.numbers, fact.text))
