"""A run that two judges have scored: no analysis counts their verdicts together, and each says whose it took."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mnemoscope.evaluators.analyses.registry import ANALYSES
from mnemoscope.evaluators.metrics.metric import tasks_of
from mnemoscope.evaluators.metrics.registry import METRICS
from mnemoscope.evaluators.rows import ScoreRow
from tests.evaluators.analyses.analysis_tools import Run, asked, cell, row

SCORES = {"bm25@x": 0.0, "oracle@x": 1.0, "none@x": 0.5}
SAID = 0.0
"""The oracle states nothing, so that there is silent grounding to look for."""
JUDGED = ("correction", "false-correction", "three-axis", "relevance", "direct-qa", "reference", "smc")


def verdicts() -> list[ScoreRow]:
    rows = []
    for n in range(12):
        for system, score in SCORES.items():
            rows += [row(system, f"p{n}", metric, score, scenario="t", label="corrected") for metric in JUDGED]
            rows += [
                row(system, f"p{n}", "fact-use", SAID, scenario="t"),
                row(system, f"p{n}", "use", score, scenario="t", subject="x"),
                row(
                    system, f"p{n}", "timing", score, scenario="t", subject="f", label="on-time" if score else "missed"
                ),
                row(system, f"p{n}", "recall-given", 1.0, scenario="t")._replace(judge_key="recall-1"),
            ]
    return rows


RUN = Run(
    rows=verdicts(),
    probes={
        ("t", f"p{n}"): asked(
            f"p{n}",
            style="implicit",
            cluster=f"c{n % 4}",
            cut=n + 1,
            windows=[("f", "open", 0, 20)],
            roles={"x": "nice" if n % 2 else "must"},
        )
        for n in range(12)
    },
    names=tuple(SCORES),
    all_cells=[cell(system, f"p{n}", "x" * n, scenario="t") for system in SCORES for n in range(12)],
)


def opposite(of: ScoreRow) -> ScoreRow:
    """What a judge says that sees everything the other way round."""
    score = None if of.score is None else 1 - of.score
    label = {"corrected": "unaware", "on-time": "missed", "missed": "on-time"}.get(of.label, of.label)
    return of._replace(score=score, label=label, judge_key="offline-9")


def judged(of: ScoreRow) -> bool:
    return bool(tasks_of(METRICS.create(of.metric)))


@pytest.mark.parametrize(
    "name",
    ["ceiling", "chain", "corrections", "gap", "length", "net-benefit", "silent-grounding", "timing", "tournament"],
)
@pytest.mark.parametrize("second_first", [False, True])
def test_a_second_judge_that_says_the_opposite_changes_nothing(name: str, second_first: bool) -> None:
    second = [opposite(r) for r in RUN.rows if judged(r)]
    rows = [*second, *RUN.rows] if second_first else [*RUN.rows, *second]
    analysis = ANALYSES.create(name)
    one, two = analysis.analyse(RUN), analysis.analyse(replace(RUN, rows=rows))
    assert one.rows and sorted(map(str, two.rows)) == sorted(map(str, one.rows))
    assert any("those of offline-9 are left out" in note for note in two.notes)
    assert not any("left out" in note for note in one.notes)


@pytest.mark.parametrize("name", ["ceiling", "corrections", "gap", "length", "silent-grounding", "tournament"])
def test_failures_are_left_out_and_counted(name: str) -> None:
    def lost(of: ScoreRow) -> ScoreRow:
        fails = of.probe_id == "p0" and of.system == "none@x" and judged(of)
        return of._replace(score=None, status="error", label="judge-error:timeout", judge_key="") if fails else of

    found = ANALYSES.create(name).analyse(replace(RUN, rows=[lost(r) for r in RUN.rows]))
    assert found.rows
    assert any(note.endswith("without a score are left out") for note in found.notes)
