"""Values of analyses as they are printed, the same in every form."""

from __future__ import annotations

from mnemoscope.evaluators.analyses.analysis import Column, Value

__all__ = ["printed"]


def printed(column: Column, value: Value) -> str:
    """One value by its column's kind: shares as percent, differences with their sign, what is missing as a dash.

    Example:
        >>> printed(Column("rate", "share", ""), 0.125), printed(Column("delta", "points", ""), -0.02)
        ('12.5', '-2.0')
    """
    if value is None:
        return "–"
    if isinstance(value, str) or column.kind == "text":
        return str(value)
    match column.kind:
        case "share":
            return f"{value * 100:.1f}"
        case "points":
            return f"{value * 100:+.1f}"
        case "count":
            return f"{value:,.0f}"
        case "p":
            return "<.001" if value < 0.0005 else f"{value:.3f}".removeprefix("0")
        case _:
            return f"{value:,.3g}"
