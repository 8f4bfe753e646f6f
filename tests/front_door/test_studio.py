"""Every entry of `langgraph.json` is found, drawn and run as LangGraph Studio would, with nothing configured."""

from __future__ import annotations

import importlib.util
import json
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mnemoscope.agents.ids import ContentIds
from mnemoscope.agents.writers import open_writer
from mnemoscope.core.errors import ConfigError
from mnemoscope.graphs.architecture import create_architecture
from mnemoscope.graphs.backend import Ports
from mnemoscope.graphs.registry import ARCHITECTURES
from mnemoscope.graphs.state import AssistantContext
from mnemoscope.graphs.traces import NullTrace
from mnemoscope.memory_backends.record import Budget, Scope
from mnemoscope.studio import READS_GOLD, entry_name, studio_graph

ROOT = Path(__file__).resolve().parents[2]
ENTRIES: dict[str, str] = json.loads((ROOT / "langgraph.json").read_text(encoding="utf-8"))["graphs"]


@lru_cache
def loaded(path: str) -> dict[str, Any]:
    """A module loaded from its file, under a name of its own, as the server does."""
    spec = importlib.util.spec_from_file_location("opened_by_studio", ROOT / path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return vars(module)


def opened(entry: str) -> Any:
    """The graph that an entry names."""
    path, _, name = entry.partition(":")
    return loaded(path)[name]({"configurable": {}})


def test_every_architecture_has_an_entry() -> None:
    assert sorted({*ENTRIES, *READS_GOLD}) == sorted(ARCHITECTURES.names())
    assert all(entry.endswith(f":{entry_name(name)}") for name, entry in ENTRIES.items())


@pytest.mark.parametrize("name", ENTRIES)
async def test_an_entry_is_drawn_and_run(name: str) -> None:
    graph = opened(ENTRIES[name])
    drawn = graph.get_graph(xray=True).draw_mermaid()
    assert "respond\\3agenerate" in drawn
    write = create_architecture(name).write_graph
    assert all(node in drawn for node in write.builder.nodes)
    said = await graph.ainvoke({"do": "observe", "speaker": "Mirela", "text": "Ines lent me her red ladder."})
    done = await graph.ainvoke({"do": "end_session"})
    assert any((*said["receipt"].values(), *done["receipt"].values()))
    answered = await graph.ainvoke({"speaker": "Mirela", "text": "Who lent me the red ladder?"})
    assert answered["error"] == ""
    assert answered["reply"]
    found = await graph.ainvoke({"do": "look_up", "speaker": "Mirela", "text": "red ladder"})
    if name in ("bm25", "dense", "hybrid", "mem0"):
        assert any("ladder" in text for text in found["memories"])
        assert "ladder" in answered["reply"]


async def test_a_context_of_ones_own_is_used_instead() -> None:
    memory = create_architecture("bm25").backend()
    await memory.open(Scope("mine"), Ports(ContentIds(), np.random.default_rng(0), NullTrace()))
    context = AssistantContext(memory, Budget(), open_writer(None))
    graph = studio_graph("bm25", profile="baseline")
    await graph.ainvoke({"do": "observe", "text": "The kiln is in the shed."}, context=context)
    found = await graph.ainvoke({"do": "look_up", "text": "kiln"}, context=context)
    assert len(found["memories"]) == 1
    elsewhere = await graph.ainvoke({"do": "look_up", "text": "kiln"})
    assert elsewhere["memories"] == []


def test_names_that_cannot_be_opened_say_so() -> None:
    with pytest.raises(ConfigError, match="nearest"):
        studio_graph("dens")
    with pytest.raises(ConfigError, match="nearest"):
        studio_graph("dense", profile="slotz")
