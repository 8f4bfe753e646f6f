"""The comparison: its documented JSON shape, who is in a figure, and what must be said beside it."""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mnemoscope.comparison import compare_runs
from mnemoscope.comparison.merging import open_runs
from mnemoscope.comparison.strata import shown_strata, stratum_title
from mnemoscope.comparison.summary import finite
from mnemoscope.config import RunConfig
from mnemoscope.core.errors import ConfigError, RunFileError, UnknownNameError
from mnemoscope.evaluators.verdict import Verdict
from mnemoscope.graphs.reply import HiddenTrace, Reply
from mnemoscope.runfile import RunFile, open_run
from mnemoscope.runfile.rows import CellKey
from mnemoscope.runfile.writer import CellRecord

METRIC_KEYS = [
    *("benchmark", "metric", "system", "stratum", "n_expected", "n_scored", "n_error", "n_invalid", "n_excluded"),
    *("value", "low", "high", "interval", "strict", "ceiling", "vs_none", "vs_oracle", "flip_rate", "clusters"),
    *("judge_key", "kappa", "kappa_low", "kappa_high", "kappa_n", "task_kappa", "kappa_cautions", "evidence"),
]
PAIR_KEYS = [
    *("benchmark", "metric", "judge_key", "stratum", "a", "b", "delta", "low", "high", "p", "p_clustered"),
    *("p_adjusted", "test", "n", "clusters", "mde", "p_floor", "equivalence", "flip_band"),
]
ARCHITECTURES = ("none", "recent", "bm25", "oracle")

Make = Callable[..., RunConfig]


@pytest.fixture
def run_file(config: Make, do_run: Callable[..., object], make_locomo: Callable[..., Path]) -> Path:
    settings = config(scenarios=(f"locomo:{make_locomo()}",), architectures=ARCHITECTURES)
    do_run(settings)
    assert settings.out is not None
    return settings.out


def fail_cells(path: Path, system: str, count: int) -> None:
    """Turn a system's first cells into failed ones, as the engine stores them."""
    with open_run(path) as run:
        cells = [(cell, {v.metric for v in run.verdicts_of(cell)}) for cell in run.cells(system=system)][:count]
    with RunFile.resume(path) as file:
        for cell, metrics in cells:
            reply = Reply("", HiddenTrace(), None, None, status="error", error="EndpointError: timeout")
            verdicts = [Verdict(m, "reply", "answer-error:EndpointError", None, "error") for m in sorted(metrics)]
            record = CellRecord(cell.key, reply, 1.0, verdicts, error_cause="EndpointError:timeout")
            file.commit_cell(record, replace=True)


def forget_cells(path: Path, system: str, count: int) -> None:
    """Take a system's first cells away, as if the run had been stopped before them."""
    db = sqlite3.connect(path)
    ids = db.execute("SELECT cell_id FROM cell WHERE system = ? ORDER BY cell_id LIMIT ?", (system, count)).fetchall()
    for table in ("verdict", "loss", "span", "cell"):
        db.executemany(f"DELETE FROM {table} WHERE cell_id = ?", ids)
    db.commit()
    db.close()


def numbers(value: object) -> Iterator[float]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for one in value:
            yield from numbers(one)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield float(value)


def test_the_json_has_the_documented_shape_and_no_nan(run_file: Path) -> None:
    document = compare_runs([run_file]).to_json()
    assert list(document) == [
        "systems",
        "metrics",
        "pairs",
        "judgements",
        "judges",
        "detectors",
        "baseline",
        "statistics",
        "warnings",
    ]
    read = json.loads(json.dumps(document, allow_nan=False))
    assert {tuple(row) for row in read["metrics"]} == {tuple(METRIC_KEYS)}
    assert {tuple(row) for row in read["pairs"]} == {tuple(PAIR_KEYS)}
    assert all(math.isfinite(number) for number in numbers(read))
    assert all(
        0 <= row[key] <= 1 for row in read["metrics"] for key in ("value", "low", "high") if row[key] is not None
    )


def test_every_row_says_who_is_in_it(run_file: Path) -> None:
    figures = compare_runs([run_file]).metrics
    assert {f.stratum for f in figures} >= {"all", "multi-hop", "temporal", "non-adversarial"}
    for f in figures:
        assert f.n_expected == f.n_scored + f.n_failed + sum(f.n_excluded.values()), f
    recall = next(
        f for f in figures if (f.metric, f.system, f.stratum) == ("recall@10", "bm25@baseline", "non-adversarial")
    )
    assert (recall.n_expected, recall.n_scored, recall.value) == (8, 8, 1.0)
    assert recall.judge_key and not recall.judged
    judged = next(f for f in figures if f.metric == "integration")
    assert judged.judged and judged.kappa is None
    assert not judged.task_agreement, "nobody has measured this judge, which is not the bundled one"


def test_failures_are_outside_the_mean_and_inside_the_strict_figure(run_file: Path) -> None:
    fail_cells(run_file, "bm25@baseline", 3)
    comparison = compare_runs([run_file], metrics=["recall@10"])
    figure = next(f for f in comparison.metrics if f.system == "bm25@baseline" and f.stratum == "non-adversarial")
    assert figure.n_error == {"EndpointError:timeout": 3}
    assert (figure.n_scored, figure.value) == (5, 1.0)
    assert figure.strict == pytest.approx(5 / 8)
    assert any(w.startswith("failed cells: 3 of 40 (EndpointError:timeout 3)") for w in comparison.warnings)
    assert comparison.system("bm25@baseline").cells_failed == 3
    pair = next(p for p in comparison.pairs if {p.a, p.b} == {"bm25@baseline", "recent@baseline"})
    assert not pair.comparable, "their shares of failed cells differ"


def test_missing_cells_are_counted_and_never_called_complete(run_file: Path) -> None:
    whole = compare_runs([run_file])
    assert whole.is_complete and not any(w.startswith("incomplete") for w in whole.warnings)
    forget_cells(run_file, "bm25@baseline", 2)
    comparison = compare_runs([run_file], metrics=["recall@10"])
    assert not comparison.is_complete
    assert comparison.warnings[0].startswith("incomplete: 38 of 40 cells are there (bm25@baseline 8/10)")
    figure = next(f for f in comparison.metrics if f.system == "bm25@baseline" and f.stratum == "non-adversarial")
    assert figure.n_expected == 8 and figure.n_error == {"missing": 2} and figure.n_scored == 6


def test_probes_on_which_all_systems_failed_stay_expected(run_file: Path) -> None:
    before = {(f.metric, f.stratum, f.system): f for f in compare_runs([run_file]).metrics}
    with open_run(run_file) as run:
        keys = [cell.key for cell in run.cells(scenario="conv-1")]
    with RunFile.resume(run_file) as file:
        for key in keys:
            reply = Reply("", HiddenTrace(), None, None, status="error", error="memory-write: no room")
            file.commit_cell(CellRecord(key, reply, 1.0, error_cause="memory-write"), replace=True)
    after = {(f.metric, f.stratum, f.system): f for f in compare_runs([run_file]).metrics}
    assert after.keys() == before.keys()
    for key, figure in after.items():
        assert figure.n_expected == before[key].n_expected, key
        assert figure.n_error.keys() <= {"memory-write"}
    recall = after["recall@10", "all", "bm25@baseline"]
    assert (recall.n_expected, recall.n_scored, recall.n_error) == (10, 4, {"memory-write": 4})
    assert recall.n_excluded == {"unanswerable by design": 2}, "failing on what cannot be scored is no failure"
    assert (recall.value, recall.strict) == (1.0, 0.5)


def test_a_system_is_expected_to_answer_what_its_own_run_asks(
    config: Make, do_run: Callable[..., object], make_locomo: Callable[..., Path], tmp_path: Path
) -> None:
    spec = f"locomo:{make_locomo()}"
    do_run(config(scenarios=(spec,), architectures=("bm25",), out=tmp_path / "all.db"))
    do_run(config(scenarios=(spec,), architectures=("recent",), limit=3, out=tmp_path / "some.db"))
    comparison = compare_runs([tmp_path / "all.db", tmp_path / "some.db"], metrics=["recall@10"])
    expected = {f.system: (f.n_expected, f.n_error) for f in comparison.metrics if f.stratum == "all"}
    assert expected == {"bm25@baseline": (10, {}), "recent@baseline": (3, {})}
    assert any(w.startswith("not the same probes: recall@10") for w in comparison.warnings)


def test_privileged_rows_and_single_classes_get_no_mark(run_file: Path) -> None:
    comparison = compare_runs([run_file], metrics=["recall@10"])
    assert comparison.system("oracle@baseline").row.privileged
    for pair in comparison.pairs:
        fair = "oracle@baseline" not in (pair.a, pair.b)
        assert pair.comparable == fair
        assert not pair.is_significant or fair
    assert len([p for p in comparison.pairs if p.stratum == "all"]) == 6, "all pairs of four systems"


def test_a_baseline_limits_the_pairs(run_file: Path) -> None:
    comparison = compare_runs([run_file], metrics=["recall@10"], baseline="none@baseline")
    assert {p.b for p in comparison.pairs} == {"none@baseline"}
    with pytest.raises(UnknownNameError, match=r"nearest: bm25@baseline"):
        compare_runs([run_file], baseline="bm52@baseline")


def test_unknown_metrics_and_strata_name_the_nearest(run_file: Path) -> None:
    with pytest.raises(UnknownNameError, match=r"recall@10"):
        compare_runs([run_file], metrics=["recall@11"])
    with pytest.raises(UnknownNameError, match=r"temporal"):
        compare_runs([run_file], by="temporel")
    assert {f.stratum for f in compare_runs([run_file], ["recall(10)"], by="2").metrics} == {"all", "temporal"}
    assert {f.stratum for f in compare_runs([run_file], ["recall@10"], by="scenario").metrics} == {
        "all",
        "conv-1",
        "conv-2",
    }


def test_a_store_no_larger_than_k_is_said(run_file: Path) -> None:
    warnings = compare_runs([run_file], metrics=["recall@10"]).warnings
    assert any(w.startswith("k ≥ store: bm25 holds at most 10 items in 2 scenarios") for w in warnings)
    assert any("estimates" in w for w in warnings)
    assert any(w.startswith("no row for full-context") for w in warnings)


def test_systems_merge_by_name_where_the_settings_agree(
    config: Make, do_run: Callable[..., object], make_locomo: Callable[..., Path], tmp_path: Path
) -> None:
    spec = f"locomo:{make_locomo()}"
    for name, architectures in (("a", ("none", "bm25")), ("b", ("recent",))):
        do_run(config(scenarios=(spec,), architectures=architectures, out=tmp_path / f"{name}.db"))
    with open_runs([tmp_path / "a.db", tmp_path / "b.db"]) as runs:
        assert [s.name for s in runs.systems()] == ["none@baseline", "bm25@baseline", "recent@baseline"]
        assert runs.notes == ()
    comparison = compare_runs([tmp_path / "a.db", tmp_path / "b.db"], metrics=["recall@10"])
    pair = next(p for p in comparison.pairs if {p.a, p.b} == {"bm25@baseline", "recent@baseline"})
    assert pair.n == 8 and pair.comparable


def test_a_name_under_other_settings_is_a_row_of_its_own(
    config: Make, do_run: Callable[..., object], make_locomo: Callable[..., Path], tmp_path: Path
) -> None:
    spec = f"locomo:{make_locomo()}"
    for name, k in (("ten", 10), ("one", 1)):
        do_run(config(scenarios=(spec,), architectures=("bm25",), k=k, out=tmp_path / f"{name}.db"))
    comparison = compare_runs([tmp_path / "ten.db", tmp_path / "one.db"], metrics=["integration"])
    assert [s.name for s in comparison.systems] == ["bm25@baseline", "bm25@baseline [one]"]
    assert "bm25@baseline of one is a row of its own: k is 1, in ten 10" in comparison.warnings
    assert any(w.startswith("unequal conditions: k is 10 for bm25@baseline; 1 for") for w in comparison.warnings)
    assert [p.comparable for p in comparison.pairs if p.stratum == "all"] == [False]


def test_other_data_under_one_name_is_refused(
    config: Make, do_run: Callable[..., object], make_locomo: Callable[..., Path], tmp_path: Path
) -> None:
    for name, hidden in (("a", "gold"), ("b", "other")):
        spec = f"locomo:{make_locomo(f'{name}.json', hidden=hidden)}"
        do_run(config(scenarios=(spec,), architectures=("none",), out=tmp_path / f"{name}.db"))
    with pytest.raises(RunFileError, match=r"scenario conv-1 is not the same in a\.db and b\.db"):
        compare_runs([tmp_path / "a.db", tmp_path / "b.db"])
    with pytest.raises(ConfigError, match=r"a\.db is named 2 times"):
        compare_runs([tmp_path / "a.db", tmp_path / "a.db"])


def test_losses_add_up_to_the_facts(run_file: Path) -> None:
    comparison = compare_runs([run_file], "headline")
    assert {f.system for f in comparison.funnels} == {f"{a}@baseline" for a in ARCHITECTURES}
    for funnel in comparison.funnels:
        assert sum(funnel.stages.values()) == funnel.facts == 8
    lost = {f.system: f.stages for f in comparison.funnels}
    assert lost["none@baseline"]["not-stored"] == 8
    assert lost["oracle@baseline"]["not-retrieved"] == 0


def test_headlines_keep_answerable_and_adversarial_apart(run_file: Path) -> None:
    headlines = compare_runs([run_file], "headline").headlines["locomo"]
    assert [(h.metric, h.stratum) for h in headlines] == [
        ("recall@10", "non-adversarial"),
        ("recall-tokens(1024)", "non-adversarial"),
        ("answer-f1", "non-adversarial"),
        ("adversarial", "adversarial"),
    ]


def test_strata_have_number_and_name_in_the_benchmarks_order() -> None:
    names = ["unknown(7)", "single-hop", "all", "adversarial", "non-adversarial", "multi-hop"]
    assert [stratum_title("locomo", s) for s in shown_strata("locomo", names)] == [
        "1 multi-hop",
        "4 single-hop",
        "5 adversarial",
        "1–4 non-adversarial",
        "unknown(7)",
    ]
    assert stratum_title("stratmem", "must+nice") == "C must+nice"


def test_what_json_cannot_hold_is_null() -> None:
    assert finite(float("nan")) is None
    assert finite(float("inf")) is None
    assert finite(-0.0) == 0.0 and str(finite(-0.0)) == "0.0"


def test_cells_of_one_system_are_found_by_key(run_file: Path) -> None:
    with open_runs([run_file]) as runs:
        first = next(iter(runs.cells()))
        assert runs.members[0].run.cell(CellKey(*first.key)) == first
        assert runs.scenario("conv-2").scenario_id == "conv-2"
