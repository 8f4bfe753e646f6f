"""Secrets out of everything that is written: messages, logs, cached replies, keys."""

from __future__ import annotations

import base64
import logging
import re
from collections.abc import Iterable
from urllib.parse import parse_qsl, quote, quote_plus, urlsplit, urlunsplit

__all__ = ["Redactor", "bare_url", "key_hint", "quiet_vendor_logs", "url_secrets"]

_MARK = "[redacted]"
_SHORTEST = 8
"""Shorter configured values (`EMPTY`, `ollama`) are placeholders and stand in ordinary text."""
_SHAPES = (
    re.compile(r"(?i)(authorization['\"]?\s*[:=]\s*['\"]?)(?:(?:bearer|basic)\s+)?[^\s'\",}]+"),
    re.compile(r"(?i)(\bbearer\s+)[A-Za-z0-9._~+/=-]{6,}"),
    re.compile(r"(?i)(\b(?:api[-_]?key|access[-_]?token)['\"]?\s*[:=]\s*['\"]?)[^\s'\",}&]+"),
    re.compile(r"(\w+://)[^/\s@]+(?=@)"),
)
_SK_KEY = re.compile(r"\bsk-[A-Za-z0-9_*-]{4,}")
_VENDOR_LOGGERS = ("openai", "httpx", "httpx2", "httpcore", "httpcore2", "langchain_openai", "langsmith")


class Redactor:
    """Takes configured secrets out of text, in every encoding in which they may come back.

    Args:
        secrets: The configured values; those shorter than 8 characters are placeholders and are left alone.
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        forms: set[str] = set()
        for secret in secrets:
            if len(secret) >= _SHORTEST:
                forms |= _encodings(secret)
        self._forms = tuple(sorted(forms, key=len, reverse=True))

    def exact(self, text: str) -> str:
        """The text without the configured secrets; everything else, key-like dialogue included, is left as it is."""
        for form in self._forms:
            text = text.replace(form, _MARK)
        return text

    def message(self, text: str) -> str:
        """A message for people: without configured secrets and without anything that has the shape of one."""
        text = self.exact(text)
        for shape in _SHAPES:
            text = shape.sub(rf"\1{_MARK}", text)
        return _SK_KEY.sub(_MARK, text)


def _encodings(secret: str) -> set[str]:
    raw = secret.encode(errors="replace")
    coded = {base64.b64encode(raw).decode(), base64.urlsafe_b64encode(raw).decode()}
    return {secret, quote(secret, safe=""), quote_plus(secret)} | coded | {form.rstrip("=") for form in coded}


def bare_url(url: str) -> str:
    """The URL without user, password, query and fragment: what may be shown, stored and hashed."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if ":" in host:
        host = f"[{host}]"
    port = f":{parts.port}" if parts.port else ""
    return urlunsplit((parts.scheme, host + port, parts.path.rstrip("/"), "", ""))


def url_secrets(url: str) -> tuple[str, ...]:
    """What a URL may hide: user, password and the values of its query."""
    parts = urlsplit(url)
    return tuple(filter(None, (parts.username, parts.password, *(value for _, value in parse_qsl(parts.query)))))


def key_hint(key: str | None) -> str:
    """How a key may be shown: whether it is set, and at most its last four characters.

    Example:
        >>> key_hint("sk-0123456789abcdef")
        'set (…cdef)'
        >>> key_hint(None)
        'not set'
    """
    if not key:
        return "not set"
    return f"set (…{key[-4:]})" if len(key) >= 12 else "set"


class _RedactingFilter(logging.Filter):
    """One for the process: it knows the secrets of every endpoint opened so far."""

    def __init__(self) -> None:
        super().__init__()
        self.secrets: set[str] = set()
        self._redactor = Redactor(())

    def learn(self, secrets: Iterable[str]) -> None:
        """Take further secrets out from now on."""
        self.secrets |= set(secrets)
        self._redactor = Redactor(self.secrets)

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = self._redactor.message(record.getMessage()), None
        record.exc_info = None
        return True


_FILTER = _RedactingFilter()


def quiet_vendor_logs(secrets: Iterable[str]) -> None:
    """Keep the vendor libraries' request logs out of ours, and redact the warnings that remain.

    At `INFO` they log every URL, at `DEBUG` whole requests; neither belongs in a run folder that is shared.

    Args:
        secrets: What this endpoint's configuration holds.
    """
    _FILTER.learn(secrets)
    for name in _VENDOR_LOGGERS:
        logger = logging.getLogger(name)
        logger.setLevel(max(logger.level, logging.WARNING))
        if _FILTER not in logger.filters:
            logger.addFilter(_FILTER)
