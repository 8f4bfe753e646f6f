"""The trained planner: features without gold, exact choice of sets, folds by pair, figures of unseen pairs only."""

from __future__ import annotations

import itertools
import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemoscope.cli import main
from mnemoscope.core.errors import ConfigError
from mnemoscope.graphs.architectures.pool import pool_items
from mnemoscope.graphs.nodes.planners import Threshold
from mnemoscope.graphs.nodes.ports import PlanningTask
from mnemoscope.graphs.strategic.choosing import best_set, pass_probability
from mnemoscope.graphs.strategic.features import read_features
from mnemoscope.graphs.strategic.fitting import Example, examples_of, folds_of
from mnemoscope.graphs.strategic.planner import Strategic
from mnemoscope.graphs.strategic.weights import bundled_weights, pair_key, read_weights
from mnemoscope.memory_backends.embedders.hashing import HashEmbedder
from mnemoscope.memory_backends.record import MemoryItem, Query
from mnemoscope.scenarios.loaders.stratmem import open_stratmem
from mnemoscope.scenarios.records import Scenario
from mnemoscope.scenarios.source import LoadRequest

PAIRS = (("Ana", "Bruno"), ("Cleo", "Dirk"), ("Edda", "Finn"), ("Gwen", "Hugo"), ("Iris", "Joel"))
THINGS = ("boat", "oven", "piano", "garden", "camera", "kite", "tent", "loom")


def rows() -> list[dict[str, Any]]:
    chance = random.Random(7)
    made = []
    for (human, other), number in itertools.product(PAIRS, range(6)):
        one, *rest = chance.sample(THINGS, 5)
        persona = {"virtual_person_name": other, "summary": "Kind.", "traits": ["calm"], "style": ["dry"]}
        made.append(
            {
                "id": f"{human}-{number}",
                "given_type": "C",
                "inferred_type": "C",
                "query": f"Where did you put the {one} that you bought?",
                "query_time": "1:14 pm on 25 May, 2022",
                "history": "",
                "roles": {"human": human, "virtual_person": other},
                "memory": {
                    "must": [{"fact": f"{other} put the {one} that was bought into shed {number}."}],
                    "nice": [{"fact": f"{other} likes the {one}."}],
                    "irr": [{"fact": f"{chance.choice((human, other))} saw a {thing} once."} for thing in rest],
                },
                "virtual_person_persona": {**persona, "domains": ["home"], "values": ["care"]},
            }
        )
    return made


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("pools") / "pools.json"
    path.write_text(json.dumps(rows()), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def trained(data: Path) -> Path:
    path = data.parent / "weights.json"
    assert main(["planner", "train", f"stratmem:{data}", "--embedder", "hash", "--out", str(path), "--json"]) == 0
    return path


def scenarios(path: Path) -> list[Scenario]:
    return list(open_stratmem(LoadRequest("stratmem", path)))


def task_of(scenario: Scenario) -> PlanningTask:
    (probe,) = scenario.probes
    items = pool_items(Query(probe.text, pool=probe.pool))
    return PlanningTask(
        probe.text, probe.speaker, items, False, probe.recent_turns, probe.persona, probe.speaks_as, probe.now,
        HashEmbedder(),
    )  # fmt: skip


@st.composite
def chances(draw: st.DrawFn) -> np.ndarray:
    raw = draw(st.lists(st.tuples(*[st.floats(0.01, 1.0)] * 3), min_size=1, max_size=5))
    table = np.array(raw)
    return table / table.sum(axis=1, keepdims=True)


@settings(max_examples=40, deadline=None)
@given(chances())
def test_the_probability_of_a_pass_is_that_of_all_labellings(table: np.ndarray) -> None:
    size = len(table)
    sets = np.array([s for s in itertools.product([False, True], repeat=size) if any(s)])
    expected = np.zeros(len(sets))
    for labels in itertools.product(range(3), repeat=size):
        weight = np.prod([table[i, label] for i, label in enumerate(labels)])
        needed, welcome, off = (np.array([label == kind for label in labels]) for kind in range(3))
        for place, chosen in enumerate(sets):
            complete = not (needed & ~chosen).any() and not (off & chosen).any()
            expected[place] += weight * (complete and ((welcome & chosen).any() or not welcome.any()))
    assert pass_probability(table, sets) == pytest.approx(expected)


def test_less_risk_leaves_out_more() -> None:
    table = np.array([[0.6, 0.3, 0.1], [0.1, 0.6, 0.3], [0.05, 0.45, 0.5], [0.0, 0.1, 0.9]])
    sizes = [len(best_set(table, risk)) for risk in (0.05, 0.5, 0.95)]
    assert sizes == sorted(sizes) and sizes[0] < sizes[-1]


async def test_features_ignore_order_ids_and_what_is_hidden(data: Path) -> None:
    task = task_of(scenarios(data)[0])
    found = await read_features(task)
    turned = replace(task, memories=tuple(replace(item, id=f"x{n}") for n, item in enumerate(task.memories[::-1])))
    again = await read_features(turned)
    assert all(np.allclose(values[::-1], again[name]) for name, values in found.items())
    assert all(np.isfinite(values).all() for values in found.values())


async def test_chinese_has_features_of_its_own_words() -> None:
    items = tuple(
        MemoryItem(f"m{n}", "fact", text, (), None) for n, text in enumerate(("小周的猫叫团团。", "下雨了。"))
    )
    task = PlanningTask("你的猫叫什么名字？", "阿丽", items, False, speaks_as="小周", embedder=HashEmbedder())
    found = await read_features(task)
    assert found["people.mine"].tolist() == [1.0, 0.0]
    assert found["words.covered"][0] > found["words.covered"][1]
    assert found["people.you"][0] == 1.0 and found["asked.what"][0] == 1.0


async def test_no_pair_is_in_both_parts_of_a_fold(data: Path) -> None:
    examples = await examples_of(scenarios(data), HashEmbedder())
    folds = folds_of(examples)
    assert {fold.test for fold in folds} == {pair_key(*pair) for pair in PAIRS}
    for fold in folds:
        assert fold.test not in fold.train and len(fold.train) == len(PAIRS) - 1
    with pytest.raises(ConfigError, match="at least 4"):
        folds_of([example for example in examples if example.pair in {folds[0].test, folds[1].test}])


async def test_labels_of_a_pair_do_not_change_the_model_that_plans_it(data: Path, trained: Path) -> None:
    from mnemoscope.graphs.strategic.fitting import train

    examples = await examples_of(scenarios(data), HashEmbedder())
    first = examples[0].pair

    def turned(example: Example) -> Example:
        return (
            replace(example, labels=tuple(2 - label for label in example.labels)) if example.pair == first else example
        )

    other = train(list(map(turned, examples)), benchmark="b", data_sha256="", embedder="e", date="2022-01-01")
    weights = read_weights(trained)
    assert other.left_out[first] == weights.left_out[first]
    assert other.full != weights.full


async def test_what_the_planner_does_is_what_the_figures_say(data: Path, trained: Path) -> None:
    planner, passed = Strategic(weights=str(trained)), []
    for scenario in scenarios(data):
        plan = await planner.plan(task_of(scenario))
        assert plan.planner.endswith("trained on this benchmark's other pairs, cross-validated")
        gold = scenario.gold_by_probe[scenario.probes[0].probe_id].roles
        must, nice, off = ({key for key, role in gold.items() if role == kind} for kind in ("must", "nice", "irr"))
        used = set(plan.memory_ids("must"))
        passed.append(must <= used and bool(used & nice) and not used & off)
    (figure,) = (row for row in read_weights(trained).cross_validated if row.risk == 0.5)
    assert figure.smc == pytest.approx(np.mean(passed), abs=1e-6)


async def test_other_people_are_planned_by_the_model_of_all_pairs(data: Path, trained: Path) -> None:
    task = replace(task_of(scenarios(data)[0]), asker="Zoe")
    plan = await Strategic(weights=str(trained)).plan(task)
    assert plan.planner.endswith("trained on other data, all pairs")
    said_by = tuple(replace(item, attrs={"speaker": "Ana"}) for item in task.memories)
    plan = await Strategic(weights=str(trained)).plan(replace(task, memories=said_by))
    assert plan.planner.endswith("cross-validated")


def test_weights_tell_no_name_and_no_sentence(trained: Path) -> None:
    text = trained.read_text(encoding="utf-8")
    assert not [name for pair in PAIRS for name in pair if name in text]
    assert "shed" not in text and "training" not in json.dumps(json.loads(text)["cross_validated"])


async def test_wrong_input_is_told(data: Path, trained: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"0.01 to 0.99"):
        Strategic(risk=1.0)
    broken = tmp_path / "broken.json"
    broken.write_text("{}", encoding="utf-8")
    with pytest.raises(ConfigError, match="planner train"):
        Strategic(weights=str(broken))
    with pytest.raises(ConfigError, match="was trained with the vectors of"):
        await Strategic().plan(task_of(scenarios(data)[0]))
    empty = await Strategic().plan(replace(task_of(scenarios(data)[0]), memories=()))
    assert (empty.slots, empty.speak) == ((), "silent")


async def test_threshold_says_what_is_near_enough(data: Path) -> None:
    task = task_of(scenarios(data)[0])
    assert len((await Threshold(-1.0).plan(task)).memory_ids("must")) == len(task.memories)
    nothing = await Threshold(1.0).plan(task)
    assert (nothing.memory_ids("must"), nothing.speak) == ((), "silent")


def test_bundled_weights_hold_ten_pairs_and_say_where_they_come_from() -> None:
    weights = bundled_weights()
    assert len(weights.left_out) == weights.provenance.pairs == 10
    assert weights.provenance.items == 657 and weights.provenance.embedder == "minilm-l6-v2-int8@256"
    at_rest = next(row for row in weights.cross_validated if row.risk == 0.5)
    assert at_rest.smc >= 0.68
    assert any(row.pes >= 0.75 and row.cir <= 0.135 for row in weights.cross_validated)


@pytest.mark.slow
@pytest.mark.data
def test_the_command_line_prints_the_cross_validated_figure(
    benchmark_data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec, run = f"stratmem:{benchmark_data / 'StratMemBench_testset.json'}", str(tmp_path / "run.db")
    options = ["--architecture", "pool", "--profile", "strategic", "--workers", "2", "--out", run]
    assert main(["run", "--scenario", spec, *options]) == 0
    capsys.readouterr()
    assert main(["compare", run, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    (smc,) = (m for m in printed["metrics"] if m["metric"] == "smc(of=plan)" and m["stratum"] == "all")
    at_rest = next(row for row in bundled_weights().cross_validated if row.risk == 0.5)
    assert smc["value"] == pytest.approx(at_rest.smc, abs=1e-6)
    assert any("trained planner" in text for text in printed["warnings"])
