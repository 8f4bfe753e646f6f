"""The embeddings client against a loopback server that keeps to the strict side of the protocol (case EP-04)."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mnemoscope.core.errors import ConfigError, EndpointError
from mnemoscope.memory_backends.embedders import open_embedder
from mnemoscope.memory_backends.embedders import openai as openai_module
from mnemoscope.memory_backends.embedders.cache import CachedEmbedder
from mnemoscope.memory_backends.embedders.openai import OpenAIEmbedder

KEY = "sk-test-abcdef123456"


class Server(ThreadingHTTPServer):
    """Serves vectors of 16 dimensions for plain strings, or misbehaves as `mode` says."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.mode = "good"
        self.seen: list[list[str]] = []
        self.url = f"http://127.0.0.1:{self.server_address[1]}/v1"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        texts, mode = body["input"], self.server.mode
        self.server.seen.append(texts)
        if self.path != "/v1/embeddings" or body["model"] != "m":
            self.answer(404, {"error": {"message": "no such path or model"}})
        elif not all(isinstance(t, str) and t.strip() for t in texts) or body.get("encoding_format") != "float":
            self.answer(400, {"error": {"message": "plain strings and floats only"}})
        elif mode in ("429", "500", "401", "400") and not (mode in ("429", "500") and len(self.server.seen) > 1):
            headers = {"Retry-After": "0"} if mode == "429" else {}
            self.answer(int(mode), {"error": {"message": f"bad {self.headers['Authorization']}"}}, headers)
        else:
            vectors = [[float(len(t)), float(ord(t[0])), *[1.0] * 14] for t in texts]
            if mode == "short":
                vectors = vectors[:-1]
            elif mode == "empty":
                vectors = []
            elif mode == "ragged":
                vectors[-1] = vectors[-1][:3]
            elif mode == "wide":
                vectors = [[*v, 0.0] for v in vectors]
            data = [{"object": "embedding", "index": n, "embedding": v} for n, v in enumerate(vectors)]
            usage = {"prompt_tokens": 0, "total_tokens": 0}
            self.answer(200, {"object": "list", "model": "m", "data": data, "usage": usage})

    def answer(self, status: int, body: dict[str, Any], headers: dict[str, str] | None = None) -> None:
        payload = json.dumps(body).encode()
        self.send_response(status)
        for name, value in {
            "Content-Type": "application/json",
            "Content-Length": str(len(payload)),
            **(headers or {}),
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(payload)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class prescribes the name
        pass


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    served = Server()
    thread = threading.Thread(target=served.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield served
    served.shutdown()
    thread.join()
    served.server_close()


async def test_plain_strings_go_out_unit_rows_in_order_come_back_and_are_cached(server: Server, tmp_path: Path) -> None:
    texts = [f"text {n} {'x' * n}" for n in range(70)]
    texts[3:3] = ["", "  "]
    spec = f"openai(model=m,base_url={server.url})"
    embedder = open_embedder(spec, cache=tmp_path)
    assert isinstance(embedder, CachedEmbedder)
    rows = await embedder.embed(texts, "document")
    assert rows.shape == (72, 16)
    assert not rows[3:5].any()
    assert np.linalg.norm(np.delete(rows, [3, 4], axis=0), axis=1) == pytest.approx(np.ones(70), abs=1e-6)
    ratios = [row[0] / row[2] for row in np.delete(rows, [3, 4], axis=0)]
    assert ratios == pytest.approx([len(t) for t in texts if t.strip()], rel=1e-5)
    assert [len(batch) for batch in server.seen] == [64, 6]
    assert not any(not text.strip() for batch in server.seen for text in batch)
    assert embedder.id == f"openai:m@{server.url}"
    again = open_embedder(spec, cache=tmp_path)
    assert isinstance(again, CachedEmbedder)
    assert np.array_equal(await again.embed(texts, "document"), rows)
    assert again.dim == 16
    assert len(server.seen) == 2
    embedder.close()
    again.close()


def test_one_probe_measures_the_dimension(server: Server) -> None:
    embedder = OpenAIEmbedder("m", server.url)
    assert embedder.dim == embedder.dim == 16
    assert server.seen == [["dimension"]]
    assert OpenAIEmbedder("m", server.url, dim=16).dim == 16
    assert len(server.seen) == 1
    assert embedder.unknown_share(["tea"]) is None


@pytest.mark.parametrize(
    ("mode", "message"),
    [
        ("empty", "returned 0 vectors for 2 inputs; .*token ids or only base64"),
        ("short", "returned 1 vectors for 2 inputs"),
        ("ragged", r"vectors of \[3, 16\] dimensions"),
        ("wide", "returned 17 dimensions and 16 were expected"),
    ],
)
async def test_answers_that_do_not_fit_are_errors(server: Server, mode: str, message: str) -> None:
    server.mode = mode
    with pytest.raises(EndpointError, match=message) as refused:
        await OpenAIEmbedder("m", server.url, dim=16).embed(["tea", "cake"], "document")
    assert (refused.value.cause, refused.value.retryable) == ("malformed", False)
    assert len(server.seen) == 1


@pytest.mark.parametrize(("mode", "cause"), [("401", "auth"), ("400", "refused")])
async def test_what_cannot_heal_is_asked_once_and_no_key_is_shown(server: Server, mode: str, cause: str) -> None:
    server.mode = mode
    with pytest.raises(EndpointError) as refused:
        await OpenAIEmbedder("m", server.url).embed(["tea"], "document")
    assert refused.value.cause == cause
    assert KEY not in f"{refused.value!r} {refused.value.__cause__!r}"
    assert len(server.seen) == 1


@pytest.mark.parametrize("mode", ["429", "500"])
async def test_what_may_heal_is_tried_again(server: Server, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai_module, "_LONGEST_WAIT", 0.01)
    server.mode = mode
    rows = await OpenAIEmbedder("m", server.url).embed(["tea"], "document")
    assert rows.shape == (1, 16)
    assert len(server.seen) == 2


async def test_a_server_that_is_down_is_a_connection_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai_module, "_LONGEST_WAIT", 0.0)
    with pytest.raises(EndpointError, match=r"cannot reach http://127\.0\.0\.1:9/v1$") as refused:
        await OpenAIEmbedder("m", "http://user:secret@127.0.0.1:9/v1").embed(["tea"], "document")
    assert (refused.value.cause, refused.value.retryable) == ("connection", True)


async def test_the_official_endpoint_needs_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(ConfigError, match="set OPENAI_API_KEY"):
        await OpenAIEmbedder("m").embed(["tea"], "document")
