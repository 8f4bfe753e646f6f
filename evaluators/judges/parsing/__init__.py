"""Reading what a judge said: strict by default, and the published benchmarks' own ways by name.

A reply that holds no clear verdict has a `Problem` and no value: it is never a no, never the nearest number of a scale.
"""

from __future__ import annotations

from mnemoscope.core.lazy import lazy_names

__getattr__ = lazy_names(
    __name__,
    {
        "Item": "listing",
        "Items": "listing",
        "Parsed": "reading",
        "Problem": "reading",
        "ProblemKind": "reading",
        "RELEASES": "release",
        "Release": "release",
        "as_choice": "labels",
        "as_level": "numbers",
        "as_share": "numbers",
        "as_yes_no": "labels",
        "axes": "listing",
        "choice": "labels",
        "cut_reference": "release",
        "cut_references": "release",
        "differences": "release",
        "indices": "numbers",
        "items": "listing",
        "level": "numbers",
        "release_parser": "release",
        "share": "numbers",
        "visible_text": "reading",
        "yes_no": "labels",
    },
)
