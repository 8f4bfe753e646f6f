"""Contract `mem0-memories`: the answer that the prompt of the `mem0ai` package asks for."""

from __future__ import annotations

from collections.abc import Mapping

from mnemoscope.graphs.contracts.contract import Contract, Reading
from mnemoscope.graphs.contracts.extract_facts import EXTRACT_FACTS, Extraction
from mnemoscope.memory_backends.rendering import unit_text
from mnemoscope.scenarios.records import Turn

__all__ = ["MEM0_MEMORIES", "PROMPT_TOKENS", "Batch"]

PROMPT_TOKENS = 8_500
"""About what the package's own instructions take, whatever was said."""

Batch = tuple[Turn, ...]
_TEXT = {"type": "string"}
_SCHEMA = {
    "type": "object",
    "properties": {
        "memory": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "id": _TEXT,
                    "text": _TEXT,
                    "attributed_to": _TEXT,
                    "linked_memory_ids": {"type": "array", "items": _TEXT},
                },
                "required": ["text"],
            },
        }
    },
    "required": ["memory"],
}


def _show(batch: Batch) -> str:
    return "\n".join(unit_text(turn) for turn in batch)


def _rule(batch: Batch) -> Mapping[str, object]:
    # an assistant's words stand alone here, without the talk that they may repeat
    facts = EXTRACT_FACTS.rule(Extraction(tuple(turn for turn in batch if turn.role != "assistant")))["facts"]
    entries = facts if isinstance(facts, list) else []
    return {"memory": [{"id": str(number), "text": fact["text"]} for number, fact in enumerate(entries)]}


def _read(value: Mapping[str, object], batch: Batch) -> Reading[tuple[Mapping[str, object], ...]]:
    """Entries with a text; on others the package crashes, or passes them over in silence."""
    memory = value["memory"]
    entries = memory if isinstance(memory, list) else []
    kept = tuple(
        {key: entry[key] for key in ("text", "attributed_to") if isinstance(entry.get(key), str)}
        for entry in entries
        if isinstance(entry, dict) and isinstance(entry.get("text"), str) and entry["text"].strip()
    )
    return Reading(kept, len(entries) - len(kept))


MEM0_MEMORIES: Contract[Batch, tuple[Mapping[str, object], ...]] = Contract(
    name="mem0-memories",
    version=1,
    phase="extract",
    instruction="",  # the package brings its own
    schema=_SCHEMA,
    show=_show,
    rule=_rule,
    read=_read,
    max_tokens=2_000,
)
