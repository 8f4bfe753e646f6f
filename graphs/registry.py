"""Names of architectures and of assistant nodes; listing them imports nothing."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib.metadata import entry_points
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from mnemoscope.core.registry import Registry

if TYPE_CHECKING:
    from mnemoscope.graphs.architecture import Architecture
    from mnemoscope.graphs.nodes.ports import Generator, Planner, PrivilegedPlanner, QueryPlanner, Verifier

__all__ = ["ARCHITECTURES", "GENERATORS", "NODES", "PLANNERS", "QUERY_PLANNERS", "VERIFIERS", "NodeRegistry"]

NODE_GROUP = "mnemoscope.nodes"
_ARCHITECTURES = "mnemoscope.graphs.architectures"
_NODES = "mnemoscope.graphs.nodes"

N = TypeVar("N")


class NodeRegistry(Registry[N]):
    """One kind of assistant node.

    All kinds share the entry-point group `mnemoscope.nodes`; there a name is written `kind.name`, for example
    `plan_response.my-planner = "my_package:MyPlanner"`, and each registry takes the names of its kind.

    Args:
        kind: The node's name in the assistant graph.
        builtin: Name to `module:attribute`.
    """

    def __init__(self, kind: str, builtin: Mapping[str, str]) -> None:
        super().__init__(kind, builtin)
        self._plugins_read = False

    def _load_plugins(self) -> None:
        if self._plugins_read or os.environ.get("MNEMOSCOPE_NO_PLUGINS"):
            return
        self._plugins_read = True
        for point in entry_points(group=NODE_GROUP):
            kind, _, name = point.name.partition(".")
            if kind == self.kind and name:
                self._targets.setdefault(name, point.value)


ARCHITECTURES: Registry[Architecture] = Registry(
    "architecture",
    {
        "none": f"{_ARCHITECTURES}.none:none",
        "oracle": f"{_ARCHITECTURES}.oracle:oracle",
        "recent": f"{_ARCHITECTURES}.recent:recent",
        "full-context": f"{_ARCHITECTURES}.full_context:full_context",
        "pool": f"{_ARCHITECTURES}.pool:pool",
        "bm25": f"{_ARCHITECTURES}.bm25:bm25",
        "dense": f"{_ARCHITECTURES}.dense:dense",
        "hybrid": f"{_ARCHITECTURES}.hybrid:hybrid",
        "random": f"{_ARCHITECTURES}.random_turns:random_turns",
        "compressed": f"{_ARCHITECTURES}.compressed:compressed",
        "summary": f"{_ARCHITECTURES}.summary:summary",
        "comedy-style": f"{_ARCHITECTURES}.comedy:comedy_style",
        "lc": f"{_ARCHITECTURES}.lc:lc",
        "rag": f"{_ARCHITECTURES}.rag:rag",
        "mem0-v1-style": f"{_ARCHITECTURES}.mem0_v1:mem0_v1_style",
        "memoryos-style": f"{_ARCHITECTURES}.memoryos:memoryos_style",
        "a-mem-style": f"{_ARCHITECTURES}.a_mem:a_mem_style",
        "anchormem-style": f"{_ARCHITECTURES}.anchormem:anchormem_style",
        "mem0-v2-style": f"{_ARCHITECTURES}.mem0_v2:mem0_v2_style",
        "memgpt-style": f"{_ARCHITECTURES}.memgpt:memgpt_style",
        "memora-style": f"{_ARCHITECTURES}.memora:memora_style",
        "mem0": f"{_ARCHITECTURES}.mem0_sdk:mem0",
    },
    group="mnemoscope.architectures",
)

QUERY_PLANNERS: Registry[QueryPlanner] = NodeRegistry("plan_query", {"identity": f"{_NODES}.query:Identity"})
PLANNERS: Registry[Planner | PrivilegedPlanner] = NodeRegistry(
    "plan_response",
    {
        "unplanned": f"{_NODES}.planners:Unplanned",
        "none": f"{_NODES}.planners:UseNothing",
        "all": f"{_NODES}.planners:UseAll",
        "top-k": f"{_NODES}.planners:TopK",
        "threshold": f"{_NODES}.planners:Threshold",
        "strategic": "mnemoscope.graphs.strategic.planner:Strategic",
        "oracle": f"{_NODES}.planners:Oracle",
    },
)
GENERATORS: Registry[Generator] = NodeRegistry("generate", {"plain": f"{_NODES}.generators:Plain"})
VERIFIERS: Registry[Verifier] = NodeRegistry("verify", {"slots": f"{_NODES}.verifiers:SlotCheck"})

NODES: Mapping[str, Registry[Any]] = MappingProxyType(
    {"plan_query": QUERY_PLANNERS, "plan_response": PLANNERS, "generate": GENERATORS, "verify": VERIFIERS}
)
"""Every kind of node that can be chosen by name, keyed by its place in the assistant graph."""
