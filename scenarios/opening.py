"""Opening what a user names: `kind:path[,role=path…]`, or a bare kind that needs no path, such as `demo`."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import get_args

from mnemoscope.core.errors import ConfigError
from mnemoscope.core.registry import Registry
from mnemoscope.scenarios.source import LoadMode, LoadRequest, ReadProgress, ScenarioSource

__all__ = ["LOADERS", "open_source", "parse_source_spec"]

LOADERS: Registry[ScenarioSource] = Registry(
    "scenario kind",
    {
        "chatlog": "mnemoscope.scenarios.loaders.chatlog:open_chatlog",
        "demo": "mnemoscope.scenarios.demo:open_demo",
        "locomo": "mnemoscope.scenarios.loaders.locomo:open_locomo",
        "locomo-conv": "mnemoscope.scenarios.loaders.locomo_conv:open_locomo_conv",
        "longmemeval": "mnemoscope.scenarios.loaders.longmemeval:open_longmemeval",
        "memuse": "mnemoscope.scenarios.loaders.memuse:open_memuse",
        "native": "mnemoscope.scenarios.loaders.native:open_native",
        "pragma": "mnemoscope.scenarios.loaders.pragma:open_pragma",
        "stratmem": "mnemoscope.scenarios.loaders.stratmem:open_stratmem",
    },
    group="mnemoscope.loaders",
)
"""A loader is a callable that takes a LoadRequest and gives a ScenarioSource."""

_REFERENCE = r"[^:]+\.py:[A-Za-z_]\w*|[A-Za-z_]\w*(?:\.\w+)+:[A-Za-z_]\w*"
_SPEC = re.compile(rf"(?P<kind>{_REFERENCE}|[^:]+)(?::(?P<rest>.*))?", re.DOTALL)
_ROLE = re.compile(r",(?=[a-z][a-z0-9_-]*=)")


def open_source(
    spec: str,
    *,
    mode: LoadMode = "robust",
    encoding: str = "utf-8",
    lenient: bool = False,
    captions: bool = True,
    seed: int = 0,
    progress: Callable[[ReadProgress], None] | None = None,
) -> ScenarioSource:
    """Open scenarios by what a user wrote.

    Args:
        spec: `kind:path[,role=path…]`; a folder is searched for the benchmark's official names. A loader of one's
            own is written `path.py:Name:path` or `package.module:Name:path`.
        mode: How a published release's oddities are handled.
        encoding: What the files were saved in.
        lenient: Load what can be loaded and list the rest.
        captions: Whether image captions reach memories and assistants.
        seed: Order of memory pools.
        progress: Told after each record of a file that is streamed.

    Returns:
        The opened source; iterate it once, then read its report.

    Raises:
        UnknownNameError: No such kind; the nearest are listed.
        ConfigError: Another shape, an unknown mode or encoding, or a loader that cannot be imported.
        DataError: The file cannot be read or is of another benchmark.
    """
    kind, path, roles = parse_source_spec(spec)
    if mode not in get_args(LoadMode):
        raise ConfigError(f"unknown mode {mode!r}; it is robust, strict-release or repaired")
    loader = LOADERS.factory(kind)
    return loader(
        LoadRequest(
            kind=kind,
            path=path,
            roles=roles,
            mode=mode,
            encoding=encoding,
            lenient=lenient,
            captions=captions,
            seed=seed,
            progress=progress,
        )
    )


def parse_source_spec(spec: str) -> tuple[str, Path | None, dict[str, Path]]:
    """Split `kind:path[,role=path…]`; a path may hold colons, and commas that no `role=` follows.

    Returns:
        Kind, path and further paths by role.

    Raises:
        ConfigError: Another shape.

    Example:
        >>> kind, path, roles = parse_source_spec("stratmem:a, b.json,also=c.json")
        >>> kind, str(path), {role: str(other) for role, other in roles.items()}
        ('stratmem', 'a, b.json', {'also': 'c.json'})
    """
    match = _SPEC.fullmatch(spec.strip())
    if match is None:
        raise ConfigError(f"{spec!r} is no scenario; write kind:path, for example locomo:locomo10.json, or demo")
    first, *others = _ROLE.split(match["rest"] or "")
    roles: dict[str, Path] = {}
    for other in others:
        role, _, path = other.partition("=")
        if not path.strip():
            raise ConfigError(f"{spec!r} names no path for {role}")
        if role in roles:
            raise ConfigError(f"{spec!r} names {role} twice")
        roles[role] = Path(path.strip()).expanduser()
    kind, main = match["kind"].strip(), first.strip()
    if main == "" and kind.endswith((".json", ".jsonl", ".yaml", ".yml")):
        likely = "native" if kind.endswith((".yaml", ".yml")) else "locomo"
        raise ConfigError(f"{spec!r} has no kind; write kind:path, for example {likely}:{kind}")
    return kind, Path(main).expanduser() if main else None, roles
