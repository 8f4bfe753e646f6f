"""Tables of analyses for a terminal: one table per analysis, its legend and its notes below."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from mnemoscope.cli.tables import plain_table
from mnemoscope.comparison.findings import printed
from mnemoscope.core.language.display import clip, visible_controls
from mnemoscope.evaluators.analyses.analysis import Findings

__all__ = ["findings_table"]

_TEXT = 27


def findings_table(findings: Findings) -> RenderableType:
    """One analysis as a table; without rows, the sentence that says what is missing."""
    if findings.missing is not None:
        return Text(f"{findings.name}: {findings.missing}\n")
    table = plain_table(f"{findings.name} · {findings.title}")
    for column in findings.columns:
        is_text = column.kind == "text"
        table.add_column(
            column.name.replace("_", "\n"),
            justify="left" if is_text else "right",
            no_wrap=is_text,
            max_width=_TEXT if is_text else None,
        )
    for row in findings.rows:
        pairs = zip(findings.columns, row, strict=True)
        table.add_row(*(visible_controls(clip(printed(column, value), _TEXT)) for column, value in pairs))
    legend = [f"{column.name}: {column.meaning}" for column in findings.columns if column.kind != "text"]
    notes = Text("\n".join([*findings.notes, *legend]), style="dim")
    return Group(table, notes, Text(""))
