"""The same memories over turns: what policies score, and that turns are in the conversation's order."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mnemoscope.evaluators.aggregate import ScoreRow
from mnemoscope.evaluators.analyses.analysis import Value
from mnemoscope.evaluators.analyses.chain import Chain
from tests.evaluators.analyses.analysis_tools import Run, asked, by_name, row

PROBES = {
    ("s", "late"): asked("late", cut=9, roles={"x": "irr", "y": "nice", "v": "must"}),
    ("s", "first"): asked("first", cut=2, roles={"x": "must", "y": "nice", "z": "irr"}),
    ("s", "second"): asked("second", cut=5, roles={"x": "nice", "w": "nice", "v": "irr"}),
}
POOLS = {probe: dict(asked_.gold.roles) for (_, probe), asked_ in PROBES.items()}


def verdicts(used: dict[str, set[str]]) -> list[ScoreRow]:
    rows = []
    for probe, pool in POOLS.items():
        rows += [row("a", probe, "use", float(item in used[probe]), subject=item) for item in map(str, pool)]
        must = {item for item, role in pool.items() if role == "must"}
        irr = {item for item, role in pool.items() if role == "irr"}
        nice = {item for item, role in pool.items() if role == "nice"}
        rows.append(
            row("a", probe, "smc", float(must <= used[probe] and bool(nice & used[probe]) and not irr & used[probe]))
        )
    return rows


def only_row(rows: list[ScoreRow]) -> dict[str, Value]:
    return by_name(Chain().analyse(Run(rows=rows, probes=PROBES)), "system")[("a",)]


def test_dumping_everything_flips_no_role_and_discloses_at_once() -> None:
    one = only_row(verdicts({probe: set(map(str, pool)) for probe, pool in POOLS.items()}))
    assert (one["flips"], one["role_flip"], one["chain_smc"]) == (2, 0.0, 0.0)
    assert one["repeats"] == 3 / 9, "x at the second turn, x and y at the last; v was said before and must be"
    assert (one["disclosed"], one["spread"]) == (1.0, 1.0), "y, then w; the last turn offers nothing new"


def test_saying_nothing_has_no_repeats_to_divide() -> None:
    one = only_row(verdicts({probe: set() for probe in POOLS}))
    assert (one["role_flip"], one["repeats"], one["disclosed"], one["spread"]) == (0.0, None, 0.0, 0.0)


def test_what_gold_wants_passes_every_item() -> None:
    one = only_row(verdicts({"first": {"x", "y"}, "second": {"w"}, "late": {"v", "y"}}))
    assert (one["role_flip"], one["chain_smc"]) == (1.0, 1.0)
    assert one["repeats"] == 1 / 5, "y at the last turn is allowed, and said again"


def test_what_is_nice_is_free_and_what_is_irrelevant_is_not() -> None:
    free = only_row(verdicts({"first": {"x"}, "second": {"x"}, "late": {"v"}}))
    assert (free["flips"], free["role_flip"]) == (2, 1.0), "x is nice at the second turn"
    leaked = only_row(verdicts({"first": {"x"}, "second": set(), "late": {"v", "x"}}))
    assert leaked["role_flip"] == 0.5, "x is irrelevant at the last turn"


def test_a_memory_that_must_be_used_at_every_turn_is_no_flip() -> None:
    probes = {("s", f"p{n}"): asked(f"p{n}", cut=n + 1, roles={"x": "must"}) for n in range(2)}
    rows = [row("a", f"p{n}", metric, 1.0, subject="x") for n in range(2) for metric in ("use", "smc")]
    one = by_name(Chain().analyse(Run(rows=rows, probes=probes)), "system")[("a",)]
    assert (one["flips"], one["role_flip"], one["repeats"]) == (0, None, 0.0)


def test_a_failure_outside_all_chains_leaves_none_out() -> None:
    rows = verdicts({"first": {"x", "y"}, "second": {"w"}, "late": {"v", "y"}})
    alone = {**PROBES, ("t", "q"): asked("q", roles={"k": "must"})}
    failed = row("a", "q", "use", None, subject="k", scenario="t", status="error")
    one = by_name(Chain().analyse(Run(rows=[*rows, failed], probes=alone)), "system")[("a",)]
    assert (one["chains"], one["left_out"]) == (1, 0)


def test_plans_are_not_replies() -> None:
    rows = verdicts({"first": {"x", "y"}, "second": {"w"}, "late": {"v", "y"}})
    plans = [row("a", probe, "smc", 0.0, subject="plan") for probe in POOLS]
    assert only_row([*rows, *plans]) == only_row(rows)


@given(st.permutations(range(12)))
def test_the_order_of_verdicts_changes_nothing(order: list[int]) -> None:
    rows = verdicts({"first": {"x", "z"}, "second": {"x", "w"}, "late": {"v", "x"}})
    assert only_row([rows[n] for n in order]) == only_row(rows)
