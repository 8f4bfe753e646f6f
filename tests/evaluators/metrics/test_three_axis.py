"""Three axes: one question, the published total, and the form without the memory block."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mnemoscope.core.errors import ConfigError
from mnemoscope.evaluators.case import EvaluationCase
from mnemoscope.evaluators.metrics.registry import METRICS
from mnemoscope.memory_backends.record import MemoryItem
from mnemoscope.scenarios.records import Gold
from tests.evaluators.metrics.scripted import Script, always, only, says

Make = Callable[..., EvaluationCase]
AXES = ("faithfulness", "relevance", "engagement")


def axes(*levels: float | None) -> Script:
    return {
        "three-axis": lambda q: [says("three-axis", str(s), s, subject=a) for a, s in zip(AXES, levels, strict=True)]
    }


def test_total_and_single_axes(make_case: Make) -> None:
    case, script = make_case(reply="r", style="implicit"), axes(1.0, 0.5, 0.0)
    verdict = only("three-axis", case, script)
    assert (verdict.score, verdict.label) == (0.5, "1.5 of 3")
    assert json.loads(verdict.raw) == {"total": 1.5, "faithfulness": 1.0, "relevance": 0.5, "engagement": 0.0}
    assert [(only(a, case, script).score, only(a, case, script).label) for a in AXES] == [
        (1.0, "1"),
        (0.5, "0.5"),
        (0.0, "0"),
    ]


def test_blind_form_asks_without_the_block_and_leaves_faithfulness_out(
    make_case: Make, make_item: Callable[..., MemoryItem]
) -> None:
    case = make_case(reply="r", style="implicit", items=[make_item("a", "The kiln broke.")])
    seen, blind = (METRICS.create(n).questions(case)[0] for n in ("three-axis", "three-axis(blind=true)"))  # type: ignore[attr-defined]
    assert "The kiln broke." in seen.context and not blind.context and "withheld" in blind.rubric
    verdict = only("three-axis(blind=true)", case, axes(None, 1.0, 0.5))
    assert (verdict.score, verdict.label) == (0.75, "1.5 of 2")
    assert only("relevance(blind=true)", case, axes(None, 1.0, 0.5)).score == 1.0
    for name in ("faithfulness(blind=true)", "three-axis(blind=3)"):
        with pytest.raises(ConfigError):
            METRICS.create(name)


def test_a_missing_axis_leaves_no_total(make_case: Make) -> None:
    case = make_case(reply="r", style="implicit")
    verdict = only("three-axis", case, axes(1.0, None, 1.0))
    assert (verdict.score, verdict.status, verdict.judge_key) == (None, "invalid", "three-axis-key")
    assert only("engagement", case, axes(1.0, None, 1.0)).score == 1.0
    failed = always("three-axis", "judge-error:timeout", None, status="error")
    assert {only(n, case, failed).status for n in ("three-axis", *AXES)} == {"error"}


def test_applies_to_implicit_probes_alone(make_case: Make) -> None:
    metric = METRICS.create("three-axis")
    assert metric.applies(Gold(), make_case(style="implicit").probe)
    assert not metric.applies(Gold(), make_case(style="dialog").probe)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(levels=st.tuples(*[st.sampled_from([0.0, 0.5, 1.0])] * 3))
def test_the_total_is_the_mean_of_the_axes(make_case: Make, levels: tuple[float, float, float]) -> None:
    case = make_case(reply="r", style="implicit")
    assert only("three-axis", case, axes(*levels)).score == pytest.approx(sum(levels) / 3, abs=1e-6)
