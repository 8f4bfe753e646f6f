"""A vendor's exception to ours: what failed, and whether another try may help. Decided here and nowhere else."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime

import openai

from mnemoscope.agents.gateway.redaction import Redactor
from mnemoscope.agents.gateway.settings import EndpointSettings
from mnemoscope.core.errors import EndpointError
from mnemoscope.core.language.display import clip

__all__ = ["MAKE_ROOM", "UnsupportedError", "classify", "retry_after_seconds", "unsupported_parameter"]

_MESSAGE_LIMIT = 300
_PROXIES = ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy")
_ACCOUNT = ("insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "account_deactivated")
_FILTER = ("content_filter", "content_policy_violation", "responsibleaipolicyviolation", "data_inspection_failed")
_CONTEXT = ("exceed_context_size", "context_length_exceeded", "maximum context length")
MAKE_ROOM = "give the assistant less to read (--k, --memory-tokens), or take a model with a larger context"
_PARAMETERS: Mapping[str, tuple[str, ...]] = {
    "max_completion_tokens": ("max_completion_tokens",),
    "max_tokens": ("max_tokens",),
    "response_format": ("response_format", "json_schema", "json_object", "guided_json", "structured output"),
    "stream_options": ("stream_options",),
    "stream": ("'stream'", '"stream"', "`stream`", "streaming"),
    "temperature": ("temperature",),
    "top_p": ("top_p",),
    "seed": ("seed",),
}
_UNKNOWN = re.compile(
    r"unsupported|not support|unknown|unrecogni[sz]ed|unexpected|extra|not permitted|not allowed|not available"
    r"|no longer|invalid (?:parameter|schema|value|type)|only the default|instead|forbidden",
    re.IGNORECASE,
)
_TRANSIENT = {408: "timeout", 409: "server", 425: "server", 429: "rate_limit"}


class UnsupportedError(EndpointError):
    """The endpoint does not know one of our parameters; the gateway goes on without it.

    Args:
        message: What the endpoint said, redacted.
        parameter: The parameter's name.
    """

    def __init__(self, message: str, parameter: str) -> None:
        super().__init__(message, cause="refused")
        self.parameter = parameter


def classify(error: BaseException, settings: EndpointSettings, redactor: Redactor, now: datetime) -> EndpointError:
    """Our error for whatever a call raised; its message is redacted and holds no header.

    Args:
        error: What the client raised.
        settings: The endpoint, for the message.
        redactor: Takes secrets out.
        now: The present, against which a `Retry-After` date is read.
    """
    if isinstance(error, EndpointError):
        return error
    where = f"{settings.model} at {settings.host}"
    if isinstance(error, openai.APITimeoutError | TimeoutError):
        return EndpointError(f"{where}: no answer within {settings.timeout:g} s", cause="timeout", retryable=True)
    if isinstance(error, openai.APIStatusError):
        return _of_status(error, where, redactor, now)
    if isinstance(error, openai.APIConnectionError):
        reason = type(error.__cause__).__name__ if error.__cause__ else "no connection"
        message = f"{where}: cannot connect ({reason}){_proxy_hint(settings)}"
        return EndpointError(message, cause="connection", retryable=True)
    said = clip(redactor.message(f"{type(error).__name__}: {error}"), _MESSAGE_LIMIT)
    return EndpointError(f"{where}: the answer cannot be read: {said}", cause="malformed", retryable=True)


def _of_status(error: openai.APIStatusError, where: str, redactor: Redactor, now: datetime) -> EndpointError:
    status, code = error.status_code, _codes(error)
    raw = _said(error)
    said = f"{where}: HTTP {status}: {clip(redactor.message(raw), _MESSAGE_LIMIT)}"
    if any(name in code for name in _ACCOUNT) or status in (401, 402, 403, 407):
        return EndpointError(said, cause="auth")
    if any(name in code or name in raw.lower() for name in _FILTER):
        return EndpointError(said, cause="filtered")
    if any(name in code or name in raw.lower() for name in _CONTEXT):
        return EndpointError(f"{said}; {MAKE_ROOM}", cause="context")
    if status in _TRANSIENT or status >= 500:
        wait = retry_after_seconds(error.response.headers.get("retry-after"), now)
        return EndpointError(said, cause=_TRANSIENT.get(status, "server"), retryable=True, retry_after=wait)
    if status in (400, 422) and (parameter := unsupported_parameter(raw)):
        return UnsupportedError(said, parameter)
    return EndpointError(said, cause="refused")


def unsupported_parameter(message: str) -> str | None:
    """Which of our parameters a refusal says it does not know; the first one named decides.

    Example:
        >>> unsupported_parameter("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.")
        'max_tokens'
        >>> unsupported_parameter("max_tokens is too large: 9000") is None
        True
    """
    if not _UNKNOWN.search(message):
        return None
    lower = message.lower()
    places = {
        name: min((lower.find(mark) for mark in marks if mark in lower), default=-1)
        for name, marks in _PARAMETERS.items()
    }
    found = {name: place for name, place in places.items() if place >= 0}
    return min(found, key=found.__getitem__) if found else None


def retry_after_seconds(value: str | None, now: datetime) -> float | None:
    """Seconds to wait from a `Retry-After` header: a number, or a date against `now`; None where it is neither."""
    if value is None:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, (parsedate_to_datetime(value) - now).total_seconds())
    except (TypeError, ValueError):
        return None


def _said(error: openai.APIStatusError) -> str:
    body = error.body
    if isinstance(body, Mapping):
        inner = body.get("error", body)
        message = inner.get("message") if isinstance(inner, Mapping) else inner
        if isinstance(message, str):
            return message
        return json.dumps(body, ensure_ascii=False, default=str)
    return str(body or error.message)


def _codes(error: openai.APIStatusError) -> str:
    body = error.body if isinstance(error.body, Mapping) else {}
    inner = body.get("error", body)
    fields = inner if isinstance(inner, Mapping) else {}
    return " ".join(str(part) for part in (error.code, error.type, fields.get("code"), fields.get("type"))).lower()


def _proxy_hint(settings: EndpointSettings) -> str:
    if settings.is_loopback:
        return "; is the server running?"
    used = next((name for name in _PROXIES if os.environ.get(name)), None)
    return f"; the environment sets {used}, which this call went through" if used else ""
