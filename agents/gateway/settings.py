"""Which endpoint, which model, which parameters: read from one text and from documented environment variables."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address
from urllib.parse import parse_qsl, urlsplit

from mnemoscope.agents.gateway.redaction import bare_url, key_hint, url_secrets
from mnemoscope.core.errors import ConfigError
from mnemoscope.core.spec import Spec, Value, parse_spec

__all__ = ["EndpointSettings", "read_endpoint", "read_parameters"]

_OFFICIAL = "https://api.openai.com/v1"
_FORM = "write MODEL, or openai(model=NAME,base_url=http://127.0.0.1:8000/v1,temperature=0)"
_KEY_SOURCE = "OPENAI_API_KEY"
_URL_SOURCE = "OPENAI_BASE_URL"


@dataclass(frozen=True, slots=True)
class EndpointSettings:
    """One model at one endpoint. Secrets never show in its `repr`, its `spec` or its `request_parameters`."""

    model: str
    base_url: str
    """Without user, password and query."""
    temperature: float | None = 0.0
    top_p: float | None = None
    seed: int | None = None
    """Sent as given plus the replicate's number, so that replicates differ."""
    max_tokens: int = 1024
    """Limit of a reply where the caller names none."""
    timeout: float = 60.0
    """Seconds for one whole call, not for one read."""
    retries: int = 4
    """Further tries after a failure that may heal."""
    max_wait: float = 60.0
    """Longest wait that a server may ask for, in seconds; above it the call fails as rate-limited."""
    rpm: int | None = None
    """Requests per minute; None: no limit."""
    concurrency: int = 8
    """Calls in flight."""
    stream: bool = False
    """Take replies as a stream, so that the time to the first token is known; the reply itself is the same."""
    api_key: str | None = field(default=None, repr=False)
    user: tuple[str, str] | None = field(default=None, repr=False)
    query: Mapping[str, str] = field(default_factory=dict, repr=False)
    sources: Mapping[str, str] = field(default_factory=dict)
    """Where the URL and the key come from: names of variables or `argument`, never values."""

    @property
    def host(self) -> str:
        """Host, port and path: the endpoint's name in caches and messages."""
        return self.base_url.partition("://")[2]

    @property
    def is_loopback(self) -> bool:
        """Whether the endpoint is on this machine."""
        name = urlsplit(self.base_url).hostname or ""
        if name == "localhost" or name.endswith(".localhost"):
            return True
        try:
            return ip_address(name).is_loopback
        except ValueError:
            return False

    @property
    def is_official(self) -> bool:
        """Whether this is the vendor's own service."""
        return urlsplit(self.base_url).hostname == urlsplit(_OFFICIAL).hostname

    @property
    def secrets(self) -> tuple[str, ...]:
        """Everything that must never be written anywhere."""
        return tuple(filter(None, (self.api_key, *(self.user or ()), *self.query.values())))

    @property
    def spec(self) -> str:
        """The text that opens the same model again; it holds what shapes a reply, and no secret."""
        kwargs: dict[str, Value] = {"model": self.model, "base_url": self.base_url}
        kwargs |= {name: value for name, value in self.request_parameters.items() if value is not None}
        return str(Spec("openai", (), kwargs))

    @property
    def most_tokens(self) -> int | None:
        """What no reply may exceed, whatever the caller asks for; None: the caller is free."""
        return None

    @property
    def request_parameters(self) -> dict[str, float | int | None]:
        """The parameters that shape a reply."""
        return {
            "temperature": self.temperature,
            "top_p": self.top_p,
            "seed": self.seed,
            "max_tokens": self.max_tokens,
        }

    def describe(self) -> dict[str, str]:
        """What `doctor` and a run's manifest may say about the endpoint."""
        return {
            "model": self.model,
            "base_url": f"{self.base_url} (from {self.sources.get('base_url', 'default')})",
            "key": f"{key_hint(self.api_key)} (from {self.sources.get('api_key', 'nowhere')})",
        }


_NUMBERS: Mapping[str, tuple[type, float, float]] = {
    "temperature": (float, 0.0, 2.0),
    "top_p": (float, 0.0, 1.0),
    "seed": (int, -(2**31), 2**31 - 1),
    "max_tokens": (int, 1, 10_000_000),
    "timeout": (float, 0.001, 86_400.0),
    "retries": (int, 0, 100),
    "max_wait": (float, 0.0, 86_400.0),
    "rpm": (int, 1, 1_000_000),
    "concurrency": (int, 1, 10_000),
    "context": (int, 256, 10_000_000),
}
_REMOTE = (
    "temperature",
    "top_p",
    "seed",
    "max_tokens",
    "timeout",
    "retries",
    "max_wait",
    "rpm",
    "concurrency",
    "stream",
)


def read_endpoint(text: str, environ: Mapping[str, str] | None = None) -> EndpointSettings:
    """Read a model's text form.

    The order is: what the text says, then `OPENAI_BASE_URL` and `OPENAI_API_KEY`, then the vendor's own URL. No
    file is ever searched for a key.

    Args:
        text: `MODEL`, or `openai(model=NAME,base_url=URL,temperature=0,…)`.
        environ: Environment variables; None: this process's.

    Raises:
        ConfigError: Another form, an unknown parameter, a value out of range, a URL that is none, a missing key.
    """
    env = os.environ if environ is None else environ
    kwargs = _read_form(text.strip())
    model = str(kwargs.pop("model", "")).strip()
    if not model:
        raise ConfigError(f"{text!r} names no model; {_FORM}")
    written_url = kwargs.pop("base_url", None)
    url = str(written_url or env.get(_URL_SOURCE) or _OFFICIAL).strip()
    url_source = "argument" if written_url else _URL_SOURCE if env.get(_URL_SOURCE) else "default"
    parameters = read_parameters(kwargs, _REMOTE, also=("model", "base_url"))
    _check_url(url, url_source)
    parts = urlsplit(url)
    key = env.get(_KEY_SOURCE) or None
    user = (parts.username or "", parts.password or "") if parts.username or parts.password else None
    settings = EndpointSettings(
        model=model,
        base_url=bare_url(url),
        api_key=key,
        user=user,
        query=dict(parse_qsl(parts.query)),
        sources={"base_url": url_source, "api_key": _KEY_SOURCE if key else "nowhere"},
        **parameters,  # type: ignore[arg-type]  # names and types were checked
    )
    if settings.is_official and key is None:
        raise ConfigError(
            f"no key for {settings.host}: set {_KEY_SOURCE}, or name your own endpoint with base_url= or {_URL_SOURCE}"
        )
    return settings


def _read_form(text: str) -> dict[str, Value]:
    if "(" not in text:
        if any(character.isspace() or character in "),=" for character in text):
            raise ConfigError(f"{text!r} is not a model; {_FORM}")
        return {"model": text}
    spec = parse_spec(text)
    if spec.name != "openai":
        raise ConfigError(f"unknown kind of model {spec.name!r}; {_FORM}")
    if len(spec.args) > 1 or (spec.args and "model" in spec.kwargs):
        raise ConfigError(f"parameters of a model are named; {_FORM}")
    return {**({"model": spec.args[0]} if spec.args else {}), **spec.kwargs}


def read_parameters(
    kwargs: Mapping[str, Value], known: Sequence[str], *, also: Sequence[str] = ()
) -> dict[str, Value | None]:
    """Check a model's parameters.

    Args:
        kwargs: Parameters as written.
        known: Names that this kind of model takes.
        also: Further names for the message, which were read already.

    Raises:
        ConfigError: An unknown name, or a value of another type or range.
    """
    unknown = sorted(set(kwargs) - set(known))
    if unknown:
        raise ConfigError(f"a model has no parameter {unknown[0]!r}; it has: {', '.join((*also, *known))}")
    return {name: _flag(name, value) if name == "stream" else _number(name, value) for name, value in kwargs.items()}


def _flag(name: str, value: Value) -> bool:
    if not isinstance(value, bool):
        raise ConfigError(f"{name} of a model is {value!r}; it must be true or false")
    return value


def _number(name: str, value: Value) -> Value | None:
    if value in ("none", "None"):
        if name in ("temperature", "rpm"):
            return None
        raise ConfigError(f"{name} of a model cannot be none")
    kind, low, high = _NUMBERS[name]
    fits = not isinstance(value, bool) and isinstance(value, int | float) and (kind is float or isinstance(value, int))
    if not fits or not low <= float(value) <= high:
        shape = "a number" if kind is float else "a whole number"
        raise ConfigError(f"{name} of a model is {value!r}; it must be {shape} from {low:g} to {high:g}")
    return kind(value)  # type: ignore[no-any-return]


def _check_url(url: str, source: str) -> None:
    hidden = " (user, password and query not shown)" if _hides_something(url) else ""
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname)
        _ = parts.port
    except ValueError:
        good = False
    if not good:
        shown = "the value" if hidden or "@" in url else repr(url)
        raise ConfigError(f"base_url from {source} is not an http(s) URL with a host: {shown}{hidden}")


def _hides_something(url: str) -> bool:
    """Whether a URL carries a user, a password or a query; an unreadable one counts as yes."""
    try:
        return bool(url_secrets(url))
    except ValueError:
        return True
