"""Drawings are text that depends on the graphs alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from mnemoscope.graphs.architecture import create_architecture
from mnemoscope.graphs.assistant import AssistantNodes
from mnemoscope.graphs.drawing import draw_mermaid
from mnemoscope.graphs.registry import ARCHITECTURES

GOLDEN = Path(__file__).parent / "golden"


@pytest.mark.parametrize(
    ("file", "name", "nodes"),
    [
        ("recent.mmd", "recent(n=5)", None),
        ("hybrid_slots.mmd", "hybrid(window=3,overlap=1)", AssistantNodes(plan_response="top-k(2)", verify="slots")),
    ],
)
def test_drawing_is_as_it_was(file: str, name: str, nodes: AssistantNodes | None) -> None:
    assert draw_mermaid(create_architecture(name), nodes) == (GOLDEN / file).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ARCHITECTURES.names())
def test_every_architecture_shows_all_its_nodes(name: str) -> None:
    architecture = create_architecture(name)
    drawn = draw_mermaid(architecture, AssistantNodes())
    for node in (*architecture.write.nodes, *architecture.read.nodes):
        assert f'["{node}"]' in drawn
    assert drawn == draw_mermaid(create_architecture(name), AssistantNodes())
    assert drawn.count("subgraph") == drawn.count("    end\n")
