"""Profiles: names, parameters, references, and the mark of those that read gold."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from mnemoscope.agents import Profile, open_profile, profile_names
from mnemoscope.core.errors import ConfigError, UnknownNameError
from mnemoscope.graphs.assistant import AssistantNodes

MINE = '''
"""A planner and two profiles of a user's own."""
from mnemoscope.agents.profiles import Profile
from mnemoscope.graphs.assistant import AssistantNodes
from mnemoscope.graphs.plan import ResponsePlan


class Shy:
    name = "shy"

    def __init__(self, k: int = 1) -> None:
        self.k = k

    async def plan(self, task):
        return ResponsePlan(self.name, moves=("hold",), speak="silent")


MINE = Profile("mine", AssistantNodes(plan_response="all", verify="slots"), summary="all, verified")
SLY = Profile("sly", AssistantNodes(plan_response="oracle"))
OTHER = 7


def made(k: int = 2) -> Profile:
    return Profile(f"made({k})", AssistantNodes(plan_response=f"top-k({k})"))
'''


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    path = tmp_path / "my_profiles.py"
    path.write_text(MINE, encoding="utf-8")
    return path


def test_all_names_open() -> None:
    assert set(profile_names()) >= {"all", "baseline", "none", "oracle", "slots", "strategic", "threshold", "top-k"}
    for name in profile_names():
        assert open_profile(name).summary


@pytest.mark.parametrize(
    ("text", "name", "nodes"),
    [
        ("baseline", "baseline", AssistantNodes("identity", "unplanned", "plain", None)),
        ("slots", "slots", AssistantNodes("identity", "top-k(3)", "plain", "slots", 2)),
        ("slots(3)", "slots", AssistantNodes("identity", "top-k(3)", "plain", "slots", 2)),
        ("slots(k=5)", "slots(k=5)", AssistantNodes("identity", "top-k(5)", "plain", "slots", 2)),
        ("none", "none", AssistantNodes(plan_response="none")),
        ("top-k(k=2)", "top-k(2)", AssistantNodes(plan_response="top-k(2)")),
    ],
)
def test_names_round_trip(text: str, name: str, nodes: AssistantNodes) -> None:
    profile = open_profile(text)
    assert (profile.name, profile.nodes, profile.privileged) == (name, nodes, False)
    assert open_profile(profile.name) == profile


def test_what_reads_gold_is_marked_whatever_it_says_of_itself(mine: Path) -> None:
    assert open_profile("oracle").privileged
    assert open_profile(f"{mine}:SLY").privileged


def test_references_to_profiles_makers_and_planners(mine: Path) -> None:
    assert open_profile(f"{mine}:MINE").nodes == AssistantNodes(plan_response="all", verify="slots")
    assert open_profile(f"{mine}:made(4)").nodes.plan_response == "top-k(4)"
    shy = open_profile(f"{mine}:Shy(3)")
    assert (shy.name, shy.nodes.plan_response, shy.nodes.verify) == (f"{mine}:Shy(3)", f"{mine}:Shy(3)", None)
    assert isinstance(open_profile("mnemoscope.graphs.nodes.planners:UseAll"), Profile)


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        ("slot", UnknownNameError, "nearest: slots"),
        ("baseline(2)", ConfigError, "baseline"),
        ("slots(k=0)", ConfigError, "from 1 to 1,000"),
        ("slots(n=2)", ConfigError, "slots"),
        ("json:dumps(1)", ConfigError, "neither a profile nor a planner"),
        ("nowhere.py:Name", ConfigError, "cannot load"),
    ],
)
def test_bad_names_are_explained(text: str, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        open_profile(text)


def test_a_profile_takes_no_parameters(mine: Path) -> None:
    with pytest.raises(ConfigError, match="takes no parameters"):
        open_profile(f"{mine}:MINE(2)")
    with pytest.raises(ConfigError):
        open_profile(f"{mine}:OTHER")


def test_public_names_are_complete_and_lazy() -> None:
    import mnemoscope.agents as agents
    import mnemoscope.agents.gateway as gateway
    import mnemoscope.agents.writers as writers

    for package in (agents, gateway, writers):
        assert all(getattr(package, name) is not None for name in package.__all__)
    check = (
        "import sys, mnemoscope.agents, mnemoscope.agents.gateway, mnemoscope.agents.writers\n"
        "print([m for m in sys.modules if m.split('.')[0] in ('openai', 'langgraph', 'langchain_openai', 'pydantic')])"
    )
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_only_the_gateway_imports_a_vendor() -> None:
    root = Path(__file__).parents[2]
    vendors = ("import openai", "from openai", "langchain_openai", "import anthropic")
    found = [
        path.relative_to(root).as_posix()
        for folder in ("agents", "evaluators", "graphs", "memory_backends", "scenarios", "mnemoscope")
        for path in sorted((root / folder).rglob("*.py"))
        if "site-packages" not in path.parts and any(vendor in path.read_text(encoding="utf-8") for vendor in vendors)
    ]
    inside = [path for path in found if not path.startswith(("agents/gateway/", "mnemoscope/agents/gateway/"))]
    assert inside in ([], ["memory_backends/embedders/openai.py"])
