"""What is replayed: records, loaders, the replayer, the bundled demo scenarios."""

from typing import TYPE_CHECKING

if __name__ != "mnemoscope.scenarios":
    raise ImportError("import mnemoscope.scenarios, not scenarios: a bare import loads a second copy")

from mnemoscope.core.lazy import lazy_names

if TYPE_CHECKING:
    from mnemoscope.scenarios.opening import LOADERS, open_source
    from mnemoscope.scenarios.records import (
        Card,
        Cut,
        FalsePremise,
        Gold,
        GoldFact,
        MemoryPool,
        Participant,
        PoolItem,
        Probe,
        Scenario,
        Session,
        Turn,
        Window,
    )
    from mnemoscope.scenarios.replay import ForkAt, HistoryEnd, ReplayEvent, SessionEnd, SkipTurn, WriteTurn
    from mnemoscope.scenarios.source import DataReport, LoadRequest, Notice, ScenarioSource

__all__ = [
    "LOADERS",
    "Card",
    "Cut",
    "DataReport",
    "FalsePremise",
    "ForkAt",
    "Gold",
    "GoldFact",
    "HistoryEnd",
    "LoadRequest",
    "MemoryPool",
    "Notice",
    "Participant",
    "PoolItem",
    "Probe",
    "ReplayEvent",
    "Scenario",
    "ScenarioSource",
    "Session",
    "SessionEnd",
    "SkipTurn",
    "Turn",
    "Window",
    "WriteTurn",
    "open_source",
]

_RECORDS = (
    *("Card", "Cut", "FalsePremise", "Gold", "GoldFact", "MemoryPool", "Participant", "PoolItem", "Probe"),
    *("Scenario", "Session", "Turn", "Window"),
)
# `replay` itself stays in its module: a package cannot export a function under the name of its own submodule.
_REPLAY = ("ForkAt", "HistoryEnd", "ReplayEvent", "SessionEnd", "SkipTurn", "WriteTurn")

__getattr__ = lazy_names(
    __name__,
    {
        **dict.fromkeys(("LOADERS", "open_source"), "opening"),
        **dict.fromkeys(_RECORDS, "records"),
        **dict.fromkeys(_REPLAY, "replay"),
        **dict.fromkeys(("DataReport", "LoadRequest", "Notice", "ScenarioSource"), "source"),
    },
)
