"""Whether a report still shows what its run files hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path

from mnemoscope import __version__
from mnemoscope.comparison.merging import open_runs
from mnemoscope.core.errors import ConfigError

__all__ = ["CONTENT", "ReportCheck", "check_report"]

CONTENT = "mnemoscope-content"
"""Name of the page's `meta` element with the content hashes of its run files."""
_GENERATOR = "generator"
_HEAD = 65_536
"""Characters of a page that are read: the two elements stand before its style."""


@dataclass(frozen=True, slots=True)
class ReportCheck:
    """What a page was made from, beside what is there now."""

    path: Path
    shown: tuple[str, ...]
    """Content hashes that the page carries."""
    content: tuple[str, ...]
    """Content hashes of the run files."""
    made_by: str
    """Name and version of the program that made the page."""

    @property
    def is_current(self) -> bool:
        """Whether the page was made from this content, in whatever order of files, by this version."""
        return sorted(self.shown) == sorted(self.content) and self.made_by == f"mnemoscope {__version__}"

    def __str__(self) -> str:
        if self.is_current:
            return f"{self.path} shows these run files as they are"
        if self.made_by != f"mnemoscope {__version__}":
            return f"{self.path} is stale: made by {self.made_by}, this is mnemoscope {__version__}; write it again"
        gone, new = (
            ", ".join(one[:16] for one in hashes) or "nothing"
            for hashes in (
                [h for h in self.shown if h not in self.content],
                [h for h in self.content if h not in self.shown],
            )
        )
        return f"{self.path} is stale: it shows content {gone}, the run files hold {new}; write it again"


def check_report(paths: Sequence[str | Path], page: str | Path) -> ReportCheck:
    """Compare a page that `write_report` made with run files.

    Replies, retrievals, plans, verdicts and usage count; a run that was judged again makes its page stale.

    Args:
        paths: Run files.
        page: The HTML file.

    Raises:
        ConfigError: The page cannot be read, or is no report.
        RunFileError: A run file cannot be read.
    """
    target = Path(page)
    try:
        with target.open(encoding="utf-8") as file:
            meta = _Meta(file.read(_HEAD)).found
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"report {target} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if CONTENT not in meta:
        raise ConfigError(f"{target} is not a report of mnemoscope, or of a version that did not sign its pages")
    with open_runs(paths) as runs:
        content = tuple(member.run.content_hash() for member in runs.members)
    return ReportCheck(target, tuple(meta[CONTENT].split()), content, meta.get(_GENERATOR, "an unknown program"))


class _Meta(HTMLParser):
    """The `meta` elements of a page by name."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: dict[str, str] = {}
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        if tag == "meta" and (name := named.get("name")):
            self.found[name] = named.get("content") or ""
