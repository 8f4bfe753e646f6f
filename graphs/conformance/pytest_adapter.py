"""The conformance kit as pytest tests, one per row.

In a test module::

    from mnemoscope.graphs.conformance.pytest_adapter import assert_row, conformance_rows


    @conformance_rows
    def test_my_memory(row):
        assert_row(lambda: create_architecture("my_file.py:mine").backend(), row)
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mnemoscope.graphs.backend import BackendFactory, Ports
from mnemoscope.graphs.conformance.kit import DEFAULT_SIZE, all_rows, run_conformance
from mnemoscope.graphs.conformance.material import conformance_ports

__all__ = ["assert_row", "conformance_rows"]

conformance_rows = pytest.mark.parametrize("row", [row.id for row in all_rows()])
"""Gives a test every row's id as `row`."""


def assert_row(
    factory: BackendFactory,
    row: str,
    *,
    ports_factory: Callable[[], Ports] = conformance_ports,
    size: int = DEFAULT_SIZE,
) -> None:
    """Run one row: it fails the test where the contract is broken, and skips it where it does not apply."""
    (result,) = run_conformance(factory, ports_factory=ports_factory, size=size, rows=[row]).rows
    if result.status == "not_applicable":
        pytest.skip(f"{result.id} {result.title}: {result.detail}")
    if result.status == "failed":
        pytest.fail(f"{result.id} {result.title}: {result.detail}", pytrace=False)
