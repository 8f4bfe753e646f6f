"""A memory that answers by itself, from the command line to the run file, at an endpoint on loopback."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from mnemoscope.cli import main
from mnemoscope.config import RunConfig
from mnemoscope.engine import NoProgress
from mnemoscope.engine.estimating import estimate
from mnemoscope.engine.prices import Prices
from mnemoscope.engine.rates import MeasuredTimes
from mnemoscope.runfile import open_run
from tests.agents.endpoint_stub import Answer, EndpointStub, chat, error

LOOP = "memgpt-style(read=agentic,mode=llm)@own"
SILENT = '{"calls": []}'
SEARCH = '{"calls": [{"tool": "conversation_search", "args": {"query": "kiln"}}], "heartbeat": true}'
SEND = '{"calls": [{"tool": "send_message", "args": {"text": "From Ghent."}}]}'


def agent(last: Answer) -> Callable[[dict, int], Answer]:
    """Writes nothing down; of each question it first searches, and then comes what is given."""

    def behave(body: dict, number: int) -> Answer:
        shown = body["messages"][-1]["content"]
        if "Question:" not in shown:
            return chat(SILENT)
        return last if "Results of your calls" in shown else chat(SEARCH)

    return behave


@pytest.fixture
def run(make_locomo: Callable[..., Path], tmp_path: Path) -> Callable[..., tuple[int, Path]]:
    def go(behaviour: Callable[[dict, int], Answer], *more: str) -> tuple[int, Path]:
        out = tmp_path / "run.db"
        with EndpointStub(behaviour).running() as stub:
            model = f"openai(model=tiny,base_url={stub.url},retries=0)"
            given = ["--scenario", f"locomo:{make_locomo(conversations=1)}", "--system", LOOP, "--model", model]
            quiet = ["--embedder", "hash(dim=64)", "--workers", "1", "--cache", "none"]
            code = main(["run", *given, *quiet, "--out", str(out), *more])
        return code, out

    return go


def test_every_reply_is_the_loop_s_and_nobody_else_writes(run: Callable[..., tuple[int, Path]]) -> None:
    code, out = run(agent(chat(SEND, reasoning_content="Ghent it was.")))
    assert code == 0
    with open_run(out) as file:
        (system,) = file.systems()
        assert (system.name, system.profile, system.capabilities.answers) == (LOOP, "own", True)
        for row in file.cells():
            reply = file.reply_of(row)
            assert (reply.visible_text, reply.plan.planner, reply.retrieval.answer) == (
                "From Ghent.",
                "own",
                "From Ghent.",
            )
            assert row.usage.calls_by_phase == {"policy": 2} and row.usage.prompt_tokens == 22
            assert "conversation_search" in reply.reasoning and "Ghent it was." in reply.reasoning


def test_an_endpoint_that_fails_in_the_middle_is_an_error_that_keeps_what_was_found(
    run: Callable[..., tuple[int, Path]],
) -> None:
    code, out = run(agent(error(400, "no such thing")))
    assert code == 1
    with open_run(out) as file:
        for row in file.cells():
            reply = file.reply_of(row)
            assert (row.status, row.error_cause, reply.visible_text) == ("error", "refused", "")
            assert reply.retrieval.ranking and row.usage.calls_by_phase["policy"] >= 1


def test_an_agent_that_never_answers_has_replied_with_nothing(run: Callable[..., tuple[int, Path]]) -> None:
    code, out = run(agent(chat("well, well")))
    assert code == 0
    with open_run(out) as file:
        for row in file.cells():
            reply = file.reply_of(row)
            assert (row.status, reply.visible_text, reply.retrieval.parse_failures) == ("ok", "", 1)
            assert "cannot be read" in reply.reasoning


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("--architecture", "memgpt-style(read=agentic)"), "memgpt-style(read=agentic)@baseline"),
        (("--architecture", "bm25", "--profile", "own", "--profile", "slots"), "--system 'bm25@slots'"),
    ],
)
def test_what_does_not_pair_is_refused_before_anything_is_done(
    asked: tuple[str, ...], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for more in ((), ("--estimate",)):
        assert main(["run", "--scenario", "demo", *asked, "--out", str(tmp_path / "run.db"), *more]) == 2
        assert said in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "run.db").exists()


def test_drawing_refuses_what_does_not_pair(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["graph", "draw", "memgpt-style(read=agentic)", "--profile", "own", "--json"]) == 0
    assert 'answer["answer: own"]' in json.loads(capsys.readouterr().out)["mermaid"]
    assert main(["graph", "draw", "bm25", "--profile", "own"]) == 2


def test_an_estimate_has_no_reply_beside_the_read(config: Callable[..., RunConfig]) -> None:
    model = "openai(model=tiny,base_url=http://127.0.0.1:9/v1)"
    (one,) = estimate(
        config(scenarios=("demo",), systems=(LOOP,), model=model, limit=4), NoProgress(), Prices(), MeasuredTimes()
    ).systems
    assert one.read.usage.calls_by_phase == {"policy": 12} and one.reply.usage.calls == 0
