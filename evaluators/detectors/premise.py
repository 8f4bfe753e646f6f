"""Does a reply tell the user that something is wrong, in the words for it or by the opposite of a fact?"""

from __future__ import annotations

from collections.abc import Iterable

from mnemoscope.evaluators.detectors.offline import examine
from mnemoscope.evaluators.detectors.phrases import corrects

__all__ = ["objection_label"]


def objection_label(reply: str, facts: Iterable[str]) -> str:
    """Whether a reply puts the user right: `corrects`, `contradicts` (says the opposite of a fact) or `none`."""
    if corrects(reply):
        return "corrects"
    return "contradicts" if any(examine(reply, fact).clash == "negation" for fact in facts) else "none"
