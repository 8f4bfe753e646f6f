"""LoCoMo-Conv on real files: the published numbers of jobs, the released sample, the heads of the official files."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from mnemoscope.scenarios.builders.composed import mine_composed
from mnemoscope.scenarios.opening import open_source
from mnemoscope.scenarios.records import Scenario
from mnemoscope.scenarios.source import LoadMode, ScenarioSource
from tests.scenarios.locomo_conv_files import written

pytestmark = pytest.mark.data

STYLES = ("dialog", "implicit", "counterfactual", "composed")


def load(spec: str, mode: LoadMode = "robust") -> tuple[list[Scenario], ScenarioSource]:
    source = open_source(f"locomo-conv:{spec}", mode=mode)
    return list(source), source


def per_style(source: ScenarioSource) -> list[int]:
    return [source.report.counts[f"{style} probes"] for style in STYLES]


def strata(scenarios: list[Scenario]) -> Counter[str]:
    return Counter(name for s in scenarios for gold in s.gold_by_probe.values() for name in gold.strata)


def worded(folder: Path, benchmark_data: Path) -> tuple[Path, list[dict[str, Any]]]:
    """The official structure over all of LoCoMo, with placeholder utterances in the place of the authors' texts."""
    samples = json.loads((benchmark_data / "locomo10.json").read_text(encoding="utf-8"))
    for sample in samples:
        for row in sample["qa"]:
            row |= {"dialog_query": "Remember?", "subject_speaker": "speaker_a", "naturalness": "high"}
            row |= {"implicit_query": "A free day!", "implicit_subject_speaker": "speaker_b"}
            if row["category"] != 5:
                row |= {"counterfactual_query": "As ever?", "asserted_wrong": "ever"}
                row["counterfactual_subject_speaker"] = "speaker_a"
    clusters: list[dict[str, Any]] = [dict(cluster) for cluster in mine_composed(benchmark_data, "release")]
    for cluster in clusters:
        cluster |= {"composed_query": "All of it?", "subject_speaker": "speaker_b"}
    return written(folder, "locomo10_dialog.json", samples), clusters


def test_the_published_numbers_of_jobs(benchmark_data: Path, tmp_path: Path) -> None:
    main, clusters = worded(tmp_path, benchmark_data)
    scenarios, source = load(f"{main},composed={written(tmp_path, 'full.json', clusters)}", "strict-release")
    assert per_style(source) == [1986, 1986, 1540, 1069]
    assert sum(len(s.probes) for s in scenarios) == 6581
    found = strata(scenarios)
    assert (found["composed-original"], found["composed-extension"]) == (300, 769)
    assert (found["nested"], found["non-nested"]) == (772, 297)
    assert [found[f"union-{n}"] for n in ("2", "3", "4", "5+")] == [285, 211, 200, 373]
    assert (found["adversarial"], found["non-adversarial"]) == (2 * 446, 3 * 1540 + 1069)
    capped = [
        probe
        for s in scenarios
        for probe, gold in s.gold_by_probe.items()
        if gold.unresolvable and probe.endswith("/dialog")
    ]
    assert len(capped) == 8
    composed = [g for s in scenarios for p, g in s.gold_by_probe.items() if g.unresolvable and "/S" in p]
    assert len(composed) == 18
    older = [cluster for cluster in clusters if int(cluster["cluster_id"].partition("_C")[2]) < 30]
    _, source = load(f"{main},composed={written(tmp_path, 'older.json', older)}")
    assert sum(per_style(source)) == 5812


@pytest.mark.parametrize(("mode", "clusters"), [("release", 1069), ("raw", 1065), ("repaired", 1081)])
def test_mined_clusters_are_counted(benchmark_data: Path, tmp_path: Path, mode: str, clusters: int) -> None:
    main, _ = worded(tmp_path, benchmark_data)
    _, source = load(f"{main},composed=mined:{mode}")
    assert source.report.counts["composed clusters"] == clusters
    assert source.report.counts["clusters without utterance"] == clusters
    assert per_style(source)[3] == 0


def test_the_released_sample(benchmark_data: Path) -> None:
    scenarios, source = load(
        f"{benchmark_data / 'locomo_conv_dialog_sample.json'},locomo={benchmark_data / 'locomo10.json'},"
        f"composed={benchmark_data / 'locomo_conv_multimem_sample.json'}"
    )
    assert [s.scenario_id for s in scenarios] == ["conv-26", "conv-41", "conv-43", "conv-47", "conv-49"]
    assert [sum(p.style == "dialog" for p in s.probes) for s in scenarios] == [27, 31, 30, 28, 27]
    assert per_style(source) == [143, 143, 95, 48]
    assert source.report.notice_counts == {
        "date-without-turns": 16,
        "number-as-answer": 3,
        "one-speaker-for-all-styles": 1,
        "packed-evidence": 1,
        "supportive-without-systems": 1,
        "trap-from-locomo": 48,
    }
    found = strata(scenarios)
    assert (found["composed-original"], found["composed-extension"]) == (19, 29)
    assert (found["nested"], found["non-nested"]) == (33, 15)
    assert [found[f"naturalness-{n}"] for n in ("high", "medium", "low")] == [115, 19, 9]
    first = scenarios[0]
    assert first.gold_by_probe["conv-26/q57/dialog"].evidence
    gold = first.gold_by_probe["conv-26/S0_C0"]
    assert gold.evidence == ("D1:3", "D3:1", "D5:1", "D8:17")
    assert gold.facts[0].text == "When did Caroline go to the LGBTQ support group: 7 May 2023"
    assert len(first.gold_by_probe["conv-26/q0/implicit"].supportive) == 16
    for s in scenarios:
        for probe in s.probes:
            gold = s.gold_by_probe[probe.probe_id]
            shown = probe.model_dump_json()
            assert not gold.expected or gold.expected not in shown
            assert not gold.trap or f'"{gold.trap}"' not in shown
            assert "nested" not in shown


def test_the_heads_of_the_official_files(benchmark_data: Path) -> None:
    def head(name: str) -> Path:
        return benchmark_data / f"locomo_conv_{name}_head.json"

    locomo = f"locomo={benchmark_data / 'locomo10.json'}"
    (only,), source = load(
        f"{head('dialog')},{locomo},composed={head('composed')},supportive={head('supportive_memory')}"
    )
    assert per_style(source) == [2, 2, 2, 3]
    supportive = only.gold_by_probe["conv-26/q0/implicit"].supportive
    assert supportive["D6:3"] == ("A-mem", "AnchorMem", "Dense")
    kinds = source.report.notice_counts
    assert (kinds["supportive-unused"], kinds["date-without-turns"], kinds["number-as-answer"]) == (1, 16, 3)
    assert set(kinds) == {"supportive-unused", "date-without-turns", "number-as-answer"}
    (only,), source = load(f"{head('response_eval')},{locomo},composed={head('composed')}")
    assert per_style(source) == [3, 0, 0, 3]
    assert [p.speaker for p in only.probes] == ["Caroline", "Melanie", "Caroline", "Caroline", "Melanie", "Melanie"]
