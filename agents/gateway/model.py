"""The gateway's model: every call of the program to a language model goes through here."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from weakref import WeakKeyDictionary

from mnemoscope.agents.gateway.cache import ReplyCache
from mnemoscope.agents.gateway.classify import MAKE_ROOM, UnsupportedError, classify
from mnemoscope.agents.gateway.client import WireClient, WireReply
from mnemoscope.agents.gateway.counts import call_usage, read_counts
from mnemoscope.agents.gateway.limits import Limiter, shared_limiter
from mnemoscope.agents.gateway.local.server import LocalServer, Served
from mnemoscope.agents.gateway.redaction import Redactor, quiet_vendor_logs
from mnemoscope.agents.gateway.request import ChatRequest
from mnemoscope.agents.gateway.retry import RetryPolicy, Sleep
from mnemoscope.agents.gateway.settings import EndpointSettings
from mnemoscope.agents.gateway.traits import EndpointTraits, SchemaMethod, plainer
from mnemoscope.agents.gateway.wire import wire_body, wire_messages
from mnemoscope.core.errors import EndpointError
from mnemoscope.core.language.hidden import split_hidden
from mnemoscope.core.language.tokens import estimate_tokens
from mnemoscope.core.ports import Clock, Completion, Message, Rng
from mnemoscope.core.structured import read_structured
from mnemoscope.core.usage import Phase, Usage

__all__ = ["GatewayModel"]

logger = logging.getLogger(__name__)

_MOST_ADAPTATIONS = 8
_OVERRUN, _OVERRUN_FLOOR = 1.5, 32
"""A reply this much longer than asked, by estimate, shows that the limit was ignored."""


@dataclass(slots=True)
class _Loop:
    """What belongs to one event loop: connections, the gate, the lock under which an endpoint is learned."""

    limiter: Limiter
    learning: asyncio.Lock
    client: WireClient | None = None
    """None until the first call."""
    served: Served | None = None
    """The server on this machine that the connections are to; None: they are to the address in the settings."""


@dataclass(slots=True)
class _Work:
    """One request on its way: what was spent, and how it is asked now."""

    request: ChatRequest
    phase: Phase
    limit: int
    method: SchemaMethod = "json_schema"
    spent: Usage = field(default_factory=Usage)
    first_token_ms: float | None = None
    widened: bool = False
    refused: set[str] = field(default_factory=set)


class GatewayModel:
    """A `LanguageModel` at an OpenAI-compatible endpoint. Open one with `open_model`.

    Args:
        settings: The endpoint and the parameters.
        cache: Where replies are kept; None: nowhere.
        rng: Spreads the pauses between tries.
        sleep: Waits.
        clock: Reads the present for `Retry-After` dates.
        monotonic: Seconds for the rate limit.
        server: Serves a local model; None: the endpoint is at the address in the settings.
    """

    def __init__(
        self,
        settings: EndpointSettings,
        *,
        cache: ReplyCache | None,
        rng: Rng,
        sleep: Sleep,
        clock: Clock,
        monotonic: Callable[[], float],
        server: LocalServer | None = None,
    ) -> None:
        self.settings = settings
        self._server = server
        self._cache, self._sleep, self._clock, self._monotonic = cache, sleep, clock, monotonic
        self._redactor = Redactor(settings.secrets)
        self._retry = RetryPolicy(settings.retries, settings.max_wait, rng, sleep)
        self._loops: WeakKeyDictionary[asyncio.AbstractEventLoop, _Loop] = WeakKeyDictionary()
        self._endpoint = f"{settings.model}@{settings.host}"
        self.traits = EndpointTraits.recalled(settings, cache.traits(self._endpoint) if cache else {})
        quiet_vendor_logs(settings.secrets)

    @property
    def key(self) -> str:
        """The text that opens this model again, without any secret."""
        return self.settings.spec

    def describe(self) -> dict[str, object]:
        """What a run's manifest says: model, URL and key by source, and what the endpoint understands."""
        return {**self.settings.describe(), **self.traits.stored()}

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        phase: Phase,
        schema: Mapping[str, object] | None = None,
        max_tokens: int | None = None,
        replicate: int = 0,
    ) -> Completion:
        """Answer the messages, from the cache where the same was asked before.

        With a schema, structure is asked for in the best way that the endpoint knows. The text is given back as
        received and may still not fit: read it with `core.structured.read_structured`.

        Args:
            messages: The conversation; at least one message.
            phase: What the call is for; it is counted there.
            schema: A JSON Schema of the object wanted.
            max_tokens: Limit of the reply; None: the endpoint's setting.
            replicate: Number of the repetition; another number is another request.

        Raises:
            EndpointError: The endpoint failed for good, or the tries are spent.
        """
        request = ChatRequest.of(self.settings, messages, schema, max_tokens, replicate)
        if self._cache is not None and (stored := self._cache.get(request.key)) is not None:
            return _completion(stored, phase, cached=True)
        work = _Work(request, phase, request.max_tokens)
        try:
            body = await self._first_answer(work) or await self._answer(work)
        except EndpointError as error:
            error.usage = work.spent
            raise
        body = {**body, "spent": _spent(work.spent)}
        if self._cache is not None:
            body = self._cache.put(request.key, body)
        return replace(_completion(body, phase, cached=False), first_token_ms=work.first_token_ms)

    async def close(self) -> None:
        """Close this event loop's connections and the cache, and leave the server; a later call opens them again."""
        here = self._loops.pop(asyncio.get_running_loop(), None)
        if here is not None and here.client is not None:
            await here.client.close()
        if self._server is not None:
            await asyncio.to_thread(self._server.leave, self)
        if self._cache is not None:
            self._cache.close()

    def _here(self) -> _Loop:
        loop = asyncio.get_running_loop()
        if loop not in self._loops:
            settings = self.settings
            limiter = shared_limiter(settings.host, settings.concurrency, settings.rpm, self._sleep, self._monotonic)
            self._loops[loop] = _Loop(limiter, asyncio.Lock())
        return self._loops[loop]

    async def _connected(self, here: _Loop) -> WireClient:
        """This loop's connections; new ones where a local server was started, or started again."""
        served = await self._server.address(self) if self._server is not None else None
        if here.client is not None and here.served != served:
            await here.client.close()
            here.client = None
        if here.client is None:
            settings = self.settings if served is None else replace(self.settings, base_url=served.url)
            here.client, here.served = WireClient(settings, self._monotonic), served
        return here.client

    async def _first_answer(self, work: _Work) -> Mapping[str, object] | None:
        """The reply, if this is the call that learns the endpoint: its neighbours wait, and then know better."""
        if self.traits.answered:
            return None
        async with self._here().learning:
            return None if self.traits.answered else await self._answer(work)

    async def _answer(self, work: _Work) -> Mapping[str, object]:
        """Ask until the reply is of the kind wanted, or nothing is left to try."""
        work.method = self.traits.schema_method
        while True:
            wire = await self._ask(work)
            text, hidden = split_hidden(wire.text or wire.refusal, wire.reasoning)
            finish = "refusal" if wire.refusal and not wire.text else wire.finish_reason
            self._remember_answer()
            if finish == "length" and (work.request.schema is not None or not text):
                self._widen(work)
                continue
            if work.request.schema is not None:
                if finish == "refusal":
                    raise EndpointError(f"{self._endpoint}: the model refused", cause="refused")
                if self._ask_plainer(work, text):
                    continue
            else:
                text, finish = self._within_limit(text, finish, work.limit)
            return {
                "text": self._redactor.exact(text),
                "hidden": self._redactor.exact(hidden),
                "model": wire.model or self.settings.model,
                "finish_reason": finish,
            }

    async def _ask(self, work: _Work) -> WireReply:
        """One reply; where the endpoint does not know a parameter, go on in the way it does know."""
        for _ in range(_MOST_ADAPTATIONS):
            used = replace(self.traits)
            method = work.method
            body = wire_body(work.request, used, method, work.limit)
            messages = wire_messages(work.request, method)

            async def once(
                messages: tuple[Message, ...] = messages,
                body: Mapping[str, object] = body,
                used: EndpointTraits = used,
            ) -> WireReply:
                return await self._call(work, messages, body, used.left_out)

            try:
                return await self._retry.run(once)
            except UnsupportedError as error:
                failure = error
            if not self.traits.adapt(failure.parameter, replace(used, schema_method=method), work.refused):
                raise failure
            if failure.parameter == "response_format":
                work.method = plainer(method) or method
            logger.info("%s does not take %s; going on without it", self._endpoint, failure.parameter)
            self._save_traits()
        raise failure

    async def _call(
        self, work: _Work, messages: tuple[Message, ...], body: Mapping[str, object], left_out: Sequence[str]
    ) -> WireReply:
        here = self._here()
        failure: EndpointError | None = None
        async with here.limiter.slot():
            try:
                client = await self._connected(here)
                async with asyncio.timeout(self.settings.timeout):
                    if self.settings.stream and "stream" not in left_out:
                        with_usage = "stream_options" not in left_out
                        wire = await client.stream(messages, body, with_usage=with_usage)
                    else:
                        wire = await client.call(messages, body)
            except Exception as error:  # whatever the vendor's client raises becomes one of ours
                failure = classify(error, self.settings, self._redactor, self._clock.now())
        if failure is not None:
            # Raised outside the handler: a printed traceback then has no vendor exception that could hold a header.
            if failure.cause == "rate_limit":
                here.limiter.slow_down()
            raise failure
        here.limiter.answered()
        work.first_token_ms = wire.first_token_ms
        work.spent += call_usage(work.phase, wire.usage, messages, wire.text + wire.reasoning + wire.refusal)
        if wire.finish_reason == "length" and here.served is not None and _total(wire) >= here.served.context:
            raise EndpointError(
                f"{self._endpoint}: prompt and reply fill the context of {here.served.context} tokens; {MAKE_ROOM}",
                cause="context",
            )
        if wire.finish_reason == "content_filter":
            raise EndpointError(f"{self._endpoint}: the reply was held back by a content filter", cause="filtered")
        if not wire.text.strip() and not wire.refusal and wire.finish_reason != "length":
            may_heal = self._server is None  # a local model's replies repeat exactly
            raise EndpointError(f"{self._endpoint}: the reply is empty", cause="malformed", retryable=may_heal)
        return wire

    def _widen(self, work: _Work) -> None:
        wider = min(2 * work.limit, self.settings.most_tokens or 2 * work.limit)
        if work.widened or wider == work.limit:
            raise EndpointError(
                f"{self._endpoint}: the reply was cut off at {work.limit} tokens; raise max_tokens=", cause="truncated"
            )
        work.widened, work.limit = True, wider

    def _ask_plainer(self, work: _Work, text: str) -> bool:
        """Whether to ask again in a plainer way, because the reply cannot be read; remembers what did work."""
        assert work.request.schema is not None
        if read_structured(text, work.request.schema).value is None:
            lower = self.traits.next_after_unread(work.method)
            work.method = lower or work.method
            return lower is not None
        if work.method != self.traits.schema_method and self.traits.step_down(self.traits.schema_method):
            self.traits.schema_method = work.method
            self._save_traits()
        return False

    def _within_limit(self, text: str, finish: str | None, limit: int) -> tuple[str, str | None]:
        if estimate_tokens(text) <= limit * _OVERRUN + _OVERRUN_FLOOR:
            return text, finish
        field_name = self.traits.limit_field
        self.traits.note_ignored_limit()
        self._save_traits()
        logger.warning("%s ignores %s=%d: the reply was longer and is cut", self._endpoint, field_name, limit)
        return _first_tokens(text, limit), "length"

    def _remember_answer(self) -> None:
        if not self.traits.answered:
            self.traits.answered = True
            self._save_traits()

    def _save_traits(self) -> None:
        if self._cache is not None:
            self._cache.learn(self._endpoint, self.traits.stored())


def _completion(body: Mapping[str, object], phase: Phase, *, cached: bool) -> Completion:
    """A reply with what it took when it was made, so that a run counts alike whoever of several asked first."""
    finish = body.get("finish_reason")
    return Completion(
        text=str(body.get("text", "")),
        usage=_as_spent(body, phase, cached=cached),
        model=str(body.get("model", "")),
        finish_reason=str(finish) if finish is not None else None,
        hidden=str(body.get("hidden", "")),
        cached=cached,
    )


def _total(wire: WireReply) -> int:
    counts = read_counts(wire.usage)
    return counts.prompt + counts.output if counts is not None else 0


def _spent(usage: Usage) -> dict[str, int]:
    return {
        "calls": usage.calls,
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "cached_tokens": usage.cached_tokens,
        "estimated_calls": usage.estimated_calls,
    }


def _as_spent(body: Mapping[str, object], phase: Phase, *, cached: bool) -> Usage:
    spent = body["spent"]
    counts = {key: int(value) for key, value in spent.items()} if isinstance(spent, Mapping) else {}
    calls = counts.pop("calls", 0)
    return Usage({phase: calls} if calls else {}, cache_hits=int(cached), **counts)


def _first_tokens(text: str, limit: int) -> str:
    """The leading words that the estimate counts as `limit` tokens, with `…` for what was cut."""
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if estimate_tokens(text[:middle]) <= limit else (low, middle - 1)
    whole = re.match(r"(?s).*\s", text[:low])
    return (whole.group(0) if whole and len(whole.group(0)) > low // 2 else text[:low]).rstrip() + "…"
