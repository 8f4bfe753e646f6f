"""Published figures: counts give the printed percentages, and rows that must not be compared say why."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from mnemoscope.core.errors import DataError
from mnemoscope.evaluators.published import EVIDENCE, PublishedRow, published_rows
from mnemoscope.evaluators.published.rows import COUNTS, read_published

ROWS = read_published(COUNTS)
STRATA = ("must-only", "nice-only", "must+nice")


def one(rows: tuple[PublishedRow, ...], system: str) -> PublishedRow:
    (found,) = [row for row in rows if row.system == system]
    return found


def test_every_count_prints_as_published() -> None:
    counted = [row for row in ROWS if row.hits is not None]
    assert Counter(row.benchmark for row in counted) == {"stratmem": 28 + 7, "memuse": 6 + 4 + 6 + 6 + 6}
    for row in counted:
        digits = 2 if row.benchmark == "stratmem" or row.source.startswith("MemUse, released") else 1
        assert abs(100 * row.share - row.percent) <= 0.5 * 10**-digits + 1e-9, row
    assert all(row.source and row.evidence == EVIDENCE for row in ROWS)


def test_the_whole_of_stratmem_is_the_sum_of_its_strata() -> None:
    for whole in published_rows("stratmem", "smc", "all"):
        parts = [one(published_rows("stratmem", "smc", stratum), whole.system) for stratum in STRATA]
        assert (sum(row.hits or 0 for row in parts), sum(row.n or 0 for row in parts)) == (whole.hits, whole.n)


def test_rows_on_another_split_are_not_comparable() -> None:
    rows = published_rows("stratmem", "smc")
    other = {row.system for row in rows if not row.is_comparable}
    assert other == {"Llama 4 Maverick", "Qwen3-235B"}
    assert all("53/131/473" in flag for row in rows if row.system in other for flag in row.flags)
    assert len({row.flags for row in rows if row.system in other}) == 1, "the whole is of another split too"


def test_one_reply_set_has_two_scorings_by_judge_inputs() -> None:
    found = {(row.judge_inputs, row.hits, row.n) for row in ROWS if row.system == "GPT-4.1-mini, Mem0" and row.flags}
    assert found == {("1.1", 131, 316), ("1.1", 23, 316), ("1.1", 42, 72)}
    natural = [row for row in published_rows("memuse", "natural-integration") if row.system == "GPT-4.1-mini, Letta"]
    assert [(row.judge_inputs, row.hits, row.is_comparable) for row in natural] == [
        ("1.1", 41, False),
        ("1.2", 21, True),
    ]
    assert "the benchmark's own are 1.2" in natural[0].flags[0]


def test_denominators_of_72_and_73_are_told_apart() -> None:
    rows = published_rows("memuse", "natural-integration")
    assert {row.n for row in rows if row.is_comparable} == {72}
    assert {row.system for row in rows if row.n == 73} == {
        f"{model}, {memory}" for model in ("GPT-5.5", "Gemini 3.1 Pro") for memory in ("summary", "LC-100")
    }
    assert all(row.flags == ("another set: 73 items, not the released 72",) for row in rows if row.n == 73)


def test_percentages_without_counts_stay_so() -> None:
    row = published_rows("stratmem", "pes")[0]
    assert (row.hits, row.n, row.interval, row.flags) == (None, None, None, ("no counts published",))
    assert row.share == pytest.approx(0.5601)


def test_zero_of_72_still_allows_five_percent() -> None:
    row = one(published_rows("memuse", "fabricated-recall"), "GPT-4.1-mini, none")
    assert row.interval is not None
    assert (row.interval[0], round(row.interval[1], 3)) == (0.0, 0.051)


def test_tables_keep_their_order_and_unknown_benchmarks_have_none() -> None:
    whole = [row.system for row in published_rows("stratmem", "smc", "all")]
    assert whole[:2] == ["GPT-5.2", "GPT-5-chat"], "not sorted by size: these rows are never ranked"
    assert published_rows("locomo") == ()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("hits = [44, 76, 199, 319]", "hits = [45, 76, 199, 319]", "45/50 does not print as 88.0"),
        ("hits = [44, 76, 199, 319]", "hits = [44, 76, 199]", "one figure per column, 4 of them"),
        ('benchmark = "stratmem"', 'bench = "stratmem"', "Field required"),
        ("percent = [56.01]", "percent = [156.01]", "less than or equal to 100"),
        ("[[table]]", "[[table", "Expected"),
    ],
)
def test_a_damaged_file_is_refused(tmp_path: Path, old: str, new: str, said: str) -> None:
    text = COUNTS.read_text(encoding="utf-8")
    assert old in text
    path = tmp_path / "counts.toml"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(DataError, match=said) as caught:
        read_published(path)
    assert caught.value.file == str(path)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        read_published(tmp_path / "none.toml")


@pytest.mark.data
def test_counts_agree_with_the_derived_numbers(benchmark_data: Path) -> None:
    derived = json.loads((benchmark_data / "derived_numbers.json").read_text(encoding="utf-8"))
    published = derived["stratmem_published_counts"]
    assert len(published["models"]) == 7
    for system, counts in published["models"].items():
        parts = [one(published_rows("stratmem", "smc", stratum), system) for stratum in STRATA]
        assert ([row.hits for row in parts], [row.n for row in parts]) == (counts["smc"], counts["split"])
        assert one(published_rows("stratmem", "smc", "all"), system).hits == counts["all"]
        assert parts[0].is_comparable == (counts["split"] == [50, 132, 475])
    cir = {row.system: row.hits for row in published_rows("stratmem", "cir")}
    assert cir == published["cir_over_607"]
    assert {row.n for row in published_rows("stratmem", "cir")} == {607}


@pytest.mark.data
@pytest.mark.parametrize("version", ["1.1", "1.2"])
@pytest.mark.parametrize("memory", ["Mem0", "Letta"])
def test_counts_agree_with_the_released_reports(benchmark_data: Path, version: str, memory: str) -> None:
    path = benchmark_data / "memuse_labels" / f"report_{memory.lower()}_schema{version}.json"
    report = json.loads(path.read_text(encoding="utf-8"))
    facts = report["per_sub_question"]
    wanted = {
        "natural-integration": sum(row["natural_integration"] for row in report["per_instance"].values()),
        "direct-qa": sum(row["direct_qa"] for row in facts),
        "reference": sum(row["reference"] for row in facts),
    }
    for metric, hits in wanted.items():
        row = one(
            tuple(r for r in published_rows("memuse", metric) if r.judge_inputs == version), f"GPT-4.1-mini, {memory}"
        )
        assert row.hits == hits
        assert round(row.share, 4) == report["summary"][metric.replace("-", "_")]
