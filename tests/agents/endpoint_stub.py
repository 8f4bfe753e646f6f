"""A small OpenAI-compatible endpoint on loopback that can fail in every way that real ones do."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise

USAGE = {"prompt_tokens": 11, "completion_tokens": 3, "total_tokens": 14}


@dataclass(frozen=True)
class Answer:
    """What the server sends back, or how it fails to."""

    status: int = 200
    body: object = None
    headers: Mapping[str, str] = field(default_factory=dict)
    raw: bytes | None = None
    """Sent instead of the body as JSON."""
    hang: float = 0.0
    cut: bool = False
    """Close the connection in the middle of the body."""


Behaviour = Callable[[dict, int], Answer]
"""From a request's body and its number, from 1, to an answer."""


def chat(text: str | None, *, finish: str = "stop", usage: object = USAGE, **message: object) -> Answer:
    body: dict[str, object] = {
        "id": "c1",
        "object": "chat.completion",
        "created": 0,
        "model": "stub-1",
        "choices": [
            {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": text, **message}}
        ],
    }
    if usage is not None:
        body["usage"] = usage
    return Answer(body=body)


def error(status: int, message: str, code: str | None = None, **headers: str) -> Answer:
    shape = {"error": {"message": message, "type": "invalid_request_error", "code": code, "param": None}}
    return Answer(status, shape, {name.replace("_", "-"): value for name, value in headers.items()})


def always(answer: Answer) -> Behaviour:
    return lambda body, number: answer


def in_turn(*answers: Answer) -> Behaviour:
    """One answer after the other; the last one stays."""
    return lambda body, number: answers[min(number, len(answers)) - 1]


def strict_roles(body: dict, number: int) -> Answer:
    roles = [message["role"] for message in body["messages"]]
    spoken = roles[1:] if roles[:1] == ["system"] else roles
    if "system" in spoken or spoken[:1] != ["user"] or any(a == b for a, b in pairwise(spoken)):
        return error(400, "Conversation roles must alternate user/assistant/user/assistant/...")
    return chat("Tomasz.")


def forbid_max_completion(body: dict, number: int) -> Answer:
    return error(400, "extra_forbidden: max_completion_tokens") if "max_completion_tokens" in body else chat("Pixel")


def require_max_completion(body: dict, number: int) -> Answer:
    if "max_tokens" in body:
        return error(400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.")
    return chat("Pixel")


class EndpointStub:
    """A running server: its URL, and every request it saw."""

    def __init__(self, behaviour: Behaviour) -> None:
        self.behaviour = behaviour
        self.bodies: list[dict] = []
        self.paths: list[str] = []
        self.authorizations: list[str | None] = []
        self.in_flight = self.most_in_flight = 0
        self._lock = threading.Lock()
        stub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *args: object) -> None:
                pass

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                with stub._lock:
                    stub.bodies.append(body)
                    stub.paths.append(self.path)
                    stub.authorizations.append(self.headers.get("authorization"))
                    number = len(stub.bodies)
                    stub.in_flight += 1
                    stub.most_in_flight = max(stub.most_in_flight, stub.in_flight)
                try:
                    self._send(stub.behaviour(body, number))
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True
                finally:
                    with stub._lock:
                        stub.in_flight -= 1

            def _send(self, answer: Answer) -> None:
                time.sleep(answer.hang)
                payload = answer.raw if answer.raw is not None else json.dumps(answer.body).encode()
                self.send_response(answer.status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(payload)))
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(payload[: len(payload) // 2] if answer.cut else payload)
                if answer.cut:
                    self.close_connection = True

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request: object, client_address: object) -> None:
                """Clients that hang up are part of the tests."""

        self._server = Server(("127.0.0.1", 0), Handler)
        self.port = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/v1"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    @contextmanager
    def running(self) -> Iterator[EndpointStub]:
        self._thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._server.server_close()
            self._thread.join()
