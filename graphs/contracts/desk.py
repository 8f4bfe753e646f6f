"""What an agent with memory tools has in front of it, and how a contract shows it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

from mnemoscope.core.identity import TurnId
from mnemoscope.core.language.display import clip
from mnemoscope.graphs.contracts.listing import section
from mnemoscope.graphs.core_memory import Block
from mnemoscope.memory_backends.record import MemoryItem
from mnemoscope.memory_backends.rendering import item_text, unit_text
from mnemoscope.scenarios.records import Turn

__all__ = ["RESULT_CHARACTERS", "Desk", "Offered", "Result"]

RESULT_CHARACTERS = 3_000
"""Of what one call returns; hits that do not fit are left out, and a single one that is longer is shown cut."""


class Offered(NamedTuple):
    """Something numbered that the agent sees: its words, and the turns that they come from."""

    text: str
    turns: tuple[TurnId, ...]


@dataclass(frozen=True, slots=True)
class Result:
    """What one call came to."""

    tool: str
    text: str
    """As the agent is told."""
    hits: tuple[MemoryItem, ...] = ()
    failed: bool = False

    def fitted(self) -> Result:
        """With the leading hits that fit into `RESULT_CHARACTERS`, one at least."""
        size, kept = 0, 0
        for hit in self.hits:
            size += len(item_text(hit))
            if kept and size > RESULT_CHARACTERS:
                break
            kept += 1
        return replace(self, hits=self.hits[:kept])


@dataclass(frozen=True, slots=True)
class Desk:
    """All that is in context. What stands here is numbered from 1 on: the messages, then what searches returned."""

    blocks: tuple[Block, ...]
    messages: tuple[Turn, ...]
    """The queue, oldest first."""
    longest: int
    """Characters of a message that are shown; recall memory has it whole."""
    summary: MemoryItem | None = None
    """Of the messages that have left the queue."""
    recall: int = 0
    """Messages in recall memory."""
    archival: int = 0
    """Passages in archival memory."""
    results: tuple[Result, ...] = ()
    """Of this loop's calls, in order."""
    alert: str = ""
    """What the system has to say."""
    question: str = ""
    """What is asked; empty where the last message is what came in."""

    @property
    def offers(self) -> int:
        """How many things are numbered."""
        return len(self.messages) + sum(len(result.hits) for result in self.results)

    def offered(self, number: int) -> Offered:
        """What has this number, from 1."""
        if number <= len(self.messages):
            turn = self.messages[number - 1]
            return Offered(f"{turn.speaker} {turn.content}", (turn.turn_id,))
        hits = [hit for result in self.results for hit in result.hits]
        hit = hits[number - len(self.messages) - 1]
        return Offered(hit.text, tuple(source.turn_id for source in hit.sources))

    def block(self, label: str) -> Block | None:
        """The block of that label; None where there is none."""
        return next((block for block in self.blocks if block.label == label), None)

    def with_block(self, block: Block) -> Desk:
        """The desk with a block as it stands now."""
        return replace(self, blocks=tuple(block if old.label == block.label else old for old in self.blocks))

    def shown(self) -> str:
        """The desk as text."""
        parts = [
            section(
                f"Core memory [{block.label}], {len(block.value):,} of {block.limit:,} characters", block.value or "-"
            )
            for block in self.blocks
        ]
        parts.append(f"Recall memory has {self.recall:,} messages, archival memory {self.archival:,} passages.\n")
        parts.append(section("Summary of earlier messages", self.summary.text if self.summary else ""))
        lines = [clip(unit_text(turn), self.longest) for turn in self.messages]
        parts.append(section("Messages, oldest first", _listed(lines, 1)))
        parts.append(section("Results of your calls", self._shown_results()))
        parts.append(section("System", self.alert))
        parts.append(section("Question", self.question))
        return "".join(parts)

    def _shown_results(self) -> str:
        shown, number = [], len(self.messages) + 1
        for result in self.results:
            hits = [clip(item_text(hit), RESULT_CHARACTERS) for hit in result.hits]
            shown.append("\n".join([f"{result.tool}: {result.text}", *([_listed(hits, number)] if hits else [])]))
            number += len(hits)
        return "\n".join(shown)


def _listed(texts: list[str], start: int) -> str:
    return "\n".join(f"{number}. {' / '.join(text.splitlines())}" for number, text in enumerate(texts, start=start))
