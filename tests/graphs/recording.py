"""Writes down what a real model replies, for the files in `golden/replies`.

Run, after `mnemoscope model pull smollm2`:
    python -m tests.graphs.recording contracts local:smollm2 tests/graphs/golden/replies/contracts-smollm2.jsonl
    python -m tests.graphs.recording mem0 "local:gemma-3-270m-q4_k_m.gguf(context=16384,max_tokens=512)" FILE

Of each contract the first few requests are recorded. There, rules answer in the model's stead, so that every contract
is reached however the model does; what the package asks next depends on what it was told, so there nobody steps in.
With --unbound, no grammar keeps the reply to the schema, as with an endpoint that takes none.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

from mnemoscope.agents.gateway import GatewayModel, open_model
from mnemoscope.agents.gateway.local import LocalSettings
from mnemoscope.core.errors import EndpointError
from mnemoscope.core.identity import canonical_json, sha256_of
from mnemoscope.core.ports import Completion, Message
from mnemoscope.core.usage import Phase
from mnemoscope.graphs.backend import MemoryBackend
from mnemoscope.graphs.conformance.twin_model import TwinModel
from mnemoscope.graphs.contracts.asking import in_hand
from mnemoscope.memory_backends.record import Budget, Query
from mnemoscope.scenarios.records import Turn
from tests.graphs.graph_tools import opened, ports, turn
from tests.graphs.replayed_model import Recording, request_of

TURNS = (
    turn(0, "I ran a charity race yesterday, for the animal shelter.", "s1"),
    turn(1, "Well done, Amy! I had no idea that you run.", "s1", speaker="Bo"),
    turn(2, "I live in Oslo with my cat Pixel, and I work as a nurse.", "s1"),
    turn(3, "我在成都工作，养了一只猫叫团子。", "s1", speaker="Bo"),
    turn(4, "My sister Ines will marry in June, in Lisbon.", "s1"),
    turn(5, "Lisbon is lovely. I was there in 2019 to learn to surf.", "s1", speaker="Bo"),
    turn(6, "I moved to Bergen last week, the hospital there had a place.", "s2"),
    turn(7, "And Pixel? Cats do not like to move.", "s2", speaker="Bo"),
    turn(8, "Pixel hid under the bed for two days. I no longer run, my knee hurts.", "s2"),
    turn(9, "I bought a blue kayak. Shall we paddle on the fjord in May?", "s2", speaker="Bo"),
    turn(10, "I painted the blue kayak on the fjord in May.", "s3"),
    turn(11, "The blue kayak on the fjord is fast.", "s3", speaker="Bo"),
    turn(12, "I paddle the blue kayak on the fjord each week.", "s3"),
    turn(13, "The blue kayak on the fjord has a new seat.", "s3", speaker="Bo"),
    turn(14, "We race the blue kayak on the fjord in June.", "s3"),
    turn(15, "The blue kayak on the fjord won the race.", "s3", speaker="Bo"),
    turn(16, " ".join(f"On day {day} we paddled to island {day}." for day in range(60)), "s3"),
    turn(17, " ".join(f"On day {day} it rained in bay {day}." for day in range(60)), "s3", speaker="Bo"),
)
"""Two sessions of talk, and one that goes on about one thing at length, for what only begins there."""
QUESTION = "Where does Amy live now, and what is her cat called?"
CONTRACTS = (
    "summary(mode=llm)",
    "mem0-v1-style(mode=llm)",
    "mem0-v2-style(mode=llm)",
    "a-mem-style(mode=llm)",
    "memoryos-style(stm=1,mode=llm)",
    "memora-style(read=policy,mode=llm)",
    "anchormem-style(threshold=0.2,least_new=1,mode=llm)",
    "comedy-style(mode=llm)",
    "memgpt-style(read=agentic,window=1024,mode=llm)",
    "dense(admit=llm)",
)
"""Between them they ask every contract of ours."""
MEM0 = ("mem0(infer=true,add_per=turn)",)
MEM0_TURNS = TURNS[:2]
"""Its prompt has 8,600 tokens, which take minutes each time."""
MOST = 2
"""Replies that are recorded per contract."""


class RecordingModel:
    """Has a model answer, and writes down what it said.

    Args:
        inner: The model.
        guide: Answers in its stead; None: it answers itself.
        bound: Whether the reply is kept to the schema.
    """

    def __init__(self, inner: GatewayModel, guide: TwinModel | None, bound: bool) -> None:
        self._inner, self._guide, self._bound = inner, guide, bound
        self._begun: dict[str, set[str]] = defaultdict(set)
        """Requests by contract; nodes that run beside each other ask at once."""
        self.made: list[Recording] = []

    @property
    def key(self) -> str:
        """The model's key."""
        return self._inner.key

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        phase: Phase,
        schema: Mapping[str, object] | None = None,
        max_tokens: int | None = None,
        replicate: int = 0,
    ) -> Completion:
        """The model's reply or its failure, or the guide's reply."""
        asked = in_hand()
        assert asked is not None, "only contracts are recorded"
        contract, request = asked[0], request_of(messages)
        begun = self._begun[contract.key]
        if self._guide is not None and (len(begun) == MOST or request in begun):
            return await self._guide.complete(messages, phase=phase)
        begun.add(request)
        system = "\0".join(message.content for message in messages if message.role == "system")
        entry = Recording(contract.key, sha256_of(canonical_json([system, schema])), request, None, None)
        bound = schema if self._bound else None
        try:
            reply = await self._inner.complete(messages, phase=phase, schema=bound, max_tokens=max_tokens)
        except EndpointError as error:
            self._note(entry._replace(failure=error.cause))
            if self._guide is None:
                raise
        else:
            self._note(entry._replace(reply=reply.text))
            if self._guide is None:
                return reply
        return await self._guide.complete(messages, phase=phase)

    def _note(self, entry: Recording) -> None:
        print(entry.contract, entry.failure or entry.reply, flush=True)
        self.made.append(entry)


async def take_in(memory: MemoryBackend, turns: Sequence[Turn]) -> None:
    """Write turns session by session, and ask the question."""
    for number, one in enumerate(turns):
        await memory.write(one)
        if number + 1 == len(turns) or turns[number + 1].session_id != one.session_id:
            await memory.flush("session_end", one.session_id, one.at)
    await memory.flush("history_end", None, turns[-1].at)
    await memory.retrieve(Query(QUESTION), Budget(), turns[-1].at)


async def record(names: Sequence[str], spec: str, *, guided: bool, bound: bool) -> list[Mapping[str, object]]:
    """Let each architecture take in the turns and answer the question; what the file's lines are."""
    inner = open_model(spec, cache=None)
    model = RecordingModel(inner, TwinModel() if guided else None, bound)
    try:
        for name in names:
            memory = await opened(name, replace(ports(), model=model))
            await take_in(memory, TURNS if guided else MEM0_TURNS)
            await memory.close()
    finally:
        await inner.close()
    settings = cast("LocalSettings", inner.settings)
    about = {
        **settings.describe(),
        "temperature": settings.temperature,
        "max_tokens": settings.max_tokens,
        "bound": bound,
    }
    return [about, *(one._asdict() for one in model.made)]


def main() -> None:
    """Record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("contracts", "mem0"))
    parser.add_argument("model")
    parser.add_argument("path", type=Path)
    parser.add_argument("--unbound", action="store_true")
    given = parser.parse_args()
    guided = given.what == "contracts"
    names = CONTRACTS if guided else MEM0
    lines = asyncio.run(record(names, given.model, guided=guided, bound=not given.unbound))
    given.path.write_text("".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines), encoding="utf-8")


if __name__ == "__main__":
    main()
