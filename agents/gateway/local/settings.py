"""A local model's text form: `local:smollm2`, `local:PATH.gguf`, with parameters as any model has them."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version

from mnemoscope.agents.gateway.local.weights import Weights, find_weights
from mnemoscope.agents.gateway.settings import EndpointSettings, read_parameters
from mnemoscope.core.errors import ConfigError
from mnemoscope.core.spec import Spec, Value, parse_spec, split_outside

__all__ = ["ENGINE", "PREFIX", "LocalSettings", "read_local"]

PREFIX = "local:"
ENGINE = "xllamacpp"
"""The package that serves."""
_TIMEOUT = 600.0
"""Seconds of one call: other processes may be served first, and a long prompt takes a minute on one core."""
_MAX_TOKENS = 256
"""Of a reply, unless the text form has another limit: small models repeat themselves until they are cut off."""
_PARAMETERS = ("temperature", "top_p", "seed", "max_tokens", "timeout", "retries", "stream", "context")
_SHORT, _SHORTEST = 16, 8
"""Digits of a sha256 that a key holds, and that a user may give."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalSettings(EndpointSettings):
    """A model on this machine. It is named by its weights, never by an address: the port is another each time."""

    weights: Weights
    engine: str
    """Package and version that serves: another one may reply otherwise, so cached replies are bound to it."""
    context: int | None = None
    """Tokens of prompt and reply together; None: what the model was trained with, at most 8,192."""
    sources: dict[str, str] = field(default_factory=dict)

    @property
    def host(self) -> str:
        """Weights and server: the endpoint's name in caches and messages."""
        return f"local/{self.weights.sha256[:_SHORT]}/{self.engine}"

    @property
    def most_tokens(self) -> int:
        """The limit holds for every caller: memories and judges ask for more than a small model ends by itself."""
        return self.max_tokens

    @property
    def spec(self) -> str:
        """Which weights reply and how, wherever the file lies; where it lies here, it opens the model, and no other."""
        kwargs: dict[str, Value] = {"sha256": self.weights.sha256[:_SHORT]}
        kwargs |= {name: value for name, value in self.request_parameters.items() if value is not None}
        return str(Spec(f"{PREFIX}{self.model}", (), kwargs))

    def describe(self) -> dict[str, str]:
        """What `doctor` and a run's manifest may say about the model."""
        return {"model": self.model, "sha256": self.weights.sha256, "engine": self.engine}


def read_local(text: str) -> LocalSettings:
    """Read a local model's text form, and find and check its weights.

    Calls go one at a time, and the seed is 0 unless another is given, so that replies repeat exactly. A reply has at
    most 256 tokens unless another limit is given here; callers may ask for less, never for more.

    Args:
        text: `local:smollm2`, `local:PATH.gguf`, or either with `(temperature=0,top_p=…,seed=…,max_tokens=…,
            timeout=…,retries=…,stream=true,context=8192,sha256=…)`. With `sha256`, other weights are refused.

    Raises:
        ConfigError: Another form, an unknown parameter, a value out of range; the extra, the weights or the right
            weights are missing.
    """
    name, inside = _parts(text.strip().removeprefix(PREFIX))
    pinned = [part.partition("=")[2].strip() for part in inside if part.partition("=")[0].strip() == "sha256"]
    others = [part for part in inside if part.partition("=")[0].strip() != "sha256"]
    spec = parse_spec(f"local({','.join(others)})")
    if spec.args or len(pinned) > 1:
        raise ConfigError(f"parameters of {PREFIX}{name} are named, each once: {', '.join(_PARAMETERS)}, sha256")
    given = read_parameters(spec.kwargs, _PARAMETERS)
    engine = _engine()
    weights = find_weights(name)
    for digits in pinned:
        if len(digits) < _SHORTEST or not weights.sha256.startswith(digits.lower()):
            raise ConfigError(
                f"the weights of {PREFIX}{name} have sha256 {weights.sha256}, not {digits!r}; use the weights that "
                f"were meant, or leave sha256= out (at least {_SHORTEST} digits)"
            )
    return LocalSettings(
        model=weights.name,
        base_url="http://127.0.0.1",
        weights=weights,
        engine=engine,
        concurrency=1,
        **{"seed": 0, "timeout": _TIMEOUT, "max_tokens": _MAX_TOKENS, **given},  # type: ignore[arg-type]  # checked by read_parameters
    )


def _parts(text: str) -> tuple[str, list[str]]:
    """The name and what stands in its parentheses; a file's name may have parentheses of its own."""
    if not text.endswith(")") or "(" not in text:
        return text.strip(), []
    name, _, inside = text[:-1].partition("(")
    return name.strip(), [part for part in split_outside(inside, ",") if part.strip()]


def _engine() -> str:
    try:
        return f"{ENGINE}-{version(ENGINE)}"
    except PackageNotFoundError:
        raise ConfigError(
            f'a local model needs the package {ENGINE}, which is not installed; run: pip install "mnemoscope[local]"'
        ) from None
