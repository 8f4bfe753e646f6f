"""From a text to a model: the one way in which the rest of the program gets one."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from mnemoscope.agents.clock import SystemClock
from mnemoscope.agents.gateway.cache import ReplyCache
from mnemoscope.agents.gateway.local.server import local_server
from mnemoscope.agents.gateway.local.settings import PREFIX, read_local
from mnemoscope.agents.gateway.model import GatewayModel
from mnemoscope.agents.gateway.retry import Sleep
from mnemoscope.agents.gateway.settings import EndpointSettings, read_endpoint
from mnemoscope.agents.gateway.tracing import tracing_off
from mnemoscope.core.identity import derive_seed
from mnemoscope.core.ports import Clock, Rng

__all__ = ["open_model"]


def open_model(
    text: str,
    *,
    cache: Path | None,
    rng: Rng | None = None,
    sleep: Sleep = asyncio.sleep,
    clock: Clock | None = None,
    monotonic: Callable[[], float] = time.monotonic,
) -> GatewayModel:
    """Open a model at an OpenAI-compatible endpoint, or on this machine. Nothing is sent or started yet.

    Args:
        text: `MODEL`, with `OPENAI_BASE_URL` and `OPENAI_API_KEY` from the environment, or
            `openai(model=NAME,base_url=URL,temperature=0,top_p=…,seed=…,max_tokens=…,timeout=…,retries=…,
            max_wait=…,rpm=…,concurrency=…,stream=true)`. Keys come from the environment only. Or a model on this
            machine, `local:smollm2` or `local:PATH.gguf` (see `read_local`).
        cache: Folder of the reply cache; None: no cache.
        rng: Spreads the pauses between tries; None: seeded by the text.
        sleep: Waits; tests pass one that takes no time.
        clock: Reads the present for `Retry-After` dates; None: the system's.
        monotonic: Seconds for the rate limit.

    Raises:
        ConfigError: The text or the environment does not name a usable endpoint, a local model cannot be served
            here, or the cache cannot be used.

    Example:
        >>> model = open_model("openai(model=tiny,base_url=http://127.0.0.1:8000/v1)", cache=None)
        >>> model.key
        'openai(model=tiny,base_url=http://127.0.0.1:8000/v1,temperature=0.0,max_tokens=1024)'
    """
    tracing_off()
    settings: EndpointSettings
    if text.strip().startswith(PREFIX):
        settings = local = read_local(text)
        server = local_server(local.weights.path, local.context)
    else:
        settings, server = read_endpoint(text), None
    return GatewayModel(
        settings,
        server=server,
        cache=ReplyCache(cache) if cache is not None else None,
        rng=rng if rng is not None else np.random.default_rng(derive_seed("gateway", settings.spec)),
        sleep=sleep,
        clock=clock if clock is not None else SystemClock(),
        monotonic=monotonic,
    )
