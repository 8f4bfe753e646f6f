"""Scenario sets on their way into a run: long ones are never held as a whole, and reading shows that it goes on."""

from __future__ import annotations

import gc
import json
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mnemoscope.cli import progress as cli_progress
from mnemoscope.cli.progress import LineProgress, reading
from mnemoscope.config import RunConfig
from mnemoscope.core.errors import DataError
from mnemoscope.engine import RunOutcome, planning
from mnemoscope.engine.planning import load_scenarios
from mnemoscope.scenarios.records import Scenario
from mnemoscope.scenarios.source import ReadProgress

Configure = Callable[..., RunConfig]


@pytest.fixture
def long_file(tmp_path: Path) -> Path:
    rows = [
        {
            "question_id": f"q{number}",
            "question_type": ("multi-session", "knowledge-update")[number % 2],
            "question": f"Which tea does Mira drink in month {number}?",
            "answer": "green tea",
            "question_date": "2024/05/01 (Wed) 10:00",
            "haystack_dates": ["2024/03/01 (Fri) 09:00", "2024/04/02 (Tue) 09:00"],
            "haystack_session_ids": [f"answer_{number}", f"other_{number}"],
            "haystack_sessions": [
                [{"role": "user", "content": f"I drink green tea, cup {number}.", "has_answer": True}],
                [{"role": "user", "content": "The ferry was late."}, {"role": "assistant", "content": "Again?"}],
            ],
            "answer_session_ids": [f"answer_{number}"],
        }
        for number in range(12)
    ]
    path = tmp_path / "longmemeval.json"
    path.write_text(json.dumps(rows), encoding="utf-8")
    return path


def test_a_long_set_is_read_twice_and_gives_the_same(
    config: Configure, long_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = config(scenarios=(f"longmemeval:{long_file}",), limit=4)
    short = list(load_scenarios(settings, lambda _: None))
    monkeypatch.setattr(planning, "KEPT_TURNS", 5)
    plan = load_scenarios(settings, lambda _: None)
    assert list(plan) == list(plan) == short
    assert len(short) == 4


def test_of_a_long_set_few_scenarios_are_held_at_once(
    config: Configure, long_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planning, "KEPT_TURNS", 5)
    alive: list[weakref.ref[Scenario]] = []
    most = 0
    open_set = planning.open_source

    class Watched:
        def __init__(self, *given: object, **settings: object) -> None:
            self._source = open_set(*given, **settings)  # type: ignore[arg-type]

        def __iter__(self) -> Iterator[Scenario]:
            nonlocal most
            for scenario in self._source:
                alive.append(weakref.ref(scenario))
                del scenario
                gc.collect()
                most = max(most, sum(ref() is not None for ref in alive))
                held = alive[-1]()
                assert held is not None
                yield held
                del held

    monkeypatch.setattr(planning, "open_source", Watched)
    names = [one.scenario.scenario_id for one in load_scenarios(config(scenarios=(f"longmemeval:{long_file}",)), print)]
    assert len(names) == 12
    assert len(alive) == 24
    assert most <= 3


def test_a_set_that_changes_between_the_readings_is_refused_and_leaves_no_file(
    config: Configure, do_run: Callable[..., RunOutcome], long_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planning, "KEPT_TURNS", 5)
    settings = config(scenarios=(f"longmemeval:{long_file}",), architectures=("recent",))
    plan = load_scenarios(settings, lambda _: None)
    rows = json.loads(long_file.read_text(encoding="utf-8"))
    long_file.write_text(json.dumps(rows[:-1]), encoding="utf-8")
    with pytest.raises(DataError, match="was changed while it was read") as caught:
        list(plan)
    assert caught.value.record == "q11"
    monkeypatch.setattr("mnemoscope.engine.running.load_scenarios", lambda *_: plan)
    with pytest.raises(DataError, match="was changed"):
        do_run(settings)
    assert settings.out is not None
    assert [path.name for path in settings.out.parent.iterdir() if path.name.startswith("run.db")] in (
        [],
        ["run.db.lock"],
    )


def test_reading_says_how_far_it_has_come(
    long_file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cli_progress, "INTERVAL", 0.0)
    with reading() as told:
        told(ReadProgress("set.json", 7, 50, 200))
    assert capsys.readouterr().err == "reading set.json: 7 records (25%)\n"
    monkeypatch.setattr(cli_progress, "INTERVAL", 60.0)
    LineProgress().read(ReadProgress("set.json", 7, 50, 200))
    assert capsys.readouterr().err == ""


def test_a_run_is_told_of_every_record(config: Configure, long_file: Path) -> None:
    seen: list[ReadProgress] = []
    load_scenarios(config(scenarios=(f"longmemeval:{long_file}",)), lambda _: None, seen.append)
    assert [at.items for at in seen] == list(range(1, 13))
    assert seen[-1].bytes_read <= seen[-1].bytes_total == long_file.stat().st_size
