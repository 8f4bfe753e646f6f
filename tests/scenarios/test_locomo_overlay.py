"""Overlays: corrected and published gold from one load, and rows that match nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mnemoscope.core.errors import ConfigError, DataError
from mnemoscope.evaluators.metrics.answer import answer_f1
from mnemoscope.scenarios.opening import open_source
from mnemoscope.scenarios.records import Gold
from tests.scenarios.locomo_conv_files import cluster, dialog, written


def test_ds_20_both_figures_come_from_one_load(case_dir: Callable[[str], Path]) -> None:
    folder = case_dir("DS-20")
    expected, replies = (
        json.loads((folder / name).read_text(encoding="utf-8")) for name in ("expected.json", "responses.json")
    )
    before = (folder / "locomo_like.json").read_bytes()
    source = open_source(f"locomo:{folder / 'locomo_like.json'},overlay={folder / 'overlay.json'}")
    (scenario,) = source
    golds = [scenario.gold_by_probe[probe.probe_id] for probe in scenario.probes]

    def figure(picked: dict[int, Gold]) -> dict[str, int]:
        right = sum(answer_f1(replies[str(n)], gold.answers[0], gold.strata) >= 0.8 for n, gold in picked.items())
        return {"correct": right, "n": len(picked)}

    raw = {n: gold.published or gold for n, gold in enumerate(golds)}
    corrected = {n: gold for n, gold in enumerate(golds) if "corrected-gold" in gold.strata}
    assert figure(raw) == expected["raw"]
    assert figure(corrected) == expected["corrected"]
    assert golds[4].strata == ("excluded-by-overlay",)
    assert golds[4].published is not None
    assert golds[4].published.strata == ("single-hop", "non-adversarial")
    assert golds[1].strata == ("single-hop", "non-adversarial", "corrected-gold")
    assert golds[1].facts[0].text == "The kiln"
    assert golds[0].published is None
    notes = [(n.kind, n.where, n.detail) for n in source.report.notices if n.kind.startswith("overlay")]
    assert notes == [
        ("overlay-fix", "case-1 qa 1", '{"answer":"The kiln"}; D2:1 says kiln (source: own audit)'),
        ("overlay-exclude", "case-1 qa 4", "no bowl in transcript (source: own audit)"),
    ]
    assert "overlay.json sha256 " in source.card.settings["overlay"]
    assert source.card.settings["overlay"].endswith(": 1 fixed, 1 excluded")
    assert source.report.counts["questions"] == 6
    assert (folder / "locomo_like.json").read_bytes() == before


def test_ds_20_a_row_without_a_question_is_an_error(case_dir: Callable[[str], Path]) -> None:
    folder = case_dir("DS-20")
    with pytest.raises(DataError, match="overlay row 0 matches no question") as caught:
        open_source(f"locomo:{folder / 'locomo_like.json'},overlay={folder / 'overlay_bad.json'}")
    assert caught.value.file.endswith("overlay_bad.json")
    assert caught.value.field == "qa_index"


def fixes(**changes: Any) -> list[dict[str, Any]]:
    row = {"sample_id": "talk-1", "qa_index": 0, "action": "fix", "answer": "oil", "reason": "r", "source": "s"}
    return [{k: v for k, v in {**row, **changes}.items() if v != "absent"}]


@pytest.mark.parametrize(
    ("rows", "field"),
    [
        (fixes(sample_id="talk-9"), "sample_id"),
        (fixes(qa_index=-1), "qa_index"),
        (fixes(qa_index="0"), "qa_index"),
        (fixes() * 2, "qa_index"),
        (fixes(action="drop"), "action"),
        (fixes(action="exclude"), "action"),
        (fixes(answer="absent"), "answer"),
        (fixes(answer=["oil"]), "answer"),
        (fixes(evidence="D1:1"), "evidence"),
        (fixes(reason=" "), "reason"),
        (fixes(source="absent"), "source"),
        (fixes(anwser="oil"), "anwser"),
    ],
)
def test_malformed_rows_are_refused(tmp_path: Path, rows: list[dict[str, Any]], field: str) -> None:
    main, overlay = written(tmp_path, "dialog.json", dialog()), written(tmp_path, "overlay.json", rows)
    for kind in ("locomo", "locomo-conv"):
        with pytest.raises(DataError) as caught:
            open_source(f"{kind}:{main},overlay={overlay}")
        assert (caught.value.field, caught.value.file) == (field, str(overlay))


def test_locomo_has_no_other_role(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="locomo has no role 'composed'; it has overlay"):
        open_source(f"locomo:{written(tmp_path, 'a.json', dialog())},composed=b.json")


def test_every_style_and_cluster_of_a_corrected_question_is_corrected(tmp_path: Path) -> None:
    main = written(tmp_path, "dialog.json", dialog())
    composed = written(tmp_path, "composed.json", [cluster(0, 0), cluster(1, 0)])
    overlay = written(
        tmp_path,
        "overlay.json",
        fixes(evidence=["D1:2"]) + fixes(sample_id="talk-2", action="exclude", answer="absent"),
    )
    source = open_source(f"locomo-conv:{main},composed={composed},overlay={overlay}")
    first, second = source
    names = ("q0/dialog", "q0/implicit", "q0/counterfactual")
    for name in names:
        gold = first.gold_by_probe[f"talk-1/{name}"]
        assert (gold.answers, gold.evidence) == (("oil",), ("D1:2",))
        assert gold.published is not None
        assert (gold.published.answers, gold.published.evidence) == (("watercolour",), ("D2:1",))
        assert second.gold_by_probe[f"talk-2/{name}"].strata == ("excluded-by-overlay",)
        untouched = first.gold_by_probe[f"talk-1/{name.replace('q0', 'q1')}"]
        assert untouched.published is None
        assert "corrected-gold" in untouched.strata
    premise = first.gold_by_probe["talk-1/q0/counterfactual"].false_premise
    assert premise is not None
    assert premise.truth == "oil"
    gold = first.gold_by_probe["talk-1/S0_C0"]
    assert gold.facts[0].text == "What does Mira paint with now: oil"
    assert gold.evidence == ("D1:1", "D1:2", "D2:1")
    assert gold.published is not None
    assert gold.published.evidence == ("D1:1", "D2:1")
    assert second.gold_by_probe["talk-2/S1_C0"].strata == ("excluded-by-overlay",)
    assert "oil" not in "".join(probe.model_dump_json() for probe in first.probes)
    assert source.report.counts["questions"] == 8


def test_a_correction_of_a_question_that_is_not_loaded_is_noted(tmp_path: Path) -> None:
    samples = dialog()
    samples[0]["qa"] = samples[0]["qa"][1:]
    full, part = written(tmp_path, "locomo.json", dialog()), written(tmp_path, "dialog.json", samples)
    overlay = written(tmp_path, "overlay.json", fixes())
    source = open_source(f"locomo-conv:{part},locomo={full},overlay={overlay}")
    list(source)
    assert [n.where for n in source.report.notices if n.kind == "overlay-unused"] == ["talk-1 qa 0"]
