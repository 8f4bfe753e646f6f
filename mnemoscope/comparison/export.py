"""The summary as CSV and Markdown, safe to paste: no formula, no raw HTML."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping

from mnemoscope.comparison.findings import printed
from mnemoscope.comparison.strata import ALL, MACRO, micro_stratum, stratum_title
from mnemoscope.comparison.summary import Comparison, Figure, finite
from mnemoscope.core.language.display import visible_controls
from mnemoscope.evaluators.analyses.analysis import Findings

__all__ = ["csv_cell", "to_csv", "to_markdown"]

_COLUMNS = (
    *("benchmark", "metric", "stratum", "system", "value", "low", "high", "strict", "vs_none", "vs_oracle"),
    *("n_expected", "n_scored", "n_error", "n_invalid", "n_excluded", "clusters"),
    *("judge_key", "kappa", "flip_rate", "evidence", "unverified", "privileged", "mode", "unequal"),
)
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def to_csv(comparison: Comparison) -> str:
    """One line per figure; shares from 0 to 1, empty where there is none. What a spreadsheet would run is quoted."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_COLUMNS)
    views = {view.name: view for view in comparison.systems}
    for figure in comparison.metrics:
        row = views[figure.system].row
        values = {
            **figure.to_json(),
            "benchmark": figure.benchmark,
            "strict": finite(figure.strict),
            "unverified": "yes" if row.is_unverified else "no",
            "privileged": "yes" if row.privileged else "no",
            "mode": row.mode,
            "unequal": "; ".join(views[figure.system].unequal),
        }
        writer.writerow([csv_cell(values[name]) for name in _COLUMNS])
    return out.getvalue()


def csv_cell(value: object) -> str:
    """A value as a spreadsheet may open it: missing is empty, and a text that would run as a formula is quoted."""
    if value is None:
        return ""
    if isinstance(value, Mapping):
        return "; ".join(f"{name} {count}" for name, count in value.items())
    if isinstance(value, str):
        text = visible_controls(value)
        return f"'{text}" if text.startswith(_FORMULA) else text
    return str(value)


def to_markdown(comparison: Comparison, *, by: str | None = None) -> str:
    """A table per headline figure, with intervals and counts, and the warnings below.

    Args:
        comparison: What to print.
        by: As given to `compare_runs`; with it, every stratum is listed.
    """
    views = {view.name: view for view in comparison.systems}
    lines: list[str] = []
    for benchmark, headlines in comparison.headlines.items():
        for metric, stratum in headlines:
            shown = (stratum, MACRO) if stratum == micro_stratum(benchmark) else (stratum,)
            figures = [
                f
                for f in comparison.metrics
                if f.benchmark == benchmark and f.metric == metric and (f.stratum in shown or by is not None)
            ]
            lines += [f"### {_escape(metric)}, {_escape(benchmark)}", ""]
            lines += ["| system | stratum | % [95 % interval] | n | vs none | vs oracle | strict | evidence | judge |"]
            lines += ["|---|---|--:|--:|--:|--:|--:|---|---|"]
            for figure in sorted(figures, key=lambda f: views[f.system].part):
                view = views[figure.system]
                title = ALL if figure.stratum == ALL else stratum_title(benchmark, figure.stratum)
                cells = [figure.system, title, _span(figure), f"{figure.n_scored}/{figure.n_expected}"]
                cells += [_points(figure.vs_none), _points(figure.vs_oracle)]
                strict = _percent(figure.strict) if figure.n_failed else ""
                lines.append(f"| {' | '.join(map(_escape, (*cells, strict, ', '.join(view.marks), _judge(figure))))} |")
            lines.append("")
    for findings in comparison.analyses:
        lines += _findings(findings)
    lines += [f"- {_escape(warning)}" for warning in comparison.warnings]
    return "\n".join(lines) + "\n"


def _findings(findings: Findings) -> list[str]:
    head = [f"### {_escape(findings.name)}: {_escape(findings.title)}", ""]
    if findings.missing is not None:
        return [*head, _escape(findings.missing), ""]
    columns = findings.columns
    rows = [[printed(c, value) for c, value in zip(columns, row, strict=True)] for row in findings.rows]
    return [
        *head,
        f"| {' | '.join(_escape(column.name) for column in columns)} |",
        f"|{'|'.join('---' if column.kind == 'text' else '--:' for column in columns)}|",
        *(f"| {' | '.join(map(_escape, row))} |" for row in rows),
        "",
        *(f"- {_escape(note)}" for note in findings.notes),
        "",
    ]


def _judge(figure: Figure) -> str:
    if not figure.judged:
        return figure.judge_key
    return f"{figure.judge_key} ({figure.calibration})"


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{value * 100:.1f}"


def _points(value: float | None) -> str:
    return "" if value is None else f"{value * 100:+.1f}"


def _span(figure: Figure) -> str:
    if figure.value is None or figure.low is None:
        return _percent(figure.value)
    return f"{_percent(figure.value)} [{_percent(figure.low)}, {_percent(figure.high)}]"


def _escape(text: str) -> str:
    """Text that Markdown shows as it is: no tag, no link, no new cell."""
    safe = visible_controls(text).replace("\\", "\\\\").replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    for mark in "|[]`*_":
        safe = safe.replace(mark, f"\\{mark}")
    return safe.replace("\n", " ")
