"""κ of a task stands beside a metric that asks it, under the task's name, and never as the metric's own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemoscope.comparison.agreement import agreement_on
from mnemoscope.evaluators.calibration.library import Calibrations, bundled_calibrations, calibration_said
from mnemoscope.evaluators.judges.question import Task
from mnemoscope.evaluators.metrics.metric import JOINT, tasks_of
from mnemoscope.evaluators.metrics.registry import default_metrics

BUNDLED = Calibrations(bundled_calibrations())
KEYS: dict[Task, str] = {one.task: one.judge_key for file in bundled_calibrations() for one in file.metrics}


@pytest.mark.parametrize("metric", ["integration", "smc", "timing"])
def test_metrics_that_ask_about_use_point_to_it_and_stay_uncalibrated(metric: str) -> None:
    own, of_tasks = agreement_on(metric, KEYS["use"], BUNDLED)
    assert own is None and set(of_tasks) == {"use"}
    assert of_tasks["use"] == BUNDLED.kappa("use", KEYS["use"])
    assert calibration_said(own, of_tasks).startswith("uncalibrated; task use: κ .")


def test_a_calibrated_metric_shows_its_own_agreement_alone() -> None:
    own, of_tasks = agreement_on("answer", KEYS["answer"], BUNDLED)
    assert own is not None and not of_tasks
    assert calibration_said(own, of_tasks) == str(own)


def test_another_judge_of_the_same_task_says_nothing() -> None:
    assert agreement_on("integration", "offline-use-0", BUNDLED) == (None, {})
    assert agreement_on("integration", KEYS["answer"], BUNDLED) == (None, {})
    assert calibration_said(None, {}) == "uncalibrated"


def test_a_metric_that_is_not_known_here_has_no_tasks() -> None:
    assert agreement_on("a-metric-of-my-own", KEYS["use"], BUNDLED) == (None, {})


@given(st.permutations(sorted(KEYS)), st.data())
def test_of_a_joined_key_each_task_takes_its_own_part(order: list[Task], data: st.DataObject) -> None:
    asked = data.draw(st.sets(st.sampled_from(order), min_size=1))
    joined = JOINT.join(["some-rule-1", *(KEYS[task] for task in order)])
    found = BUNDLED.of_tasks(asked, joined)
    assert list(found) == sorted(asked)
    assert all(kappa == BUNDLED.kappa(task, KEYS[task]) for task, kappa in found.items())


def test_every_judged_metric_names_only_tasks_that_it_asks() -> None:
    everything = JOINT.join(KEYS.values())
    for metric in default_metrics():
        assert set(agreement_on(metric.name, everything, BUNDLED)[1]) <= tasks_of(metric)
