"""Every architecture has a page whose diagram is what `graph draw` prints, and a row in the index."""

from __future__ import annotations

from pathlib import Path

import pytest

from mnemoscope.graphs.pages import index_page, with_diagram, write_pages
from mnemoscope.graphs.registry import ARCHITECTURES

FOLDER = Path(__file__).parents[2] / "docs" / "architectures"


def test_the_index_is_up_to_date() -> None:
    assert (FOLDER / "README.md").read_text(encoding="utf-8") == index_page(), "run `make docs`"


@pytest.mark.parametrize("name", ARCHITECTURES.names())
def test_every_architecture_has_a_page_with_its_diagram(name: str) -> None:
    page = (FOLDER / f"{name}.md").read_text(encoding="utf-8")
    assert page.startswith(f"# `{name}`")
    assert page == with_diagram(page, name), "run `make docs`"


def test_every_page_is_of_an_architecture() -> None:
    assert {page.stem for page in FOLDER.glob("*.md")} == {"README", *ARCHITECTURES.names()}


def test_a_stale_diagram_is_drawn_anew_and_the_rest_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "bm25.md").write_text(
        "# `bm25`\n\nAbove.\n\n```mermaid\nflowchart old\n```\n\nBelow.\n", encoding="utf-8"
    )
    write_pages(tmp_path)
    page = (tmp_path / "bm25.md").read_text(encoding="utf-8")
    assert page.startswith("# `bm25`\n\nAbove.\n\n```mermaid\nflowchart TD\n") and page.endswith("```\n\nBelow.\n")
    assert (tmp_path / "README.md").read_text(encoding="utf-8") == index_page()


@pytest.mark.parametrize("page", ["no diagram", "```mermaid\na\n```\n```mermaid\nb\n```"])
def test_a_page_without_one_diagram_is_refused(page: str) -> None:
    with pytest.raises(ValueError, match="must have one"):
        with_diagram(page, "bm25")
