"""The page of metrics is made from the docstrings, and every docstring says what a user must know."""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path

import pytest

from mnemoscope.evaluators.metrics.page import metrics_page
from mnemoscope.evaluators.metrics.registry import METRICS

PAGE = Path(__file__).parents[2] / "docs" / "metrics.md"


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == metrics_page(), "run `make docs`"


@pytest.mark.parametrize("name", list(METRICS))
def test_every_metric_says_what_trivial_policies_score(name: str) -> None:
    module = importlib.import_module(METRICS.factory(name).__module__)
    said = inspect.cleandoc(module.__doc__ or "")
    assert "Trivial policies:" in said, f"{module.__name__} does not say what trivial policies score"
    assert f"`{name}" in said or f"`{name}" in inspect.cleandoc(METRICS.factory(name).__doc__ or "")
