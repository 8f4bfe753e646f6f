"""Overlays: a file of corrections to published gold, each with a reason and a source; the benchmark's file stays as is.

A row is `{"sample_id", "qa_index", "action": "fix" | "exclude", "answer"?, "evidence"?, "reason", "source"}`. After a
load with an overlay, gold is the corrected one and `Gold.published` keeps what the authors published, so that both
figures can be made from the same replies: the corrected one over the probes of stratum `corrected-gold`, the published
one over all. An excluded question is in no stratum but `excluded-by-overlay`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from mnemoscope.core.errors import DataError
from mnemoscope.core.identity import canonical_json
from mnemoscope.scenarios.reading import Fields, read_json
from mnemoscope.scenarios.records import Gold
from mnemoscope.scenarios.source import DataReport

__all__ = ["CORRECTED", "EXCLUDED", "Correction", "Overlay", "read_overlay"]

CORRECTED = "corrected-gold"
"""Stratum of every probe that the corrected figure is made of."""
EXCLUDED = "excluded-by-overlay"
"""The one stratum of a probe that an overlay takes out."""

_KEYS = frozenset({"sample_id", "qa_index", "action", "answer", "evidence", "reason", "source"})
Action = Literal["fix", "exclude"]


@dataclass(frozen=True, slots=True)
class Correction:
    """One row of an overlay."""

    action: Action
    values: Mapping[str, object]
    """The corrected fields of the question's row; empty where it is excluded."""
    reason: str
    source: str

    def applied_to(self, row: Fields) -> Fields:
        """The question's row with the corrected fields."""
        return Fields(row.file, row.record, {**row.values, **self.values})

    def note(self, report: DataReport, where: str) -> None:
        """Record what the overlay does to a question."""
        changed = f"{canonical_json(dict(self.values))}; " if self.values else ""
        report.note(f"overlay-{self.action}", where, f"{changed}{self.reason} (source: {self.source})")


@dataclass(frozen=True, slots=True)
class Overlay:
    """Corrections by conversation and question number; empty where the user gave none."""

    corrections: Mapping[tuple[str, int], Correction] = field(default_factory=dict)
    setting: str | None = None
    """What a card says about it: name, hash and numbers of rows."""

    def of(self, sample_id: str, index: int) -> Correction | None:
        """The correction of one question."""
        return self.corrections.get((sample_id, index))

    def merged(self, published: Gold, corrected: Gold | None) -> Gold:
        """The gold of a probe under this overlay.

        Args:
            published: As its authors have it.
            corrected: With the correction; the same as `published` where there is none, None where it is excluded.
        """
        if self.setting is None:
            return published
        if corrected is None:
            return published.model_copy(update={"strata": (EXCLUDED,), "published": published})
        changes: dict[str, object] = {"strata": (*corrected.strata, CORRECTED)}
        if corrected is not published:
            changes["published"] = published
        return corrected.model_copy(update=changes)


def read_overlay(
    path: Path | None, sizes: Mapping[str, int], *, encoding: str = "utf-8", lenient: bool = False
) -> Overlay:
    """Read an overlay file.

    Args:
        path: The file; None gives an overlay that does nothing.
        sizes: Number of questions by sample id.
        encoding: What the file was saved in.
        lenient: Let repeated keys pass.

    Raises:
        DataError: A row matches no question, is a second one for it, gives no reason or source, or is malformed.
    """
    if path is None:
        return Overlay()
    file = read_json(path, encoding=encoding, lenient=lenient)
    if not isinstance(file.value, list):
        raise DataError("expected a list of overlay rows", file=path, seen=file.value)
    corrections: dict[tuple[str, int], Correction] = {}
    for number, value in enumerate(file.value):
        row = Fields.of(value, file=str(path), record=f"overlay row {number}")
        key = (row.text("sample_id"), row.integer("qa_index"))
        if not 0 <= key[1] < sizes.get(key[0], 0):
            known = (
                f"it has questions 0 to {sizes[key[0]] - 1}" if sizes.get(key[0]) else f"samples: {', '.join(sizes)}"
            )
            field_name = "qa_index" if key[0] in sizes else "sample_id"
            raise DataError(
                f"overlay row {number} matches no question",
                file=path,
                record=key[0],
                field=field_name,
                seen=key,
                fix=known,
            )
        if key in corrections:
            raise DataError("a question is corrected twice", file=path, record=row.record, field="qa_index", seen=key)
        corrections[key] = _correction(row)
    fixed = sum(correction.action == "fix" for correction in corrections.values())
    setting = f"{path.name} sha256 {file.sha256}: {fixed} fixed, {len(corrections) - fixed} excluded"
    return Overlay(corrections, setting)


def _correction(row: Fields) -> Correction:
    for key in row.values:
        if key not in _KEYS:
            raise DataError(
                "no such field",
                file=row.file,
                record=row.record,
                field=key,
                fix=f"fields are {', '.join(sorted(_KEYS))}",
            )
    for key in ("reason", "source"):
        if not row.text(key).strip():
            raise row.wrong(key, "a text that is not blank")
    values = {key: row.values[key] for key in ("answer", "evidence") if key in row.values}
    action = row.text("action")
    if action == "exclude" and not values:
        return Correction("exclude", {}, row.text("reason"), row.text("source"))
    if action != "fix":
        raise row.wrong("action", "fix, or exclude without an answer and evidence")
    if not values:
        raise DataError("a fix corrects nothing", file=row.file, record=row.record, field="answer", fix="add answer")
    _check_values(row)
    return Correction("fix", values, row.text("reason"), row.text("source"))


def _check_values(row: Fields) -> None:
    """Refuse here what would otherwise be blamed on the benchmark's own file."""
    answer = row.values.get("answer", "")
    if isinstance(answer, bool) or not isinstance(answer, str | int | float):
        raise row.wrong("answer", "a text or a number")
    if "evidence" in row.values:
        row.texts("evidence")
