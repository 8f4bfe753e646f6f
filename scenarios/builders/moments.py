"""Memory moments in chat logs: turns that refer to something earlier, outright or without a word of it.

A turn with an explicit cue ("as I told you", 我上次说过) is an explicit moment. A turn without one that is much like an
earlier turn of another session is an implicit moment. Likeness is lexical, or the cosine of an embedder; the earlier
turns that it is like are the heuristic evidence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from mnemoscope.core.errors import ConfigError
from mnemoscope.core.ports import Embedder
from mnemoscope.scenarios.builders.built import Block, BuiltScenario, BuiltSet, history_block
from mnemoscope.scenarios.builders.cues import find_cue, without_cue
from mnemoscope.scenarios.builders.journal import Journal, item_key
from mnemoscope.scenarios.builders.lexicon import Lexicon
from mnemoscope.scenarios.records import Scenario, Turn

__all__ = [
    "EMBEDDED_THRESHOLD",
    "LEXICAL_THRESHOLD",
    "Moment",
    "MomentScores",
    "build_moments",
    "find_moments",
    "score_moments",
]

LEXICAL_THRESHOLD = 0.25
"""Cosine of rare words from which a turn without cue is an implicit moment."""
EMBEDDED_THRESHOLD = 0.7
"""Cosine of embeddings from which a turn without cue is an implicit moment."""
_SOURCES = 3
_MIN_SHARED = 2
"""Content words that a turn and its source share at least, where likeness is lexical."""


@dataclass(frozen=True, slots=True)
class Moment:
    """A turn that calls for a memory."""

    turn_id: str
    kind: Literal["explicit", "implicit"]
    cue: str | None
    score: float
    """Likeness to the nearest earlier turn of another session, 0–1."""
    sources: tuple[str, ...]
    """Earlier turns that it is like, nearest first."""


@dataclass(slots=True)
class MomentScores:
    """Detection against labels: a labelled positive should be found, a negative should not."""

    found: Counter[str] = field(default_factory=Counter)
    """`positive explicit`, `positive implicit`, `positive missed`, and the same for `negative`."""

    @property
    def precision(self) -> float | None:
        """Share of found moments that are labelled positive; None where nothing was found."""
        right, wrong = (self._found(label) for label in ("positive", "negative"))
        return right / (right + wrong) if right + wrong else None

    @property
    def recall(self) -> float | None:
        """Share of labelled positives that were found; None without any."""
        total = self._found("positive") + self.found["positive missed"]
        return self._found("positive") / total if total else None

    def _found(self, label: str) -> int:
        return self.found[f"{label} explicit"] + self.found[f"{label} implicit"]

    def lines(self) -> list[str]:
        """Precision, recall and the counts by kind, for people."""
        shares = [
            f"{name} {'not defined' if share is None else f'{share:.3f}'}"
            for name, share in (("precision", self.precision), ("recall", self.recall))
        ]
        return [", ".join(shares), ", ".join(f"{name}: {count}" for name, count in sorted(self.found.items()))]


class _Likeness(Protocol):
    """How much a turn's text is like earlier turns."""

    threshold: float

    def to_earlier(self, position: int, until: int) -> list[float]: ...


async def find_moments(
    scenario: Scenario, *, embedder: Embedder | None = None, threshold: float | None = None
) -> tuple[Moment, ...]:
    """All moments of a history, in its order. Only people's turns count, and only earlier sessions' turns as sources.

    Args:
        scenario: A history; its probes are not looked at.
        embedder: Where given, likeness is the cosine of embeddings, else lexical.
        threshold: From which likeness a turn without cue is a moment.
    """
    turns = scenario.turns
    like = await _likeness([turn.content for turn in turns], embedder, threshold)
    starts = {session.session_id: session.turns[0].index for session in scenario.sessions if session.turns}
    found = []
    for turn in turns:
        if turn.role == "assistant" or turn.is_empty or not turn.text.strip():
            continue
        moment = _moment(turn, turns, like, starts[turn.session_id])
        if moment is not None:
            found.append(moment)
    return tuple(found)


async def score_moments(
    scenarios: Iterable[Scenario], *, embedder: Embedder | None = None, threshold: float | None = None
) -> MomentScores:
    """Precision and recall on labelled probes: those whose strata say `positive` or `negative` (MemUse).

    Args:
        scenarios: Labelled scenarios; each probe of style `dialog` or `moment` is one decision.
        embedder: See `find_moments`.
        threshold: See `find_moments`.
    """
    scores = MomentScores()
    for scenario in scenarios:
        for probe in scenario.probes:
            labels = {"positive", "negative"} & set(scenario.gold_by_probe[probe.probe_id].strata)
            if len(labels) != 1 or probe.style not in ("dialog", "moment"):
                continue
            known = scenario.turns[: probe.cut.seq]
            asked = Turn(
                turn_id=known[-1].turn_id if known else "asked",  # type: ignore[arg-type]
                session_id="asked",  # type: ignore[arg-type]
                index=len(known),
                speaker=probe.speaker,
                role="user",
                text=probe.text,
                at=probe.now,
            )
            like = await _likeness([*(turn.content for turn in known), probe.text], embedder, threshold)
            moment = _moment(asked, [*known, asked], like, len(known))
            scores.found[f"{labels.pop()} {moment.kind if moment else 'missed'}"] += 1
    return scores


async def build_moments(
    scenarios: Iterable[Scenario],
    *,
    embedder: Embedder | None = None,
    threshold: float | None = None,
    journal: Journal | None = None,
) -> BuiltSet:
    """Scenarios whose probes are the moments found in their histories, with heuristic evidence.

    Args:
        scenarios: Histories, such as a chat log's.
        embedder: See `find_moments`.
        threshold: See `find_moments`.
        journal: Where finished scenarios are kept, so that an interrupted build goes on.

    Returns:
        One scenario per source in which a moment was found.

    Raises:
        ConfigError: No scenario, or one without times.
    """
    settings = {
        "likeness": "lexical" if embedder is None else embedder.id,
        "threshold": f"{_threshold(embedder, threshold):g}",
    }
    built: BuiltSet | None = None
    for scenario in scenarios:
        if built is None:
            built = BuiltSet("moments", settings, scenario.card)
        key = item_key(scenario, "moments", settings) if journal else ""
        made = journal.get(key) if journal else None
        if made is None:
            moments = await find_moments(scenario, embedder=embedder, threshold=threshold)
            made = _scenario_of(scenario, moments, settings["likeness"])
            if journal:
                journal.put(key, made)
        built.counts.update(made[1])
        if made[0] is not None:
            built.scenarios.append(made[0])
    if built is None:
        raise ConfigError("there are no scenarios to find moments in")
    return built


def _scenario_of(
    scenario: Scenario, moments: Sequence[Moment], likeness: str
) -> tuple[BuiltScenario | None, Counter[str]]:
    counts = Counter(f"{moment.kind} moments" for moment in moments)
    counts["turns of people"] = sum(turn.role != "assistant" and not turn.is_empty for turn in scenario.turns)
    usable = [moment for moment in moments if moment.sources]
    counts["left out: nothing earlier is like it"] = len(moments) - len(usable)
    if not usable:
        return None, counts
    origins = {"sessions": f"copied: {scenario.scenario_id}"}
    probes: list[Block] = []
    for moment in usable:
        name = f"at-{moment.turn_id}"
        how = f"cue {moment.cue!r}" if moment.cue else f"likeness {moment.score:.3f} ({likeness}), no cue"
        origins[f"probes.{name}"] = f"heuristic: {how}"
        origins[f"probes.{name}.gold.evidence"] = f"heuristic: likeness of {moment.score:.3f} to {moment.sources[0]}"
        probes.append(
            {
                "id": name,
                "style": "moment",
                "in_place_of": moment.turn_id,
                "gold": {
                    "evidence": list(moment.sources),
                    "rubric": f"Draws on what was said in {' or '.join(moment.sources)}, if that helps.",
                    "strata": ["moment", moment.kind],
                },
            }
        )
    block = history_block(scenario, scenario_id=f"{scenario.scenario_id}-moments")
    return BuiltScenario({**block, "probes": probes}, origins), counts


def _moment(turn: Turn, turns: Sequence[Turn], like: _Likeness, session_start: int) -> Moment | None:
    """Whether a turn is a moment; sources are turns before `session_start`."""
    cue = find_cue(turn.text)
    scores = like.to_earlier(turn.index, session_start)
    order = sorted(range(len(scores)), key=lambda position: (-scores[position], position))[:_SOURCES]
    best = scores[order[0]] if order else 0.0
    if cue is None and best < like.threshold:
        return None
    floor = like.threshold if cue is None else like.threshold / 2
    sources = [position for position in order if scores[position] >= floor]
    if cue is not None and not sources and best > 0:
        sources = order[:1]
    kind: Literal["explicit", "implicit"] = "implicit" if cue is None else "explicit"
    return Moment(turn.turn_id, kind, cue, round(best, 6), tuple(turns[position].turn_id for position in sources))


def _threshold(embedder: Embedder | None, threshold: float | None) -> float:
    if threshold is not None and not 0 < threshold <= 1:
        raise ConfigError(f"the threshold is {threshold}; it lies above 0 and up to 1")
    return threshold or (LEXICAL_THRESHOLD if embedder is None else EMBEDDED_THRESHOLD)


async def _likeness(texts: Sequence[str], embedder: Embedder | None, threshold: float | None) -> _Likeness:
    least = _threshold(embedder, threshold)
    if embedder is None:
        return _Lexical(texts, least)
    documents = await embedder.embed(texts, "document")
    queries = await embedder.embed([without_cue(text) for text in texts], "query")
    scores = queries @ documents.T
    return _Embedded([[float(score) for score in row[:position]] for position, row in enumerate(scores)], least)


class _Lexical:
    def __init__(self, texts: Sequence[str], threshold: float) -> None:
        self.threshold = threshold
        self._texts, self._lexicon = texts, Lexicon(texts)

    def to_earlier(self, position: int, until: int) -> list[float]:
        text = without_cue(self._texts[position])
        scores = self._lexicon.likenesses(text, until)
        for earlier, score in enumerate(scores):
            if score and len(self._lexicon.shared(text, earlier)) < _MIN_SHARED:
                scores[earlier] = 0.0
        return scores


class _Embedded:
    def __init__(self, scores: list[list[float]], threshold: float) -> None:
        self.threshold, self._scores = threshold, scores

    def to_earlier(self, position: int, until: int) -> list[float]:
        return self._scores[position][:until]
