"""Embeddings of any OpenAI-compatible endpoint, through langchain-openai."""

from __future__ import annotations

import asyncio
import ipaddress
import os
import re
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit, urlunsplit

import numpy as np

from mnemoscope.core.errors import ConfigError, EndpointError
from mnemoscope.core.ports import Vectors

if TYPE_CHECKING:
    from langchain_openai import OpenAIEmbeddings

__all__ = ["OpenAIEmbedder"]

_OFFICIAL = "https://api.openai.com/v1"
_BATCH = 64
_TRIES = 4
_LONGEST_WAIT = 30.0
_TIMEOUT = 60.0
_HINT = "the server may accept only token ids or only base64; this client sends plain strings and asks for floats"


class OpenAIEmbedder:
    """A model behind `/embeddings`: plain strings are sent and floats asked for; blank texts are never sent.

    The key is read from `OPENAI_API_KEY` and appears in no message. Loopback addresses bypass proxies. Timeouts,
    rate limits and server errors are tried again up to three times, waiting as long as the server asks but 30 s at
    most.

    Args:
        model: The model's name at the endpoint.
        base_url: Address up to `/v1`; default `OPENAI_BASE_URL`, else OpenAI's own.
        dim: The dimension expected. Without it, one probe measures it at the first use.

    Raises:
        ValueError: An argument is unusable.
        ConfigError: At the first use: OpenAI's own endpoint without a key.
        EndpointError: At the first use and later: the endpoint failed, or answered something else than asked for.
    """

    def __init__(self, model: str, base_url: str | None = None, dim: int | None = None) -> None:
        if dim is not None and (isinstance(dim, bool) or not isinstance(dim, int) or dim < 1):
            raise ValueError(f"dim is {dim!r}; it must be a whole number above 0")
        self._model = str(model)
        self._url = (base_url or os.environ.get("OPENAI_BASE_URL") or _OFFICIAL).rstrip("/")
        if urlsplit(self._url).scheme not in ("http", "https") or not urlsplit(self._url).hostname:
            raise ValueError(f"base_url is {_public(self._url)!r}; write http://HOST:PORT/v1")
        self._dim = dim
        self._client: OpenAIEmbeddings | None = None
        self._lock = threading.Lock()

    @property
    def id(self) -> str:
        """Model and endpoint: two servers may serve different models under one name."""
        return f"openai:{self._model}@{_public(self._url)}"

    @property
    def dim(self) -> int:
        """Length of every vector; measured by one call where it is not known yet."""
        if self._dim is None:
            self._rows(["dimension"])
        assert self._dim is not None
        return self._dim

    async def embed(self, texts: Sequence[str], purpose: Literal["document", "query"]) -> Vectors:
        """Rows of unit length, shape `(len(texts), dim)`; a blank text gives a zero row and is not sent."""
        spoken = [i for i, text in enumerate(texts) if text.strip()]
        found = await asyncio.to_thread(self._rows, [texts[i] for i in spoken]) if spoken else None
        dim = await asyncio.to_thread(lambda: self.dim)
        rows = np.zeros((len(texts), dim), dtype=np.float32)
        if found is not None:
            rows[spoken] = found
        return rows

    def unknown_share(self, texts: Sequence[str]) -> float | None:
        """None: an endpoint does not tell."""
        return None

    def _rows(self, texts: Sequence[str]) -> Vectors:
        rows = np.concatenate([self._batch(texts[i : i + _BATCH]) for i in range(0, len(texts), _BATCH)])
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        unit = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
        return np.asarray(unit, dtype=np.float32)

    def _batch(self, texts: Sequence[str]) -> np.ndarray:
        from tenacity import Retrying, retry_if_exception, stop_after_attempt

        retrying = Retrying(
            stop=stop_after_attempt(_TRIES),
            retry=retry_if_exception(lambda error: isinstance(error, EndpointError) and error.retryable),
            wait=lambda state: _wait(state.outcome.exception() if state.outcome else None, state.attempt_number),
            reraise=True,
        )
        answer: list[list[float]] = retrying(self._ask, list(texts))
        return self._checked(answer, len(texts))

    def _ask(self, texts: list[str]) -> list[list[float]]:
        client = self._open()
        try:
            return client.embed_documents(texts, chunk_size=len(texts))
        except Exception as error:
            raise _translated(error, len(texts), _public(self._url)) from None

    def _checked(self, answer: Sequence[Sequence[float]], asked: int) -> np.ndarray:
        place = _public(self._url)
        if len(answer) != asked:
            raise EndpointError(
                f"{place} returned {len(answer)} vectors for {asked} inputs; {_HINT}", cause="malformed"
            )
        lengths = sorted({len(row) for row in answer})
        if len(lengths) != 1 or lengths[0] < 1:
            raise EndpointError(f"{place} returned vectors of {lengths} dimensions in one answer", cause="malformed")
        if self._dim is None:
            self._dim = lengths[0]
        if lengths[0] != self._dim:
            raise EndpointError(
                f"{place} returned {lengths[0]} dimensions and {self._dim} were expected", cause="malformed"
            )
        rows = np.asarray(answer, dtype=np.float64)
        if not np.isfinite(rows).all():
            raise EndpointError(f"{place} returned a value that is not finite", cause="malformed")
        return rows

    def _open(self) -> OpenAIEmbeddings:
        with self._lock:
            if self._client is None:
                self._client = _client(self._model, self._url)
            return self._client


def _client(model: str, url: str) -> OpenAIEmbeddings:
    key = os.environ.get("OPENAI_API_KEY")
    if not key and url == _OFFICIAL:
        raise ConfigError("the embedder openai needs a key: set OPENAI_API_KEY, or name another base_url")
    import httpx
    from langchain_openai import OpenAIEmbeddings
    from pydantic import SecretStr

    return OpenAIEmbeddings(
        model=model,
        base_url=url,
        api_key=SecretStr(key or "none"),
        check_embedding_ctx_length=False,
        max_retries=0,
        timeout=_TIMEOUT,
        model_kwargs={"encoding_format": "float"},
        http_client=httpx.Client(trust_env=not _is_loopback(url), timeout=_TIMEOUT),
    )


def _wait(error: BaseException | None, attempt: int) -> float:
    asked = error.retry_after if isinstance(error, EndpointError) else None
    return min(_LONGEST_WAIT, asked if asked is not None else 0.5 * 2.0 ** (attempt - 1))


def _translated(error: Exception, asked: int, place: str) -> EndpointError:
    import openai

    if isinstance(error, openai.APITimeoutError):
        return EndpointError(f"{place} did not answer within {_TIMEOUT:.0f} s", cause="timeout", retryable=True)
    if isinstance(error, openai.APIConnectionError):
        return EndpointError(f"cannot reach {place}", cause="connection", retryable=True)
    if isinstance(error, openai.APIStatusError):
        return _of_status(error.status_code, error.message, error.response.headers.get("retry-after"), place)
    if "No embedding data" in str(error):
        return EndpointError(f"{place} returned 0 vectors for {asked} inputs; {_HINT}", cause="malformed")
    return EndpointError(f"{place} answered something unreadable ({type(error).__name__})", cause="malformed")


def _of_status(status: int, message: str, retry_after: str | None, place: str) -> EndpointError:
    if status in (401, 403):
        return EndpointError(f"{place} refused the key ({status}); check OPENAI_API_KEY", cause="auth")
    if status == 429:
        wait = float(retry_after) if retry_after and re.fullmatch(r"\d+(\.\d+)?", retry_after) else None
        return EndpointError(f"{place} limits the rate (429)", cause="rate_limit", retryable=True, retry_after=wait)
    if status >= 500 or status in (408, 409):
        return EndpointError(f"{place} failed ({status})", cause="server", retryable=True)
    return EndpointError(f"{place} refused the request ({status}): {_without_keys(message)[:200]}", cause="refused")


def _without_keys(text: str) -> str:
    key = os.environ.get("OPENAI_API_KEY")
    hidden = text.replace(key, "…") if key else text
    return re.sub(r"\b(sk|key|Bearer)[-_ ][A-Za-z0-9_*-]{6,}", "…", hidden)


def _public(url: str) -> str:
    """The address without user, password, query or fragment."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path, "", ""))


def _is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
