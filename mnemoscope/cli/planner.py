"""`mnemoscope planner`: train the memory-slot planner on labelled pools of one's own."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mnemoscope.cli.output import JsonFlag, emit_json, note, show

if TYPE_CHECKING:
    from mnemoscope.graphs.strategic.weights import Weights

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True, add_completion=False, help="The trained memory-slot planner: train, info.")


@app.command("train")
def train(
    spec: Annotated[str, typer.Argument(help="Labelled pools: stratmem:FILE.", show_default=False)],
    out: Annotated[Path, typer.Option("--out", help="Where the weights go (JSON).", show_default=False)],
    embedder: Annotated[str, typer.Option("--embedder", help="Whose vectors are compared.")] = "minilm",
    as_json: JsonFlag = False,
) -> None:
    """Train the planner `strategic`, with whole pairs of people left out in turn; settings are chosen inside the folds.

    Figures are of selection on pairs that a model has not seen; none is of training items. Use the weights with the
    profile "strategic(weights=FILE)".
    """
    from mnemoscope.agents.clock import SystemClock
    from mnemoscope.graphs.strategic.fitting import examples_of
    from mnemoscope.graphs.strategic.fitting import train as fit
    from mnemoscope.memory_backends.embedders import open_embedder
    from mnemoscope.scenarios.opening import open_source

    source, vectors = open_source(spec), open_embedder(embedder, cache=None)
    examples = asyncio.run(examples_of(source, vectors))
    note(f"read {len(examples):,} labelled pools")
    weights = fit(
        examples,
        benchmark=source.card.benchmark,
        data_sha256=source.card.sha256 or "",
        embedder=vectors.id,
        date=SystemClock().now().date().isoformat(),
        progress=lambda done, of: note(f"fitted {done} of {of} models"),
    )
    out.write_text(weights.model_dump_json(indent=None) + "\n", encoding="utf-8")
    _print(weights, as_json=as_json)
    note(f"weights are in {out}")


@app.command("info")
def info(
    path: Annotated[Path | None, typer.Argument(help="A file of weights; the bundled ones without.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Show what weights were trained on, and their cross-validated figures by risk."""
    from mnemoscope.graphs.strategic.weights import bundled_weights, read_weights

    _print(bundled_weights() if path is None else read_weights(path), as_json=as_json)


def _print(weights: Weights, *, as_json: bool) -> None:
    if as_json:
        emit_json(weights.model_dump(mode="json", exclude={"left_out", "full"}))
        return
    from mnemoscope.cli.tables import plain_table

    origin = weights.provenance
    said = f"{origin.benchmark}, {origin.items:,} items, {origin.pairs} pairs"
    show(f"planner strategic: selection on left-out pairs ({said})")
    show("trained on the benchmark's other pairs, cross-validated; not comparable to published zero-shot rows")
    table = plain_table()
    for name in ("risk", "SMC", "PES", "CIR"):
        table.add_column(name, justify="right")
    for row in weights.cross_validated:
        table.add_row(f"{row.risk:g}", *(f"{100 * share:.1f}" for share in (row.smc, row.pes, row.cir)))
    show(table)
