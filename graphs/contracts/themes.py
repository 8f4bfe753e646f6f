"""Contract `themes`: the themes of a few pages, each with keywords, a summary and the pages that belong to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from mnemoscope.core.language.keyphrases import keyphrases
from mnemoscope.graphs.contracts.contract import Contract, Reading
from mnemoscope.graphs.contracts.listing import CITED, TEXTS, cited_numbers, numbered, phrases_of
from mnemoscope.graphs.contracts.meta_info import without_names
from mnemoscope.graphs.extracts import Passage, central, count_words, extract, telling
from mnemoscope.memory_backends.rendering import unit_text
from mnemoscope.scenarios.records import Turn

__all__ = ["THEMES", "Batch", "Theme", "as_it_stands", "said"]

TOGETHER = 0.5
"""Mean cosine from which two groups of pages make one theme."""
KEYWORDS = 8
WORDS = 60
"""The longest summary that the rule makes."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Pages that leave the short-term memory together."""

    pages: tuple[tuple[Turn, ...], ...]
    nearness: tuple[tuple[float, ...], ...]
    """Cosine of each page with each; not shown."""


@dataclass(frozen=True, slots=True)
class Theme:
    """What some of the pages are about."""

    name: str
    keywords: tuple[str, ...]
    content: str
    pages: tuple[int, ...]
    """Numbers from 1."""


_INSTRUCTION = (
    "Sort the numbered pieces of a conversation by theme. For each theme give a short name, up to "
    f"{KEYWORDS} keywords, a summary that can be understood alone and keeps names, numbers and dates, and the numbers "
    "of the pieces that belong to it. Keep the language of the conversation. Every piece belongs to a theme; often one "
    'theme is enough. Reply as JSON: {"themes": [{"theme": "…", "keywords": ["…"], "content": "…", "pages": [1]}]}.'
)
_SCHEMA = {
    "type": "object",
    "properties": {
        "themes": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "theme": {"type": "string"},
                    "keywords": TEXTS,
                    "content": {"type": "string"},
                    "pages": CITED,
                },
                "required": ["theme", "keywords", "content", "pages"],
            },
        }
    },
    "required": ["themes"],
}


def _show(given: Batch) -> str:
    return numbered(["\n".join(unit_text(turn) for turn in page) for page in given.pages])


def _rule(given: Batch) -> Mapping[str, object]:
    return {"themes": [_theme(group, given) for group in _groups(given.nearness)]}


def _theme(group: Sequence[int], given: Batch) -> Mapping[str, object]:
    turns = [turn for at in group for turn in given.pages[at]]
    passages = [Passage(telling(turn.content), f"{turn.speaker}: ", ()) for turn in turns]
    texts = without_names(passages)
    content, _ = extract(passages, central(texts), WORDS, count_words)
    phrases = keyphrases("\n".join(texts), limit=KEYWORDS)
    return {
        "theme": ", ".join(phrases[:2]),
        "keywords": list(phrases),
        "content": content,
        "pages": [at + 1 for at in group],
    }


def _read(value: Mapping[str, object], given: Batch) -> Reading[tuple[Theme, ...]]:
    entries = value["themes"]
    themes: list[Theme] = []
    rejected = 0
    for entry in entries if isinstance(entries, list) else []:
        pages, wrong = cited_numbers(entry["pages"], len(given.pages))
        keywords, dropped = phrases_of(entry["keywords"], KEYWORDS)
        content = str(entry["content"]).strip()
        rejected += wrong + dropped
        if not pages or not content:
            rejected += not wrong
            continue
        themes.append(Theme(str(entry["theme"]).strip(), keywords, content, pages))
    sorted_in = {number for theme in themes for number in theme.pages}
    missing = [number for number in range(1, len(given.pages) + 1) if number not in sorted_in]
    return Reading((*themes, *as_it_stands(given, missing)), rejected + len(missing))


def as_it_stands(given: Batch, numbers: Sequence[int]) -> Iterator[Theme]:
    """Pages that were sorted in nowhere, each as a theme of its own that says what was said."""
    for number in numbers:
        yield Theme("", (), said(given.pages[number - 1]), (number,))


def said(page: Sequence[Turn]) -> str:
    """What was said on a page and by whom, without the times: what it is compared with others by."""
    return "\n".join(f"{turn.speaker}: {turn.content}" for turn in page)


def _groups(nearness: Sequence[Sequence[float]]) -> list[list[int]]:
    """Agglomerative clusters by mean cosine, the nearest two first; of equally near ones the earlier."""
    groups = [[at] for at in range(len(nearness))]
    while len(groups) > 1:
        pairs = [(one, other) for one in range(len(groups)) for other in range(one)]
        near, one, other = max((_mean(groups[a], groups[b], nearness), -a, -b) for a, b in pairs)
        if near < TOGETHER:
            break
        groups[-other] = sorted(groups[-other] + groups.pop(-one))
    return groups


def _mean(some: Sequence[int], others: Sequence[int], nearness: Sequence[Sequence[float]]) -> float:
    return round(sum(nearness[a][b] for a in some for b in others) / (len(some) * len(others)), 6)


THEMES: Contract[Batch, tuple[Theme, ...]] = Contract(
    name="themes",
    version=1,
    phase="summarise",
    instruction=_INSTRUCTION,
    schema=_SCHEMA,
    show=_show,
    rule=_rule,
    read=_read,
)
