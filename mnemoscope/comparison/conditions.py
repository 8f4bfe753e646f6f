"""Under which conditions systems worked: which settings differ, and which rows must say so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from mnemoscope.comparison.summary import SystemView

__all__ = ["NEVER_ANSWERS", "unequal_settings", "with_marks"]

NEVER_ANSWERS = frozenset({"judge", "seed", "replicates"})
"""Settings that leave what a system does as it is, or that figures already name."""
_NOT_SET = "not set"


def unequal_settings(a: SystemView, b: SystemView) -> tuple[str, ...]:
    """Names of the settings that differ between two systems and may change what they do."""
    keys = (a.settings.keys() | b.settings.keys()) - NEVER_ANSWERS
    return tuple(sorted(key for key in keys if a.settings.get(key) != b.settings.get(key)))


def with_marks(systems: Sequence[SystemView]) -> tuple[SystemView, ...]:
    """Systems with the settings in which they leave what most have; on a tie, what the first one has.

    Imported rows neither count nor are marked: their settings are those of the import, not of what was run.
    """
    own = [view for view in systems if not view.is_imported]
    usual: dict[str, str] = {}
    for key in sorted({key for view in own for key in view.settings} - NEVER_ANSWERS):
        usual[key] = Counter(view.settings.get(key, _NOT_SET) for view in own).most_common(1)[0][0]

    def odd(view: SystemView) -> tuple[str, ...]:
        return () if view.is_imported else tuple(k for k, v in usual.items() if view.settings.get(k, _NOT_SET) != v)

    return tuple(replace(view, unequal=odd(view)) for view in systems)
