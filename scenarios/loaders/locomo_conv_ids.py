"""The names of LoCoMo-Conv's probes: as the benchmark numbers them, and as they are written here."""

from __future__ import annotations

import re
from dataclasses import dataclass

from mnemoscope.scenarios.records import Scenario

__all__ = ["CONVERSATIONS", "ProbeName", "conversation_number", "probe_name"]

CONVERSATIONS = (
    *("conv-26", "conv-30", "conv-41", "conv-42", "conv-43"),
    *("conv-44", "conv-47", "conv-48", "conv-49", "conv-50"),
)
"""LoCoMo's conversations in the published order, which `sample_idx` counts from 0."""

_QUESTION = re.compile(r"q(\d+)/(dialog|implicit|counterfactual)", re.ASCII)
_CLUSTER = re.compile(r"S(\d+)_C\d+", re.ASCII)


@dataclass(frozen=True, slots=True)
class ProbeName:
    """One probe as the benchmark names it: a question in a style, or a composed cluster."""

    style: str
    question: int | None
    """Number of the question in its conversation, from 0; None for a cluster."""
    cluster: str | None

    @property
    def suffix(self) -> str:
        """What stands behind the conversation's id and a slash in a probe id."""
        return self.cluster if self.cluster is not None else f"q{self.question}/{self.style}"


def probe_name(scenario_id: str, probe_id: str) -> ProbeName | None:
    """The benchmark's name of a probe; None for a probe that the benchmark does not have.

    Example:
        >>> probe_name("conv-26", "conv-26/q3/implicit").question
        3
        >>> probe_name("conv-26", "conv-26/S0_C1").style
        'composed'
    """
    if not probe_id.startswith(f"{scenario_id}/"):
        return None
    rest = probe_id[len(scenario_id) + 1 :]
    if match := _QUESTION.fullmatch(rest):
        return ProbeName(match[2], int(match[1]), None)
    return ProbeName("composed", None, rest) if _CLUSTER.fullmatch(rest) else None


def conversation_number(scenario: Scenario) -> int | None:
    """The conversation's number as `sample_idx` counts: its clusters say so, or its published id; None: unknown."""
    prefix = f"{scenario.scenario_id}/"
    for probe in scenario.probes:
        if probe.style == "composed" and (match := _CLUSTER.fullmatch(probe.probe_id.removeprefix(prefix))):
            return int(match[1])
    known = str(scenario.scenario_id)
    return CONVERSATIONS.index(known) if known in CONVERSATIONS else None
