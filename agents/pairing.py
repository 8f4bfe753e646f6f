"""Which profiles a memory pairs with: one that answers by itself with `own` alone, any other with all but `own`."""

from __future__ import annotations

from collections.abc import Iterable

from mnemoscope.agents.profiles import Profile
from mnemoscope.core.errors import ConfigError
from mnemoscope.graphs.architecture import Architecture
from mnemoscope.graphs.nodes.own import OWN

__all__ = ["pairs", "refuse_unpaired"]

_EXAMPLE = "memgpt-style(read=agentic)"


def pairs(architecture: Architecture, profile: Profile) -> bool:
    """Whether the two make a system."""
    return architecture.capabilities.answers == profile.nodes.own


def refuse_unpaired(systems: Iterable[tuple[Architecture, Profile]]) -> None:
    """Refuse pairs that make no system.

    Args:
        systems: All that are asked for.

    Raises:
        ConfigError: There are such pairs: all of them are named, why, and how to ask for what there may be.
    """
    asked = list(systems)
    refused = [(a, p) for a, p in asked if not pairs(a, p)]
    if not refused:
        return
    loops = list(dict.fromkeys(a.name for a, _ in refused if a.capabilities.answers))
    others = list(dict.fromkeys(a.name for a, _ in refused if not a.capabilities.answers))
    why = []
    if loops:
        why.append(f"{', '.join(loops)}: answers by itself, with the profile {OWN} only")
    if others:
        why.append(f"{', '.join(others)}: does not answer by itself, as the profile {OWN} has it")
    fit = dict.fromkeys([f"{a.name}@{p.name}" for a, p in asked if pairs(a, p)] + [f"{name}@{OWN}" for name in loops])
    named = " ".join(f"--system '{name}'" for name in fit)
    fix = f"name the systems one by one: {named}" if fit else f"choose another profile, or a memory such as {_EXAMPLE}"
    told = ", ".join(f"{a.name}@{p.name}" for a, p in refused)
    raise ConfigError(f"what does not pair: {told} ({'; '.join(why)}); {fix}")
