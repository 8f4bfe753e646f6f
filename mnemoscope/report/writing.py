"""From run files to one HTML file: rendered within a size, and put in place at once."""

from __future__ import annotations

import base64
import hashlib
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from mnemoscope.comparison.comparing import compare_set
from mnemoscope.comparison.merging import open_runs
from mnemoscope.core.errors import ConfigError
from mnemoscope.core.language.display import clip, visible_controls
from mnemoscope.evaluators.attribution import STAGES
from mnemoscope.evaluators.metrics.registry import lower_is_better
from mnemoscope.report.contents import Page, page_of
from mnemoscope.report.outcomes import OUTCOME_STYLE, outcomes_of
from mnemoscope.report.selecting import ProbeChoice, ProbeView, choose_probes
from mnemoscope.report.wording import Wording, wording

__all__ = ["PAGE_BYTES", "WrittenReport", "write_report"]

PAGE_BYTES = 2_950_000
"""Largest page: it opens at once on any machine and can be mailed."""


@dataclass(frozen=True, slots=True)
class WrittenReport:
    """What was written."""

    path: Path
    bytes: int
    probes_shown: int
    probes: int
    content_hashes: tuple[str, ...]
    """Of the run files: a table made from files with these hashes shows the same figures."""
    warnings: tuple[str, ...]


def write_report(
    paths: Sequence[str | Path],
    out: str | Path,
    lang: str = "en",
    *,
    baseline: str | None = None,
    probes: Sequence[str] = (),
    page_bytes: int = PAGE_BYTES,
) -> WrittenReport:
    """Write one self-contained HTML page about run files.

    The page loads nothing, runs only its own short script, and shows dialogue as text whatever it holds. The same run
    files give the same bytes.

    Args:
        paths: Run files.
        out: The HTML file; replaced at once when the page is whole.
        lang: `en` or `zh`.
        baseline: See `compare_runs`.
        probes: Ids of the only probes to show in full; empty: all that fit. Figures are over all probes in any case.
        page_bytes: Largest page. Where not all probes fit, those that most systems missed are shown, and the page
            says how many are left out; one is always shown.

    Raises:
        UnknownNameError: No probe has one of these ids.
        ConfigError: Another language, or an output that cannot be written; an existing file is left as it was.
        RunFileError: A run file cannot be read.

    Example:
        >>> write_report(["run.db"], "report.html").probes_shown  # doctest: +SKIP
        12
    """
    renderer, target = _Renderer(wording(lang)), Path(out)
    if any(target.resolve() == Path(path).resolve() for path in paths):
        raise ConfigError(f"{out} is one of the run files; give the report a name of its own, as --out report.html")
    with open_runs(paths) as runs:
        comparison = compare_set(runs, "headline", baseline=baseline)
        deciding = {name: {h.metric for h in headlines} for name, headlines in comparison.headlines.items()}
        lower = {metric for metrics in deciding.values() for metric in metrics if lower_is_better(metric)}
        names = [system.name for system in comparison.systems]
        fair = [system.name for system in comparison.systems if not system.row.privileged]
        outcomes, words = outcomes_of(runs, deciding, lower), renderer.words
        hashes = tuple(member.run.content_hash() for member in runs.members)
        frame = renderer.page(page_of(runs, comparison, ProbeChoice((), 0, 0, (), has_doubt=False), hashes, words))
        room = page_bytes - len(frame.encode("utf-8"))
        choice = choose_probes(runs, names, fair, outcomes, renderer.probe, room, probes)
        data = renderer.page(page_of(runs, comparison, choice, hashes, words)).encode("utf-8")
    _put(target, data)
    return WrittenReport(target, len(data), choice.shown, choice.total, hashes, comparison.warnings)


class _Renderer:
    """The templates, in one language."""

    def __init__(self, words: Wording) -> None:
        self.words = words
        self._env = Environment(
            loader=PackageLoader("mnemoscope.report"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        self._env.filters |= {"speech": speech, "plain": visible_controls, "cut": clip}
        self._env.globals |= {"t": words, "stages": STAGES, "outcome_style": OUTCOME_STYLE}
        self._probe = self._env.get_template("probe.html.j2")

    def probe(self, view: ProbeView) -> Markup:
        """One probe's fold."""
        return Markup(self._probe.render(probe=view))  # noqa: S704 - escaped by the template

    def page(self, page: Page) -> str:
        """The whole page, under a policy that allows its own style and script and nothing else."""
        inline: Mapping[str, str] = {name: self._source(f"{name}.{kind}") for name, kind in _INLINE}
        values = {name: Markup(text) for name, text in inline.items()}  # noqa: S704 - files of this package
        hashes = {f"{name}_hash": _csp_hash(text) for name, text in inline.items()}
        return self._env.get_template("report.html.j2").render(page=page, **values, **hashes)

    def _source(self, name: str) -> str:
        loader = self._env.loader
        assert loader is not None
        return loader.get_source(self._env, name)[0]


_INLINE = (("style", "css"), ("script", "js"))


def speech(text: str, limit: int) -> Markup:
    """Dialogue as text: cut between characters, direction controls visible, escaped, isolated from the page."""
    return Markup("<bdi>{}</bdi>").format(visible_controls(clip(text, limit)))


def _csp_hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode('ascii')}"


def _put(target: Path, data: bytes) -> None:
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name[:40]}.", dir=target.parent)
    except OSError as error:
        raise ConfigError(f"report {target} cannot be written: {error.strerror or error}") from None
    draft = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        draft.chmod(0o644)
        draft.replace(target)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise ConfigError(f"report {target} cannot be written: {error.strerror or error}") from None
