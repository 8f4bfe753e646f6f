"""`mnemoscope graph`: the state machines as Mermaid text."""

from __future__ import annotations

from typing import Annotated

import typer

from mnemoscope.cli.output import JsonFlag, emit_json, show

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True, add_completion=False, help="The state machines.")


@app.callback()
def graph() -> None:
    """The state machines."""


@app.command()
def draw(
    name: Annotated[str, typer.Argument(help="An architecture, with parameters if any.", show_default=False)],
    profile: Annotated[
        str | None, typer.Option("--profile", help="Draw the assistant with this profile around it.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Print an architecture's WRITE and READ graphs as Mermaid, with a profile inside the whole assistant."""
    from mnemoscope.agents.pairing import refuse_unpaired
    from mnemoscope.agents.profiles import open_profile
    from mnemoscope.graphs.architecture import create_architecture
    from mnemoscope.graphs.drawing import draw_mermaid

    architecture = create_architecture(name)
    opened = open_profile(profile) if profile else None
    if opened is not None:
        refuse_unpaired([(architecture, opened)])
    mermaid = draw_mermaid(architecture, opened.nodes if opened else None)
    if as_json:
        emit_json({"architecture": architecture.name, "profile": profile, "mermaid": mermaid})
    else:
        show(mermaid)
