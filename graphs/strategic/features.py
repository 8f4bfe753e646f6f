"""What the trained planner looks at: plain numbers about each memory, from nothing but the planning task."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import regex

from mnemoscope.core.errors import ConfigError
from mnemoscope.core.language.sentences import split_sentences
from mnemoscope.core.language.tokens import content_tokens
from mnemoscope.graphs.nodes.ports import PlanningTask
from mnemoscope.graphs.nodes.verifiers import fact_of

__all__ = ["MEANING", "Matrix", "read_features"]

Matrix = npt.NDArray[np.float64]
MEANING = "meaning."
"""What the names of features that need an embedder begin with."""

_RECENT = 6
_DATE = regex.compile(r"(?<!\d)\d{4}(?:-\d\d){0,2}(?!\d)|\d{1,4}年|\d{1,2}月")
_CLAUSE = regex.compile(r"[,;:—–，；：、]|\b(?:and|but|so|while|when|because)\b")
_YOU = regex.compile(r"\b(?:you|your|yours)\b|[你您]", regex.IGNORECASE)
_ME = regex.compile(r"\b(?:i|me|my|mine)\b|我(?!们)", regex.IGNORECASE)
_US = regex.compile(r"\b(?:we|our|us)\b|我们|咱", regex.IGNORECASE)
_TIMED = regex.compile(
    r"\d|\b(?:today|yesterday|week|month|year|recent(?:ly)?|last|day)\b|今天|昨天|上周|去年|最近|星期", regex.IGNORECASE
)
_ASKS = {
    name: regex.compile(pattern, regex.IGNORECASE)
    for name, pattern in {
        "what": r"\bwhat\b|什么|啥",
        "which": r"\bwhich\b|哪(?![里儿])",
        "who": r"\bwho\b|谁",
        "when": r"\bwhen\b|什么时候|几月|几号|哪天",
        "where": r"\bwhere\b|哪里|哪儿",
        "how": r"\bhow\b|怎么|怎样|如何",
        "how-many": r"\bhow (?:many|much|long|often)\b|多少|多久|几[个次天]",
        "why": r"\bwhy\b|为什么",
        "yes-no": r"^\W*(?:do|did|does|have|has|are|is|was|were)\b|[吗么][？?]",
        "advice": r"\b(?:should|could|would|advice|suggest\w*|help|any|ideas?|tips?)\b|建议|应该|帮",
        "feeling": r"\b(?:feel\w*|think|overwhelmed|stress\w*)\b|觉得|感觉|压力",
        "favourite": r"\b(?:favou?rite|kind|first|name)\b|最喜欢|第一|名字",
    }.items()
}


@dataclass(frozen=True, slots=True)
class _Read:
    """A task's texts, read once."""

    facts: tuple[str, ...]
    bare: tuple[str, ...]
    """Facts without names of the two who talk and without dates."""
    question: str
    bare_question: str


async def read_features(task: PlanningTask, *, meaning: bool = True) -> dict[str, Matrix]:
    """Feature name to one value per memory, in the order of the task's memories.

    Neither the order of memories, nor an id, nor the size of the pool is looked at: a pool in another order gives the
    same values. English and Chinese words are known for who is meant and what is asked; all else is language-neutral.

    Args:
        task: What a planner may know; at least one memory.
        meaning: Whether to compare vectors too.

    Raises:
        ConfigError: Vectors are needed and the task has no embedder.
    """
    read = _read(task)
    found: dict[str, Matrix] = {**_words(read), **_people(task, read), **_times(task, read), **_asked(task, read)}
    if meaning:
        found |= await _meaning(task, read)
    return found


def _read(task: PlanningTask) -> _Read:
    facts = tuple(" ".join(fact_of(item.text).split()) for item in task.memories)
    names = [name for name in (task.asker, task.speaks_as) if name]
    return _Read(facts, tuple(_bare(fact, names) for fact in facts), _resolved(task), _bare(task.utterance, names))


def _bare(text: str, names: Sequence[str]) -> str:
    text = _DATE.sub("", text)
    for name in names:
        text = _named(name).sub("", text)
    return " ".join(text.split())


def _named(name: str) -> regex.Pattern[str]:
    return regex.compile(rf"(?<![a-zA-Z]){regex.escape(name)}(?![a-zA-Z])(?:['’]s)?")


def _resolved(task: PlanningTask) -> str:
    """The utterance with names for "I" and "you"."""
    text = _ME.sub(lambda _: task.asker, task.utterance)
    return _YOU.sub(lambda _: task.speaks_as or "you", text)


def _relative(name: str, values: Matrix) -> dict[str, Matrix]:
    """A value beside those of the other memories."""
    values = np.round(values, 6)
    ordered = np.sort(values)[::-1]
    best, second, third = (ordered[min(place, len(values) - 1)] for place in range(3))
    ranks = np.array([float((values > value).sum()) for value in values])
    return {
        name: values,
        f"{name}/rank": np.minimum(ranks, 10.0),
        f"{name}/below-best": values - best,
        f"{name}/standard": (values - values.mean()) / (values.std() + 1e-3),
        f"{name}/margin": np.where(values == best, values - second, values - best),
        f"{name}/above-third": values - third,
    }


def _words(read: _Read) -> dict[str, Matrix]:
    asked = set(_stems(read.bare_question))
    facts = [set(_stems(text)) for text in read.bare]
    spread = Counter(word for words in facts for word in words)
    rare = {word: math.log((len(facts) + 1) / n) for word, n in spread.items()}
    grams = _grams(read.bare_question)
    sizes = np.array([math.log(1 + len(text)) for text in read.facts])
    return {
        **_relative("words.shared", np.array([sum(sorted(rare[w] for w in words & asked)) for words in facts])),
        **_relative("words.covered", np.array([len(words & asked) / max(1, len(words)) for words in facts])),
        **_relative("words.grams", np.array([_share(_grams(text), grams) for text in read.bare])),
        "words.of-question": np.array([len(words & asked) / max(1, len(asked)) for words in facts]),
        "words.length": sizes,
        "words.length/mean": sizes - sizes.mean(),
        "words.capitals": np.array([min(5.0, len(regex.findall(r"(?<!^)\b\p{Lu}\w+", text))) for text in read.bare]),
    }


def _stems(text: str) -> list[str]:
    return [word[:6] if word.isascii() and len(word) > 6 else word.removesuffix("s") for word in content_tokens(text)]


def _grams(text: str) -> set[str]:
    text = text.lower()
    return {text[i : i + 4] for i in range(max(1, len(text) - 3))}


def _share(mine: set[str], theirs: set[str]) -> float:
    return len(mine & theirs) / max(1, len(mine))


def _people(task: PlanningTask, read: _Read) -> dict[str, Matrix]:
    mine, theirs = _about(task, read, task.speaks_as), _about(task, read, task.asker)
    you, me = len(_YOU.findall(task.utterance)), len(_ME.findall(task.utterance))
    toward = (you - me) / (you + me + 1)
    size = len(read.facts)
    return {
        "people.mine": mine,
        "people.theirs": theirs,
        "people.asked-about": (mine - theirs) * toward,
        "people.share-mine": np.full(size, mine.mean()),
        "people.other-named": np.array([float(_mentions(task, text)) for text in read.facts]),
        "people.you": np.full(size, float(you > 0)),
        "people.me": np.full(size, float(me > 0)),
        "people.us": np.full(size, float(bool(_US.search(task.utterance)))),
        "people.toward": np.full(size, toward),
    }


def _about(task: PlanningTask, read: _Read, name: str | None) -> Matrix:
    """Whether a memory is this person's: it opens with the name, or the person said it."""
    if not name:
        return np.zeros(len(read.facts))
    opens = _named(name)
    return np.array(
        [
            float(item.attrs.get("speaker") == name or opens.match(fact) is not None)
            for item, fact in zip(task.memories, read.facts, strict=True)
        ]
    )


def _mentions(task: PlanningTask, text: str) -> bool:
    names = [name for name in (task.asker, task.speaks_as) if name]
    return len(names) == 2 and all(_named(name).search(text) for name in names)


def _times(task: PlanningTask, read: _Read) -> dict[str, Matrix]:
    dated = np.array([float(bool(_DATE.search(text))) for text in read.facts])
    when = float(bool(_ASKS["when"].search(task.utterance)))
    ages = [
        math.log1p(max(0.0, (task.now - item.observed_at).total_seconds() / 86_400))
        if task.now is not None and item.observed_at is not None
        else -1.0
        for item in task.memories
    ]
    timed = float(bool(_TIMED.search(task.utterance)))
    return {
        "times.dated": dated,
        "times.dated-and-when": dated * when,
        "times.dated-and-timed": dated * timed,
        "times.age": np.array(ages),
        "times.number": np.array([float(bool(regex.search(r"\d", text))) for text in read.bare]),
    }


def _asked(task: PlanningTask, read: _Read) -> dict[str, Matrix]:
    size = len(read.facts)
    said = {name: float(bool(pattern.search(task.utterance))) for name, pattern in _ASKS.items()}
    said["timed"] = float(bool(_TIMED.search(task.utterance)))
    said["length"] = math.log(1 + len(task.utterance))
    said["sentences"] = float(min(5, len(split_sentences(task.utterance))))
    said["session"] = float(bool(task.recent_turns))
    return {f"asked.{name}": np.full(size, value) for name, value in said.items()}


async def _meaning(task: PlanningTask, read: _Read) -> dict[str, Matrix]:
    clauses = [part.strip() for part in _CLAUSE.split(task.utterance) if len(part.strip()) >= 12] or [task.utterance]
    persona = [
        part for line in (task.persona or "").split("\n") for part in split_sentences(line.partition(": ")[2] or line)
    ]
    recent = [turn.content for turn in task.recent_turns[-_RECENT:] if not turn.is_empty]
    groups = {
        "facts": list(read.facts),
        "bare": list(read.bare),
        "question": [read.question, read.bare_question],
        "clauses": clauses,
        "persona": persona,
        "recent": recent,
    }
    seen = await _embedded(task, groups)
    facts, bare, size = seen["facts"], seen["bare"], len(read.facts)
    near = facts @ seen["question"][0]
    alike = np.round(bare @ bare.T, 6)
    np.fill_diagonal(alike, 0.0)
    pull = np.exp(6 * alike)
    np.fill_diagonal(pull, 0.0)
    first = near == near.max()
    leading = alike[:, first].max(axis=1)
    return {
        **_relative("meaning.resolved", near),
        **_relative("meaning.bare", bare @ seen["question"][1]),
        **_relative("meaning.clause", (facts @ seen["clauses"].T).max(axis=1)),
        **_relative("meaning.leader", np.where(first, alike.max(axis=1), leading)),
        **_relative("meaning.company", (pull @ near) / np.maximum(pull.sum(axis=1), 1e-9)),
        **_relative("meaning.persona", _nearest(bare, seen["persona"])),
        **_relative("meaning.session", _nearest(facts, seen["recent"])),
        "meaning.others": alike.sum(axis=1) / max(1, size - 1),
        "meaning.nearest-other": alike.max(axis=1),
        "meaning.best": np.full(size, near.max()),
        "meaning.mean": np.full(size, near.mean()),
        "meaning.persona-and-question": np.full(size, _nearest(seen["question"][1:], seen["persona"])[0]),
    }


def _nearest(rows: Matrix, others: Matrix) -> Matrix:
    return (rows @ others.T).max(axis=1) if len(others) else np.zeros(len(rows))


async def _embedded(task: PlanningTask, groups: Mapping[str, Sequence[str]]) -> dict[str, Matrix]:
    if task.embedder is None:
        raise ConfigError("planner strategic compares vectors and was given no embedder")
    texts = list(dict.fromkeys(text for group in groups.values() for text in group))
    rows = np.asarray(await task.embedder.embed(texts, "document"), dtype=np.float64)
    place = {text: row for row, text in enumerate(texts)}
    return {name: rows[[place[text] for text in group]] for name, group in groups.items()}
