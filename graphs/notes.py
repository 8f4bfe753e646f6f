"""Notes: a turn word for word, with what is noted beside it; how they are shown, embedded and stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mnemoscope.graphs.contracts.annotate import Annotation
from mnemoscope.memory_backends.record import MemoryItem
from mnemoscope.memory_backends.rendering import without_time

__all__ = ["Note"]


@dataclass(frozen=True, slots=True)
class Note:
    """What was said never changes; the annotation may."""

    content: str
    annotation: Annotation

    @classmethod
    def of(cls, item: MemoryItem) -> Note:
        """The note that an item holds, which was stored with `text` and `attrs`."""
        keywords, tags = (tuple(item.attrs[name].splitlines()) for name in ("keywords", "tags"))
        annotation = Annotation(keywords, item.attrs["context"], tags)
        return cls(item.text.removesuffix(_below(annotation)), annotation)

    @property
    def text(self) -> str:
        """The note as it is shown: the content, then a line each for context, keywords and tags."""
        return self.content + _below(self.annotation)

    @property
    def embedded(self) -> str:
        """The note as it is embedded: without its time, which brings notes of one day together whatever they say."""
        return without_time(self.text)

    @property
    def attrs(self) -> Mapping[str, str]:
        """The annotation as attributes of an item; the phrases of a list stand on lines of their own."""
        noted = self.annotation
        return {"keywords": "\n".join(noted.keywords), "context": noted.context, "tags": "\n".join(noted.tags)}


def _below(noted: Annotation) -> str:
    lines = {"context": noted.context, "keywords": ", ".join(noted.keywords), "tags": ", ".join(noted.tags)}
    return "".join(f"\n{name}: {line}" for name, line in lines.items() if line)
