"""What is stored of cells and lanes that could not be done: the cause, and why no metric that applies has a score."""

from __future__ import annotations

from mnemoscope.engine.grid import Lane
from mnemoscope.evaluators.case import EvaluationCase
from mnemoscope.evaluators.graph import Evaluator
from mnemoscope.graphs.assistant import error_text
from mnemoscope.graphs.reply import HiddenTrace, Reply
from mnemoscope.runfile.records import CellRecord, LaneRecord
from mnemoscope.runfile.rows import CellKey
from mnemoscope.scenarios.records import Scenario

__all__ = ["cause_in", "cause_of", "error_reply", "failed_cell", "failed_lane", "unplaced_reply"]

_UNPLACED = "gold names no turns"
"""Reason by which cells of systems that read gold are left out."""


async def failed_cell(key: CellKey, scenario: Scenario, error: Exception, evaluator: Evaluator) -> CellRecord:
    """The row of a cell that could not be done; its error verdicts keep it in every denominator."""
    probe = next(probe for probe in scenario.probes if probe.probe_id == key.probe_id)
    reply = error_reply(error)
    case = EvaluationCase(probe, scenario.gold_by_probe[probe.probe_id], reply, scenario.turns[: probe.cut.seq])
    evaluation = await evaluator.evaluate(case)
    return CellRecord(key, reply, 0.0, evaluation.verdicts, error_cause=cause_of(error))


def failed_lane(lane: Lane, error: Exception) -> LaneRecord:
    """The row of a lane that could not be done."""
    return LaneRecord(lane.key, "failed", 0, error=_message(error), error_cause=cause_of(error))


def error_reply(error: Exception) -> Reply:
    """What an assistant says that could not be asked."""
    return Reply("", HiddenTrace(), None, None, status="error", error=_message(error))


def unplaced_reply() -> Reply:
    """The cell of a system that reads gold, where gold does not say which memories hold what is wanted."""
    return Reply("", HiddenTrace(), None, None, status="excluded", error=_UNPLACED)


def cause_of(error: Exception) -> str:
    """The cause that failures are counted by."""
    return cause_in(error_text(error))


def cause_in(text: str | None) -> str:
    """The cause that stands before the colon of an error's text."""
    return (text or "").partition(":")[0].strip() or "error"


def _message(error: Exception) -> str:
    return error_text(error).encode("utf-8", "replace").decode()
