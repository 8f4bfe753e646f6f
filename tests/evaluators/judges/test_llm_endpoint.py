"""The model judge at a real endpoint on loopback: each step from schemas to plain words ends in a verdict."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from endpoint_stub import Answer as Sent
from endpoint_stub import EndpointStub, always, chat, error

from mnemoscope.agents.gateway import GatewayModel, open_model
from mnemoscope.evaluators.judges.asking import RAW_LIMIT, ask
from mnemoscope.evaluators.judges.judge import use_question
from mnemoscope.evaluators.judges.llm.judge import LlmJudge

USE = use_question("Your pottery class is on Thursday.", "Ayla's class is on Thursday.")
YES = {"reason": "said", "quote": "class is on Thursday", "verdict": "yes"}


async def no_time(seconds: float) -> None:
    pass


@asynccontextmanager
async def model_at(stub: EndpointStub, cache: Path | None = None) -> AsyncIterator[GatewayModel]:
    model = open_model(f"openai(model=tiny,base_url={stub.url},retries=1)", cache=cache, sleep=no_time)
    try:
        yield model
    finally:
        await model.close()


def method(body: dict) -> str:
    return str(body.get("response_format", {}).get("type", "plain"))


def knows(*methods: str) -> Callable[[dict, int], Sent]:
    """An endpoint that refuses other response formats and answers in the form that it was asked for."""

    def behave(body: dict, number: int) -> Sent:
        if method(body) not in methods:
            return error(400, f"response_format {method(body)} is not supported")
        return chat(json.dumps(YES) if method(body) != "plain" else f"Sure:\n```json\n{json.dumps(YES)}\n```")

    return behave


@pytest.mark.parametrize("known", [("json_schema",), ("json_object",), ("plain",)])
async def test_every_step_of_the_ladder_gives_the_verdict(serve: Callable, known: tuple[str, ...]) -> None:
    stub = serve(knows(*known))
    async with model_at(stub) as model:
        (answer,) = await LlmJudge(model).judge(USE)
    assert (answer.status, answer.label, answer.agreement) == ("scored", "used", 1.0)
    assert answer.quote == "class is on Thursday"
    assert method(stub.bodies[-1]) == known[0]
    if known == ("json_schema",):
        sent = stub.bodies[0]["response_format"]["json_schema"]
        assert sent["strict"] is True and sent["schema"]["required"] == ["reason", "quote", "verdict"]
        assert len(stub.bodies) == 3
    assert all(body["max_tokens"] >= 1024 for body in stub.bodies)
    assert answer.usage.calls_by_phase == {"judge": 3}


async def test_a_model_that_cannot_be_read_costs_few_requests(serve: Callable) -> None:
    """Plainer ways to ask are tried once for the endpoint; then each question is asked once, and once more."""
    stub = serve(always(chat("It is hard to say, one might argue either way. " * 4_000)))
    asked = []
    async with model_at(stub) as model:
        for votes, reply in ((1, "Thursday."), (1, "On Thursday."), (1, "Thursday, Ayla."), (3, "Friday.")):
            before = len(stub.bodies)
            (answer,) = await ask(LlmJudge(model, votes=votes), use_question(reply, "Ayla's class is on Thursday."))
            assert answer.status == "invalid" and not answer.label.startswith("judge-error:")
            assert len(answer.raw) <= RAW_LIMIT and "characters, sha256 " in answer.raw
            asked.append(len(stub.bodies) - before)
    assert asked == [4, 2, 2, 4]


async def test_a_way_to_ask_that_failed_once_does_not_stop_a_model_that_recovers(serve: Callable) -> None:
    stub = serve(lambda body, number: chat("Hm." if number <= 4 else json.dumps({**YES, "n": number})))
    async with model_at(stub) as model:
        judge = LlmJudge(model, votes=1)
        statuses = [(await judge.judge(use_question(f"{USE.reply} {n}", USE.facts[0].text)))[0].status for n in "ab"]
    assert statuses == ["invalid", "scored"]


async def test_equal_questions_are_paid_for_once(serve: Callable, tmp_path: Path) -> None:
    stub = serve(always(chat(json.dumps(YES))))
    for _ in range(2):
        async with model_at(stub, tmp_path) as model:
            (answer,) = await LlmJudge(model).judge(USE)
            assert answer.label == "used"
    assert len(stub.bodies) == 3
    assert answer.usage.cache_hits == 3


@pytest.mark.parametrize(
    ("sent", "label"),
    [
        (error(500, "broken"), "judge-error:server"),
        (error(401, "no such key"), "judge-error:auth"),
        (chat(None, finish="content_filter"), "judge-error:filtered"),
        (chat("", finish="length"), "judge-error:truncated"),
    ],
)
async def test_what_an_endpoint_fails_with_is_an_error_and_never_a_no(serve: Callable, sent: Sent, label: str) -> None:
    async with model_at(serve(always(sent))) as model:
        (answer,) = await LlmJudge(model, votes=1).judge(USE)
    assert (answer.status, answer.label, answer.score) == ("error", label, None)


async def test_thinking_is_not_a_verdict(serve: Callable) -> None:
    stub = serve(always(chat(f"<think>At first no.</think>{json.dumps(YES)}")))
    async with model_at(stub) as model:
        (answer,) = await LlmJudge(model, votes=1).judge(USE)
    assert (answer.label, "At first" in answer.raw) == ("used", False)
