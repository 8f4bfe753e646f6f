"""What an endpoint turned out to understand, learned once and remembered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from mnemoscope.agents.gateway.settings import EndpointSettings

__all__ = ["EndpointTraits", "LimitField", "SchemaMethod", "plainer"]

LimitField = Literal["max_tokens", "max_completion_tokens"]
SchemaMethod = Literal["json_schema", "json_object", "plain"]
_LIMITS: tuple[LimitField, ...] = get_args(LimitField)
_LADDER: tuple[SchemaMethod, ...] = get_args(SchemaMethod)


@dataclass(slots=True)
class EndpointTraits:
    """How one model at one endpoint wants to be asked."""

    limit_field: LimitField
    limit_ignored: list[str] = field(default_factory=list)
    """Names of the limit that the endpoint took and did not keep to."""
    schema_method: SchemaMethod = "json_schema"
    left_out: list[str] = field(default_factory=list)
    """Parameters that the endpoint refuses."""
    answered: bool = False
    """Whether a call has succeeded; until then, calls go one at a time."""
    unread: set[SchemaMethod] = field(default_factory=set)
    """Ways to ask for structure that gave a reply which could not be read; this process alone remembers them."""

    @classmethod
    def first_guess(cls, settings: EndpointSettings) -> EndpointTraits:
        """The vendor's own service wants `max_completion_tokens`; nearly all others know `max_tokens`."""
        return cls("max_completion_tokens" if settings.is_official else "max_tokens")

    @classmethod
    def recalled(cls, settings: EndpointSettings, stored: Mapping[str, object]) -> EndpointTraits:
        """Traits as an earlier process left them; what cannot be read is learned again."""
        traits = cls.first_guess(settings)
        for limit_field in _LIMITS:
            if stored.get("limit_field") == limit_field:
                traits.limit_field = limit_field
        for method in _LADDER:
            if stored.get("schema_method") == method:
                traits.schema_method = method
        for name in ("limit_ignored", "left_out"):
            value = stored.get(name)
            if isinstance(value, list) and all(isinstance(part, str) for part in value):
                setattr(traits, name, list(value))
        traits.answered = stored.get("answered") is True
        return traits

    def stored(self) -> dict[str, object]:
        """What to remember."""
        return {
            "limit_field": self.limit_field,
            "limit_ignored": sorted(self.limit_ignored),
            "schema_method": self.schema_method,
            "left_out": sorted(self.left_out),
            "answered": self.answered,
        }

    def other_limit_field(self) -> LimitField:
        """The name of the limit that is not in use."""
        return "max_tokens" if self.limit_field == "max_completion_tokens" else "max_completion_tokens"

    def adapt(self, parameter: str, used: EndpointTraits, refused: set[str]) -> bool:
        """Go on without what the endpoint refuses.

        Args:
            parameter: What the refusal is about.
            used: The traits that the refused call was made with; a neighbour may have adapted them since.
            refused: Names of the limit that this call was refused; it grows, so that no call goes in circles.

        Returns:
            Whether there is something left to try.
        """
        if parameter in ("max_tokens", "max_completion_tokens"):
            refused.add(used.limit_field)
            if self.limit_field == used.limit_field:
                self.limit_field = self.other_limit_field()
            return self.limit_field not in refused
        if parameter == "response_format":
            return self.step_down(used.schema_method)
        if parameter in used.left_out:
            return False
        if parameter not in self.left_out:
            self.left_out = [*self.left_out, parameter]
        return True

    def step_down(self, used: SchemaMethod) -> bool:
        """Ask for structure in a plainer way than the one used; false at the plainest."""
        lower = plainer(used)
        if lower is None:
            return False
        if _LADDER.index(self.schema_method) < _LADDER.index(lower):
            self.schema_method = lower
        return True

    def next_after_unread(self, used: SchemaMethod) -> SchemaMethod | None:
        """A plainer way that may still be tried after a reply that could not be read.

        Each way is given up once for the endpoint, not once for every question that it cannot answer.
        """
        self.unread.add(used)
        return next((m for m in _LADDER[_LADDER.index(used) + 1 :] if m not in self.unread), None)

    def note_ignored_limit(self) -> bool:
        """The reply was longer than asked: try the other name next time; false where both were ignored."""
        if self.limit_field not in self.limit_ignored:
            self.limit_ignored = [*self.limit_ignored, self.limit_field]
        if self.other_limit_field() in self.limit_ignored:
            return False
        self.limit_field = self.other_limit_field()
        return True


def plainer(method: SchemaMethod) -> SchemaMethod | None:
    """The next plainer way to ask for structure; None below the plainest."""
    place = _LADDER.index(method) + 1
    return _LADDER[place] if place < len(_LADDER) else None
