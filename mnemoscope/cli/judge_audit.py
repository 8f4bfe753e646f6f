"""What an audit prints: both figures of every system, and what stands behind the verdicts that change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType

from mnemoscope.cli.fitting import Head, fitted, wrapped
from mnemoscope.comparison.changes import ShownChange
from mnemoscope.core.language.display import clip, visible_controls
from mnemoscope.evaluators.calibration.auditing import AuditRow

__all__ = ["audit_table", "change_lines"]

_NAMES = (Head("metric", True), Head("system", True))
_SIDES = (Head("from", True), Head("to", True))
_FIGURES = tuple(Head(name, False) for name in ("n", "first", "second", "1→0", "0→1", "p", "p_cluster", "κ"))
_REPLY = 240
"""Characters of a reply, and of a quote, that are printed."""


def audit_table(rows: Sequence[AuditRow]) -> RenderableType:
    """One line per metric, system and pair of scorings; a pair that is the same in all stands below."""
    sides = {(row.first, row.second) for row in rows}
    varies = len(sides) != 1
    cells = [
        [row.metric, row.system, *((row.first, row.second) if varies else ()), str(row.n), *_figures(row)]
        for row in rows
    ]
    named = [f"{side}: {name}" for pair in sides for side, name in zip(("first", "second"), pair, strict=True)]
    return fitted(
        "audit · the same replies under two scorings",
        (*_NAMES, *(_SIDES if varies else ()), *_FIGURES),
        cells,
        names={name for row in rows for name in (row.first, row.second, row.system)},
        notes=[
            *(() if varies else named),
            "n: what both scored; 1→0: right under the first alone",
            "p: McNemar's exact test; p cluster: all flips of whole clusters; κ: agreement of the two beyond chance",
        ],
    )


def change_lines(row: AuditRow, shown: Sequence[ShownChange]) -> Iterator[str]:
    """The changes of a row with reply and quotes, and how many more there are."""
    for one in shown:
        item, (before, after) = one.change.item, one.quotes
        labels = one.change.before.label, one.change.after.label
        where = " ".join((row.metric, item.system, item.scenario_id, item.probe_id, item.subject))
        if one.reply is None:
            yield wrapped(f"{where}: {' → '.join(labels)} (the reply was not imported)")
            continue
        yield wrapped(where)
        yield _line("reply", f"“{_short(one.reply)}”")
        yield _line(labels[0], _quoted(before))
        yield _line(f"→ {labels[1]}", _quoted(after))
    if shown and len(row.changes) > len(shown):
        more = f"{row.metric} {row.system}: {len(row.changes) - len(shown)} more; see --examples and --json"
        yield wrapped(more)


def _figures(row: AuditRow) -> list[str]:
    pair, agreed = row.pair, row.agreement
    return [
        *("–" if value is None else f"{value * 100:.1f}" for value in (row.value_first, row.value_second)),
        *("–" if count is None else str(count) for count in ((pair.n10, pair.n01) if pair else (None, None))),
        *("–" if p is None else f"{p:.2g}" for p in ((pair.p, pair.p_clustered) if pair else (None, None))),
        "–" if agreed is None or agreed.kappa is None else f"{agreed.kappa:.2f}",
    ]


def _line(head: str, text: str) -> str:
    return wrapped(f"   {head}: {text}")


def _quoted(quote: str) -> str:
    return f"quotes “{_short(quote)}”" if quote else "quotes nothing"


def _short(text: str) -> str:
    return visible_controls(clip(" ".join(text.split()), _REPLY))
