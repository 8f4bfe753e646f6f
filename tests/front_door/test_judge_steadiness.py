"""What is said of a judge beside its figures: how much it failed to judge, and what its changes of mind are worth."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mnemoscope.cli import main
from mnemoscope.comparison import compare_runs
from mnemoscope.comparison.flipping import flips_of
from mnemoscope.comparison.summary import Figure, PairFigure
from mnemoscope.report import write_report
from mnemoscope.report.page import headline_table
from mnemoscope.report.pairs import pair_tables
from mnemoscope.report.wording import wording
from mnemoscope.runfile import open_run
from mnemoscope.runfile.judging import judgements_of
from mnemoscope.runfile.rows import Vote
from tests.front_door import judge_stub
from tests.front_door.import_tools import native, write

STUB = Path(judge_stub.__file__)


def run(tmp_path: Path, data: Path, judge: str, *more: str) -> int:
    """A run of the command line, judged by one of the stubs."""
    systems = [part for name in ("none", "bm25", "oracle") for part in ("--architecture", name)]
    given = ["run", "--scenario", f"locomo:{data}", *systems, "--embedder", "hash(dim=64)", "--workers", "1"]
    return main([*given, "--judge", f"{STUB}:{judge}", "--out", str(tmp_path / "run.db"), *more])


def test_failed_judgements_are_in_the_headline_and_fail_the_run(
    tmp_path: Path, make_locomo: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """JD-03: the share of judge errors stands with the figures, and a run above the threshold ends with 1."""
    assert run(tmp_path, make_locomo(), "Failing") == 1
    said = capsys.readouterr()
    assert "complete: 30 of 30 cells" in said.out and ", 0 failed" in said.out, "no cell failed, only judgements"
    with open_run(tmp_path / "run.db") as file:
        found = judgements_of((file,))
        rows = [row for row in file.verdict_rows() if row.metric == "integration"]
    assert found is not None and 0.1 < found.failed_share < 0.6
    assert set(found.failed) >= {"timeout", "truncated"} and found.n_failed == sum(found.failed.values())
    assert str(found) in said.out
    assert {row.score for row in rows if row.status != "scored"} == {None}, "a failure is no verdict"
    assert main(["compare", str(tmp_path / "run.db"), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["judgements"] == found.to_json()
    assert main(["compare", str(tmp_path / "run.db")]) == 0
    assert str(found) in capsys.readouterr().out
    write_report([tmp_path / "run.db"], tmp_path / "report.html")
    head = (tmp_path / "report.html").read_text(encoding="utf-8").partition('<section aria-labelledby="headline">')[0]
    assert f"{found.n_failed:,} of {found.asked:,} failed, {found.failed_share:.1%}: timeout" in head


def test_the_threshold_is_a_choice(tmp_path: Path, make_locomo: Callable[..., Path]) -> None:
    """JD-03: what is accepted is said on the command line; a steady judge never fails a run."""
    data = make_locomo()
    assert run(tmp_path, data, "Failing", "--max-judge-failed", "0.7") == 0
    (tmp_path / "run.db").unlink()
    assert run(tmp_path, data, "Flipping") == 0


def test_differences_inside_the_flip_band_are_no_wins(
    tmp_path: Path, make_locomo: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """JD-12: votes are counted, the flip rate is printed, and what flips could do is not called a difference."""
    assert run(tmp_path, make_locomo(conversations=4), "Flipping") == 0
    comparison = compare_runs([tmp_path / "run.db"], metrics=["integration"], by="style")
    whole = {f.system: f for f in comparison.metrics if f.stratum == "all"}
    rates = [f.flip_rate for f in whole.values() if f.flip_rate is not None]
    assert len(rates) == 3 and 0.02 < sum(rates) / 3 < 0.16, "of three votes, at most one is against the majority"
    pairs = [pair for pair in comparison.pairs if pair.stratum == "all"]
    assert all(pair.flip_band is not None and 0 < pair.flip_band < 1 for pair in pairs)
    for pair in comparison.pairs:
        assert pair.is_within_flips == (abs(pair.delta or 0) <= (pair.flip_band or -1))
    capsys.readouterr()
    assert main(["compare", str(tmp_path / "run.db"), "--metric", "integration"]) == 0
    out = capsys.readouterr().out
    assert "of the judge's votes went against its own majority" in out
    head = headline_table(comparison, "locomo", comparison.headlines["locomo"], wording("en"), frozenset())
    assert any(note.endswith("% of votes differ") for column in head.columns for note in column.notes)


@pytest.mark.parametrize("name", ["panel(offline+{})", "recording(panel(offline+{}),file={}/said.jsonl)"])
def test_members_of_a_panel_that_disagree_are_no_flips(
    tmp_path: Path, make_locomo: Callable[..., Path], name: str
) -> None:
    """JD-12: a band is of a judge that changes its mind, not of several that differ."""
    judge = name.format(f"{STUB}:Doubtful", tmp_path)
    given = ["run", "--scenario", f"locomo:{make_locomo()}", "--architecture", "bm25", "--embedder", "hash(dim=64)"]
    assert main([*given, "--workers", "1", "--judge", judge, "--out", str(tmp_path / "run.db")]) == 0
    with open_run(tmp_path / "run.db") as file:
        agreements = {v.agreement for cell in file.cells() for v in file.verdicts_of(cell) if v.agreement is not None}
        assert agreements and not list(file.votes()), "its members vote, and none of them twice"


def pair_of(**values: Any) -> PairFigure:
    numbers = {"delta": 0.05, "low": 0.01, "high": 0.09, "p": 0.001, "p_clustered": 0.001, "p_adjusted": 0.001}
    fixed = {
        "metric": "m",
        "stratum": "all",
        "benchmark": "x",
        "judge_key": "k",
        "a": "a",
        "b": "b",
        "test": "mcnemar-exact",
    }
    return PairFigure(**{**fixed, **numbers, "n": 40, "clusters": 40, "mde": 0.1, "comparable": True, **values})


def test_a_small_p_is_no_win_where_flips_could_make_it() -> None:
    """JD-12."""
    assert pair_of().is_significant
    assert pair_of(flip_band=0.04).is_significant and not pair_of(flip_band=0.04).is_within_flips
    assert pair_of(flip_band=0.06).is_within_flips and not pair_of(flip_band=0.06).is_significant
    assert not pair_of(delta=0.0, flip_band=0.0).is_within_flips, "a judge that never flips has no band"


def votes_of(system: str, agreements: list[float]) -> list[Vote]:
    return [Vote(system, "s", f"p{n}", 0, "m", "k", share) for n, share in enumerate(agreements)]


def test_rate_and_band_are_those_of_the_votes() -> None:
    """JD-12: two thirds of the votes on one of four verdicts."""
    strata = {("s", f"p{n}"): ("hard",) if n < 2 else () for n in range(4)}
    flips = flips_of([*votes_of("a", [2 / 3, 1, 1, 1]), *votes_of("b", [1, 1, 1, 1])], strata)
    counts = (4, 4, {}, 0, {}, 1.0, 1.0, None, None, "", 1)
    figure = Figure("m", "a", "all", *counts, "k", "model", benchmark="x", judged=True)
    assert flips.on_figure(figure).flip_rate == pytest.approx(1 / 12)
    band = flips.on_pair(pair_of()).flip_band
    assert band == pytest.approx(1.959964 * ((2 / 9) ** 0.5) / 4)
    assert flips.on_pair(pair_of(stratum="hard")).flip_band == pytest.approx(1.959964 * ((2 / 9) ** 0.5) / 2)
    assert flips.on_pair(pair_of(b="c")).flip_band is None, "one of the two was not voted on"


def test_equal_replies_stay_inside_the_band() -> None:
    """JD-12: judged twice with votes that flip at 15 %, equal systems differ by more than the band in few cases."""
    rng, outside, n = random.Random(3), 0, 200
    for _ in range(200):
        scores, agreements = [], []
        for _ in range(2):
            ayes = [sum(rng.random() >= 0.15 for _ in range(3)) for _ in range(n)]
            scores.append(sum(votes >= 2 for votes in ayes) / n)
            agreements.append([max(votes, 3 - votes) / 3 for votes in ayes])
        strata: dict[tuple[str, str], tuple[str, ...]] = {("s", f"p{i}"): () for i in range(n)}
        flips = flips_of([*votes_of("a", agreements[0]), *votes_of("b", agreements[1])], strata)
        outside += not flips.on_pair(pair_of(delta=scores[0] - scores[1])).is_within_flips and scores[0] != scores[1]
    assert outside <= 14, "at most about 5 %; the band is an upper one"


def test_an_uncalibrated_judge_stands_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """JD-14: a judge that nobody has compared with people is called so, in a colour of its own."""
    data = write(tmp_path, "studio.json", native())
    given = ["run", "--scenario", f"native:{data}", "--architecture", "bm25", "--embedder", "hash(dim=64)"]
    assert main([*given, "--workers", "1", "--judge", f"{STUB}:Doubtful", "--out", str(tmp_path / "run.db")]) == 0
    capsys.readouterr()
    assert main(["compare", str(tmp_path / "run.db"), "--metric", "integration"]) == 0
    assert "(uncalibrated)" in " ".join(capsys.readouterr().out.split())
    write_report([tmp_path / "run.db"], tmp_path / "report.html")
    html = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert '<bdi class="name">integration</bdi><small>%</small><small class="bad">uncalibrated</small>' in html


def test_what_is_not_shown_is_said_to_be_not_shown(
    tmp_path: Path, make_locomo: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """MT-07: with two conversations no difference can be shown, and both forms say that instead of ranking."""
    assert run(tmp_path, make_locomo(), "Flipping") == 0
    comparison = compare_runs([tmp_path / "run.db"], metrics=["recall@10"])
    pairs = pair_tables(comparison, "locomo", comparison.headlines["locomo"])
    (line,) = [one for one in pairs[0].lines if {one.a, one.b} == {"none@baseline", "bm25@baseline"}]
    assert line.delta != "–" and line.mark == "no_difference" and wording("en")(line.mark) == "no difference shown"
    capsys.readouterr()
    assert main(["compare", str(tmp_path / "run.db"), "--metric", "recall@10"]) == 0
    assert "* below .05, else no difference shown;" in " ".join(capsys.readouterr().out.split())
