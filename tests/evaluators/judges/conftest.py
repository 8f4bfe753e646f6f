"""A model that says what a test has it say, and the loopback endpoint of the gateway's tests."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from mnemoscope.core.ports import Completion, Message
from mnemoscope.core.usage import Usage

_PATH = Path(__file__).parents[2] / "agents" / "endpoint_stub.py"
_SPEC = importlib.util.spec_from_file_location("endpoint_stub", _PATH)
assert _SPEC is not None and _SPEC.loader is not None
endpoint_stub = sys.modules.get("endpoint_stub") or importlib.util.module_from_spec(_SPEC)
if "endpoint_stub" not in sys.modules:
    sys.modules["endpoint_stub"] = endpoint_stub
    _SPEC.loader.exec_module(endpoint_stub)


class ScriptedModel:
    """Gives one reply after the other; the last one stays. An exception in the queue is raised."""

    key = "scripted"

    def __init__(self, *queue: str | Completion | Exception | Mapping[str, object]) -> None:
        self.queue = list(queue)
        self.prompts: list[str] = []
        self.calls: list[dict] = []

    async def complete(self, messages: Sequence[Message], **asked: object) -> Completion:
        self.prompts.append("\n".join(message.content for message in messages))
        self.calls.append(asked)
        said = self.queue[min(len(self.calls), len(self.queue)) - 1]
        if isinstance(said, Exception):
            raise said
        if isinstance(said, Completion):
            return said
        text = said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)
        return Completion(text, Usage({"judge": 1}, 10, 2), "scripted", "stop")


@pytest.fixture
def scripted() -> Callable[..., ScriptedModel]:
    return ScriptedModel


@pytest.fixture
def serve() -> Iterator[Callable]:
    """Start a stub endpoint with a behaviour; it stops at the end of the test."""
    with ExitStack() as stack:
        yield lambda behaviour: stack.enter_context(endpoint_stub.EndpointStub(behaviour).running())
