"""Census of the published files: what is in them, and every oddity, counted."""

from __future__ import annotations

from pathlib import Path

import pytest

from mnemoscope.scenarios.opening import open_source
from mnemoscope.scenarios.records import Scenario
from mnemoscope.scenarios.source import LoadMode, ScenarioSource

pytestmark = pytest.mark.data

CONVERSATIONS = {
    "conv-26": (19, 419, 199),
    "conv-30": (19, 369, 105),
    "conv-41": (32, 663, 193),
    "conv-42": (29, 629, 260),
    "conv-43": (29, 680, 242),
    "conv-44": (28, 675, 158),
    "conv-47": (31, 689, 190),
    "conv-48": (30, 681, 239),
    "conv-49": (25, 509, 196),
    "conv-50": (30, 568, 204),
}
ROBUST_UNRESOLVABLE = {
    ("conv-42/q58", "D10:19"),
    ("conv-42/q88", "D"),
    ("conv-43/q18", "D:11:26"),
    ("conv-47/q38", "D4:36"),
}


def locomo(folder: Path, mode: LoadMode = "robust") -> tuple[list[Scenario], ScenarioSource]:
    source = open_source(f"locomo:{folder}", mode=mode)
    return list(source), source


def unresolvable(scenarios: list[Scenario]) -> set[tuple[str, str]]:
    return {(probe, text) for s in scenarios for probe, gold in s.gold_by_probe.items() for text in gold.unresolvable}


def test_locomo_census(benchmark_data: Path) -> None:
    scenarios, source = locomo(benchmark_data)
    counts = source.report.counts
    assert [counts[key] for key in ("conversations", "sessions", "turns", "questions")] == [10, 272, 5882, 1986]
    names = ("1 multi-hop", "2 temporal", "3 open-domain", "4 single-hop", "5 adversarial")
    assert [counts[f"category {name}"] for name in names] == [282, 321, 96, 841, 446]
    odd = ("orphan dates", "missing answers", "integer answers", "empty evidence lists", "captioned turns")
    assert [counts[key] for key in odd] == [16, 444, 6, 4, 1226]
    assert counts["empty sessions"] == counts["empty turns"] == 0
    sizes = {s.scenario_id: (len(s.sessions), len(s.turns), len(s.probes)) for s in scenarios}
    assert sizes == CONVERSATIONS
    assert source.report.notice_counts == {
        "adversarial-with-answer": 2,
        "date-without-turns": 16,
        "duplicate-evidence": 1,
        "empty-evidence": 4,
        "number-as-answer": 6,
        "packed-evidence": 4,
        "repeated-question": 12,
        "unresolvable-evidence": 4,
        "zero-padded-evidence": 1,
        "zero-width-stripped": 1,
    }
    assert scenarios[9].gold_by_probe[scenarios[9].probes[69].probe_id].evidence[-1] == "D30:5"


def test_locomo_evidence_modes(benchmark_data: Path) -> None:
    robust, _ = locomo(benchmark_data)
    assert unresolvable(robust) == ROBUST_UNRESOLVABLE
    repaired, _ = locomo(benchmark_data, "repaired")
    assert unresolvable(repaired) == ROBUST_UNRESOLVABLE - {("conv-43/q18", "D:11:26")}
    strict, _ = locomo(benchmark_data, "strict-release")
    assert unresolvable(strict) == ROBUST_UNRESOLVABLE | {
        ("conv-49/q31", "D9:1 D4:4 D4:6"),
        ("conv-49/q38", "D22:1 D22:2 D9:10 D9:11"),
        ("conv-49/q46", "D21:18 D21:22 D11:15 D11:19"),
        ("conv-50/q69", "D30:05"),
    }


def test_locomo_strata_and_what_stays_hidden(benchmark_data: Path) -> None:
    scenarios, _ = locomo(benchmark_data)
    golds = [gold for s in scenarios for gold in s.gold_by_probe.values()]
    scored = [gold for gold in golds if "non-adversarial" in gold.strata]
    assert len(scored) == 1540
    assert sum(bool(gold.evidence) for gold in scored) == 1536
    assert sum(gold.unanswerable for gold in golds) == 446
    assert len({probe.probe_id for s in scenarios for probe in s.probes}) == 1986
    for s in scenarios:
        shown = "".join(probe.model_dump_json() for probe in s.probes) + "".join(t.model_dump_json() for t in s.turns)
        assert "http" not in "".join(t.caption or "" for t in s.turns)
        assert '"query"' not in shown
        assert "adversarial" not in shown


@pytest.mark.parametrize(("name", "nice"), [("StratMemBench_testset.json", 1107), ("StratMemBench.json", 1958)])
def test_stratmem_census(benchmark_data: Path, name: str, nice: int) -> None:
    source = open_source(f"stratmem:{benchmark_data / name}")
    scenarios = list(source)
    counts = source.report.counts
    assert len(scenarios) == counts["items"] == 657
    assert [counts[f"stratum {s}"] for s in ("must-only", "nice-only", "must+nice")] == [50, 132, 475]
    assert (counts["declared type differs"], counts["inferred type differs"]) == (427, 0)
    assert (counts["with history"], counts["persona summaries given as lists"]) == (279, 413)
    assert counts["clusters"] == len({s.cluster for s in scenarios}) == 260
    assert [counts[f"facts {label}"] for label in ("must", "nice", "irr")] == [620, nice, 3200]
    assert (counts["annotator notes"], counts["items without irrelevant memory"]) == (3, 1)
    assert source.report.notice_counts.get("full-pools", 0) == (name == "StratMemBench.json")
    assert "unpublished-file" not in source.report.notice_counts


def test_the_two_stratmem_files_differ_in_nice_alone(benchmark_data: Path) -> None:
    test, full = (
        {s.scenario_id: s for s in open_source(f"stratmem:{benchmark_data / name}")}
        for name in ("StratMemBench_testset.json", "StratMemBench.json")
    )
    assert list(test) == list(full)
    differing = 0
    for name in test:
        mine, other = (s[name].gold_by_probe[s[name].probes[0].probe_id].roles for s in (test, full))
        assert set(mine.items()) <= set(other.items())
        assert all(other[key] == "nice" for key in other.keys() - mine.keys())
        differing += len(mine) != len(other)
    assert differing == 372


def test_pool_places_tell_nothing_of_labels(benchmark_data: Path) -> None:
    """Under the file's order every must memory would come first."""
    source = open_source(f"stratmem:{benchmark_data / 'StratMemBench_testset.json'}")
    places: dict[str, list[float]] = {"must": [], "nice": [], "irr": []}
    in_file_order = 0
    for s in source:
        (probe,) = s.probes
        roles = s.gold_by_probe[probe.probe_id].roles
        assert probe.pool is not None
        shown = [item.item_id for item in probe.pool.items]
        in_file_order += shown == list(roles)
        for place, item_id in enumerate(shown):
            places[roles[item_id]].append(place / (len(shown) - 1))
    for found in places.values():
        assert abs(sum(found) / len(found) - 0.5) < 0.05
    assert in_file_order <= 3
