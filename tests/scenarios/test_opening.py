"""Opening by what a user writes: kinds, paths, roles, folders, own loaders, and messages for everything else."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import mnemoscope.scenarios
from mnemoscope.core.errors import ConfigError, DataError, UnknownNameError
from mnemoscope.scenarios.opening import LOADERS, open_source, parse_source_spec


@pytest.mark.parametrize(
    ("spec", "kind", "path", "roles"),
    [
        ("demo", "demo", None, {}),
        ("locomo:a.json", "locomo", "a.json", {}),
        ("locomo:a, b.json", "locomo", "a, b.json", {}),
        ("locomo:dir:with:colons/a.json", "locomo", "dir:with:colons/a.json", {}),
        ("locomo:C:\\data\\a.json", "locomo", "C:\\data\\a.json", {}),
        ("x:d.json,locomo=l.json,composed=c.json", "x", "d.json", {"locomo": "l.json", "composed": "c.json"}),
        ("my/loader.py:open_mine:a.json", "my/loader.py:open_mine", "a.json", {}),
        ("pack.module:open_mine:a.json", "pack.module:open_mine", "a.json", {}),
        ("pack.module:open_mine", "pack.module:open_mine", None, {}),
    ],
)
def test_specs_split_into_kind_path_and_roles(spec: str, kind: str, path: str | None, roles: dict[str, str]) -> None:
    found_kind, found_path, found_roles = parse_source_spec(spec)
    assert found_kind == kind
    assert found_path == (None if path is None else Path(path))
    assert found_roles == {role: Path(other) for role, other in roles.items()}


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("", "write kind:path"),
        (":a.json", "write kind:path"),
        ("locomo10.json", "write kind:path, for example locomo:locomo10.json"),
        ("x:a,role=", "names no path for role"),
        ("x:a,role=b,role=c", "names role twice"),
        ("locomo", "locomo needs a path; write locomo:PATH"),
        ("stratmem:", "stratmem needs a path"),
    ],
)
def test_unusable_specs_say_how_to_write_them(spec: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        open_source(spec)
    assert message in str(caught.value)


def test_an_unknown_mode_is_refused() -> None:
    with pytest.raises(ConfigError, match="unknown mode 'exact'; it is robust, strict-release or repaired"):
        open_source("locomo:a.json", mode="exact")  # type: ignore[arg-type]


def test_an_unknown_kind_lists_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="unknown scenario kind 'lokomo'") as caught:
        open_source("lokomo:a.json")
    assert caught.value.nearest[0] == "locomo"


def test_the_built_in_kinds_are_listed_without_loading_them() -> None:
    assert set(LOADERS.names()) >= {"demo", "locomo", "native", "stratmem"}


def test_a_folder_and_settings_reach_the_loader(tmp_path: Path, case_dir: Callable[[str], Path]) -> None:
    shutil.copy(case_dir("DS-21") / "locomo_like.json", tmp_path / "locomo10.json")
    source = open_source(f"locomo:{tmp_path}", captions=False, mode="repaired")
    (scenario,) = source
    assert scenario.turns[1].caption is None
    assert source.card.mode == "repaired"
    assert source.card.file == "locomo10.json"
    with pytest.raises(DataError, match="no such file"):
        open_source(f"locomo:{tmp_path / 'absent.json'}")
    with pytest.raises(DataError, match=r"expected StratMemBench_testset\.json or StratMemBench\.json"):
        open_source(f"stratmem:{tmp_path}")


def test_the_test_set_is_preferred_to_the_full_file(tmp_path: Path, case_dir: Callable[[str], Path]) -> None:
    shutil.copy(case_dir("DS-16") / "stratmem_like.json", tmp_path / "StratMemBench.json")
    assert open_source(f"stratmem:{tmp_path}").card.file == "StratMemBench.json"
    shutil.copy(case_dir("DS-16") / "stratmem_like_testset.json", tmp_path / "StratMemBench_testset.json")
    assert open_source(f"stratmem:{tmp_path}", seed=7).card.settings["pool_seed"] == "7"
    assert open_source(f"stratmem:{tmp_path}").card.file == "StratMemBench_testset.json"


def test_a_loader_of_ones_own(tmp_path: Path, case_dir: Callable[[str], Path]) -> None:
    loader = tmp_path / "own_loader.py"
    loader.write_text(
        "from mnemoscope.scenarios.loaders.locomo import open_locomo\n\n\ndef open_mine(request):\n"
        "    return open_locomo(request)\n",
        encoding="utf-8",
    )
    source = open_source(f"{loader}:open_mine:{case_dir('DS-23') / 'scenario.json'}")
    assert [scenario.scenario_id for scenario in source] == ["case-1"]


def test_every_public_name_is_there_and_none_loads_a_loader() -> None:
    for name in mnemoscope.scenarios.__all__:
        assert getattr(mnemoscope.scenarios, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        mnemoscope.scenarios.nothing  # noqa: B018
    code = "import sys, mnemoscope.scenarios; sys.exit('pydantic' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
