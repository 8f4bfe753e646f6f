"""One judge's answer about one thing, and the counts that every aggregate carries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["JUDGE_ERROR", "NOT_JUDGED", "Verdict", "VerdictStatus"]

VerdictStatus = Literal["scored", "not_applicable", "invalid", "error"]

JUDGE_ERROR = "judge-error:"
"""How the label of a judge's failure begins; its cause follows."""
NOT_JUDGED = "not judged"
"""Reason for which a cell is left out of a judge's figure that it has not been asked about yet."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A score, or the reason why there is none. A missing score is `None`, never 0."""

    metric: str
    """A name that round-trips: `recall@10`, `smc`."""
    subject: str
    """What was judged: `reply`, `plan`, or a fact or item id."""
    label: str
    """The outcome in a word: `hit`, `miss`, `used`, `corrected`, `late`."""
    score: float | None
    status: VerdictStatus = "scored"
    judge_key: str = ""
    """Rule or prompt, model, parameters and parser, of every task that the metric may ask; verdicts of two keys are not
    compared."""
    prompt_sha: str = ""
    """Hash of the rendered prompt; empty for rules."""
    raw: str = ""
    """What the judge said, as received, cut at 20,000 characters; for rules, the figures behind the score."""
    quote: str = ""
    """Words of the visible reply that the verdict rests on."""
    agreement: float | None = None
    """Share of the judge's valid votes that gave this label, 0–1; None for one vote and for rules."""
    flags: tuple[str, ...] = ()
    """What a reader should look at: `injection`, `clipped`, `unfound-quote`, `cut-off`, `cue-without-fact`,
    `shotgun`; `question.Answer` says what they mean."""
