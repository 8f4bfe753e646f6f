"""The state machines: architectures, the assistant graph, their nodes, the conformance kit."""

from typing import TYPE_CHECKING

if __name__ != "mnemoscope.graphs":
    raise ImportError("import mnemoscope.graphs, not graphs: a bare import loads a second copy")

from mnemoscope.core.lazy import lazy_names

if TYPE_CHECKING:
    from mnemoscope.graphs.architecture import Architecture, create_architecture
    from mnemoscope.graphs.assistant import Assistant, AssistantContext, AssistantNodes
    from mnemoscope.graphs.backend import GoldView, MemoryBackend, Ports
    from mnemoscope.graphs.drawing import draw_mermaid
    from mnemoscope.graphs.nodes.ports import PlanningTask
    from mnemoscope.graphs.plan import Conflict, ResponsePlan, Slot
    from mnemoscope.graphs.registry import ARCHITECTURES, NODES, PLANNERS
    from mnemoscope.graphs.reply import HiddenTrace, Reply
    from mnemoscope.graphs.traces import ListTrace, NullTrace

__all__ = [
    "ARCHITECTURES",
    "NODES",
    "PLANNERS",
    "Architecture",
    "Assistant",
    "AssistantContext",
    "AssistantNodes",
    "Conflict",
    "GoldView",
    "HiddenTrace",
    "ListTrace",
    "MemoryBackend",
    "NullTrace",
    "PlanningTask",
    "Ports",
    "Reply",
    "ResponsePlan",
    "Slot",
    "create_architecture",
    "draw_mermaid",
]

__getattr__ = lazy_names(
    __name__,
    {
        "ARCHITECTURES": "registry",
        "NODES": "registry",
        "PLANNERS": "registry",
        "Architecture": "architecture",
        "Assistant": "assistant",
        "AssistantContext": "assistant",
        "AssistantNodes": "assistant",
        "Conflict": "plan",
        "GoldView": "backend",
        "HiddenTrace": "reply",
        "ListTrace": "traces",
        "MemoryBackend": "backend",
        "NullTrace": "traces",
        "PlanningTask": "nodes.ports",
        "Ports": "backend",
        "Reply": "reply",
        "ResponsePlan": "plan",
        "Slot": "plan",
        "create_architecture": "architecture",
        "draw_mermaid": "drawing",
    },
)
