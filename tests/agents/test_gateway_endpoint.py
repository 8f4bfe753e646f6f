"""The gateway against an endpoint that fails in every known way."""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
import os
from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import format_datetime
from pathlib import Path

import pytest
from endpoint_stub import (
    Answer,
    always,
    chat,
    error,
    forbid_max_completion,
    in_turn,
    require_max_completion,
    strict_roles,
)

from mnemoscope.core.errors import EndpointError
from mnemoscope.core.ports import LanguageModel, Message
from mnemoscope.core.structured import read_structured
from mnemoscope.core.usage import Usage

ASK = [Message("user", "What is the cat called?")]
YES_NO = {
    "type": "object",
    "properties": {"verdict": {"type": "boolean"}},
    "required": ["verdict"],
    "additionalProperties": False,
}


async def test_a_reply_with_its_usage_and_the_request_as_documented(serve: Callable, open_at: Callable) -> None:
    counted = {
        "prompt_tokens": 100,
        "completion_tokens": 7,
        "prompt_tokens_details": {"cached_tokens": 60},
        "completion_tokens_details": None,
    }
    stub = serve(always(chat("Pixel", usage=counted)))
    model = open_at(stub, temperature=0.6, seed=5)
    assert isinstance(model, LanguageModel)
    completion = await model.complete(ASK, phase="respond", max_tokens=64, replicate=2)
    assert (completion.text, completion.model, completion.finish_reason) == ("Pixel", "stub-1", "stop")
    assert completion.usage == Usage({"respond": 1}, 100, 7, cached_tokens=60)
    body = stub.bodies[0]
    assert body["messages"] == [{"role": "user", "content": "What is the cat called?"}]
    assert (body["model"], body["temperature"], body["max_tokens"], body["seed"]) == ("tiny", 0.6, 64, 7)
    assert "max_completion_tokens" not in body
    assert stub.paths == ["/v1/chat/completions"]


async def test_usage_that_is_not_reported_is_an_estimate_and_says_so(serve: Callable, open_at: Callable) -> None:
    stub = serve(in_turn(chat("Pixel", usage=None), chat("Pixel", usage={"prompt_tokens": None})))
    model = open_at(stub)
    for replicate in (0, 1):
        usage = (await model.complete(ASK, phase="judge", replicate=replicate)).usage
        assert usage.estimated_calls == 1
        assert usage.prompt_tokens == 6 + 4
        assert usage.completion_tokens == 2


@pytest.mark.parametrize(
    ("answer", "cause", "tries"),
    [
        (error(429, "slow down"), "rate_limit", 3),
        (error(500, "oops"), "server", 3),
        (error(503, "busy"), "server", 3),
        (error(408, "late"), "timeout", 3),
        (Answer(raw=b'{"choices": [{"mess'), "malformed", 3),
        (Answer(raw=b"<html>proxy page</html>"), "malformed", 3),
        (Answer(body={"object": "chat.completion", "choices": []}), "malformed", 3),
        (Answer(body={"object": "chat.completion", "choices": None}), "malformed", 3),
        (Answer(body={"answer": "Pixel"}), "malformed", 3),
        (chat(""), "malformed", 3),
        (chat(None), "malformed", 3),
        (chat("half a reply", finish="content_filter"), "filtered", 1),
        (error(400, "The response was filtered", "content_filter"), "filtered", 1),
        (error(401, "Incorrect API key provided"), "auth", 1),
        (error(402, "Payment required"), "auth", 1),
        (error(403, "Forbidden"), "auth", 1),
        (error(429, "You exceeded your current quota", "insufficient_quota"), "auth", 1),
        (error(404, "The model `nope` does not exist"), "refused", 1),
        (error(400, "request (15031 tokens) exceeds", "exceed_context_size_error"), "context", 1),
        (error(400, "This model's maximum context length is 2048 tokens"), "context", 1),
        (Answer(raw=b'{"id": "c1", "object": "chat.comp', cut=True), "connection", 3),
    ],
)
async def test_every_failure_has_one_cause_and_only_what_may_heal_is_repeated(
    serve: Callable, open_at: Callable, waits: list[float], answer: Answer, cause: str, tries: int
) -> None:
    stub = serve(always(answer))
    with pytest.raises(EndpointError) as caught:
        await open_at(stub, retries=2).complete(ASK, phase="respond")
    assert caught.value.cause == cause
    assert len(stub.bodies) == tries
    assert len(waits) == tries - 1
    assert caught.value.__cause__ is None and caught.value.__context__ is None
    assert "127.0.0.1" in str(caught.value) or "tiny" in str(caught.value)


async def test_pauses_grow_and_are_the_same_in_every_run(
    serve: Callable, open_at: Callable, waits: list[float]
) -> None:
    stub = serve(always(error(500, "oops")))
    for _ in range(2):
        with pytest.raises(EndpointError):
            await open_at(stub, retries=4).complete(ASK, phase="respond")
    assert waits[:4] == waits[4:]
    for number, pause in enumerate(waits[:4], start=1):
        assert 0.25 * 2**number <= pause <= 0.5 * 2**number


async def test_an_answer_that_never_comes_is_a_timeout(serve: Callable, open_at: Callable) -> None:
    stub = serve(always(Answer(hang=0.6, body={})))
    with pytest.raises(EndpointError, match=r"no answer within 0\.1 s") as caught:
        await open_at(stub, timeout=0.1, retries=1).complete(ASK, phase="respond")
    assert caught.value.cause == "timeout"
    assert len(stub.bodies) == 2


async def test_nobody_listening_is_said_as_such(serve: Callable, open_at: Callable) -> None:
    stub = serve(always(chat("Pixel")))
    stub.url = "http://127.0.0.1:9/v1"
    with pytest.raises(EndpointError, match="is the server running") as caught:
        await open_at(stub, retries=0).complete(ASK, phase="respond")
    assert caught.value.cause == "connection"


async def test_a_wait_that_the_server_asks_for_is_kept_and_shown(
    serve: Callable, open_at: Callable, waits: list[float], caplog: pytest.LogCaptureFixture
) -> None:
    later = format_datetime(datetime(2026, 3, 1, 12, 0, 30, tzinfo=UTC), usegmt=True)
    stub = serve(
        in_turn(
            error(429, "slow down", Retry_After="2"),
            error(503, "busy", Retry_After=later),
            error(429, "slow down", Retry_After="soon"),
            chat("Pixel"),
        )
    )
    completion = await open_at(stub).complete(ASK, phase="respond")
    assert completion.text == "Pixel"
    assert 2.0 <= waits[0] <= 2.2
    assert 30.0 <= waits[1] <= 33.0
    assert waits[2] <= 4.0
    assert "asked by the server before try 2" in caplog.text


async def test_a_wait_above_the_limit_fails_at_once_and_says_how_long(
    serve: Callable, open_at: Callable, waits: list[float]
) -> None:
    stub = serve(always(error(429, "slow down", Retry_After="120")))
    with pytest.raises(EndpointError, match=r"asked to wait 120 s, above the limit of 60 s") as caught:
        await open_at(stub).complete(ASK, phase="respond")
    assert (caught.value.cause, caught.value.retry_after, caught.value.retryable) == ("rate_limit", 120.0, True)
    assert len(stub.bodies) == 1
    assert waits == []


@pytest.mark.parametrize(
    ("behaviour", "field"), [(forbid_max_completion, "max_tokens"), (require_max_completion, "max_completion_tokens")]
)
async def test_the_limit_goes_under_the_name_that_the_endpoint_knows(
    serve: Callable, open_at: Callable, tmp_path: Path, behaviour: Callable, field: str
) -> None:
    stub = serve(behaviour)
    model = open_at(stub, cache=tmp_path)
    replies = await asyncio.gather(
        *(model.complete(ASK, phase="respond", replicate=i, max_tokens=64) for i in range(6))
    )
    assert [reply.text for reply in replies] == ["Pixel"] * 6
    other = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}[field]
    assert sum(other in body for body in stub.bodies) <= 1
    assert sum(body.get(field) == 64 for body in stub.bodies) == 6
    assert model.describe()["limit_field"] == field
    seen = len(stub.bodies)
    await open_at(stub, cache=tmp_path).complete(ASK, phase="respond", replicate=9, max_tokens=64)
    assert [field in body for body in stub.bodies[seen:]] == [True]


async def test_a_limit_that_is_ignored_is_noticed_and_the_reply_is_cut(
    serve: Callable, open_at: Callable, caplog: pytest.LogCaptureFixture
) -> None:
    stub = serve(always(chat("word " * 5000, usage=None)))
    model = open_at(stub)
    for replicate in range(3):
        completion = await model.complete(ASK, phase="respond", max_tokens=64, replicate=replicate)
        assert completion.text.startswith("word word") and completion.text.endswith("word…")
        assert len(completion.text) <= 64 * 4 + 1
        assert completion.finish_reason == "length"
        assert completion.usage.completion_tokens == 6250
    assert model.describe()["limit_ignored"] == ["max_completion_tokens", "max_tokens"]
    assert "ignores max_tokens=64" in caplog.text


async def test_parameters_that_the_endpoint_refuses_are_left_out(serve: Callable, open_at: Callable) -> None:
    def only_default(body: dict, number: int) -> Answer:
        if "temperature" in body:
            return error(400, "Unsupported value: 'temperature' does not support 0.0 with this model. Only the default")
        return chat("Pixel")

    stub = serve(only_default)
    model = open_at(stub)
    assert (await model.complete(ASK, phase="respond")).text == "Pixel"
    assert (await model.complete(ASK, phase="respond", replicate=1)).text == "Pixel"
    assert len(stub.bodies) == 3
    assert model.describe()["left_out"] == ["temperature"]


STRUCTURED = {
    "fence": ('```json\n{"verdict": true}\n```', True),
    "think": ('<think>maybe no {"verdict": false}</think>\n{"verdict": true}', True),
    "pydict": ("{'verdict': True}", True),
    "strbool": ('{"verdict": "false"}', False),
    "prose": ("Sure! The assistant remembered it, so: yes.", None),
}


@pytest.mark.parametrize("mode", STRUCTURED)
async def test_structured_replies_are_read_the_same_every_time(serve: Callable, open_at: Callable, mode: str) -> None:
    text, verdict = STRUCTURED[mode]
    model = open_at(serve(always(chat(text))))
    for replicate in range(2):
        completion = await model.complete(ASK, phase="judge", schema=YES_NO, replicate=replicate)
        read = read_structured(completion.text, YES_NO)
        assert (read.value or {}).get("verdict") is verdict
        assert (read.problem is None) == (verdict is not None)


@pytest.mark.parametrize("text", ["", '{"verdict": tr'])
async def test_a_structured_reply_that_was_cut_off_fails_after_one_wider_try(
    serve: Callable, open_at: Callable, text: str
) -> None:
    stub = serve(always(chat(text, finish="length")))
    with pytest.raises(EndpointError, match="cut off at 128 tokens") as caught:
        await open_at(stub).complete(ASK, phase="judge", schema=YES_NO, max_tokens=64)
    assert caught.value.cause == "truncated"
    assert [body["max_tokens"] for body in stub.bodies] == [64, 128]


def _no_schema(body: dict, number: int) -> Answer:
    if body.get("response_format", {}).get("type") == "json_schema":
        return error(400, "'response_format' of type 'json_schema' is not supported with this model")
    return chat('{"verdict": true}')


def _no_structure(body: dict, number: int) -> Answer:
    if "response_format" in body:
        return error(422, "Extra inputs are not permitted: response_format")
    return chat('{"verdict": true}')


def _ignores_structure(body: dict, number: int) -> Answer:
    return chat('{"verdict": true}' if "JSON Schema" in body["messages"][-1]["content"] else "Yes, it did.")


@pytest.mark.parametrize(
    ("behaviour", "method"),
    [(_no_schema, "json_object"), (_no_structure, "plain"), (_ignores_structure, "json_object")],
)
async def test_structure_is_asked_for_in_the_best_way_that_the_endpoint_takes(
    serve: Callable, open_at: Callable, behaviour: Callable, method: str
) -> None:
    stub = serve(behaviour)
    model = open_at(stub)
    await model.complete([Message("user", "hi")], phase="respond")
    replies = await asyncio.gather(*(model.complete(ASK, phase="judge", schema=YES_NO, replicate=i) for i in range(4)))
    assert all(read_structured(reply.text, YES_NO).value == {"verdict": True} for reply in replies)
    assert model.describe()["schema_method"] == method
    seen = len(stub.bodies)
    await model.complete(ASK, phase="judge", schema=YES_NO, replicate=9)
    assert len(stub.bodies) == seen + 1


async def test_every_call_behind_one_reply_is_counted(serve: Callable, open_at: Callable) -> None:
    model = open_at(serve(_ignores_structure))
    usage = (await model.complete(ASK, phase="judge", schema=YES_NO)).usage
    assert usage == Usage({"judge": 2}, 22, 6)


async def test_a_failure_says_what_was_spent_on_it(serve: Callable, open_at: Callable) -> None:
    held_back = chat("half", finish="content_filter")
    with pytest.raises(EndpointError, match="content filter") as failed:
        await open_at(serve(always(held_back))).complete(ASK, phase="respond")
    assert failed.value.usage == Usage({"respond": 1}, 11, 3)


async def test_a_schema_that_strict_decoding_cannot_take_is_not_sent_as_strict(
    serve: Callable, open_at: Callable
) -> None:
    stub = serve(always(chat('{"verdict": true}')))
    model = open_at(stub)
    await model.complete(ASK, phase="judge", schema=YES_NO)
    await model.complete(ASK, phase="judge", schema={**YES_NO, "required": []})
    assert [body["response_format"]["json_schema"]["strict"] for body in stub.bodies] == [True, False]


async def test_a_refusal_is_a_reply_but_never_a_structured_one(serve: Callable, open_at: Callable) -> None:
    model = open_at(serve(always(chat(None, refusal="I cannot help with that."))))
    completion = await model.complete(ASK, phase="respond")
    assert (completion.text, completion.finish_reason) == ("I cannot help with that.", "refusal")
    with pytest.raises(EndpointError) as caught:
        await model.complete(ASK, phase="judge", schema=YES_NO)
    assert (caught.value.cause, caught.value.retryable) == ("refused", False)


async def test_reasoning_stays_out_of_the_visible_reply(serve: Callable, open_at: Callable) -> None:
    model = open_at(
        serve(in_turn(chat("<think>the cat</think>\n\nPixel."), chat("Pixel.", reasoning_content="the cat")))
    )
    for replicate in (0, 1):
        completion = await model.complete(ASK, phase="respond", replicate=replicate)
        assert (completion.text, completion.hidden) == ("Pixel.", "the cat")


async def test_strict_chat_templates_are_satisfied_and_no_word_is_lost(
    serve: Callable, open_at: Callable, case_dir: Callable[[str], Path]
) -> None:
    expected = json.loads((case_dir("SP-01") / "expected.json").read_text(encoding="utf-8"))
    scenario = json.loads((case_dir("SP-01") / "scenario.json").read_text(encoding="utf-8"))[0]
    turns = scenario["conversation"]["session_1"]
    messages = [Message("system", "Be brief."), Message("system", "Times are the conversation's.")]
    for turn in turns:
        role = "user" if turn["speaker"] == "Mira" else "assistant"
        messages.append(Message(role, f"{turn['speaker']}: {turn['text']}"))
    messages += [Message("system", "Now answer."), Message("user", scenario["qa"][0]["question"])]
    stub = serve(strict_roles)
    assert (await open_at(stub).complete(messages, phase="respond")).text == "Tomasz."
    sent = stub.bodies[0]["messages"]
    assert [message["role"] for message in sent] == ["system", "user", "assistant", "user"]
    whole = "\n".join(message["content"] for message in sent)
    assert all(message.content in whole for message in messages)
    assert all(f"{name}: " in whole for name in expected["names_in_text"])


@pytest.mark.parametrize(
    "messages",
    [
        [Message("assistant", "Hello."), Message("user", "Who?")],
        [Message("system", "Only this.")],
        [Message("user", "a"), Message("user", "b"), Message("assistant", "c"), Message("assistant", "d")],
    ],
)
async def test_odd_openings_are_accepted_too(serve: Callable, open_at: Callable, messages: list[Message]) -> None:
    assert (await open_at(serve(strict_roles)).complete(messages, phase="respond")).text == "Tomasz."


async def test_dialogue_with_template_marks_arrives_byte_for_byte(
    serve: Callable, open_at: Callable, case_dir: Callable[[str], Path]
) -> None:
    turns = json.loads((case_dir("GR-06") / "scenario.json").read_text(encoding="utf-8"))[0]["conversation"][
        "session_1"
    ]
    stub = serve(always(chat("dark")))
    model = open_at(stub)
    for turn in turns:
        await model.complete([Message("user", turn["text"])], phase="respond")
    assert [body["messages"][0]["content"] for body in stub.bodies] == [turn["text"] for turn in turns]


async def test_a_lone_surrogate_does_not_stop_the_call(serve: Callable, open_at: Callable) -> None:
    stub = serve(always(chat("ok")))
    await open_at(stub).complete([Message("user", "cut \ud83d here")], phase="respond")
    assert stub.bodies[0]["messages"][0]["content"] == "cut ? here"


async def test_calls_in_flight_stay_below_the_limit(serve: Callable, open_at: Callable) -> None:
    stub = serve(lambda body, number: Answer(body=chat("ok").body, hang=0.02))
    model = open_at(stub, concurrency=3)
    await asyncio.gather(*(model.complete(ASK, phase="respond", replicate=i) for i in range(12)))
    assert len(stub.bodies) == 12
    assert 2 <= stub.most_in_flight <= 3


async def test_a_proxy_of_the_shell_is_not_used_for_this_machine(
    serve: Callable, open_at: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert (await open_at(serve(always(chat("ok")))).complete(ASK, phase="respond")).text == "ok"


async def test_tracing_that_the_shell_asks_for_stays_off(
    serve: Callable, open_at: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    from langsmith.utils import tracing_is_enabled

    for name in ("LANGSMITH_TRACING", "LANGCHAIN_TRACING_V2", "LANGSMITH_TRACING_V2", "LANGCHAIN_TRACING"):
        monkeypatch.setenv(name, "true")
    await open_at(serve(always(chat("ok")))).complete(ASK, phase="respond")
    assert os.environ["LANGSMITH_TRACING"] == "false"
    assert not tracing_is_enabled()


def test_one_model_works_in_several_event_loops(serve: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    from mnemoscope.agents.gateway import open_model

    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    stub = serve(always(chat("ok")))
    model = open_model(f"openai(model=tiny,base_url={stub.url})", cache=None)

    async def once(replicate: int) -> str:
        try:
            return (await model.complete(ASK, phase="respond", replicate=replicate)).text
        finally:
            await model.close()

    assert [asyncio.run(once(replicate)) for replicate in range(2)] == ["ok", "ok"]


KEY = "sk-test-NOTREAL-4f9c1d7b2a"
CANARIES = (KEY, "c2stdGVzdC1OT1RSRUFMLTRmOWMxZDdiMmE", "NOTREAL-4f9c1d7b2a", "4f9c1d7b2a")


def _contents(folder: Path) -> list[str]:
    files = [path.read_bytes().decode(errors="replace") for path in folder.iterdir()]
    assert files
    return files


@pytest.mark.parametrize(
    "answer",
    [
        chat("Pixel"),
        chat(f"Your header was Bearer {KEY}, in short c2stdGVzdC1OT1RSRUFMLTRmOWMxZDdiMmE="),
        error(401, f"Incorrect API key provided: {KEY}. Authorization: Bearer {KEY}"),
        error(500, f"upstream http://user:{KEY}@10.0.0.1/ failed"),
        Answer(raw=f"<html>{KEY}</html>".encode()),
        Answer(hang=0.3, body={}),
    ],
)
async def test_no_secret_is_written_anywhere(
    serve: Callable,
    waits: list[float],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
    case_dir: Callable[[str], Path],
    answer: Answer,
) -> None:
    import traceback

    from mnemoscope.agents.gateway import open_model

    config = dict(
        line.split("=", 1) for line in (case_dir("SC-04") / "config.env").read_text(encoding="utf-8").splitlines()
    )
    assert config["OPENAI_API_KEY"] == KEY
    turn = json.loads((case_dir("SC-04") / "scenario.json").read_text(encoding="utf-8"))
    said = turn[0]["conversation"]["session_1"][0]["text"]
    stub = serve(always(answer))
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", config["OPENAI_BASE_URL"].replace(":8765", f":{stub.port}"))
    caplog.set_level(logging.DEBUG)
    logging.getLogger("openai").setLevel(logging.NOTSET)

    async def no_time(seconds: float) -> None:
        waits.append(seconds)

    model = open_model("tiny", cache=tmp_path, sleep=no_time)
    object.__setattr__(model.settings, "timeout", 0.1 if answer.hang else 5.0)
    written = [model.key, repr(model.settings), json.dumps(model.describe())]
    try:
        written.append(repr(await model.complete([Message("user", said)], phase="respond")))
    except EndpointError as problem:
        written += [str(problem), repr(problem), "".join(traceback.format_exception(problem))]
    await model.close()
    written += [caplog.text, *capfd.readouterr()]
    written += _contents(tmp_path)
    shown_hint = "set (…7b2a)"
    assert shown_hint in json.dumps(model.describe(), ensure_ascii=False)
    for text, canary in itertools.product(written, CANARIES):
        assert canary not in text
    assert stub.bodies[0]["messages"][0]["content"] == said
    assert stub.paths[0] == f"/v1/chat/completions?api_key={KEY}"
    assert stub.authorizations[0] is not None and stub.authorizations[0].startswith("Basic ")


async def test_key_like_dialogue_is_data_and_is_left_alone(serve: Callable, open_at: Callable, tmp_path: Path) -> None:
    model = open_at(serve(always(chat("You said sk-user-said-this-000."))), cache=tmp_path)
    assert (await model.complete(ASK, phase="respond")).text == "You said sk-user-said-this-000."
    assert (await model.complete(ASK, phase="respond")).text == "You said sk-user-said-this-000."
