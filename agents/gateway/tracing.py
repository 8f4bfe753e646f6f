"""No telemetry: the frameworks' tracing stays off unless the user asks this program for it."""

from __future__ import annotations

import os

__all__ = ["ASKED", "tracing_off"]

ASKED = "MNEMOSCOPE_TRACING"
"""Set to `langsmith` to let the frameworks send traces; the frameworks' own switches alone do not."""

_SWITCHES = ("LANGSMITH_TRACING", "LANGSMITH_TRACING_V2", "LANGCHAIN_TRACING", "LANGCHAIN_TRACING_V2")


def tracing_off() -> bool:
    """Switch the frameworks' tracing off for this process, whatever the environment says.

    A developer's shell often exports these switches for other work; replayed conversations must not follow them
    out of the machine.

    Returns:
        Whether tracing is off: false only where `MNEMOSCOPE_TRACING=langsmith` asked for it.
    """
    if os.environ.get(ASKED, "").strip().lower() == "langsmith":
        return False
    for name in _SWITCHES:
        os.environ[name] = "false"
    from langsmith import utils

    # The library remembers the switches from its first look at them.
    getattr(utils.get_env_var, "cache_clear", lambda: None)()
    return True
