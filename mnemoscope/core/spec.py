"""Names with parameters that round-trip: `dense(window=3,overlap=1)`, `top-k(2)`, `recall@10`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from mnemoscope.core.errors import ConfigError

__all__ = ["Spec", "Value", "parse_spec", "split_outside"]

Value = str | int | float | bool

_NAME = r"[a-z0-9][a-z0-9+_.-]*"
_SHAPE = re.compile(rf"^(?P<name>{_NAME})(?:@(?P<at>\d+))?(?:\((?P<args>.*)\))?$", re.DOTALL)
_REFERENCE = re.compile(r"^(?P<name>[^()\s]+:[A-Za-z_]\w*)(?:\((?P<args>.*)\))?$", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Spec:
    """A name and its parameters, as written on the command line and stored in the run file.

    `recall@10` is short for `recall(10)`; both read as the positional argument 10.
    """

    name: str
    args: tuple[Value, ...] = ()
    kwargs: dict[str, Value] = field(default_factory=dict)
    at: bool = False

    def __str__(self) -> str:
        if self.at and len(self.args) == 1 and not self.kwargs:
            return f"{self.name}@{_written(self.args[0])}"
        parts = [_written(a) for a in self.args] + [f"{k}={_written(v)}" for k, v in self.kwargs.items()]
        return f"{self.name}({','.join(parts)})" if parts else self.name


def parse_spec(text: str) -> Spec:
    """Read a name with optional parameters.

    Args:
        text: `name`, `name(1,key=value)`, `name@10`, or a reference such as `my_file.py:Planner`. A value may be such
            a text itself: `panel(offline+llm(votes=3,expected_cut=300))`.

    Returns:
        The name and its typed parameters; `str` of the result reads back as the same value.

    Raises:
        ConfigError: The text has another shape.

    Example:
        >>> str(parse_spec("dense(window=3, overlap=1)"))
        'dense(window=3,overlap=1)'
        >>> parse_spec("recall@10").args
        (10,)
    """
    stripped = text.strip()
    match = _SHAPE.match(stripped) or _REFERENCE.match(stripped)
    if match is None:
        raise ConfigError(f"{text!r} is not a name; write it as name, name(2), name(key=value) or name@10")
    groups = match.groupdict()
    args: list[Value] = [int(groups["at"])] if groups.get("at") else []
    kwargs: dict[str, Value] = {}
    for part in filter(None, (p.strip() for p in split_outside(groups["args"] or "", ","))):
        key, eq, value = part.partition("=")
        if eq and "(" not in key:
            if key.strip() in kwargs:
                raise ConfigError(f"{text!r} sets {key.strip()!r} twice")
            kwargs[key.strip()] = _read(value.strip())
        elif kwargs:
            raise ConfigError(f"{text!r} has a positional value after a named one")
        else:
            args.append(_read(part))
    return Spec(groups["name"], tuple(args), kwargs, at=bool(groups.get("at")))


def split_outside(text: str, separator: str) -> list[str]:
    """Split at a separator that stands in no parentheses; where these do not pair up, they are ordinary characters.

    Example:
        >>> split_outside("offline+llm(votes=3,model=a+b)", "+")
        ['offline', 'llm(votes=3,model=a+b)']
    """
    parts, depth = [""], 0
    for character in text:
        depth += {"(": 1, ")": -1}.get(character, 0)
        if depth < 0:
            break
        if character == separator and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts if depth == 0 else text.split(separator)


def _read(text: str) -> Value:
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _written(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
