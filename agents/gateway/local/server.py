"""The server of one local model: started when first asked, shared by a process and its workers, never left behind."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, NamedTuple
from urllib.parse import urlsplit
from weakref import WeakSet, WeakValueDictionary, finalize

from mnemoscope.core.errors import EndpointError

__all__ = ["LocalServer", "Served", "local_server", "shared_servers"]

logger = logging.getLogger(__name__)

_VARIABLE = "MNEMOSCOPE_LOCAL_SERVERS"
"""Tells processes that this one starts which servers run already: a JSON object of key to URL and context."""
_SERVING = "mnemoscope.agents.gateway.local.serving"
_PATIENCE = 5.0
"""Seconds that a server has to end by itself."""


class Served(NamedTuple):
    """A server that runs."""

    url: str
    """With `/v1`."""
    context: int
    """Tokens that prompt and reply may have together."""


class LocalServer:
    """One model's server, in a process of its own on 127.0.0.1, on a port that the system chose.

    It runs while anyone uses it. Its input is a pipe from this process: however this process ends, the pipe closes
    and the server ends too. Open one with `local_server`.

    Args:
        weights: A GGUF file.
        context: Tokens of prompt and reply together; None: the model's own, at most 8,192.
    """

    def __init__(self, weights: Path, context: int | None = None) -> None:
        self._weights, self._context = weights, context
        self._lock = threading.Lock()
        self._users: WeakSet[object] = WeakSet()
        self._process: subprocess.Popen[str] | None = None
        self._served: Served | None = None
        self._end: finalize[..., LocalServer] | None = None

    @property
    def key(self) -> str:
        """What is served: file and context."""
        return f"{self._weights}|{self._context or ''}"

    @property
    def pid(self) -> int | None:
        """The server's process; None where it does not run, or was started by a process above this one."""
        return self._process.pid if self._process is not None and self._process.poll() is None else None

    async def address(self, user: object) -> Served:
        """Where the server is; it is started if it does not run, or no longer does.

        Args:
            user: Keeps the server running until it leaves or is gone.

        Raises:
            EndpointError: It cannot be started; the message has the server's own words.
        """
        if user in self._users and self.pid is not None and self._served is not None:
            return self._served
        return await asyncio.to_thread(self.start, user)

    def start(self, user: object) -> Served:
        """As `address`, but waits without letting others go on."""
        with self._lock:
            self._users.add(user)
            if self._process is None and (given := _given(self.key)) is not None:
                if _listens(given.url):
                    return given
                logger.warning("the shared server of %s is gone; this process starts one of its own", self._name)
            if self._process is not None and (code := self._process.poll()) is not None:
                killed = " (killed; out of memory?)" if code == -9 else ""
                logger.warning("the server of %s ended with code %d%s; it is started again", self._name, code, killed)
                self._stop()
            if self._served is None:
                self._served = self._launch()
            return self._served

    def leave(self, user: object) -> None:
        """The user needs the server no more; the last one stops it."""
        with self._lock:
            self._users.discard(user)
            if not self._users:
                self._stop()

    @property
    def _name(self) -> str:
        return self._weights.name

    def _launch(self) -> Served:
        with tempfile.TemporaryFile() as log:
            process = subprocess.Popen(  # noqa: S603 - a module of ours
                [sys.executable, "-P", "-m", _SERVING],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                encoding="utf-8",
                process_group=0 if os.name == "posix" else None,  # Ctrl-C reaches this process alone
            )
            self._process, self._end = process, finalize(self, _stop_process, process)
            assert process.stdin is not None and process.stdout is not None
            with suppress(BrokenPipeError):
                process.stdin.write(json.dumps({"weights": str(self._weights), "context": self._context}) + "\n")
                process.stdin.flush()
            answer = json.loads(process.stdout.readline() or "{}")
            if "url" in answer:
                return Served(f"{answer['url']}/v1", int(answer["context"]))
            said = answer.get("error") or "it ended without a word"
            self._stop()
            code = process.returncode
            reason = _reason(log)
        raise EndpointError(
            f"local:{self._name}: the server did not start: {said}{reason} (exit code {code})", cause="server"
        )

    def _stop(self) -> None:
        if self._end is not None:
            self._end()
        self._process = self._served = self._end = None


class _Lease:
    """Keeps servers running while a block runs."""


_OPEN: WeakValueDictionary[str, LocalServer] = WeakValueDictionary()
_OPENING = threading.Lock()


def local_server(weights: Path, context: int | None) -> LocalServer:
    """The one server of this process for a file and a context; it is not started yet."""
    server = LocalServer(weights, context)
    with _OPENING:
        return _OPEN.setdefault(server.key, server)


@contextmanager
def shared_servers() -> Iterator[None]:
    """Start the server of every local model that this process holds open; processes begun inside use these.

    Raises:
        EndpointError: One cannot be started.
    """
    servers = tuple(_OPEN.values())
    lease = _Lease()
    try:
        found = {server.key: server.start(lease) for server in servers}
        if found:
            os.environ[_VARIABLE] = json.dumps(found)
        yield
    finally:
        os.environ.pop(_VARIABLE, None)
        for server in servers:
            server.leave(lease)


def _given(key: str) -> Served | None:
    found = json.loads(os.environ.get(_VARIABLE, "{}")).get(key)
    return Served(*found) if found else None


def _listens(url: str) -> bool:
    """Whether anyone is there; who is too busy to answer is."""
    parts = urlsplit(url)
    try:
        socket.create_connection((parts.hostname or "", parts.port or 0), timeout=1).close()
    except ConnectionRefusedError:
        return False
    except OSError:
        return True
    return True


def _stop_process(process: subprocess.Popen[str]) -> None:
    """End a server by closing its input, and by force if it does not listen."""
    assert process.stdin is not None and process.stdout is not None
    with suppress(BrokenPipeError):
        process.stdin.close()
    try:
        process.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    process.stdout.close()


def _reason(log: IO[bytes]) -> str:
    """The first line of the server's log that names a reason."""
    log.seek(0)
    lines = log.read().decode(errors="replace").splitlines()
    found = next((line.partition("error loading model: ")[2] for line in lines if "error loading model: " in line), "")
    return f": {found}" if found else f": {lines[-1]}" if lines else ""
