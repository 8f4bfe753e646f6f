"""StratMem-Bench's metrics: by hand, and for trivial policies on the published test file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from mnemoscope.core.identity import ItemId
from mnemoscope.evaluators.case import EvaluationCase
from mnemoscope.evaluators.metrics.registry import METRICS
from mnemoscope.evaluators.metrics.strategic import cir_of, pes_of, planned_sources, smc_of
from mnemoscope.evaluators.verdict import Verdict
from mnemoscope.graphs.plan import ResponsePlan, Slot, SlotRole
from mnemoscope.memory_backends.record import MemoryItem
from mnemoscope.scenarios.opening import open_source
from mnemoscope.scenarios.records import Gold, MemoryRole, Scenario
from tests.evaluators.judging import verdicts_of

Make = Callable[..., EvaluationCase]
POOL = {
    "m": "Tomasz adopted a grey cat named Pixel.",
    "n": "Tomasz likes swimming in the lake.",
    "i": "Tomasz drives a red van.",
}
ROLES: dict[str, MemoryRole] = {"m": "must", "n": "nice", "i": "irr"}


def only(name: str, case: EvaluationCase) -> Verdict:
    (verdict,) = verdicts_of(name, case)
    assert verdict.metric == name
    return verdict


def plan(*roles: tuple[str, SlotRole]) -> ResponsePlan:
    return ResponsePlan("test", tuple(Slot(f"s{n}", ItemId(i), role) for n, (i, role) in enumerate(roles)))


def scores(case: EvaluationCase, of: str = "") -> list[float | None]:
    return [only(f"{name}{of}", case).score for name in ("smc", "pes", "cir")]


@pytest.mark.parametrize(
    ("said", "smc", "pes", "cir"),
    [("mn", 1, 1, 0), ("m", 0, 0, 0), ("n", 0, None, 0), ("mni", 0, 1, 1), ("", 0, None, 0), ("mi", 0, 0, 1)],
)
def test_by_hand(make_case: Make, said: str, smc: float, pes: float | None, cir: float) -> None:
    gold = Gold(roles={ItemId(i): r for i, r in ROLES.items()})
    case = make_case(
        reply=" ".join(POOL[i] for i in said),
        gold=gold,
        style="situational",
        pool=POOL,
        items=[],
        plan=plan(*((i, "nice") for i in said)),
    )
    assert scores(case) == [smc, pes, cir]
    assert scores(case, "(of=plan)") == [smc, pes, cir]
    assert {v.subject for v in verdicts_of("use", case) if v.score == 1} == set(said)


def test_conditions_are_exclusions_with_a_reason(make_case: Make) -> None:
    must_only = make_case(
        reply=POOL["m"], gold=Gold(roles={ItemId("m"): "must", ItemId("i"): "irr"}), style="situational", pool=POOL
    )
    assert only("smc", must_only).score == 1.0
    assert only("pes", must_only).label == only("cir", must_only).label == "no nice memory in the pool"
    assert only("smc(of=plan)", must_only).label == "no plan"
    unmet = make_case(gold=Gold(roles={ItemId(i): r for i, r in ROLES.items()}), style="situational", pool=POOL)
    assert only("pes", unmet).label == "must not satisfied"
    assert not METRICS.create("smc").applies(Gold(), unmet.probe)


def test_suppressed_and_silent_slots_are_not_planned_use(make_item: Callable[..., MemoryItem]) -> None:
    item = make_item("x", "t", ["a", "b"])
    slots = (
        Slot("1", ItemId("x"), "must"),
        Slot("2", ItemId("y"), "suppress"),
        Slot("3", ItemId("z"), "nice", speak="silent"),
    )
    assert planned_sources(ResponsePlan("p", slots), (item,)) == {"x", "a", "b"}
    assert planned_sources(ResponsePlan("p", slots, speak="silent"), (item,)) == frozenset()
    assert planned_sources(None, (item,)) == frozenset()


def test_every_combination_of_present_and_used(case_dir: Callable[[str], Path]) -> None:
    folder = case_dir("MT-08")
    records = json.loads((folder / "records.json").read_text(encoding="utf-8"))
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    smc, pes, cir = {}, {}, {}
    for r in records:
        must, nice, irr = ({f"{role}{n}" for n in range(r[role])} for role in ("must", "nice", "irr"))
        used = {f"{role}{n}" for role in ("must", "nice", "irr") for n in range(r[f"used_{role}"])}
        smc[r["id"]] = smc_of(must, nice, irr, used)
        pes[r["id"]] = pes_of(must, nice, used)
        cir[r["id"]] = cir_of(nice, irr, used)
    assert smc == {k: bool(v) for k, v in expected["SMC"].items()}
    assert round(sum(map(bool, smc.values())) / len(smc), 4) == expected["SMC_all"]
    for values, name in ((pes, "PES"), (cir, "CIR")):
        eligible = [k for k, v in values.items() if v is not None]
        assert eligible == expected[name]["eligible"]
        assert round(sum(bool(values[k]) for k in eligible) / len(eligible), 4) == expected[name]["value"]
    assert smc_of(set(), set(), {"i"}, set()) is None


@pytest.fixture
def stratmem(benchmark_data: Path) -> list[Scenario]:
    return list(open_source(f"stratmem:{benchmark_data / 'StratMemBench_testset.json'}"))


def run(scenarios: Iterable[Scenario], make: Make, chosen: frozenset[MemoryRole]) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    metrics = [METRICS.create(f"{name}{of}") for name in ("smc", "pes", "cir") for of in ("", "(of=plan)")]
    for scenario in scenarios:
        for probe in scenario.probes:
            assert probe.pool is not None
            gold = scenario.gold_by_probe[probe.probe_id]
            pool = {item.item_id: item.text for item in probe.pool.items}
            used = [i for i in pool if gold.roles[i] in chosen]
            case = make(
                reply=" ".join(pool[i] for i in used),
                gold=gold,
                style="situational",
                pool=pool,
                items=[],
                plan=plan(*((i, "must") for i in used)),
            )
            for metric in metrics:
                for verdict in verdicts_of(metric, case):
                    if verdict.score is not None:
                        found.setdefault(metric.name, []).append(verdict.score)
    return found


@pytest.mark.data
def test_using_nothing(stratmem: list[Scenario], make_case: Make) -> None:
    found = run(stratmem, make_case, frozenset())
    for of in ("", "(of=plan)"):
        assert (len(found[f"smc{of}"]), sum(found[f"smc{of}"])) == (657, 0)
        assert (len(found[f"cir{of}"]), sum(found[f"cir{of}"])) == (607, 0)
        assert (len(found[f"pes{of}"]), sum(found[f"pes{of}"])) == (132, 0)


@pytest.mark.data
def test_using_everything(stratmem: list[Scenario], make_case: Make) -> None:
    found = run(stratmem, make_case, frozenset({"must", "nice", "irr"}))
    for of in ("", "(of=plan)"):
        assert (len(found[f"smc{of}"]), sum(found[f"smc{of}"])) == (657, 1)
        assert (len(found[f"cir{of}"]), sum(found[f"cir{of}"])) == (607, 606)
        assert (len(found[f"pes{of}"]), sum(found[f"pes{of}"])) == (607, 607)


@pytest.mark.data
def test_an_oracle(stratmem: list[Scenario], make_case: Make) -> None:
    found = run(stratmem, make_case, frozenset({"must", "nice"}))
    assert (sum(found["smc(of=plan)"]), sum(found["pes(of=plan)"]), sum(found["cir(of=plan)"])) == (657, 607, 0)
    # two irrelevant facts lie wholly inside needed ones
    assert sum(found["smc"]) / 657 >= 0.995
    assert (len(found["pes"]), sum(found["pes"])) == (607, 607)
    assert sum(found["cir"]) / 607 <= 0.005
