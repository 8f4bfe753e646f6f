"""Tournament, silent grounding, chains, verification and published rows, by hand."""

from __future__ import annotations

from mnemoscope.evaluators.analyses.chain import Chain
from mnemoscope.evaluators.analyses.published import Published
from mnemoscope.evaluators.analyses.registry import ANALYSES
from mnemoscope.evaluators.analyses.silent_grounding import SilentGrounding
from mnemoscope.evaluators.analyses.tournament import Tournament
from tests.evaluators.analyses.analysis_tools import Run, asked, by_name, row


def test_wins_losses_and_ties() -> None:
    probes = {("s", f"p{n}"): asked(f"p{n}", style="implicit", cluster=f"c{n}") for n in range(4)}
    scores = {"a": [1.0, 0.5, 0.5, 0.0], "b": [0.5, 0.5, 0.5, 0.5]}
    rows = [row(s, f"p{n}", "three-axis", v) for s, values in scores.items() for n, v in enumerate(values)]
    rows.append(row("a", "p3", "relevance", 1.0))
    found = by_name(Tournament().analyse(Run(rows=rows, probes=probes)), "a", "b", "axis")
    total = found["a", "b", "three-axis"]
    assert (total["wins"], total["losses"], total["ties"], total["margin"]) == (1, 1, 2, 0.0)
    assert ("a", "b", "relevance") not in found, "only one system has it"
    assert "llm" in (Tournament().analyse(Run()).missing or "")


def test_silent_grounding_takes_what_the_oracle_left_unsaid() -> None:
    probes = {("s", f"p{n}"): asked(f"p{n}", style="implicit", cluster=f"c{n}") for n in range(3)}
    rows = [
        *(row("oracle@x", f"p{n}", "fact-use", said) for n, said in enumerate([0.0, 0.0, 1.0])),
        *(row("oracle@x", f"p{n}", "three-axis", 1.0) for n in range(3)),
        *(row("none@x", f"p{n}", "three-axis", v) for n, v in enumerate([0.5, 1.0, 0.0])),
    ]
    found = SilentGrounding().analyse(Run(rows=rows, probes=probes, names=("oracle@x", "none@x")))
    one = by_name(found, "profile", "against", "axis")["x", "none", "three-axis"]
    assert (one["replies"], one["rate"]) == (2, 0.75), "a win and a tie; the third was stated"
    assert "not stated: fact-use of 0" in found.notes


def chained(system: str, *turns: dict[str, float], passed: tuple[bool, ...]) -> list:
    rows = []
    for n, used in enumerate(turns):
        rows += [row(system, f"p{n}", "use", score, subject=item) for item, score in used.items()]
        rows.append(row(system, f"p{n}", "smc", float(passed[n])))
    return rows


PROBES = {
    ("s", "p0"): asked("p0", cut=2, roles={"x": "must", "y": "nice", "z": "irr"}),
    ("s", "p1"): asked("p1", cut=4, roles={"x": "irr", "y": "nice", "w": "nice"}),
    ("s", "p2"): asked("p2", cut=6, roles={"x": "nice", "z": "must"}),
}


def test_a_chain_by_hand() -> None:
    rows = chained("a", {"x": 1.0, "y": 1.0, "z": 0.0}, {"x": 0.0, "y": 1.0, "w": 0.0}, {"x": 1.0, "z": 1.0},
                   passed=(True, True, True))  # fmt: skip
    rows += chained("b", {"x": 1.0, "y": 0.0, "z": 1.0}, {"x": 1.0, "y": 0.0, "w": 1.0}, {"x": 0.0, "z": 1.0},
                    passed=(False, False, True))  # fmt: skip
    found = by_name(Chain().analyse(Run(rows=rows, probes=PROBES)), "system")
    a, b = found[("a",)], found[("b",)]
    assert (a["chains"], a["flips"], a["role_flip"], a["chain_smc"]) == (1, 2, 1.0, 1.0)
    assert b["role_flip"] == 0.0, "x is used where it is irrelevant, and so is z"
    assert a["repeats"] == 2 / 5, "y at the second turn and x at the third are needless"
    assert (a["disclosed"], a["spread"]) == (0.5, 0.5), "y at the first of two turns that offer something new"
    assert b["chain_smc"] == 0.0


def test_a_chain_with_a_failed_turn_is_left_out_and_counted() -> None:
    rows = chained("a", {"x": 1.0}, {"x": 0.0}, {"z": 1.0}, passed=(True, True, True))
    broken = [*rows, row("a", "p1", "use", None, subject="w", status="error", label="judge-error:timeout")]
    alone = by_name(Chain().analyse(Run(rows=broken, probes=PROBES)), "system")[("a",)]
    assert (alone["chains"], alone["left_out"]) == (0, 1)
    assert (alone["role_flip"], alone["repeats"], alone["chain_smc"]) == (None, None, None)
    other = {**PROBES, **{("t", name): PROBES["s", name] for name in ("p0", "p1", "p2")}}
    more = [*broken, *(r._replace(scenario_id="t") for r in rows)]
    a = by_name(Chain().analyse(Run(rows=more, probes=other)), "system")[("a",)]
    assert (a["chains"], a["left_out"]) == (1, 1)


def test_published_rows_stand_apart_and_say_why() -> None:
    probe = asked("p")._replace(benchmark="stratmem")
    found = Published().analyse(Run(rows=[row("a", "p", "smc", 1.0)], probes={("s", "p"): probe}))
    rows = by_name(found, "published_for", "stratum")
    llama = rows["Llama 4 Maverick", "must-only"]
    assert (llama["hits"], llama["of"]) == (42, 53)
    assert "another split" in str(llama["not_comparable_because"])
    assert rows["GPT-5.2", "all"]["not_comparable_because"] == ""
    assert Published().analyse(Run()).missing is not None


def test_every_analysis_says_what_it_lacks_instead_of_failing() -> None:
    for name in ANALYSES.names():
        found = ANALYSES.create(name).analyse(Run())
        assert found.name == name
        assert found.missing and not found.rows
