"""What every statistic asks of its input: columns of finite numbers, equally long, and clusters by name."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
import numpy.typing as npt

from mnemoscope.core.errors import ConfigError, shown

__all__ = ["ROUNDING", "Floats", "Indices", "cluster_sums", "codes", "column", "same_length"]

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
ROUNDING = 1e-9
"""What is smaller is left over where scores cancel out: no difference, and no spread."""


def column(name: str, values: Sequence[float] | Floats) -> Floats:
    """One column of finite numbers.

    Args:
        name: Of the column, for the error message.
        values: The numbers; a missing score has to be left out first, with its row.

    Raises:
        ConfigError: A value is NaN or infinite.
    """
    found = np.asarray(values, dtype=np.float64)
    if found.ndim != 1:
        raise ConfigError(f"{name} has {found.ndim} dimensions; give one number per row")
    wrong = np.flatnonzero(~np.isfinite(found))
    if wrong.size:
        row = int(wrong[0])
        raise ConfigError(f"{name}, row {row} is {found[row]}; leave rows without a score out and count them")
    return found


def codes(names: Sequence[Hashable]) -> tuple[list[Hashable], Indices]:
    """Distinct names in sorted order, and the index of each row's name among them.

    Sorted, so that the order of rows changes no draw.
    """
    try:
        order: list[Hashable] = sorted(set(names))  # type: ignore[type-var]
    except TypeError:
        order = sorted(set(names), key=lambda name: (type(name).__name__, repr(name)))
    index = {name: i for i, name in enumerate(order)}
    return order, np.fromiter((index[name] for name in names), dtype=np.int64, count=len(names))


def same_length(**columns: Sequence[object] | Floats) -> int:
    """The common length.

    Raises:
        ConfigError: The columns differ in length.
    """
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        raise ConfigError(f"columns differ in length: {shown(lengths)}; give one value per row to each")
    return next(iter(lengths.values()))


def cluster_sums(values: Floats, index: Indices, clusters: int) -> Floats:
    """Sums of rows by cluster, shape (clusters, columns); `values` has shape (rows,) or (rows, columns)."""
    sums = np.zeros((clusters, *values.shape[1:]))
    np.add.at(sums, index, values)
    return sums if sums.ndim > 1 else sums[:, None]
