"""The conditions of strict compliance apart: together they are `smc`, and each has its own denominator."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemoscope.core.errors import ConfigError
from mnemoscope.evaluators.case import EvaluationCase
from mnemoscope.evaluators.metrics.registry import METRICS
from mnemoscope.evaluators.verdict import Verdict
from mnemoscope.scenarios.opening import open_source
from mnemoscope.scenarios.records import Gold, MemoryRole
from tests.evaluators.conftest import case
from tests.evaluators.metrics.scripted import Script, by_text, only

PARTS = ("smc-must", "smc-no-irr", "nice-rate")
ROLES = st.dictionaries(
    st.sampled_from("abcdef"), st.sampled_from(("must", "nice", "irr")), min_size=1, max_size=6
)  # fmt: skip


def pooled(roles: dict[str, MemoryRole]) -> EvaluationCase:
    return case(reply="r", gold=Gold(roles=roles), style="situational", pool={i: f"fact {i}" for i in roles})


def using(roles: dict[str, MemoryRole], used: set[str]) -> Script:
    return by_text("use", {f"fact {i}": float(i in used) for i in roles}, "used", "not used")


@given(ROLES, st.sets(st.sampled_from("abcdef")))
def test_an_item_passes_where_all_parts_that_apply_hold(roles: dict[str, MemoryRole], used: set[str]) -> None:
    made, script = pooled(roles), using(roles, used)
    whole = only("smc", made, script)
    parts = [only(name, made, script) for name in PARTS]
    scored = [v.score for v in parts if v.status == "scored"]
    if whole.status == "scored":
        assert whole.score == float(all(scored))
    else:
        assert not scored


@given(ROLES, st.sets(st.sampled_from("abcdef")))
def test_nice_rate_is_pes_without_its_condition(roles: dict[str, MemoryRole], used: set[str]) -> None:
    made, script = pooled(roles), using(roles, used)
    pes, rate, cir = (only(name, made, script) for name in ("pes", "nice-rate", "cir"))
    assert pes.score in (None, rate.score)
    assert (rate.status == "scored") == (cir.status == "scored") == ("nice" in roles.values())


def test_labels_and_exclusions() -> None:
    roles: dict[str, MemoryRole] = {"a": "nice", "b": "irr"}
    made = pooled(roles)
    assert only("smc-must", made).label == "no must memory in the pool"
    assert only("smc-no-irr", made, using(roles, {"b"})).label == "irrelevant used"
    assert only("nice-rate", made, using(roles, {"b"})).label == "nice missing"
    unread = only("nice-rate", made, by_text("use", {"fact a": None, "fact b": 0.0}))
    assert (unread.status, unread.score) == ("invalid", None)
    assert only("nice-rate(of=plan)", made).label == "no plan"


def test_votes_are_asked_of_the_judge() -> None:
    with pytest.raises(ConfigError, match=r"--judge 'llm\(votes=3\)'"):
        METRICS.create("smc(votes=3)")


@pytest.mark.data
@pytest.mark.parametrize(
    ("policy", "expected"),
    [("none", (0, 657, 0)), ("all", (525, 1, 607)), ("oracle", (525, 657, 607))],
)
def test_denominators_of_the_released_file(benchmark_data: Path, policy: str, expected: tuple[int, int, int]) -> None:
    hits, denominators = dict.fromkeys(PARTS, 0), dict.fromkeys(PARTS, 0)
    for scenario in open_source(f"stratmem:{benchmark_data / 'StratMemBench_testset.json'}"):
        for gold in scenario.gold_by_probe.values():
            used = {i for i, role in gold.roles.items() if policy == "all" or (policy == "oracle" and role != "irr")}
            for name in PARTS:
                verdict = _by_rule(name, gold, used)
                if verdict is not None and verdict.score is not None:
                    hits[name] += int(verdict.score)
                    denominators[name] += 1
    assert tuple(hits.values()) == expected
    assert tuple(denominators.values()) == (525, 657, 607)


def _by_rule(name: str, gold: Gold, used: set[str]) -> Verdict | None:
    roles = dict(gold.roles)
    return only(name, pooled(roles), using(roles, used))
