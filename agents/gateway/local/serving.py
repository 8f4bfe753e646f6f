"""The process that serves one local model; it ends when its input ends, so it never outlives who started it.

One line of JSON comes in (`weights`, `context`), one goes out (`url` and `context`, or `error`); the rest is HTTP.
"""

from __future__ import annotations

import http.client
import json
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

__all__ = ["main"]

_USUAL_CONTEXT = 8192
"""Tokens; models may be trained with far more, which would take gigabytes that a run does not need."""
_ERRORS_ONLY = 1


def main() -> int:
    """Serve until the input ends."""
    # Whatever the library prints must not get between the lines of the protocol.
    output = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    order = json.loads(sys.stdin.readline() or "null")
    if order is None:
        return 0
    threading.Thread(target=_end_with_the_input, daemon=True).start()
    answer: dict[str, object]
    try:
        server, context = _serve(order["weights"], order["context"])
        answer = {"url": server.listening_address, "context": context}
    except Exception as error:
        server, answer = None, {"error": str(error)}
    output.write(json.dumps(answer) + "\n")
    output.flush()
    if server is None:
        return 1
    threading.Event().wait()
    return 0


def _end_with_the_input() -> None:
    sys.stdin.read()
    os._exit(0)


def _serve(weights: str, wanted: int | None) -> tuple[Any, int]:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = weights
    params.model_alias = {Path(weights).name}  # what replies say they are from; otherwise it is the whole path
    params.hostnames, params.port = ["127.0.0.1"], 0
    params.n_ctx = wanted or _USUAL_CONTEXT
    # Replies repeat exactly: one request at a time, no cache of earlier prompts, no size fitted to free memory.
    params.n_parallel, params.cont_batching = 1, False
    params.cache_prompt, params.cache_idle_slots, params.cache_ram_mib = False, False, 0
    params.fit_params = False
    # On a busy machine one thread too many makes a reply twenty times slower: they all wait for the last.
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = max(1, _cores() - 1)
    params.ui, params.endpoint_slots, params.cors_origins = False, False, ""
    params.verbosity = _ERRORS_ONLY
    server = xllamacpp.Server(params)
    context = _context_of(server.listening_address)
    if wanted is not None and context < wanted:
        raise ValueError(f"context={wanted} is more than the {context} tokens that the model was trained with")
    return server, context


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _context_of(address: str) -> int:
    """What the server does hold, which is no more than the model was trained with."""
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=60)
    try:
        connection.request("GET", "/v1/models")
        return int(json.loads(connection.getresponse().read())["data"][0]["meta"]["n_ctx"])
    finally:
        connection.close()


if __name__ == "__main__":
    # Leave at once: the library's threads are not worth waiting for.
    os._exit(main())
