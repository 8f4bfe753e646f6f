"""Streamed replies: the same reply as in one piece, with the time to its first token."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest
from endpoint_stub import USAGE, Answer, always, chat, error

from mnemoscope.agents.gateway import GatewayModel
from mnemoscope.core.errors import EndpointError
from mnemoscope.core.ports import Message

ASK = [Message("user", "Who has a cat?")]


def streamed(
    *deltas: dict[str, object], finish: str | None = "stop", usage: object = USAGE, done: bool = True
) -> Answer:
    def piece(**fields: object) -> str:
        head = {"id": "c1", "object": "chat.completion.chunk", "created": 0, "model": "stub-1"}
        return f"data: {json.dumps({**head, **fields})}\n\n"

    parts = [piece(choices=[{"index": 0, "delta": delta, "finish_reason": None}]) for delta in deltas]
    if finish:
        parts.append(piece(choices=[{"index": 0, "delta": {}, "finish_reason": finish}]))
    if usage is not None:
        parts.append(piece(choices=[], usage=usage))
    if done:
        parts.append("data: [DONE]\n\n")
    return Answer(raw="".join(parts).encode(), headers={"content-type": "text/event-stream"})


WORDS = tuple({"role": "assistant", "content": text} for text in ("To", "masz has ", "Pixel."))


@pytest.fixture
def ticking(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A monotonic clock that moves by a second whenever it is read."""
    seconds = count(1.0)
    made = GatewayModel.__init__

    def ticked(self: GatewayModel, *args: object, **kwargs: object) -> None:
        made(self, *args, **{**kwargs, "monotonic": lambda: next(seconds)})  # type: ignore[arg-type]

    monkeypatch.setattr(GatewayModel, "__init__", ticked)
    yield


async def test_a_streamed_reply_is_the_reply_and_says_when_it_began(
    serve: Callable, open_at: Callable, ticking: None
) -> None:
    stub = serve(always(streamed(*WORDS)))
    reply = await open_at(stub, stream="true").complete(ASK, phase="respond")
    assert (reply.text, reply.finish_reason, reply.model) == ("Tomasz has Pixel.", "stop", "stub-1")
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens, reply.usage.estimated_calls) == (11, 3, 0)
    assert reply.first_token_ms == 1000.0
    assert stub.bodies[0]["stream"] is True
    assert stub.bodies[0]["stream_options"] == {"include_usage": True}


async def test_without_streaming_nothing_is_said_of_the_first_token(serve: Callable, open_at: Callable) -> None:
    stub = serve(always(chat("Tomasz.")))
    assert (await open_at(stub).complete(ASK, phase="respond")).first_token_ms is None
    assert not stub.bodies[0].get("stream")


async def test_a_cached_reply_is_the_same_and_has_no_time(serve: Callable, open_at: Callable, tmp_path: Path) -> None:
    stub = serve(always(streamed(*WORDS)))
    first = await open_at(stub, cache=tmp_path, stream="true").complete(ASK, phase="respond")
    again = await open_at(stub, cache=tmp_path).complete(ASK, phase="respond")
    assert first.first_token_ms is not None
    assert (again.text, again.cached, again.first_token_ms) == (first.text, True, None)
    assert len(stub.bodies) == 1


async def test_reasoning_and_refusals_are_kept_apart(serve: Callable, open_at: Callable) -> None:
    stub = serve(always(streamed({"reasoning_content": "who "}, {"reasoning_content": "has it"}, *WORDS)))
    reply = await open_at(stub, stream="true").complete(ASK, phase="respond")
    assert (reply.text, reply.hidden) == ("Tomasz has Pixel.", "who has it")
    refusing = serve(always(streamed({"role": "assistant", "refusal": "I cannot "}, {"refusal": "say."})))
    refused = await open_at(refusing, stream="true").complete(ASK, phase="respond")
    assert (refused.text, refused.finish_reason) == ("I cannot say.", "refusal")


async def test_usage_that_the_stream_lacks_is_an_estimate(serve: Callable, open_at: Callable) -> None:
    stub = serve(always(streamed(*WORDS, usage=None)))
    reply = await open_at(stub, stream="true").complete(ASK, phase="respond")
    assert reply.usage.estimated_calls == 1
    assert reply.usage.completion_tokens > 0


@pytest.mark.parametrize("done", [True, False])
async def test_a_stream_that_ends_too_early_is_never_a_shorter_reply(
    serve: Callable, open_at: Callable, done: bool
) -> None:
    stub = serve(always(streamed(WORDS[0], finish=None, usage=None, done=done)))
    with pytest.raises(EndpointError) as failed:
        await open_at(stub, stream="true", retries=1).complete(ASK, phase="respond")
    assert (failed.value.cause, failed.value.retryable) == ("malformed", True)
    assert len(stub.bodies) == 2


async def test_a_connection_cut_in_the_stream_is_tried_again(serve: Callable, open_at: Callable) -> None:
    whole = streamed(*WORDS)
    cut = Answer(raw=whole.raw, headers=whole.headers, cut=True)
    stub = serve(lambda body, number: cut if number == 1 else whole)
    reply = await open_at(stub, stream="true").complete(ASK, phase="respond")
    assert reply.text == "Tomasz has Pixel."


@pytest.mark.parametrize(
    ("refuse", "message", "left"),
    [
        ("stream_options", "Unknown parameter: 'stream_options'", {"stream"}),
        ("stream", "streaming is not supported by this model", set()),
    ],
)
async def test_an_endpoint_that_cannot_stream_is_asked_as_it_can(
    serve: Callable, open_at: Callable, refuse: str, message: str, left: set[str]
) -> None:
    def behaviour(body: dict, number: int) -> Answer:
        if body.get(refuse):
            return error(400, message)
        return streamed(*WORDS, usage=None) if body.get("stream") else chat("Tomasz has Pixel.")

    stub = serve(behaviour)
    model = open_at(stub, stream="true")
    assert (await model.complete(ASK, phase="respond")).text == "Tomasz has Pixel."
    assert {name for name, value in stub.bodies[-1].items() if name.startswith("stream") and value} == left
    await model.complete([Message("user", "And a kiln?")], phase="respond")
    assert {name for name, value in stub.bodies[-1].items() if name.startswith("stream") and value} == left, (
        "what was learned is remembered"
    )
