"""Ways to answer, by name: which node stands at which place of the assistant graph."""

from __future__ import annotations

from dataclasses import dataclass, replace

from mnemoscope.core.errors import ConfigError
from mnemoscope.core.registry import Registry
from mnemoscope.core.spec import Spec, parse_spec
from mnemoscope.graphs.assistant import Assistant, AssistantNodes
from mnemoscope.graphs.nodes.own import OWN
from mnemoscope.graphs.nodes.ports import Planner, PrivilegedPlanner
from mnemoscope.graphs.parameters import whole
from mnemoscope.graphs.registry import PLANNERS

__all__ = ["PROFILES", "Profile", "baseline", "open_profile", "own", "profile_names", "slots"]

_SLOTS = 3
_LOOPS = 2
_MOST_SLOTS = 1_000


@dataclass(frozen=True, slots=True)
class Profile:
    """A named choice of nodes."""

    name: str
    """With its parameters; it opens the same profile again."""
    nodes: AssistantNodes
    privileged: bool = False
    """Reads gold; its rows are marked in every table. `open_profile` sets it where the planner does."""
    summary: str = ""
    """One line for listings."""


def baseline() -> Profile:
    """The memories are offered, the writer decides, nobody checks."""
    return Profile("baseline", AssistantNodes(), summary="every retrieved memory is offered; the writer decides")


def slots(k: int = _SLOTS) -> Profile:
    """Plan the nearest memories, write, check slot by slot, and write again up to twice.

    Args:
        k: Memories that have to be said, 1 to 1,000.
    """
    number = whole("k", k, 1, _MOST_SLOTS)
    nodes = AssistantNodes(plan_response=f"top-k({number})", verify="slots", max_loops=_LOOPS)
    name = "slots" if number == _SLOTS else f"slots(k={number})"
    return Profile(name, nodes, summary=f"the {number} nearest memories are planned, said and verified")


def own() -> Profile:
    """A memory that answers by itself (`Capabilities.answers`) does so: nobody else plans, writes or checks.

    Its loop asks the memory model, and neither `k` nor the memory tokens of the run bound what it sees.
    """
    nodes = AssistantNodes(plan_response=None, generate=None)
    return Profile(OWN, nodes, summary="the memory's own loop answers; nothing else plans, writes or checks")


PROFILES: Registry[Profile] = Registry(
    "profile",
    {
        "baseline": "mnemoscope.agents.profiles:baseline",
        "own": "mnemoscope.agents.profiles:own",
        "slots": "mnemoscope.agents.profiles:slots",
    },
    group="mnemoscope.profiles",
)


def profile_names() -> tuple[str, ...]:
    """Every profile that has a name: the profiles proper, and each planner's, sorted."""
    return tuple(sorted({*PROFILES.names(), *PLANNERS.names()}))


def open_profile(text: str) -> Profile:
    """The profile that a text names.

    Args:
        text: `baseline`, `own`, `slots`, `slots(k=5)`; a planner's name such as `none`, `all`, `top-k(2)` or `oracle`,
            which means that planner with plain generation and no check; or `path.py:Name` and `package.module:Name`,
            where `Name` is a `Profile`, something that makes one, or a planner's class.

    Raises:
        UnknownNameError: No such profile; the nearest names are listed.
        ConfigError: A parameter out of range, or a reference to something else.

    Example:
        >>> open_profile("top-k(2)").nodes.plan_response
        'top-k(2)'
        >>> open_profile("oracle").privileged
        True
    """
    spec = parse_spec(text)
    if ":" not in spec.name and spec.name not in PROFILES and spec.name in PLANNERS:
        return _of_planner(spec)
    found: object = PROFILES.factory(spec.name)
    if isinstance(found, Profile):
        if spec.args or spec.kwargs:
            raise ConfigError(f"profile {spec.name!r} takes no parameters")
        return _marked(found)
    made: object = PROFILES.create(spec)
    if isinstance(made, Profile):
        return _marked(made)
    if isinstance(made, Planner | PrivilegedPlanner):
        return _of_planner(spec)
    raise ConfigError(f"{text!r} is neither a profile nor a planner")


def _of_planner(spec: Spec) -> Profile:
    planner = PLANNERS.create(spec)
    # a planner of somebody's own may call itself what it likes: then what was written is what opens it again
    called, _, parameters = planner.name.partition("(")
    says_all = called == spec.name and (parameters or not (spec.args or spec.kwargs))
    name = planner.name if says_all else str(spec)
    nodes = AssistantNodes(plan_response=name)
    return _marked(Profile(name, nodes, summary=f"planner {name}, plain generation, no check"))


def _marked(profile: Profile) -> Profile:
    """The profile with its nodes checked; one whose planner reads gold cannot pass as unprivileged."""
    privileged = profile.privileged or Assistant(profile.nodes).privileged
    return replace(profile, privileged=privileged)
