"""The bytes of a compiled memory's snapshot: the graph's own state as one line of JSON, then the store's bytes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from mnemoscope.core.errors import BackendError
from mnemoscope.core.identity import TurnId, canonical_json, sha256_of
from mnemoscope.core.usage import Usage
from mnemoscope.graphs.admission import Admission
from mnemoscope.graphs.coverage import Ledger
from mnemoscope.graphs.state import WriteEvent
from mnemoscope.memory_backends.record import Scope, Snapshot
from mnemoscope.scenarios.records import Turn

__all__ = ["SCHEMA_VERSION", "GraphMemory", "pack", "unpack"]

SCHEMA_VERSION = 1


@dataclass(slots=True)
class GraphMemory:
    """What a compiled memory keeps besides its store."""

    ledger: Ledger = field(default_factory=Ledger)
    buffer: tuple[Turn, ...] = ()
    """Turns that the WRITE graph holds back between runs."""
    waiting: tuple[TurnId, ...] = ()
    """Those of them that no item covers yet."""
    admission: Admission | None = None
    """What a gate in front of it knows; None without a gate, and before its first turn."""
    backlog: tuple[WriteEvent, ...] = ()
    """Events whose run failed at an endpoint; the next write or flush tries them again, in order."""
    usage: Usage = Usage()
    parse_failures: int = 0

    def copy(self) -> GraphMemory:
        """Another one with the same content."""
        return replace(self, ledger=self.ledger.copy())


def pack(architecture: str, scope: Scope, memory: GraphMemory, store: Snapshot) -> Snapshot:
    """One snapshot of a memory and its store; equal content gives equal bytes."""
    ledger, usage = memory.ledger, memory.usage
    header = {
        "architecture": architecture,
        "scope": [scope.scenario_id, scope.user_id],
        "written": list(ledger.written),
        "dropped": ledger.dropped,
        "buffer": [_written(turn) for turn in memory.buffer],
        "waiting": list(memory.waiting),
        **({} if memory.admission is None else {"admission": memory.admission.written()}),
        "backlog": [_written_event(event) for event in memory.backlog],
        "parse_failures": memory.parse_failures,
        "usage": {
            "calls": dict(usage.calls_by_phase),
            "prompt": usage.prompt_tokens,
            "completion": usage.completion_tokens,
            "embedded": usage.embedded_texts,
        },
        "store": [store.schema_version, store.sha256],
    }
    data = canonical_json(header).encode("utf-8", "surrogatepass") + b"\n" + store.data
    return Snapshot(data, SCHEMA_VERSION, sha256_of(data), store.embedder_id, store.dim)


def unpack(architecture: str, scope: Scope, snapshot: Snapshot) -> tuple[GraphMemory, Snapshot]:
    """The memory and its store's snapshot; the ledger's covered turns are filled in from the store's items.

    Raises:
        BackendError: Damaged bytes, another format, architecture or scope.
    """
    if sha256_of(snapshot.data) != snapshot.sha256:
        raise BackendError("the snapshot is damaged: its sha256 does not match its bytes", phase="restore")
    line, newline, rest = snapshot.data.partition(b"\n")
    if snapshot.schema_version != SCHEMA_VERSION or not newline:
        raise BackendError(
            f"the snapshot has format {snapshot.schema_version}, this version reads {SCHEMA_VERSION}", phase="restore"
        )
    header = _read_header(line)
    try:
        if header["architecture"] != architecture:
            raise BackendError(f"the snapshot is of {header['architecture']}, not of {architecture}", phase="restore")
        if header["scope"] != [scope.scenario_id, scope.user_id]:
            raise BackendError(f"the snapshot is of scope {header['scope']}, not of this one", phase="restore")
        calls = header["usage"]
        version, digest = header["store"]
        memory = GraphMemory(
            ledger=Ledger(dict.fromkeys(header["written"]), header["dropped"]),
            buffer=tuple(Turn.model_validate(turn) for turn in header["buffer"]),
            waiting=tuple(header["waiting"]),
            admission=Admission.read(header["admission"]) if "admission" in header else None,
            backlog=tuple(_read_event(event) for event in header["backlog"]),
            usage=Usage(calls["calls"], calls["prompt"], calls["completion"], calls["embedded"]),
            parse_failures=header["parse_failures"],
        )
    except (KeyError, TypeError, ValueError) as error:
        raise BackendError(f"the snapshot cannot be read ({type(error).__name__}: {error})", phase="restore") from error
    return memory, Snapshot(rest, version, digest, snapshot.embedder_id, snapshot.dim)


def _read_header(line: bytes) -> Mapping[str, Any]:
    try:
        header = json.loads(line.decode("utf-8", "surrogatepass"))
    except ValueError as error:
        raise BackendError(f"the snapshot cannot be read ({error})", phase="restore") from error
    if not isinstance(header, dict):
        raise BackendError("the bytes are no snapshot of a memory", phase="restore")
    return header


def _written_event(event: WriteEvent) -> dict[str, Any]:
    if event.turn is not None:
        return {"turn": _written(event.turn)}
    now = None if event.now is None else event.now.isoformat()
    return {"reason": event.reason, "session": event.session_id, "now": now}


def _read_event(entry: Mapping[str, Any]) -> WriteEvent:
    if "turn" in entry:
        return WriteEvent("turn", Turn.model_validate(entry["turn"]))
    now = None if entry["now"] is None else datetime.fromisoformat(entry["now"])
    return WriteEvent("flush", None, entry["reason"], entry["session"], now)


def _written(turn: Turn) -> dict[str, Any]:
    return turn.model_dump(mode="json", exclude_defaults=True)
