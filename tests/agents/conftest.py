"""Fixtures of the agents' tests: a loopback endpoint, and models that wait without taking time."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

import pytest

_PATH = Path(__file__).with_name("endpoint_stub.py")
_SPEC = importlib.util.spec_from_file_location("endpoint_stub", _PATH)
assert _SPEC is not None and _SPEC.loader is not None
endpoint_stub = importlib.util.module_from_spec(_SPEC)
sys.modules["endpoint_stub"] = endpoint_stub
_SPEC.loader.exec_module(endpoint_stub)


NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


class FixedClock:
    """A clock that stands still, so that dates in headers are exact."""

    def now(self) -> datetime:
        return NOW


@pytest.fixture
def serve() -> Iterator[Callable]:
    """Start a stub with a behaviour; it stops at the end of the test."""
    with ExitStack() as stack:
        yield lambda behaviour: stack.enter_context(endpoint_stub.EndpointStub(behaviour).running())


@pytest.fixture
def waits() -> list[float]:
    """Every pause that a model asked for."""
    return []


@pytest.fixture
async def open_at(waits: list[float], monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Callable]:
    """Open a model at a stub, with pauses that take no time; all are closed at the end of the test."""
    from mnemoscope.agents.gateway import GatewayModel, open_model

    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    opened: list[GatewayModel] = []

    async def no_time(seconds: float) -> None:
        waits.append(seconds)

    def open_at(stub: object, *, cache: Path | None = None, **settings: object) -> GatewayModel:
        written = "".join(f",{name}={value}" for name, value in settings.items())
        model = open_model(
            f"openai(model=tiny,base_url={stub.url}{written})", cache=cache, sleep=no_time, clock=FixedClock()
        )
        opened.append(model)
        return model

    yield open_at
    for model in opened:
        await model.close()
