"""The real small model: it repeats itself exactly, keeps to a schema, says when a prompt is too long, leaves nothing.

`make test-live` installs the extra, pulls the weights and runs these.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from mnemoscope.agents.gateway import GatewayModel, open_model
from mnemoscope.agents.gateway.local.weights import PULLABLE
from mnemoscope.cli import main
from mnemoscope.core.errors import EndpointError
from mnemoscope.core.ports import Message

pytestmark = pytest.mark.live
ASK = [Message("system", "You are brief."), Message("user", "My cat is called Pixel. What is my cat called?")]
SCHEMA = {
    "type": "object",
    "properties": {"verdict": {"enum": ["granite", "limestone"]}, "sure": {"type": "boolean"}},
    "required": ["verdict", "sure"],
    "additionalProperties": False,
}


@pytest.fixture
async def opened() -> AsyncIterator[Callable[[str], GatewayModel]]:
    models: list[GatewayModel] = []

    def open_one(text: str = "local:smollm2") -> GatewayModel:
        models.append(open_model(text, cache=None))
        return models[-1]

    yield open_one
    for model in models:
        await model.close()


async def test_replies_repeat_exactly_alone_among_others_and_after_a_restart(opened: Callable) -> None:
    model = opened("local:smollm2(max_tokens=48)")
    alone = await model.complete(ASK, phase="respond")
    assert alone.model == PULLABLE["smollm2"].path.name, "no folder of this machine"
    assert alone.text and alone.usage.prompt_tokens > 20 and not alone.usage.estimated_calls
    among = await asyncio.gather(
        *(model.complete([Message("user", f"Count to {n}.")], phase="respond") for n in range(3)),
        model.complete(ASK, phase="respond"),
    )
    assert among[-1].text == alone.text
    await model.close()
    assert (await model.complete(ASK, phase="respond")).text == alone.text


async def test_chance_repeats_with_its_seed_and_differs_by_replicate(opened: Callable) -> None:
    model = opened("local:smollm2(temperature=1.0,max_tokens=48)")
    texts = [(await model.complete(ASK, phase="respond", replicate=n)).text for n in (0, 1, 0)]
    assert texts[0] == texts[2] != texts[1]


async def test_a_schema_binds_the_reply(opened: Callable) -> None:
    model = opened()
    reply = await model.complete([Message("user", "你好！ Say anything but JSON.")], phase="judge", schema=SCHEMA)
    read = json.loads(reply.text)
    assert read["verdict"] in ("granite", "limestone") and isinstance(read["sure"], bool)
    assert model.traits.schema_method == "json_schema", "the endpoint took the schema itself"


async def test_the_first_token_is_timed_and_the_stream_says_the_same(opened: Callable) -> None:
    whole = await opened("local:smollm2(max_tokens=32)").complete(ASK, phase="respond")
    streamed = await opened("local:smollm2(max_tokens=32,stream=true)").complete(ASK, phase="respond")
    assert streamed.text == whole.text
    assert whole.first_token_ms is None and streamed.first_token_ms is not None


async def test_what_does_not_fit_is_a_failure(opened: Callable) -> None:
    model = opened("local:smollm2(context=256,max_tokens=512)")
    with pytest.raises(EndpointError, match=r"exceeds the available context size \(256 tokens\)") as caught:
        await model.complete([Message("user", "and so on, " * 400)], phase="respond")
    assert caught.value.cause == "context"
    with pytest.raises(EndpointError, match="fill the context of 256 tokens") as caught:
        await model.complete([Message("user", "Tell a long story about a cat.")], phase="respond")
    assert caught.value.cause == "context"


async def test_weights_that_are_cut_off_say_so(opened: Callable, tmp_path: Path) -> None:
    cut = tmp_path / "cut.gguf"
    with PULLABLE["smollm2"].path.open("rb") as whole:
        cut.write_bytes(whole.read(5_000_000))
    with pytest.raises(EndpointError, match="corrupted or incomplete"):
        await opened(f"local:{cut}").complete(ASK, phase="respond")


async def test_more_context_than_the_model_has_is_refused(opened: Callable) -> None:
    with pytest.raises(EndpointError, match=r"context=16384 is more than the 8192 tokens"):
        await opened("local:smollm2(context=16384)").complete(ASK, phase="respond")


def test_workers_find_the_same_as_one_process(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hashes = []
    for workers in ("1", "2"):
        arguments = ["run", "--scenario", "demo", "--architecture", "none", "--limit", "3", "--cache", "none"]
        arguments += ["--model", "local:smollm2(max_tokens=24)", "--workers", workers, "--json"]
        assert main([*arguments, "--out", str(tmp_path / f"{workers}.db")]) == 0
        hashes.append(json.loads(capsys.readouterr().out)["content_hash"])
    assert hashes[0] == hashes[1]


KILLED = """
import asyncio
from mnemoscope.agents.gateway import open_model
from mnemoscope.agents.gateway.local.server import local_server
from mnemoscope.core.ports import Message

async def ask():
    model = open_model("local:smollm2(max_tokens=2000)", cache=None)
    await model.complete([Message("user", "Hello")], phase="respond", max_tokens=1)
    print(local_server(model.settings.weights.path, None).pid, flush=True)
    await model.complete([Message("user", "Count from 1 to 1000.")], phase="respond")

asyncio.run(ask())
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_no_server_stays_when_a_run_is_killed_in_the_middle_of_a_reply(how: signal.Signals) -> None:
    parent = subprocess.Popen([sys.executable, "-c", KILLED], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    with parent:
        assert parent.stdout is not None
        server = int(parent.stdout.readline())
        os.kill(server, 0)
        parent.send_signal(how)
        parent.wait()
    with pytest.raises(ProcessLookupError):
        for _ in range(500):
            os.kill(server, 0)
            time.sleep(0.02)
