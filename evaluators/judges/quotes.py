"""Is what a judge quotes in the reply? Spelling may differ where meaning cannot: white space, quotes, case, width."""

from __future__ import annotations

import re
import unicodedata

from mnemoscope.core.language.tokens import has_unspaced_script
from mnemoscope.evaluators.judges.injection import talks_to_judge

__all__ = ["find_quote", "is_evidence"]

_ELLIPSIS = re.compile(r"\s*(?:\[?(?:\.{3,}|…+)\]?)\s*")
_SAME = str.maketrans("‘’‚‛“”„‟«»「」『』–—‐‑−´`", '\'\'\'\'""""""""""-----\'\'')
_AROUND = " \t\n\"'"


def find_quote(reply: str, quote: str) -> str | None:
    """The words of the reply that a quote stands for.

    Compared are folded texts: NFKC, one case, one kind of quotation marks and dashes, runs of white space as one space,
    invisible characters left out. Marks around the quote and an ellipsis at an end do not count; an ellipsis inside
    stands for words left out, and the parts must follow each other in the reply.

    Args:
        reply: The visible reply.
        quote: What the judge says it copied.

    Returns:
        The passage as it stands in the reply, from the first part to the last; None where it is not there.

    Example:
        >>> find_quote("You said:  “It’s under the pot”, right?", "it's under … pot")
        'It’s under the pot'
    """
    folded, places = _folded(reply)
    first = last = -1
    start = 0
    for piece in _ELLIPSIS.split(quote):
        wanted = _folded(piece)[0].strip(_AROUND)
        if not wanted:
            continue
        found = folded.find(wanted, start)
        if found < 0:
            return None
        first = found if first < 0 else first
        start = found + len(wanted)
        last = start - 1
    return reply[places[first] : places[last] + 1] if first >= 0 else None


def is_evidence(passage: str) -> bool:
    """Whether words found in a reply can show anything: they hold more than a letter, and do not talk to the judge."""
    letters = sum(character.isalnum() for character in passage)
    return letters >= (1 if has_unspaced_script(passage) else 2) and not talks_to_judge(passage)


def _folded(text: str) -> tuple[str, list[int]]:
    """The folded text, and for each of its characters the place that it comes from."""
    out: list[str] = []
    places: list[int] = []
    for place, character in enumerate(text):
        for one in unicodedata.normalize("NFKC", character).translate(_SAME).casefold():
            if unicodedata.category(one) == "Cf":
                continue
            shown = " " if one.isspace() else one
            if shown == " " and out and out[-1] == " ":
                continue
            out.append(shown)
            places.append(place)
    return "".join(out), places
