"""The speaker mapping as a setting: hashed, recorded, shown where runs differ, and without effect where it has none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mnemoscope.cli import main
from mnemoscope.comparison import compare_runs
from mnemoscope.config import RunConfig
from mnemoscope.runfile import open_run


def test_it_is_part_of_the_content_and_has_three_values(config: Callable[..., RunConfig], capsys) -> None:
    default, mirrored = config(scenarios=("demo",)), config(scenarios=("demo",), speakers="mirrored")
    assert default.speakers == "speaker-b-as-assistant" and default.content_hash() != mirrored.content_hash()
    assert main(["run", "--scenario", "demo", "--speakers", "swapped", "--out", "x.db"]) == 2
    assert "--speakers" in capsys.readouterr().err


def test_runs_under_two_mappings_are_told_apart(
    make_locomo: Callable[..., Path], config: Callable[..., RunConfig], do_run: Callable, tmp_path: Path
) -> None:
    spec, paths = f"locomo:{make_locomo()}", {}
    for mapping in ("speaker-b-as-assistant", "mirrored", "as-is"):
        paths[mapping] = tmp_path / f"{mapping}.db"
        systems = ("bm25@baseline", "recent@baseline", "lc(share=25)@baseline", "rag(share=50)@baseline")
        outcome = do_run(config(scenarios=(spec,), systems=systems, speakers=mapping, out=paths[mapping]))
        assert (outcome.failed, outcome.stored) == (0, outcome.expected)
    replies = {}
    for mapping, path in paths.items():
        with open_run(path) as run:
            assert run.config.speakers == mapping
            replies[mapping] = {
                (cell.system, cell.scenario_id, cell.probe_id): run.reply_of(cell).visible_text
                for cell in list(run.cells())
            }
    plain = [{key: text for key, text in one.items() if key[0][:2] in ("bm", "re")} for one in replies.values()]
    assert plain[0] == plain[1] == plain[2] and len(plain[0]) == 20
    assert replies["mirrored"] != replies["as-is"]
    compared = compare_runs(list(paths.values()))
    assert any("speakers is speaker-b-as-assistant" in text for text in compared.warnings)
    assert {view.settings["speakers"] for view in compared.systems} == set(paths)


@pytest.mark.parametrize("spec", ["demo"])
def test_every_benchmark_says_which_role_the_assistant_has(spec: str) -> None:
    from mnemoscope.scenarios.opening import open_source

    assert {person.role for scenario in open_source(spec) for person in scenario.participants} <= {
        "user", "assistant", "peer",
    }  # fmt: skip
