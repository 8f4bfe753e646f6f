"""What the conformance kit feeds a memory: invented turns, offline ports, ports that fail."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Literal

import numpy as np

from mnemoscope.core.errors import EndpointError
from mnemoscope.core.identity import SessionId, TurnId, derive_seed
from mnemoscope.core.ports import Completion, Embedder, Message, Vectors
from mnemoscope.core.usage import Phase, Usage
from mnemoscope.graphs.backend import Ports
from mnemoscope.graphs.conformance.twin_model import TwinModel
from mnemoscope.graphs.traces import NullTrace
from mnemoscope.memory_backends.embedders.hashing import HashEmbedder
from mnemoscope.scenarios.records import Gold, Role, Turn

__all__ = [
    "MAY",
    "CountingIds",
    "FailingEmbedder",
    "MalformedModel",
    "OneGold",
    "chat",
    "conformance_ports",
    "say",
]

MAY = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)

_SUBJECTS = ("the harbour", "a violin", "her cousin", "the allotment", "a new recipe", "the marathon", "an old map")
_VERBS = ("painted", "repaired", "visited", "forgot", "described", "photographed", "borrowed", "measured")


def say(
    number: int,
    text: str,
    *,
    speaker: str = "Amy",
    session: str = "s1",
    at: datetime | None = None,
    role: Role = "peer",
    caption: str | None = None,
) -> Turn:
    """A turn with id `t<number>` and that index; without a time it comes `number` minutes after a day in May."""
    return Turn(
        turn_id=TurnId(f"t{number}"),
        session_id=SessionId(session),
        index=number,
        speaker=speaker,
        role=role,
        text=text,
        caption=caption,
        at=MAY + timedelta(minutes=number) if at is None else at,
    )


def chat(length: int, *, per_session: int = 7, canary: str = "") -> tuple[Turn, ...]:
    """An invented history of two people, all of its turns different."""
    return tuple(
        say(
            number,
            f"I {_VERBS[number % 8]} {_SUBJECTS[number % 7]} on trip {number}{canary and f' {canary}'}.",
            speaker=("Amy", "Bo")[number % 2],
            session=f"s{number // per_session}",
            at=MAY + timedelta(days=number // per_session, minutes=number % per_session),
        )
        for number in range(length)
    )


@dataclass(slots=True)
class CountingIds:
    """Ids that count up by kind."""

    _seen: Counter[str] = field(default_factory=Counter)

    def next(self, kind: str, content: str) -> str:
        """A new id that no earlier call of this object returned."""
        self._seen[kind] += 1
        return f"{kind}-{self._seen[kind]}"


@dataclass(slots=True)
class OneGold:
    """A gold view that says of every probe what the row in hand expects."""

    current: Gold = field(default_factory=Gold)

    def gold(self, probe_id: str) -> Gold:
        """What the row expects to be found."""
        return self.current


def conformance_ports() -> Ports:
    """Offline ports: hashed embeddings of 64 dimensions, seeded chance, a model that answers contracts by rule."""
    return Ports(
        ids=CountingIds(),
        rng=np.random.default_rng(derive_seed("conformance")),
        trace=NullTrace(),
        embedder=HashEmbedder(64),
        model=TwinModel(),
    )


class FailingEmbedder:
    """An embedder whose endpoint fails once.

    Args:
        inner: Answers all other calls.
        fail_on: Number of the call that fails, from 1.
    """

    def __init__(self, inner: Embedder, fail_on: int) -> None:
        self._inner, self._fail_on, self.calls = inner, fail_on, 0

    @property
    def id(self) -> str:
        """The inner embedder's id."""
        return self._inner.id

    @property
    def dim(self) -> int:
        """The inner embedder's dimension."""
        return self._inner.dim

    async def embed(self, texts: Sequence[str], purpose: Literal["document", "query"]) -> Vectors:
        """The inner embedder's vectors, or `EndpointError`."""
        self.calls += 1
        if self.calls == self._fail_on:
            raise EndpointError("the embedding endpoint is down", cause="server", retryable=True)
        return await self._inner.embed(texts, purpose)

    def unknown_share(self, texts: Sequence[str]) -> float | None:
        """The inner embedder's share of unknown tokens."""
        return self._inner.unknown_share(texts)


class MalformedModel:
    """A model that never answers as asked."""

    key = "malformed-1"
    replies = (
        '```json\n{"a": 1}\n```',
        "Sure! Here it is: []",
        '{"a": 1,}',
        '[{"sources": [99]}]',
        "null",
        '["one", "two"]',
        "",
        "I cannot help with that.",
        "<think>hm</think>{}",
    )

    def __init__(self) -> None:
        self.calls = 0

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        phase: Phase,
        schema: Mapping[str, object] | None = None,
        max_tokens: int | None = None,
        replicate: int = 0,
    ) -> Completion:
        """The next malformed reply; the last of each round is cut off.

        Raises:
            EndpointError: The reply was cut off.
        """
        place = self.calls % (len(self.replies) + 1)
        self.calls += 1
        if place == len(self.replies):
            raise EndpointError("the reply was cut off", cause="truncated")
        text = self.replies[place]
        return Completion(text, Usage({phase: 1}), self.key)
