"""Models that give back what a real one replied, and one that follows a script."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from mnemoscope.core.errors import EndpointError
from mnemoscope.core.identity import sha256_of
from mnemoscope.core.ports import Completion, Message
from mnemoscope.core.usage import Phase, Usage
from mnemoscope.graphs.contracts.asking import in_hand
from mnemoscope.graphs.contracts.contract import Contract


def request_of(messages: Sequence[Message]) -> str:
    """What a recorded reply is found by: the hash of all that is said to the model but its standing instructions."""
    return sha256_of("\0".join(message.content for message in messages if message.role != "system"))


class Recording(NamedTuple):
    """What a model replied to one request, as `tests/graphs/recording.py` wrote it down."""

    contract: str
    """Name and version of the contract that was asked, with the hash of its prompt and schema."""
    prompt: str
    """Hash of the standing instructions and the schema that were sent."""
    request: str
    """Hash of all else that was sent."""
    reply: str | None
    """None where there is a failure."""
    failure: str | None
    """Cause of the endpoint's failure, `truncated` for a reply that had no end."""

    @property
    def name(self) -> str:
        """The contract's name."""
        return self.contract.partition("@")[0]

    def said(self, phase: Phase, key: str) -> Completion:
        """The reply once more, or its failure."""
        if self.reply is None:
            raise EndpointError("recorded failure", cause=self.failure or "")
        return Completion(self.reply, Usage({phase: 1}), key)


def recordings(path: Path) -> tuple[Mapping[str, object], tuple[Recording, ...]]:
    """A file of recordings: which model with which weights, and what it replied."""
    first, *lines = path.read_text(encoding="utf-8").splitlines()
    return json.loads(first), tuple(Recording(**json.loads(line)) for line in lines)


class ReplayedModel:
    """Gives the reply that was recorded for the very same request; an unknown one is a failure."""

    key = "replayed-1"

    def __init__(self, path: Path) -> None:
        self._recorded = {one.request: one for one in recordings(path)[1]}

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        phase: Phase,
        schema: Mapping[str, object] | None = None,
        max_tokens: int | None = None,
        replicate: int = 0,
    ) -> Completion:
        request = request_of(messages)
        if request not in self._recorded:
            raise EndpointError(f"no recorded reply to request {request}", cause="refused")
        return self._recorded[request].said(phase, self.key)


class RecitingModel:
    """Answers each contract with what was recorded for it, in turn, whatever it is about: as an absent-minded model."""

    key = "reciting-1"

    def __init__(self, path: Path) -> None:
        self._recorded: dict[str, list[Recording]] = defaultdict(list)
        for one in recordings(path)[1]:
            self._recorded[one.name].append(one)
        self.asked: list[tuple[Contract[Any, Any], Any, Recording]] = []
        """Contract, inputs and what was replied."""

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        phase: Phase,
        schema: Mapping[str, object] | None = None,
        max_tokens: int | None = None,
        replicate: int = 0,
    ) -> Completion:
        asked = in_hand()
        assert asked is not None, "only contracts are recorded"
        contract, given = asked
        known = self._recorded[contract.name]
        if not known:
            raise EndpointError(f"nothing is recorded for {contract.name}; see recording.py", cause="refused")
        one = known[sum(before.name == contract.name for before, _, _ in self.asked) % len(known)]
        self.asked.append((contract, given, one))
        return one.said(phase, self.key)


@dataclass
class ScriptedModel:
    """Says its lines one after the other, the last one for ever; raises those that are errors."""

    lines: Sequence[str | Exception]
    key: str = "scripted-1"
    prompts: list[str] = field(default_factory=list)
    """The last message of every request."""

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        phase: Phase,
        schema: Mapping[str, object] | None = None,
        max_tokens: int | None = None,
        replicate: int = 0,
    ) -> Completion:
        line = self.lines[min(len(self.prompts), len(self.lines) - 1)]
        self.prompts.append(messages[-1].content)
        if isinstance(line, Exception):
            raise line
        return Completion(line, Usage({phase: 1}, prompt_tokens=9, completion_tokens=4), self.key)
