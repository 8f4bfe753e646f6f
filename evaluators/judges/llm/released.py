"""How published releases ask for a verdict and read it, to reproduce their figures: bare words, and lenient reading.

The prompts are ours, because those of the releases are not copied; what is reproduced is the form of the answer, the
reading of it with its errors, the single vote and the cut of the expected text. A reply that a release drops as an
error is `invalid` here too; nothing is asked again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from mnemoscope.core.errors import ConfigError
from mnemoscope.core.ports import Completion
from mnemoscope.evaluators.judges.llm.ballot import Said, subjects
from mnemoscope.evaluators.judges.llm.prompts import PROMPTS
from mnemoscope.evaluators.judges.llm.prompts.prompt import TaskPrompt
from mnemoscope.evaluators.judges.parsing.release import (
    RELEASES,
    Kind,
    Release,
    ReleaseLabel,
    locomo_coverage,
    release_parser,
)
from mnemoscope.evaluators.judges.question import Question, Task

__all__ = ["ReleasedForm", "released_form"]

_TASKS: Mapping[str, frozenset[Task]] = {
    "locomo-conv": frozenset(
        {"fact-use", "correction", "hallucination", "coverage", "three-axis", "tied", "preference"}
    ),
    "memuse": frozenset({"integration", "answer", "unprompted", "grounding"}),
    "longmemeval": frozenset({"answer"}),
}
_CORRECTION = (
    "The utterance takes something for granted that is not so: the premise says what, and the expected part says what "
    "is true.\n"
    "Question: what does the reply make of it?\n"
    "A: it accepts the premise, builds on it, or passes over it. B: it shows doubt, asks, declines or says that it has "
    "no record, and does not state the truth. C: it states the truth, with or without saying that something was wrong."
)
"""The release has three letters; a wrong correction falls under one of them."""


@dataclass(frozen=True, slots=True)
class ReleasedForm:
    """One release's way of asking and reading."""

    release: Release
    tasks: frozenset[Task]

    @property
    def name(self) -> str:
        """As on the command line."""
        return self.release.name

    @property
    def key(self) -> str:
        """For a judge's key."""
        return f"{self.name}-release"

    @property
    def cut(self) -> int | None:
        """Characters of the expected text that the release's judge sees."""
        return self.release.reference_limit

    def prompt(self, task: Task) -> TaskPrompt:
        """The prompt with the options that the release knows."""
        prompt = PROMPTS[task]
        return replace(prompt, asks=_CORRECTION, options=prompt.options[:3]) if task == "correction" else prompt

    def read(self, prompt: TaskPrompt, question: Question, completion: Completion) -> dict[str, Said]:
        """Read a reply as the release does."""
        names = subjects(prompt, question)
        if prompt.form == "items":
            covered = locomo_coverage(completion.text, len(question.facts))
            labels: list[str] = [] if covered is None else [prompt.option(str(one).lower()).label for one in covered]
        else:
            found = self.release.readers[_kind(prompt)](completion.text)
            codes = found if isinstance(found, tuple) else () if found is None else (found,)
            labels = [prompt.option(_code(code)).label for code in codes]
        if not labels:
            return dict.fromkeys(names, Said(fault="unparseable"))
        return {name: Said(label) for name, label in zip(names, labels, strict=True)}


def released_form(name: str) -> ReleasedForm:
    """The form of a release.

    Raises:
        ConfigError: There is no such parser.
    """
    if name not in RELEASES:
        raise ConfigError(f"judge llm: no parser {name!r}; write strict, {', '.join(sorted(RELEASES))}")
    return ReleasedForm(release_parser(name), _TASKS[name])


def _kind(prompt: TaskPrompt) -> Kind:
    if prompt.task == "preference":
        return "preference"
    assert prompt.form != "items", "lists have a reader of their own"
    return prompt.form


def _code(label: ReleaseLabel) -> str:
    return f"{label:g}" if isinstance(label, float) else str(label)
