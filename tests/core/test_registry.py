"""Lazy names: nearest suggestions, references to files, parameters that do not fit."""

from __future__ import annotations

from pathlib import Path

import pytest

from mnemoscope.core.errors import ConfigError, UnknownNameError
from mnemoscope.core.registry import Registry
from mnemoscope.core.spec import Spec


def registry() -> Registry[Spec]:
    return Registry("thing", {"spec": "mnemoscope.core.spec:Spec", "absent": "mnemoscope.core.nowhere:Thing"})


def test_listing_imports_nothing() -> None:
    assert registry().names() == ("absent", "spec")


def test_unknown_name_lists_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="unknown thing 'spek'; nearest: spec"):
        registry().create("spek")


def test_parameters_reach_the_factory() -> None:
    assert registry().create("spec(inner)") == Spec("inner")


def test_parameters_that_do_not_fit() -> None:
    with pytest.raises(ConfigError, match=r"thing spec.*; parameters are: name, args, kwargs, at"):
        registry().create("spec(nonsense=1)")


def test_reference_to_a_file(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("class Mine:\n    def __init__(self, k=1): self.k = k\n", encoding="utf-8")
    thing = registry().create(f"{tmp_path}/mine.py:Mine(4)")
    assert thing.k == 4  # type: ignore[attr-defined]


def test_reference_that_does_not_load() -> None:
    with pytest.raises(ConfigError, match="cannot load"):
        registry().create("nowhere.py:Mine")


@pytest.mark.parametrize(
    ("code", "said"), [("def (", "SyntaxError"), ("raise RuntimeError('no key')\nMine = 1", "RuntimeError: no key")]
)
def test_a_file_that_fails_says_so_each_time(tmp_path: Path, code: str, said: str) -> None:
    (tmp_path / "failing.py").write_text(code, encoding="utf-8")
    for _ in range(2):
        with pytest.raises(ConfigError, match=rf"cannot load .*failing.py:Mine': {said}"):
            registry().create(f"{tmp_path}/failing.py:Mine")


def test_taken_name() -> None:
    with pytest.raises(ConfigError, match="already registered"):
        registry().register("spec", Spec)
