"""`mnemoscope judge list`: what each judge does, how it is written, what it needs, what it serves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from rich.console import RenderableType

    from mnemoscope.evaluators.judges.describing import JudgeSheet, Parameter
    from mnemoscope.evaluators.judges.registry import JudgePorts

__all__ = ["ListedJudge", "judge_sheets", "sheet_table"]

_KEY, _TEXT = 13, 64
"""Widths of the two columns: 80 with the space between them."""
_NEEDS_MODEL = {
    True: "as in the example: --judge-model MODEL, else --model",
    False: "no",
    None: "not known before its parameters are",
}


class ListedJudge(NamedTuple):
    """A judge with the default metrics that it serves."""

    sheet: JudgeSheet
    metrics: tuple[str, ...]

    def to_json(self) -> dict[str, object]:
        """Plain data; the key of a task is null where it needs a model that is not configured."""
        sheet = self.sheet
        return {
            "judge": sheet.name,
            "does": sheet.does,
            "example": sheet.example,
            "parameters": [parameter._asdict() for parameter in sheet.parameters],
            "needs_model": sheet.needs_model,
            "tasks": dict(sheet.tasks),
            "metrics": list(self.metrics),
            "problem": sheet.problem or None,
        }


def judge_sheets(ports: JudgePorts) -> Iterator[ListedJudge]:
    """Every registered judge, by name."""
    from mnemoscope.evaluators.judges.describing import describe_judge
    from mnemoscope.evaluators.judges.registry import JUDGES
    from mnemoscope.evaluators.metrics.metric import tasks_of
    from mnemoscope.evaluators.metrics.registry import default_metrics

    judged = [metric for metric in default_metrics() if tasks_of(metric)]
    for name in JUDGES.names():
        sheet = describe_judge(name, ports)
        yield ListedJudge(sheet, tuple(metric.name for metric in judged if tasks_of(metric) <= set(sheet.tasks)))


def sheet_table(listed: ListedJudge) -> RenderableType:
    """One judge as a block of a terminal 80 columns wide."""
    from mnemoscope.cli.tables import plain_table

    sheet = listed.sheet
    table = plain_table()
    table.add_column(sheet.name, min_width=_KEY, no_wrap=True)
    table.add_column(f"--judge {_quoted(sheet.example)}", min_width=_TEXT, max_width=_TEXT, overflow="fold")
    table.add_row("", sheet.does)
    for parameter in sheet.parameters:
        table.add_row(f"  {parameter.name}", f"{parameter.meaning}{_default(parameter)}".strip())
    table.add_row("needs a model", _NEEDS_MODEL[sheet.needs_model])
    if sheet.tasks:
        table.add_row("judges", ", ".join(sheet.tasks))
        table.add_row("serves", ", ".join(listed.metrics) or "no default metric")
    if sheet.problem:
        table.add_row("problem", sheet.problem)
    return table


def _default(parameter: Parameter) -> str:
    if parameter.default is None:
        return " (required)"
    return "" if parameter.default == "None" else f" (default {parameter.default})"


def _quoted(example: str) -> str:
    return f'"{example}"' if "(" in example else example
