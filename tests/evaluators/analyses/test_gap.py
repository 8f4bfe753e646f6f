"""Known against said: on MemUse's released verdicts, and by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mnemoscope.evaluators.analyses.analysis import Value
from mnemoscope.evaluators.analyses.gap import Gap
from mnemoscope.evaluators.analyses.material import Lost
from tests.evaluators.analyses.analysis_tools import Run, asked, by_name, row

METRICS = {"direct_qa": "direct-qa", "reference": "reference"}


def released(file: Path) -> dict[str, Value]:
    rows, probes = [], {}
    for found in json.loads(file.read_text(encoding="utf-8"))["per_sub_question"]:
        instance = found["instance_id"]
        probes[instance, "p"] = asked("p", cluster=instance)
        rows += [
            row("a", "p", metric, float(found[key]), scenario=instance, subject=f"q{found['sub_q_idx']}")
            for key, metric in METRICS.items()
            if found[key] is not None
        ]
    return by_name(Gap().analyse(Run(rows=rows, probes=probes, names=("a",))), "system")[("a",)]


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "direct", "reference", "rho"),
    [
        ("mem0_schema1.1", 0.4146, 0.0728, -0.07),
        ("letta_schema1.1", 0.6139, 0.1076, 0.13),
        ("mem0_schema1.2", 0.4241, 0.0728, -0.01),
        ("letta_schema1.2", 0.6108, 0.1108, 0.17),
    ],
)
def test_the_released_verdicts_give_the_known_correlation(
    benchmark_data: Path, name: str, direct: float, reference: float, rho: float
) -> None:
    file = benchmark_data / "memuse_labels" / f"report_{name}.json"
    if not file.is_file():
        pytest.skip(f"{file.name} is not beside the benchmark files")
    one = released(file)
    assert one["instances"] == 72
    assert one["rho"] == pytest.approx(rho, abs=0.005)
    # Means are over instances, the release's over 316 questions: instances have four or five of them.
    assert one["direct"] == pytest.approx(direct, abs=0.005)
    assert one["reference"] == pytest.approx(reference, abs=0.005)
    assert float(str(one["low"])) < direct - reference < float(str(one["high"]))


def test_an_instance_that_was_asked_one_way_only_is_left_out() -> None:
    probes = {(f"s{n}", "p"): asked("p", cluster=f"u{n}") for n in range(3)}
    rows = [row("a", "p", "direct-qa", 1.0, scenario=f"s{n}") for n in range(3)]
    rows += [
        row("a", "p", "reference", 0.0, scenario="s0"),
        row("a", "p", "reference", None, scenario="s1", status="error"),
    ]
    one = by_name(Gap().analyse(Run(rows=rows, probes=probes)), "system")[("a",)]
    assert (one["instances"], one["gap"]) == (1, 1.0)
    assert one["rho"] is None, "one instance has no order"


def test_a_constant_side_has_no_correlation_and_no_nan() -> None:
    probes = {(f"s{n}", "p"): asked("p", cluster=f"u{n}") for n in range(4)}
    rows = [row("a", "p", "reference", 0.0, scenario=f"s{n}") for n in range(4)]
    rows += [row("a", "p", "direct-qa", float(n % 2), scenario=f"s{n}") for n in range(4)]
    one = by_name(Gap().analyse(Run(rows=rows, probes=probes)), "system")[("a",)]
    assert (one["gap"], one["rho"]) == (0.5, None)


def test_a_system_that_retrieved_nothing_has_no_share_of_it() -> None:
    losses = [Lost("a", "s", "p", 0, f"f{n}", "not-stored") for n in range(3)]
    one = by_name(Gap().analyse(Run(all_losses=losses, probes={("s", "p"): asked("p")}, names=("a",))), "system")[
        ("a",)
    ]
    assert (one["retrieved"], one["retrieved_unused"], one["planned_unused"]) == (0, None, None)


def test_planned_and_unused_is_the_published_share_of_the_published_counts() -> None:
    losses = [Lost("a", "s", "p", 0, f"f{n}", "not-said" if n < 37 else "kept") for n in range(48)]
    losses += [Lost("a", "s", "p", 0, f"g{n}", "not-planned") for n in range(9)]
    one = by_name(Gap().analyse(Run(all_losses=losses, probes={("s", "p"): asked("p")}, names=("a",))), "system")[
        ("a",)
    ]
    assert one["planned"] == 48
    assert one["planned_unused"] == pytest.approx(0.77, abs=0.005)
    assert one["retrieved"] == 57
    assert one["retrieved_unused"] == pytest.approx(46 / 57)
