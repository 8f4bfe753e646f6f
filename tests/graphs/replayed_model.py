"""A model that gives back recorded replies: what `llm` modes are tested with where the prompts are somebody else's."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mnemoscope.core.errors import EndpointError
from mnemoscope.core.identity import sha256_of
from mnemoscope.core.ports import Completion, Message
from mnemoscope.core.usage import Phase, Usage


def request_of(messages: Sequence[Message]) -> str:
    """What a recorded reply is found by: the hash of all that is said to the model but its standing instructions."""
    return sha256_of("\0".join(message.content for message in messages if message.role != "system"))


class ReplayedModel:
    """Recorded replies from a file with one `{"request": …, "reply": …}` per line; an unknown request is a failure."""

    key = "replayed-1"

    def __init__(self, path: Path) -> None:
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        self._replies = {row["request"]: row["reply"] for row in rows}

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
        if request not in self._replies:
            raise EndpointError(f"no recorded reply to request {request}", cause="refused")
        return Completion(self._replies[request], Usage({phase: 1}), self.key)


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
