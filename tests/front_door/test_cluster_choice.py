"""`run --cluster`: only these conversations are taken in and asked about, also when the run is resumed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mnemoscope.cli import main
from mnemoscope.comparison import compare_runs
from mnemoscope.config import RunConfig
from mnemoscope.core.errors import UnknownNameError
from mnemoscope.engine import RunOutcome
from mnemoscope.engine.grid import load_scenarios
from mnemoscope.runfile import open_run

Configure = Callable[..., RunConfig]
DoRun = Callable[..., RunOutcome]


def test_only_the_chosen_conversation_is_taken_in_and_a_resumed_run_keeps_to_it(
    tmp_path: Path, make_locomo: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run.db"
    asked = ["run", "--scenario", f"locomo:{make_locomo(conversations=3)}", "--architecture", "none", "--out", str(out)]
    assert main([*asked, "--cluster", "conv-2"]) == 0
    with open_run(out) as run:
        first = run.content_hash()
        assert {row.cluster for row in run.scenarios()} == {"conv-2"} == {probe.cluster for probe in run.probes()}
        assert run.config.clusters == ("conv-2",) and run.is_complete
    assert main(["run", "--resume", "--out", str(out)]) == 0
    with open_run(out) as run:
        assert run.content_hash() == first
    capsys.readouterr()
    assert main([*asked, "--cluster", "conv-1", "--resume"]) == 2
    assert "clusters" in capsys.readouterr().err


def test_several_names_clusters_and_scenarios_alike(config: Configure, make_locomo: Callable[..., Path]) -> None:
    spec = f"locomo:{make_locomo(conversations=3)}"
    every = list(load_scenarios(config(scenarios=(spec,)), lambda _: None))
    third = str(every[2].scenario.scenario_id)
    found = load_scenarios(config(scenarios=(spec,), clusters=("conv-1", third)), lambda _: None)
    assert [planned.scenario.cluster for planned in found] == ["conv-1", "conv-3"]


def test_a_name_that_no_set_holds_is_refused_with_the_nearest(
    config: Configure, make_locomo: Callable[..., Path]
) -> None:
    settings = config(scenarios=(f"locomo:{make_locomo()}", "demo"), clusters=("conv-1", "conv-22"))
    with pytest.raises(UnknownNameError, match=r"unknown cluster in these scenarios 'conv-22'; nearest: .*conv-2"):
        load_scenarios(settings, lambda _: None)


def test_a_run_without_a_choice_keeps_its_hash_and_parts_are_merged(
    config: Configure, do_run: DoRun, make_locomo: Callable[..., Path], tmp_path: Path
) -> None:
    spec = f"locomo:{make_locomo()}"
    assert "clusters" not in config(scenarios=(spec,)).content_fields()
    parts = [
        do_run(config(scenarios=(spec,), architectures=("none",), clusters=(name,), out=tmp_path / f"{name}.db")).path
        for name in ("conv-1", "conv-2")
    ]
    merged = compare_runs(parts)
    assert [system.name for system in merged.systems] == ["none@baseline"]
    assert merged.systems[0].cells_done == 10
