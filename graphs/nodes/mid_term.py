"""Nodes that take pages into a mid-term memory: threads of pages, themes, and segments that the themes join."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from langgraph.runtime import Runtime

from mnemoscope.core.identity import ItemId
from mnemoscope.core.ports import Vectors
from mnemoscope.graphs.architecture import Mode
from mnemoscope.graphs.contracts.asking import ask
from mnemoscope.graphs.contracts.continuity import CONTINUITY, TwoPages
from mnemoscope.graphs.contracts.meta_info import META_INFO, Thread
from mnemoscope.graphs.contracts.themes import THEMES, Batch, Theme, as_it_stands
from mnemoscope.graphs.nodes.facts import document_vectors
from mnemoscope.graphs.nodes.short_term import PageState, from_pool, shared_names, turns_of
from mnemoscope.graphs.provenance import cite, free_ids, made_from
from mnemoscope.graphs.segments import SAME_THEME, HeatWeights, Segment, best_segment
from mnemoscope.graphs.state import MemoryContext
from mnemoscope.memory_backends.record import MemoryItem
from mnemoscope.memory_backends.store import MemoryStore

__all__ = [
    "HOT",
    "OVERVIEW",
    "THREAD",
    "AskContinuity",
    "AskMetaInfo",
    "AskThemes",
    "InsertSegments",
    "SegmentState",
    "event_time",
]

HOT = 5.0
"""Heat from which a segment's pages are analysed."""
THREAD = "thread"
"""Attribute of a page: what its thread was about up to it; empty where it begins one."""
OVERVIEW = "overview"
"""Attribute of a page: the same, for the page that may go on with it."""


@dataclass(frozen=True, slots=True)
class NewSegment:
    """A segment that is not stored yet."""

    item: MemoryItem
    vector: Vectors


class SegmentState(PageState, total=False):
    """What the mid-term memory is about to become."""

    continues: tuple[bool, ...]
    """Per evicted page: it goes on with the page before it."""
    overviews: tuple[str, ...]
    """Per evicted page: what its thread is about."""
    themes: tuple[Theme, ...]
    segments: tuple[Segment, ...]
    """All segments as they will be, oldest first."""
    changed: tuple[ItemId, ...]
    """Those that are new or have new pages."""
    made: tuple[NewSegment, ...]
    hot: tuple[MemoryItem, ...]
    """The pages to be analysed, of the hottest segment."""
    hottest: ItemId | None


class AskContinuity:
    """Node `continuity`: whether each evicted page goes on with the one before it.

    Args:
        mode: Whether a model is asked; a first page is never asked about.
    """

    def __init__(self, mode: Mode) -> None:
        self._mode = mode

    async def __call__(self, state: SegmentState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
        """Reads `evicted` and `before`; sets `continues` and `parse_failures`."""
        continues: list[bool] = []
        failures = 0
        before = state["before"]
        for page in state["evicted"]:
            if before is None or from_pool(page) or from_pool(before):
                continues.append(False)
            else:
                given = _two_pages(before, page, runtime.context.store)
                answer = await ask(CONTINUITY, given, self._mode, runtime.context.ports.model)
                failures += answer.parse_failures
                continues.append(answer.value is True)
            before = page
        return {"continues": tuple(continues), "parse_failures": failures}


class AskMetaInfo:
    """Node `meta`: what the thread of each evicted page is about up to it.

    Args:
        mode: Whether a model is asked; an unreadable reply leaves the overview as it was.
    """

    def __init__(self, mode: Mode) -> None:
        self._mode = mode

    async def __call__(self, state: SegmentState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
        """Reads `evicted`, `continues` and `before`; sets `overviews` and `parse_failures`."""
        overviews: list[str] = []
        failures = 0
        before = state["before"]
        overview = before.attrs[OVERVIEW] if before else ""
        for page, continues in zip(state["evicted"], state["continues"], strict=True):
            so_far = overview if continues else ""
            answer = await ask(META_INFO, Thread(so_far, turns_of(page)), self._mode, runtime.context.ports.model)
            failures += answer.parse_failures
            overview = so_far if answer.value is None else answer.value
            overviews.append(overview)
        return {"overviews": tuple(overviews), "parse_failures": failures}


class AskThemes:
    """Node `themes`: the themes of the evicted pages.

    Args:
        mode: Whether a model is asked; where its reply cannot be read, each page is a theme of its own.
        every_page: Every theme gets all pages, as the source has it.
    """

    def __init__(self, mode: Mode, *, every_page: bool) -> None:
        self._mode, self._every_page = mode, every_page

    async def __call__(self, state: SegmentState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
        """Reads `evicted`; sets `themes` and `parse_failures`."""
        pages = state["evicted"]
        rows = runtime.context.store.vectors([page.id for page in pages]).astype(np.float64)
        given = Batch(tuple(map(turns_of, pages)), tuple(tuple(map(float, row)) for row in rows @ rows.T))
        answer = await ask(THEMES, given, self._mode, runtime.context.ports.model)
        numbers = tuple(range(1, len(pages) + 1))
        themes = tuple(as_it_stands(given, numbers)) if answer.value is None else answer.value
        if self._every_page:
            themes = tuple(Theme(theme.name, theme.keywords, theme.content, numbers) for theme in themes)
        return {"themes": themes, "parse_failures": answer.parse_failures}


class InsertSegments:
    """Node `insert_segments`: each theme's pages join the segment that fits best, or make a new one.

    Args:
        weights: Of heat; the hottest segment with pages that are not analysed is handed on where it is hot.
    """

    def __init__(self, weights: HeatWeights) -> None:
        self._weights = weights

    async def __call__(self, state: SegmentState, runtime: Runtime[MemoryContext]) -> Mapping[str, object]:
        """Reads `themes` and `evicted`; sets `segments`, `changed`, `made`, `hottest` and `hot`."""
        store, now, pages = runtime.context.store, event_time(state), state["evicted"]
        themes = state["themes"]
        rows = await document_vectors([theme.content for theme in themes], runtime)
        segments = [Segment.of(item) for item in store.items("segment")]
        cosines = (store.vectors([one.id for one in segments]) @ rows.T) if segments else np.zeros((0, len(themes)))
        ids = free_ids([f"segment-{pages[theme.pages[0] - 1].id.removeprefix('page-')}" for theme in themes], store)
        changed: dict[ItemId, None] = {}
        made: list[NewSegment] = []
        for number, theme in enumerate(themes):
            joining = [pages[page - 1] for page in theme.pages]
            near = [*cosines[:, number], *(float(new.vector @ rows[number]) for new in made)]
            keywords = frozenset(word.casefold() for word in theme.keywords)
            best = best_segment(segments, near, keywords)
            if best is None or best[1] < SAME_THEME:
                made.append(NewSegment(_segment_item(ids[number], theme, joining), rows[number]))
                segments.append(Segment(ids[number], keywords, ()))
                best = segments[-1], 0.0
            place = segments.index(best[0])
            segments[place] = best[0].joined_by([page.id for page in joining], now)
            changed[best[0].id] = None
        hottest, hot = _hottest(segments, store, now, self._weights)
        return {
            "segments": tuple(segments),
            "changed": tuple(changed),
            "made": tuple(made),
            "hottest": hottest,
            "hot": hot,
        }


def event_time(state: PageState) -> datetime | None:
    """When the run takes place in the conversation: when the new page was said."""
    return state["drafts"][-1].observed_at


def _two_pages(before: MemoryItem, page: MemoryItem, store: MemoryStore) -> TwoPages:
    one, other = store.vectors([before.id, page.id]).astype(np.float64)
    return TwoPages(before.text, page.text, round(float(one @ other), 6), shared_names(before, page))


def _segment_item(item_id: ItemId, theme: Theme, pages: Sequence[MemoryItem]) -> MemoryItem:
    turns = [turn for page in pages for turn in turns_of(page)]
    return made_from(
        turns,
        item_id=item_id,
        kind="segment",
        text=theme.content,
        sources=cite(turns, (), theme.content),
        attrs={"theme": theme.name},
    )


def _hottest(
    segments: Sequence[Segment], store: MemoryStore, now: datetime | None, weights: HeatWeights
) -> tuple[ItemId | None, tuple[MemoryItem, ...]]:
    heats = [(-round(one.heat(now, weights), 6), age, one) for age, one in enumerate(segments)]
    for heat, _, segment in sorted(heats, key=lambda entry: entry[:2]):
        if -heat < HOT:
            break
        pages = [store.get(page) for page in segment.pages]
        if fresh := tuple(page for page in pages if turns_of(page) and not from_pool(page)):
            return segment.id, fresh
    return None, ()
