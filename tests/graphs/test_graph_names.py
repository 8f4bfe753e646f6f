"""Public names, entry points, and what an import costs."""

from __future__ import annotations

import subprocess
import sys

import pytest

import mnemoscope.graphs as graphs
from mnemoscope.graphs import registry
from mnemoscope.graphs.registry import NODES, NodeRegistry


def test_every_public_name_is_there() -> None:
    assert list(graphs.__all__) == sorted(graphs.__all__, key=lambda name: (not name.isupper(), name))
    for name in graphs.__all__:
        assert getattr(graphs, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        graphs.Nothing  # noqa: B018


def test_listing_names_loads_no_framework() -> None:
    code = (
        "import sys; from mnemoscope.graphs import ARCHITECTURES, PLANNERS; "
        "print(ARCHITECTURES.names()[0], PLANNERS.names()[0], 'langgraph' in sys.modules, 'numpy' in sys.modules)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.split() == ["a-mem-style", "all", "False", "False"]


def test_a_bare_import_is_refused() -> None:
    code = "import sys; sys.path.insert(0, '.'); import graphs"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert out.returncode == 1 and "import mnemoscope.graphs, not graphs" in out.stderr


def test_every_built_in_node_can_be_made() -> None:
    made = {kind: {name: names.create(name).name for name in names} for kind, names in NODES.items()}
    assert made == {
        "plan_query": {"identity": "identity"},
        "plan_response": {
            "all": "all", "none": "none", "oracle": "oracle", "strategic": "strategic",
            "threshold": "threshold(at=0.4)", "top-k": "top-k(2)", "unplanned": "unplanned",
        },
        "generate": {"plain": "plain"},
        "verify": {"slots": "slots"},
    }  # fmt: skip


def test_nodes_of_others_come_by_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    class Point:
        def __init__(self, name: str) -> None:
            self.name, self.value = name, "mnemoscope.graphs.nodes.planners:UseAll"

    monkeypatch.delenv("MNEMOSCOPE_NO_PLUGINS", raising=False)
    monkeypatch.setattr(registry, "entry_points", lambda group: [Point("plan_response.theirs"), Point("verify.other")])
    planners: NodeRegistry[object] = NodeRegistry("plan_response", {"mine": "x:y"})
    assert planners.names() == ("mine", "theirs")
    assert planners.create("theirs").name == "all"
