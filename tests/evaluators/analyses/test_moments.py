"""Timing, net benefit, single use decisions and corrections, by hand."""

from __future__ import annotations

import pytest

from mnemoscope.evaluators.analyses._rating import projected_precision
from mnemoscope.evaluators.analyses.corrections import Corrections
from mnemoscope.evaluators.analyses.net_benefit import NetBenefit
from mnemoscope.evaluators.analyses.timing import Timing
from mnemoscope.evaluators.analyses.use_decisions import UseDecisions
from tests.evaluators.analyses.analysis_tools import Run, asked, by_name, row

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


def decided(system: str, **mentioned: bool) -> list:
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


def test_a_gate_of_the_literature_at_two_prevalences() -> None:
    assert projected_precision(0.8, 0.05, 0.15) == pytest.approx(0.74, abs=0.005)
    assert projected_precision(0.8, 0.05, 0.014) == pytest.approx(0.19, abs=0.006)
    assert projected_precision(0.0, 0.0) is None


def test_timing_by_hand() -> None:
    found = by_name(Timing().analyse(RUN), "system")
    a = found[("a",)]
    assert (a["due"], a["on_time"], a["missed"], a["precision"]) == (2, 0.5, 1, pytest.approx(1 / 3))
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
    roles = {"n1": "nice", "n2": "nice", "i1": "irr", "m": "must"}
    probes = {
        ("s", "pool"): asked("pool", style="situational", roles=roles),  # type: ignore[arg-type]
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
