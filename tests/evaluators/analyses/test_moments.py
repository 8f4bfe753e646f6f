"""Timing, net benefit, single use decisions and corrections, by hand."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemoscope.evaluators.analyses._rating import projected_precision, rated_share
from mnemoscope.evaluators.analyses.analysis import Analysis
from mnemoscope.evaluators.analyses.corrections import Corrections
from mnemoscope.evaluators.analyses.net_benefit import NetBenefit
from mnemoscope.evaluators.analyses.timing import Timing
from mnemoscope.evaluators.analyses.use_decisions import UseDecisions
from mnemoscope.evaluators.case import EvaluationCase
from mnemoscope.evaluators.rows import ScoreRow
from mnemoscope.graphs.reply import HiddenTrace, Reply
from mnemoscope.scenarios.records import MemoryRole
from tests.evaluators.analyses.analysis_tools import Run, asked, by_name, row
from tests.evaluators.judging import verdicts_of

FACT = {"f": "Tomasz has a kiln from Ghent."}
WINDOWS = [("f", "open", 4, 6), ("f", "closed", 9, 9)]
"""The moment of a probe is the index of its last known turn, `cut - 1`."""
PROBES = {
    ("s", "early"): asked("early", cut=3, windows=WINDOWS, facts=FACT),
    ("s", "due"): asked("due", cut=6, windows=WINDOWS, facts=FACT, next_text="Yes, Tomasz has a kiln from Ghent now."),
    ("s", "due2"): asked("due2", cut=7, windows=WINDOWS, facts=FACT, next_text="Nice weather."),
    ("s", "closed"): asked("closed", cut=10, windows=WINDOWS, facts=FACT),
    ("s", "late"): asked("late", cut=12, windows=WINDOWS, facts=FACT),
}


def decided(system: str, **mentioned: bool) -> list[ScoreRow]:
    rows = []
    for probe, said in mentioned.items():
        due = probe.startswith("due")
        label = ("on-time" if due else "mistimed") if said else ("missed" if due else "quiet")
        rows.append(row(system, probe, "timing", float(said == due), label=label, subject="f"))
    return rows


RUN = Run(
    rows=[
        *decided("a", early=True, due=False, due2=True, closed=True, late=False),
        *decided("b", early=False, due=False, due2=False, closed=False, late=False),
    ],
    probes=PROBES,
)
MIXED = Run(
    rows=[
        *RUN.rows,
        *(row(system, "hint", "integration", float(system == "a"), subject="x") for system in "ab"),
        *(row("a", f"q{n}", "correction", float(n > 0), label="corrected" if n else "unaware") for n in range(3)),
        row("a", "q3", "false-correction", 1.0, label="corrects"),
    ],
    probes={
        **PROBES,
        ("s", "hint"): asked("hint", style="implicit"),
        **{("s", f"q{n}"): asked(f"q{n}", cluster=f"c{n}") for n in range(4)},
    },
)


def test_a_gate_of_the_literature_at_two_prevalences() -> None:
    assert projected_precision(0.8, 0.05, 0.15) == pytest.approx(0.74, abs=0.005)
    assert projected_precision(0.8, 0.05, 0.014) == pytest.approx(0.19, abs=0.006)
    assert projected_precision(0.0, 0.0) is None


def test_timing_by_hand() -> None:
    found = by_name(Timing().analyse(RUN), "system")
    a = found[("a",)]
    assert (a["due"], a["on_time"], a["missed"]) == (2, 0.5, 1)
    assert a["precision"] == pytest.approx(1 / 3)
    assert (a["early"], a["late"], a["closed"], a["repeats"]) == (1, 0, 1, 2)
    assert a["mistimed_per_100"] == 40.0
    assert a["f1"] == pytest.approx(2 / 5)
    assert a["lag"] == 2, "the window opens at turn 4, the mention comes at turn 6"
    assert a["uptake"] == 0.0, "the next turn after it speaks of the weather"
    b = found[("b",)]
    assert (b["on_time"], b["precision"], b["mistimed_per_100"], b["lag"]) == (0.0, None, 0.0, None)


def test_policies_are_always_there() -> None:
    found = by_name(Timing().analyse(RUN), "system")
    assert found[("never",)]["on_time"] == found[("refuse",)]["on_time"] == 0.0
    assert found[("always",)]["on_time"] == found[("dump",)]["on_time"] == 1.0
    assert found[("always",)]["precision"] == 0.4
    assert found[("always",)]["mistimed_per_100"] == 60.0


def test_uptake_counts_what_the_user_takes_up() -> None:
    run = Run(rows=decided("a", due=True, due2=True), probes=PROBES)
    assert by_name(Timing().analyse(run), "system")[("a",)]["uptake"] == 0.5


def test_net_benefit_and_its_break_even_points() -> None:
    found = by_name(NetBenefit().analyse(RUN), "system")
    a = found[("a",)]
    assert (a["on_time"], a["mistimed"]) == (1, 2)
    assert a["c_0.5"] == pytest.approx(0.0) and a["break_even"] == 0.5
    assert a["c_1"] == pytest.approx(-20.0)
    assert a["against_always"] == 1.0, "always gains one more hit and costs one more mistimed mention"
    assert found[("never",)]["c_4"] == 0.0
    assert found[("always",)]["c_1"] == pytest.approx(-20.0)
    assert a["published"] == pytest.approx(100 * (1 - 0.48 / 0.56) / 5), "the early mention was merely unprompted"


def test_without_windows_it_says_what_to_run() -> None:
    for analysis in (Timing(), NetBenefit()):
        found = analysis.analyse(Run())
        assert found.rows == () and "windows" in (found.missing or "")


def test_use_decisions_by_source() -> None:
    roles: dict[str, MemoryRole] = {"n1": "nice", "n2": "nice", "i1": "irr", "m": "must"}
    probes = {
        ("s", "pool"): asked("pool", style="situational", roles=roles),
        ("s", "pos"): asked("pos"),
        ("s", "neg"): asked("neg"),
        ("s", "hint"): asked("hint", style="implicit"),
    }
    rows = [
        *(row("a", "pool", "use", used, subject=item) for item, used in zip(roles, (1.0, 0.0, 1.0, 1.0), strict=True)),
        row("a", "pos", "natural-integration", 1.0),
        row("a", "neg", "unprompted-recall", 0.0),
        row("a", "hint", "integration", 0.0, subject="f"),
        row("a", "pos", "integration", 1.0, subject="f"),
    ]  # fmt: skip
    found = by_name(UseDecisions().analyse(Run(rows=rows, probes=probes)), "system", "source")
    pool = found["a", "stratmem"]
    assert (pool["wanted"], pool["hit"], pool["unwanted"], pool["false"], pool["precision"]) == (2, 0.5, 1, 1.0, 0.5)
    assert (found["a", "memuse"]["hit"], found["a", "memuse"]["false"]) == (1.0, 0.0)
    assert (found["a", "implicit"]["hit"], found["a", "implicit"]["precision"]) == (0.0, None)


def test_corrections_by_hand() -> None:
    probes = {("s", f"p{n}"): asked(f"p{n}") for n in range(8)}
    labels = ["corrected", "corrected", "vague", "unaware", "wrong correction"]
    scores = {"corrected": 1.0, "vague": 0.5, "unaware": 0.0, "wrong correction": 0.0}
    rows = [
        *(row("a", f"p{n}", "correction", scores[label], label=label) for n, label in enumerate(labels)),
        row("a", "p5", "false-correction", 1.0, label="corrects"),
        row("a", "p6", "false-correction", 0.0, label="none"),
        row("a", "p7", "false-correction", None, label="unparseable", status="invalid"),
    ]
    a = by_name(Corrections().analyse(Run(rows=rows, probes=probes)), "system")[("a",)]
    assert (a["premises"], a["recall"], a["vague"], a["unaware"], a["wrong"]) == (5, 0.4, 0.2, 0.2, 0.2)
    assert (a["sound"], a["false_rate"]) == (2, 0.5)
    assert a["precision"] == 0.5, "two right, one wrong, one false"


def test_published_weights_forgive_what_is_merely_unprompted() -> None:
    early = Run(rows=decided("a", early=True, due=True), probes=PROBES)
    late = Run(rows=decided("a", late=True, due=True), probes=PROBES)
    of = {name: by_name(NetBenefit().analyse(run), "system")[("a",)] for name, run in {"e": early, "l": late}.items()}
    assert of["e"]["published"] == 50.0
    assert of["l"]["published"] == pytest.approx(50 * (1 - 0.48 / 0.56))
    assert of["e"]["c_2"] == of["l"]["c_2"] == -50.0


def test_places_of_mistimed_mentions_add_up() -> None:
    windows = [("f", "open", 2, 2), ("f", "open", 8, 8), ("g", "closed", 0, 0)]
    probes = {
        ("s", n): asked(n, cut=cut, windows=windows, facts=FACT) for n, cut in {"p1": 1, "p5": 5, "p9": 12}.items()
    }
    rows = [
        row("a", probe, "timing", 0.0, label="mistimed", subject=fact) for _, probe in probes for fact in ("f", "g")
    ]
    a = by_name(Timing().analyse(Run(rows=rows, probes=probes)), "system")[("a",)]
    assert (a["early"], a["late"], a["closed"], a["other"]) == (1, 1, 1, 3)
    assert a["mistimed_per_100"] == 200.0, "six mentions in three turns"
    assert (a["due"], a["on_time"], a["f1"], a["projected"]) == (0, None, None, None)


def test_policies_decide_on_every_moment_that_some_system_saw() -> None:
    rows = [*decided("a", due=True), *decided("b", due=False, late=True, closed=True)]
    rows += [r._replace(replicate=1) for r in decided("b", due=True)]
    found = by_name(Timing().analyse(Run(rows=rows, probes=PROBES)), "system")
    assert found[("always",)]["due"] == 1, "one moment, whoever saw it and how often"
    assert found[("always",)]["precision"] == pytest.approx(1 / 3)


def test_what_has_no_score_is_left_out_and_counted() -> None:
    failed = row("a", "late", "timing", None, subject="f", status="error", label="model-error:timeout")
    whole, less = Run(rows=decided("a", due=True), probes=PROBES), [*decided("a", due=True), failed]
    for analysis in (Timing(), NetBenefit()):
        found = analysis.analyse(Run(rows=less, probes=PROBES))
        assert found.rows == analysis.analyse(whole).rows
        assert "1 decisions without a score are left out" in found.notes


def test_two_judges_are_never_counted_together() -> None:
    first = decided("a", due=True, late=False)
    second = [r._replace(judge_key="offline-use-2", label="missed", score=0.0) for r in first[:1]]
    found = Timing().analyse(Run(rows=[*first, *second], probes=PROBES))
    a = by_name(found, "system")[("a",)]
    assert (a["due"], a["on_time"]) == (1, 1.0)
    assert "timing: verdicts of judge-1; those of offline-use-2 are left out" in found.notes
    even = Timing().analyse(Run(rows=[*second, *first[:1]], probes=PROBES))
    assert by_name(even, "system")[("a",)]["on_time"] == 1.0, "a model goes before the offline judge"


@pytest.mark.parametrize("analysis", [Timing(), NetBenefit(), UseDecisions(), Corrections()])
@given(order=st.permutations(range(len(MIXED.rows))))
def test_the_order_of_rows_changes_nothing(analysis: Analysis, order: list[int]) -> None:
    shuffled = Run(rows=[MIXED.rows[i] for i in order], probes=MIXED.probes)
    assert analysis.analyse(shuffled).to_json() == analysis.analyse(MIXED).to_json()


def test_an_interval_of_shares_that_are_all_alike_is_not_a_point() -> None:
    run = Run()
    found = rated_share([1.0] * 6, ["c1", "c2", "c3"] * 2, run)
    assert found.low is not None and 0 < found.low < 0.5 and found.high == 1.0
    assert rated_share([1.0, 1.0], ["c1", "c1"], run)[:3] == (1.0, None, None)
    mixed = rated_share([1.0, 0.0, 1.0], ["c1", "c2", "c3"], run)
    assert mixed.low is not None and mixed.high is not None and mixed.low < 2 / 3 < mixed.high


def test_no_false_use_among_a_few_is_not_a_projected_precision_of_one() -> None:
    rows = [row("a", f"p{n}", "natural-integration", 1.0, scenario=f"s{n}") for n in range(3)]
    rows += [row("a", f"n{n}", "unprompted-recall", 0.0, scenario=f"s{n}") for n in range(3)]
    probes = {(r.scenario_id, r.probe_id): asked(r.probe_id, cluster=r.scenario_id) for r in rows}
    found = UseDecisions().analyse(Run(rows=rows, probes=probes))
    a = by_name(found, "system", "source")["a", "memuse"]
    assert (a["false"], a["projected"]) == (0.0, 1.0)
    assert a["projected_low"] == pytest.approx(0.014 / (0.014 + 0.986 * a["false_high"]))  # type: ignore[operator]
    assert a["projected_low"] < 0.05  # type: ignore[operator]
    few, *judges = found.notes
    assert few == "memuse: 3 clusters; intervals of fewer than 10 are too narrow"
    assert judges and all(" judged by judge-1 (" in judge for judge in judges)


def test_facts_with_windows_are_no_single_decisions() -> None:
    probe = asked("p", style="implicit", windows=WINDOWS, facts=FACT)
    run = Run(rows=[row("a", "p", "integration", 1.0, subject="f")], probes={("s", "p"): probe})
    assert UseDecisions().analyse(run).missing is not None


def test_precision_without_sound_probes_says_what_it_lacks() -> None:
    run = Run(rows=[row("a", "p", "correction", 1.0, label="corrected")], probes={("s", "p"): asked("p")})
    found = Corrections().analyse(run)
    a = by_name(found, "system")[("a",)]
    assert (a["sound"], a["false_rate"], a["precision"]) == (0, None, 1.0)
    assert any("nothing is wrong" in note for note in found.notes)


def test_proactive_recall_over_turns(case_dir: Callable[[str], Path]) -> None:
    """A cue opens a window on its turn, distress closes one, and anything else comes before the cue of turn 8."""
    folder = case_dir("MT-09")
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    entries = [json.loads(line) for line in (folder / "turns.jsonl").read_text(encoding="utf-8").splitlines()]
    rows, probes = [], {}
    for entry in entries:
        if entry["asserted_memory"] == "fabricated":
            continue  # an invented memory is no gold fact: the metric `fabricated-recall` counts it
        start = 8 if entry["context"] == "no cue" else 0
        kind = "closed" if entry["context"] == "distress" else "open"
        scenario = "fair" if entry["id"] in ("r5", "r6") else entry["id"]  # the turns of which the second repeats
        place = asked(
            entry["id"],
            cut=4 if entry["id"] == "r6" else 1 + entry["delay_turns"],
            windows=[("fair", kind, start, start)],
            facts={"fair": "The fair in Delft."},
        )
        reply = Reply(entry["response"], HiddenTrace(), None, None)
        (verdict,) = verdicts_of("timing", EvaluationCase(place.probe, place.gold, reply, ()))
        probes[scenario, entry["id"]] = place
        rows.append(
            row("a", entry["id"], "timing", verdict.score, label=verdict.label, subject="fair", scenario=scenario)
        )
    a = by_name(Timing().analyse(Run(rows=rows, probes=probes)), "system")[("a",)]
    labels = list(expected["labels"].values())
    assert a["due"] == labels.count("well-timed") + labels.count("missed")
    assert a["missed"] == labels.count("missed")
    assert a["late"] == labels.count("mistimed (late)")
    assert a["closed"] == labels.count("mistimed (inappropriate moment)")
    assert int(a["late"]) + int(a["closed"]) == len(expected["rates"]["mistimed"])
    assert a["early"] == labels.count("unprompted") + labels.count("unprompted, repeated")
    assert a["repeats"] == len(expected["rates"]["repeated_topic"])
    always = by_name(Timing().analyse(Run(rows=rows, probes=probes)), "system")[("always",)]
    assert always["on_time"] == 1.0 and float(always["precision"]) < 0.5, "over-recall is no virtue"  # type: ignore[arg-type]
