"""Node `compress`: what was found, shortened to what bears on the question, by a model or by choosing sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import regex
from langgraph.runtime import Runtime

from mnemoscope.core.errors import ConfigError
from mnemoscope.core.identity import ItemId
from mnemoscope.core.language.tokens import estimate_tokens
from mnemoscope.core.ports import LanguageModel, Message
from mnemoscope.core.usage import Usage
from mnemoscope.graphs.architecture import Mode
from mnemoscope.graphs.extracts import Passage, closest_to, extract
from mnemoscope.graphs.state import MemoryContext, ReadState
from mnemoscope.memory_backends.item_store import united_sources
from mnemoscope.memory_backends.record import MemoryItem, Source
from mnemoscope.memory_backends.rendering import item_text, render_block

__all__ = ["Compress", "compress_call"]

_MEAN_TURN = 40
"""Estimated tokens of a turn of LoCoMo as a memory shows it."""
_LEAD = regex.compile(r"\[[^\]\n]{1,40}\] [^:\n]{1,80}: ")
_INSTRUCTION = (
    "Below are memories of earlier conversations and what a user says now. Summarise, in at most {tokens} tokens and "
    "in the memories' own language, what in the memories bears on it; keep names, numbers and dates. If nothing does, "
    "say so. Write the summary only."
)


class Compress:
    """Turns the best `n` items into one text.

    Args:
        n: Items that are read, best first.
        tokens: The longest text, in estimated tokens.
        mode: `llm` asks the model; `heuristic` takes the sentences that share most words with the question.
    """

    def __init__(self, n: int, tokens: int, mode: Mode) -> None:
        self._n, self._tokens, self._mode = n, tokens, mode

    async def __call__(self, state: ReadState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
        """Reads `found` and `query`; sets `found` to one item, or to nothing, and what a model cost."""
        best, query = state["found"][: self._n], state["query"].text
        if not best:
            return {"found": ()}
        if self._mode == "llm":
            text, usage = await self._asked(best, query, runtime.context.ports.model)
            sources: tuple[Source, ...] = united_sources((), [s for item in best for s in _as_batch(item)])
        else:
            usage = Usage()
            passages = [_passage(item) for item in sorted(best, key=lambda item: (item.seq_from, item.seq_to, item.id))]
            text, used = extract(passages, closest_to(query), self._tokens, estimate_tokens)
            sources = united_sources((), [s for passage in used for s in passage.sources])
        if not text:
            return {"found": (), "usage": usage}
        return {"found": (_blob(text, sources, best),), "usage": usage}

    async def _asked(self, best: Sequence[MemoryItem], query: str, model: LanguageModel | None) -> tuple[str, Usage]:
        if model is None:
            raise ConfigError("compressed(mode=llm) asks a model and there is none; add --memory-model or --model")
        asked = f"Memories:\n{render_block(best)}\n\nThe user says: {query}"
        completion = await model.complete(
            [Message("system", _INSTRUCTION.format(tokens=self._tokens)), Message("user", asked)],
            phase="summarise",
            max_tokens=self._tokens,
        )
        return completion.text.strip(), completion.usage


def compress_call(n: int, tokens: int) -> Usage:
    """An estimate of what one summary by a model costs, for turns as long as LoCoMo's."""
    prompt = estimate_tokens(_INSTRUCTION) + n * _MEAN_TURN
    return Usage({"summarise": 1}, prompt_tokens=prompt, completion_tokens=tokens)


def _passage(item: MemoryItem) -> Passage:
    text = item_text(item)
    match = _LEAD.match(text)
    lead = match[0] if match else ""
    return Passage(text[len(lead) :], lead, tuple(replace(s, method="cited") for s in item.sources))


def _as_batch(item: MemoryItem) -> list[Source]:
    return [replace(source, method="batch") for source in item.sources]


def _blob(text: str, sources: tuple[Source, ...], best: Sequence[MemoryItem]) -> MemoryItem:
    times = [item.observed_at for item in best if item.observed_at is not None]
    observed = max(times, default=None)
    return MemoryItem(
        id=ItemId("compressed"),
        kind="blob",
        text=text,
        sources=sources,
        observed_at=observed,
        valid_from=observed,
        seq_from=min(item.seq_from for item in best),
        seq_to=max(item.seq_to for item in best),
        rank=1,
    )
