"""The rules of tests: from the configuration into the run file, and from there into every comparison."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from mnemoscope.cli import main
from mnemoscope.cli.tables import WIDTH
from mnemoscope.comparison.comparing import compare_runs
from mnemoscope.config import RunConfig, load_config
from mnemoscope.core.errors import ConfigError, RunFileError
from mnemoscope.engine import RunOutcome
from mnemoscope.evaluators.statistics.config import StatisticsConfig
from mnemoscope.report.pairs import pair_tables
from mnemoscope.report.wording import wording

Configure = Callable[..., RunConfig]
DoRun = Callable[..., RunOutcome]
RULES = {"equivalence_margin": 0.9, "alpha": 0.1, "correction": "bonferroni"}
SHARED = {"architectures": ("none", "recent", "bm25", "oracle"), "profiles": ("baseline",)}


@pytest.fixture
def locomo(make_locomo: Callable[..., Path]) -> str:
    return f"locomo:{make_locomo(conversations=7)}"


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_a_toml_file_sets_the_rules(tmp_path: Path) -> None:
    text = '[statistics]\nequivalence_margin = 0.05\nalpha = 0.01\ncorrection = "bonferroni"\n'
    found = load_config(write(tmp_path / "run.toml", text), {}).statistics
    assert found == StatisticsConfig(equivalence_margin=0.05, alpha=0.01, correction="bonferroni")
    assert RunConfig(statistics=found).content_hash() == RunConfig().content_hash(), "no reply depends on it"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("equivalence_margin = 5", r"key 'equivalence_margin': .*less than 1 \(seen: 5\)"),
        ("equivalence_margin = 0", r"key 'equivalence_margin': .*greater than 0 \(seen: 0\)"),
        ("alpha = 0.5", r"\[statistics\], key 'alpha': .*less than 0.5"),
        ('correction = "holms"', r"key 'correction': .*'holm' or 'bonferroni' \(seen: 'holms'\)"),
        ("margin = 0.05", r"\[statistics\], key 'margin' is unknown; nearest: equivalence_margin"),
    ],
)
def test_a_wrong_rule_is_named(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_config(write(tmp_path / "run.toml", f"[statistics]\n{line}\n"), {})


def test_rules_go_from_the_run_into_its_comparison(
    config: Configure, do_run: DoRun, locomo: str, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = do_run(config(scenarios=(locomo,), **SHARED)).path
    assert all(pair.equivalence is None for pair in compare_runs([plain], ["recall@10"]).pairs)
    ruled = plain.with_name("ruled.db")
    do_run(config(scenarios=(locomo,), **SHARED, statistics=RULES, out=ruled))
    before, after = (compare_runs([path], ["recall@10"]) for path in (plain, ruled))
    assert after.statistics.equivalence_margin == 0.9
    pairs = [pair for pair in after.pairs if pair.stratum == "non-adversarial"]
    assert {pair.clusters for pair in pairs} == {7} and {pair.p_floor for pair in pairs} == {2 / 2**7}
    for pair in pairs:
        assert pair.alpha == 0.1
        if pair.p_clustered is not None:
            assert pair.p_adjusted == pytest.approx(min(1.0, pair.p_clustered * len(pairs)))
    mde = {(p.a, p.b, p.stratum): p.mde for p in before.pairs}
    assert all(p.mde < mde[p.a, p.b, p.stratum] for p in pairs if p.mde), "a wider alpha finds smaller differences"
    assert main(["compare", str(ruled), "--metric", "recall@10"]) == 0
    said = capsys.readouterr()
    assert "after Bonferroni; * below .1," in said.out and "±90: shown to be less than 90 points apart" in said.out
    assert "smallest p that clusters allow, before correction: .016 with 7" in said.out
    assert max(map(len, said.out.splitlines())) <= WIDTH
    assert "equivalence margin" not in said.err


def test_equivalence_in_a_table_is_that_of_the_rows(config: Configure, do_run: DoRun) -> None:
    chosen = {"scenarios": ("demo",), "limit": 12, "profiles": ("baseline",), "statistics": RULES}
    run = do_run(config(**chosen, architectures=("recent", "bm25(window=3,overlap=1)"), embedder="hash(dim=64)")).path
    shown = compare_runs([run], ["integration"], analyses=["equivalence"])
    pairs = {(p.a, p.b): p.equivalence for p in shown.pairs if p.stratum == "all"}
    (analysis,) = shown.analyses
    rows = [dict(zip([c.name for c in analysis.columns], row, strict=True)) for row in analysis.rows]
    tested = 0
    for row in rows:
        found = pairs[str(row["a"]), str(row["b"])]
        if row["unit"] == "probe" and row["verdict"] != "untested":
            assert found is not None and found.p == pytest.approx(row["p"], abs=1e-4)
            assert (found.verdict, found.low) == (row["verdict"], pytest.approx(row["low"], abs=1e-5))
            tested += 1
    assert tested
    tables = pair_tables(shown, "demo", shown.headlines["demo"])
    marks = {(line.a, line.b): line.mark for table in tables for line in table.lines}
    assert [pairs[names] is not None and pairs[names].verdict for names in marks] == ["equivalent"]
    assert list(marks.values()) == ["equivalent"] and wording("en")("equivalent") == "equivalent within the margin"


def test_nothing_is_called_equivalent_that_is_not_comparable(
    config: Configure, do_run: DoRun, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = {"scenarios": ("demo",), "architectures": ("bm25", "oracle"), "profiles": ("baseline",)}
    run = do_run(config(**settings, embedder="hash(dim=64)", statistics=RULES)).path
    shown = compare_runs([run], ["recall@10"], analyses=["equivalence", "pooled"])
    equal = [pair for pair in shown.pairs if pair.equivalence is not None and pair.equivalence.equivalent]
    assert equal and not any(pair.comparable or pair.is_equivalent for pair in equal)
    assert all("oracle@baseline reads gold" in " ".join(findings.notes) for findings in shown.analyses)
    assert main(["compare", str(run), "--metric", "recall@10"]) == 0
    out = capsys.readouterr().out
    assert "±90" in out and not any(line.endswith("shown") for line in map(str.rstrip, out.splitlines()))


def test_a_margin_that_is_chosen_later_is_named(
    config: Configure, do_run: DoRun, locomo: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = do_run(config(scenarios=(locomo,), **SHARED)).path
    later = write(tmp_path / "later.toml", "[statistics]\nequivalence_margin = 0.05\n")
    assert main(["compare", str(run), "--metric", "recall@10", "--config", str(later), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["statistics"] == {"equivalence_margin": 0.05, "alpha": 0.05, "correction": "holm"}
    assert any("chosen after scoring" in warning for warning in document["warnings"])
    assert {pair["equivalence"]["margin"] for pair in document["pairs"]} == {0.05}


def test_runs_of_different_rules_need_a_decision(config: Configure, do_run: DoRun, locomo: str, tmp_path: Path) -> None:
    one = do_run(config(scenarios=(locomo,), architectures=("bm25",), statistics=RULES)).path
    other = do_run(config(scenarios=(locomo,), architectures=("recent",), out=tmp_path / "other.db")).path
    with pytest.raises(ConfigError, match=r"equivalence_margin 0.9.*other: none set.*--config"):
        compare_runs([one, other])
    file = write(tmp_path / "rules.toml", "[statistics]\nalpha = 0.01\n")
    assert compare_runs([one, other], config=file).statistics.alpha == 0.01


def test_rules_are_fixed_before_scoring(config: Configure, do_run: DoRun, locomo: str) -> None:
    settings = {"scenarios": (locomo,), "architectures": ("bm25",)}
    do_run(config(**settings))
    with pytest.raises(RunFileError, match=r"equivalence_margin was None, is 0\.9"):
        do_run(config(**settings, statistics=RULES), resume=True)


def test_a_file_of_an_earlier_program_is_refused_with_the_remedy(config: Configure, do_run: DoRun, locomo: str) -> None:
    settings = config(scenarios=(locomo,), architectures=("bm25",))
    path = do_run(settings).path
    with sqlite3.connect(path) as db:
        (keys,) = db.execute("SELECT value FROM meta WHERE key = 'keys'").fetchone()
        known = {name: key for name, key in json.loads(keys).items() if name not in ("judge", "verifier")}
        db.execute("UPDATE meta SET value = ? WHERE key = 'keys'", (json.dumps(known),))
    db.close()
    with pytest.raises(RunFileError, match=r"did not note its judge, verifier: .*run it anew with another --out"):
        do_run(settings, resume=True)
    assert compare_runs([path], ["recall@10"]).metrics, "it can still be read"


MODEL = "openai(model=tiny,base_url=http://127.0.0.1:9/v1,seed={})"


@pytest.mark.parametrize(
    ("changed", "spread"),
    [
        (({"seed": 43}, {"seed": 44}), True),
        (({"memory_model": MODEL.format(43)}, {"memory_model": MODEL.format(44)}), True),
        (({"memory_model": MODEL.format(43)}, {"memory_model": MODEL.format(44), "seed": 1}), False),
        (({"seed": 43}, {"seed": 44, "k": 3}), False),
    ],
)
def test_a_memory_that_is_built_again_is_one_system_with_two_seeds(
    config: Configure, do_run: DoRun, locomo: str, tmp_path: Path, changed: tuple[dict[str, object], ...], spread: bool
) -> None:
    shared = {"scenarios": (locomo,), "architectures": ("bm25",), "profiles": ("baseline",)}
    paths = [do_run(config(**shared, **more, out=tmp_path / f"{n}.db")).path for n, more in enumerate(changed)]
    (found,) = compare_runs(paths, ["recall@10"], analyses=["seeds"]).analyses
    names = [column.name for column in found.columns]
    rows = [dict(zip(names, row, strict=True)) for row in found.rows]
    assert [(row["source"], row["held"], row["seeds"]) for row in rows] == ([("index", 0, 2)] if spread else [])


@pytest.mark.parametrize(
    ("models", "spread"),
    [
        (("local:models/my model.gguf(seed=43)", "local:models/my model.gguf(seed=44)"), True),
        (("local:m(sha256=12e45678,seed=43)", "local:m(sha256=34e45678,seed=44)"), False),
        (("local:models/my model (1).gguf", "local:models/my model (2).gguf"), False),
    ],
)
def test_models_that_are_named_by_a_file_have_their_seed_read(
    config: Configure, do_run: DoRun, locomo: str, tmp_path: Path, models: tuple[str, ...], spread: bool
) -> None:
    paths = []
    for n, model in enumerate(models):
        path = do_run(config(scenarios=(locomo,), architectures=("bm25",), out=tmp_path / f"{n}.db")).path
        with sqlite3.connect(path) as db:
            sql = "UPDATE meta SET value = json_set(value, '$.memory_model', ?) WHERE key = 'config'"
            assert db.execute(sql, (model,)).rowcount == 1
        db.close()
        paths.append(path)
    (found,) = compare_runs(paths, ["recall@10"], analyses=["seeds"]).analyses
    assert bool(found.rows) == spread


def test_an_analysis_is_printed_alone_and_fits(
    config: Configure, do_run: DoRun, locomo: str, capsys: pytest.CaptureFixture[str]
) -> None:
    long = "bm25(window=30,overlap=12,method=atire)"
    settings = config(
        scenarios=(locomo,), architectures=("none", long, "oracle"), profiles=("baseline", "top-k(2)"), statistics=RULES
    )
    run = str(do_run(settings).path)
    capsys.readouterr()
    assert main(["compare", run, "--analysis", "power", "--metric", "recall@10", "--baseline", "none@baseline"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("power · ") and "difference in" not in out and "complete:" not in out
    legend = dict(line.split("  ", 1) for line in out.splitlines() if "@" in line and line[1:3] == "  ")
    assert f"{long}@baseline" in legend.values() and "none@baseline" in legend.values()
    assert any(line.split()[:2] == ["recall@10", "1–4"] for line in out.splitlines())
    assert main(["compare", run, "--analysis", "all"]) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= WIDTH
    assert "…" not in out, "nothing is cut"
    assert main(["compare", run, "--analysis", "power", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["metrics"] and document["pairs"] and document["analyses"][0]["rows"]
