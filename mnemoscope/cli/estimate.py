"""`mnemoscope run --estimate`: what a run would cost, printed before anything is spent."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mnemoscope.cli.output import emit_json, note, show

if TYPE_CHECKING:
    from rich.console import RenderableType

    from mnemoscope.config import RunConfig
    from mnemoscope.engine.estimating import Part, RunEstimate, SystemEstimate

__all__ = ["show_estimate"]


def show_estimate(config: RunConfig, prices: Sequence[str], times: Path | None, *, as_json: bool) -> None:
    """Print what a run would cost; nothing is written and no model is asked.

    Args:
        config: What would be done.
        prices: `MODEL=PROMPT/REPLY`, in US dollars per million tokens.
        times: An earlier run file of the same systems.
        as_json: Print one JSON document in the place of a table.
    """
    from mnemoscope.cli.progress import open_progress
    from mnemoscope.engine.estimating import estimate
    from mnemoscope.engine.prices import read_prices
    from mnemoscope.engine.rates import measured_times

    found = estimate(config, open_progress(), read_prices(prices), measured_times(times))
    if as_json:
        emit_json(_document(found))
        return
    show(_table(found))
    for text in found.notes:
        note(f"note: {text}")


def _table(found: RunEstimate) -> RenderableType:
    from mnemoscope.cli.tables import plain_table

    table = plain_table(
        "what this run would cost, estimated",
        "tokens: estimates, replies as if all memory were shown.\n"
        "USD unknown: add --price MODEL=PROMPT/REPLY. Time: one after\n"
        "another, the read within the reply; unknown: add --times RUN.db,\n"
        "an earlier run of these systems.",
    )
    table.add_column("system", max_width=18, overflow="fold")
    table.add_column("part", no_wrap=True)
    for head in ("calls", "tokens\nsent", "tokens\nwritten", "texts\nembed.", "USD", "time"):
        table.add_column(head, justify="right", no_wrap=True)
    for one in found.systems:
        table.add_section()
        for name, part in _parts(one).items():
            shared = name == "ingest" and one.shares_ingest_with is not None
            label = one.system if name == "ingest" else ""
            table.add_row(label, name, *(("as above",) if shared else _cells(part, timed=name in ("ingest", "reply"))))
    table.add_section()
    table.add_row("total", "", *_cells(found.total, timed=True), style="bold")
    return table


def _cells(part: Part, *, timed: bool) -> tuple[str, ...]:
    usage = part.usage
    counts = (usage.calls, usage.prompt_tokens, usage.completion_tokens, usage.embedded_texts)
    return (*map(_count, counts), _usd(part.usd), _time(part.seconds) if timed else "")


def _count(count: int) -> str:
    return f"{count:,}" if count < 1_000_000 else f"{count / 1e6:,.1f} M"


def _usd(usd: float | None) -> str:
    if usd is None:
        return "unknown"
    return "<0.01" if 0 < usd < 0.01 else f"{usd:,.2f}"


def _time(seconds: float | None) -> str:
    if seconds is None:
        return "unknown"
    if seconds < 100:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6_000 else f"{seconds / 3_600:.1f} h"


def _parts(one: SystemEstimate) -> dict[str, Part]:
    return {"ingest": one.ingest, "read": one.read, "reply": one.reply, "judge": one.judge}


def _document(found: RunEstimate) -> dict[str, object]:
    return {
        "systems": [
            {
                "system": one.system,
                "memory": one.memory,
                "cells": one.cells,
                "turns": one.turns,
                **{name: _part(part) for name, part in _parts(one).items()},
                "more_drafts_per_reply_at_most": one.more_drafts,
                "shares_ingest_with": one.shares_ingest_with,
            }
            for one in found.systems
        ],
        "total": _part(found.total),
        "notes": list(found.notes),
    }


def _part(part: Part) -> dict[str, object]:
    usage = part.usage
    return {
        "calls": usage.calls,
        "calls_by_phase": dict(usage.calls_by_phase),
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "embedded_texts": usage.embedded_texts,
        "usd": None if part.usd is None else round(part.usd, 6),
        "seconds": None if part.seconds is None else round(part.seconds, 3),
    }
