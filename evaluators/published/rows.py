"""Published figures as rows: shares from counts, with everything that keeps two of them from being compared.

The counts lie in `counts.toml`. Where a paper prints percentages only, they are turned back into counts, and a count
must give the printed percentage again, to its last digit, or the file is refused.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from mnemoscope.core.errors import DataError
from mnemoscope.evaluators.statistics.intervals import wilson

__all__ = ["COUNTS", "EVIDENCE", "PublishedRow", "published_rows", "read_published"]

EVIDENCE = "published"
"""Evidence class of these rows: no significance mark is set across classes, and these are in no ranking."""
COUNTS = Path(__file__).resolve().with_name("counts.toml")
"""The bundled tables."""
_WHOLE = "all"


@dataclass(frozen=True, slots=True)
class PublishedRow:
    """One published figure. It was not made here: no interval by cluster, no pair, no place in a ranking."""

    benchmark: str
    metric: str
    stratum: str
    system: str
    """The model, and after a comma the memory where the benchmark varies it."""
    hits: int | None
    n: int | None
    """Both None where the percentage alone is known and no denominator gives it."""
    percent: float
    """As printed."""
    source: str
    judge_inputs: str
    """Version of what the judge was shown; empty where there is one only."""
    flags: tuple[str, ...]
    """Why it must not be put beside figures on the released data, or beside other rows of its table."""

    @property
    def share(self) -> float:
        """From the counts where they are known, else the printed percentage; 0–1."""
        return self.percent / 100 if self.hits is None or not self.n else self.hits / self.n

    @property
    def interval(self) -> tuple[float, float] | None:
        """Wilson's 95 % interval of the counts, rows taken as independent; None where there are no counts."""
        found = None if self.hits is None or not self.n else wilson(self.hits, self.n)
        return None if found is None or found.low is None or found.high is None else (found.low, found.high)

    @property
    def is_comparable(self) -> bool:
        """Whether it was measured on the split, the items and the judge inputs that the benchmark released."""
        return not self.flags

    @property
    def evidence(self) -> str:
        """Always `published`."""
        return EVIDENCE


def published_rows(benchmark: str, metric: str | None = None, stratum: str | None = None) -> tuple[PublishedRow, ...]:
    """What a benchmark published, in the order of its tables and never by size.

    Args:
        benchmark: The benchmark's name, such as `stratmem`; one without published rows gives none.
        metric: Only this metric.
        stratum: Only this stratum; `all` is the whole.

    Raises:
        DataError: The bundled file was changed, and is no longer as its format says.

    Example:
        >>> [(row.system, row.hits, row.n) for row in published_rows("stratmem", "smc", "must-only")][5]
        ('Llama 4 Maverick', 42, 53)
        >>> published_rows("stratmem", "smc", "must-only")[5].flags
        ('another split: 53/131/473, not the released 50/132/475',)
    """
    return tuple(
        row
        for row in read_published(COUNTS)
        if row.benchmark == benchmark and metric in (None, row.metric) and stratum in (None, row.stratum)
    )


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class _Column(_Part):
    metric: str
    stratum: str = _WHOLE
    n: Annotated[int, Field(gt=0)] | None = None


class _Line(_Part):
    system: str
    memory: str = ""
    hits: tuple[Annotated[int, Field(ge=0)], ...] | None = None
    percent: tuple[Annotated[float, Field(ge=0, le=100)], ...]


class _Table(_Part):
    benchmark: str
    source: Annotated[str, Field(min_length=1)]
    decimals: Annotated[int, Field(ge=0, le=4)]
    """Of the printed percentages."""
    columns: tuple[_Column, ...]
    rows: tuple[_Line, ...]
    split: str = ""
    released_split: str = ""
    """Set where it is another one than `split`."""
    judge_inputs: str = ""
    released_judge_inputs: str = ""
    released_n: Mapping[str, int] = Field(default_factory=dict)
    """Metric to the number of items in the released data, where it is another one than was scored."""

    @model_validator(mode="after")
    def _counts_give_the_percentages(self) -> Self:
        for line in self.rows:
            if len(line.percent) != len(self.columns) or (line.hits and len(line.hits) != len(self.columns)):
                raise ValueError(f"{line.system}: one figure per column, {len(self.columns)} of them")
            for column, printed, hits in zip(self.columns, line.percent, _hits(line, self.columns), strict=True):
                if hits is None:
                    continue
                if column.n is None or hits > column.n:
                    raise ValueError(f"{line.system}, {column.metric}: {hits} hits of {column.n}")
                if abs(100 * hits / column.n - printed) > 0.5 * 10**-self.decimals + 1e-9:
                    raise ValueError(f"{line.system}, {column.metric}: {hits}/{column.n} does not print as {printed}")
        return self


class _File(_Part):
    table: tuple[_Table, ...]


@lru_cache(maxsize=4)
def read_published(path: Path) -> tuple[PublishedRow, ...]:
    """All rows of a file of published tables, in its order.

    Args:
        path: A TOML file as `counts.toml`.

    Raises:
        DataError: The file is missing or malformed, or counts and percentages disagree.
    """
    try:
        file = _File.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise DataError("the file of published figures cannot be read", file=path, fix=str(error)) from error
    except tomllib.TOMLDecodeError as error:
        raise DataError("not TOML", file=path, fix=str(error)) from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise DataError("a published table is malformed", file=path, record=place, fix=first["msg"]) from error
    return tuple(row for table in file.table for row in _rows(table))


def _rows(table: _Table) -> Iterator[PublishedRow]:
    for line in table.rows:
        for column, percent, hits in zip(table.columns, line.percent, _hits(line, table.columns), strict=True):
            yield PublishedRow(
                benchmark=table.benchmark,
                metric=column.metric,
                stratum=column.stratum,
                system=", ".join(part for part in (line.system, line.memory) if part),
                hits=hits,
                n=column.n,
                percent=percent,
                source=table.source,
                judge_inputs=table.judge_inputs,
                flags=_flags(table, column),
            )


def _hits(line: _Line, columns: tuple[_Column, ...]) -> tuple[int | None, ...]:
    return line.hits or (None,) * len(columns)


def _flags(table: _Table, column: _Column) -> tuple[str, ...]:
    flags = []
    if table.released_split:
        flags.append(f"another split: {table.split}, not the released {table.released_split}")
    if column.metric in table.released_n:
        flags.append(f"another set: {column.n} items, not the released {table.released_n[column.metric]}")
    if table.released_judge_inputs:
        flags.append(f"other judge inputs: {table.judge_inputs}, the benchmark's own are {table.released_judge_inputs}")
    if column.n is None:
        flags.append("no counts published")
    return tuple(flags)
