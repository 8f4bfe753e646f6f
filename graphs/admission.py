"""What a gate in front of a memory knows of a conversation: counts of what was said, and the last turns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mnemoscope.graphs.importance import Heard
from mnemoscope.scenarios.records import Turn

__all__ = ["Admission"]

_CONTEXT = 3


@dataclass(frozen=True, slots=True)
class Admission:
    """All that was said so far, admitted or not, as far as judging the next turn needs it."""

    heard: Heard = field(default_factory=Heard)
    before: tuple[Turn, ...] = ()
    """The last three turns."""

    def hear(self, turn: Turn) -> tuple[float, Admission]:
        """The salience of one more turn, and what is known with it."""
        salience, heard = self.heard.hear(turn.content)
        return salience, Admission(heard, (*self.before, turn)[-_CONTEXT:])

    def written(self) -> dict[str, Any]:
        """As plain values, for a snapshot."""
        heard = self.heard
        return {
            "texts": heard.texts,
            "having": dict(heard.having),
            "mean": heard.mean,
            "squares": heard.squares,
            "before": [turn.model_dump(mode="json", exclude_defaults=True) for turn in self.before],
        }

    @classmethod
    def read(cls, entry: Mapping[str, Any]) -> Admission:
        """What `written` gave.

        Raises:
            KeyError: A value is missing.
            ValueError: A turn cannot be read.
        """
        heard = Heard(entry["texts"], entry["having"], entry["mean"], entry["squares"])
        return cls(heard, tuple(Turn.model_validate(turn) for turn in entry["before"]))
