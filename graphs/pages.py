"""The pages about architectures: the index, made from their sheets, and the diagram inside each page.

`python -m mnemoscope.graphs.pages docs/architectures` writes the index and brings every diagram up to date; all else on
a page is written by hand.
"""

from __future__ import annotations

import re
import sys
from itertools import groupby
from pathlib import Path

from mnemoscope.graphs.architecture import create_architecture
from mnemoscope.graphs.describing import FAMILIES, ArchitectureSheet, sheets
from mnemoscope.graphs.drawing import draw_mermaid

__all__ = ["index_page", "with_diagram", "write_pages"]

_HEAD = """# Architectures

Ways to remember, by family. Each is a state machine whose diagram stands on its page (`mnemoscope graph draw NAME`
prints it); each passes the conformance kit (`mnemoscope architecture check NAME`). Any of them that has a WRITE graph
takes a gate in front of it, `dense(admit=salience)`: [when a turn is not worth remembering](../admission.md).

- **evidence**: `package` is the method itself, or the system's own code; `twin` has rules in a model's place
  (`mode=heuristic`, the default); `model` is written anew and asks a model (`mode=llm`). A twin checks the architecture
  and says nothing about a paper's figures; no significance mark is set across the three. `unverified`: written anew
  after a published system (`…-style`), and no test shows that it finds as much as that system's own package.
- **calls**: to a language model, per turn of the bundled scenarios and per query. `mnemoscope run --estimate` projects
  them for scenarios of your own, with tokens and money, before anything is spent.
- **sources**: the tightest grade by which a memory names the turns that it was made from. Strict recall follows
  `verbatim` and `cited`.

This page is made from the architectures themselves (`make docs`).
"""
_TABLE = """| architecture | what it does | what it loses | evidence | calls per turn | per query | sources |
|---|---|---|---|--:|--:|---|"""
_DIAGRAM = re.compile(r"```mermaid\n.*?```", re.DOTALL)


def index_page() -> str:
    """The index as Markdown; the same architectures give the same text."""
    parts = [_HEAD]
    for family, members in groupby(sheets(), key=lambda sheet: sheet.family):
        parts += [f"## {family.capitalize()}: {FAMILIES[family]}", "", "\n".join([_TABLE, *map(_row, members)]), ""]
    return "\n".join(parts)


def with_diagram(page: str, name: str) -> str:
    """A page with its Mermaid block as the architecture's graphs are now.

    Args:
        page: Markdown with one such block.
        name: The architecture.

    Raises:
        ValueError: There is no Mermaid block, or more than one.
    """
    drawn = f"```mermaid\n{draw_mermaid(create_architecture(name))}```"
    text, blocks = _DIAGRAM.subn(lambda _: drawn, page)
    if blocks != 1:
        raise ValueError(f"the page of {name} has {blocks} Mermaid blocks; it must have one")
    return text


def write_pages(folder: Path) -> None:
    """Write the index, and the diagram of each page that is there.

    Args:
        folder: Of the pages; each is named like its architecture.
    """
    (folder / "README.md").write_text(index_page(), encoding="utf-8")
    for sheet in sheets():
        page = folder / f"{sheet.name}.md"
        if page.exists():
            page.write_text(with_diagram(page.read_text(encoding="utf-8"), sheet.name), encoding="utf-8")


def _row(sheet: ArchitectureSheet) -> str:
    evidence = dict.fromkeys(f"{way.evidence}{' (unverified)' * way.unverified}" for way in sheet.modes)
    marks = [*evidence, *(["reads gold"] if sheet.privileged else [])]
    cells = (
        f"[`{sheet.name}`]({sheet.name}.md)",
        sheet.summary,
        sheet.loses or "–",
        ", ".join(marks),
        " / ".join(f"{way.calls_per_turn:.2g}" for way in sheet.modes),
        " / ".join(str(way.calls_per_query) for way in sheet.modes),
        " / ".join(dict.fromkeys(way.provenance for way in sheet.modes)),
    )
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    write_pages(Path(sys.argv[1]))
