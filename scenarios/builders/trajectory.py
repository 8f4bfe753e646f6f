"""PRAGMA-style users from templates: as many as one likes from a seed, without a model, in English or Chinese.

A built folder holds the files of the PRAGMA release and `provenance.json`, which says of every generated field which
template and which draw it comes from. Each user is drawn from a seed of their own, so that more users leave the first
ones as they are, and a second build of the same settings is the same to the byte.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from mnemoscope.core.errors import ConfigError
from mnemoscope.core.identity import derive_seed, sha256_of
from mnemoscope.scenarios.builders.trajectory_dates import QUERY_DAY, filler_days
from mnemoscope.scenarios.builders.trajectory_draws import Draws
from mnemoscope.scenarios.builders.trajectory_plan import UserPlan, plan_user
from mnemoscope.scenarios.builders.trajectory_talk import Talk, Talker
from mnemoscope.scenarios.builders.trajectory_words import LANGUAGES, Language, LoadedWords, Phrases, Words, load_words
from mnemoscope.scenarios.loaders.pragma_format import (
    EVID_SESSIONS,
    FILLER_SESSIONS,
    FULL_SESSIONS,
    METADATA,
    QUERY_DATA,
    RESPONSE_METRICS,
)

__all__ = ["PROVENANCE", "TrajectoryFiles", "build_trajectory"]

PROVENANCE = "provenance.json"
BUILDER_VERSION = 2
FILLERS = 30
_LOOKALIKES = 3
_FILES = (FULL_SESSIONS, METADATA, RESPONSE_METRICS, QUERY_DATA, EVID_SESSIONS, FILLER_SESSIONS, PROVENANCE)
_MOST_USERS = 100_000


@dataclass(frozen=True, slots=True)
class TrajectoryFiles:
    """What a build wrote."""

    folder: Path
    users: int
    probes: int
    sessions: int
    tokens: int
    """Of all histories, by the project's estimate."""
    sha256: Mapping[str, str]
    """By file name."""


@dataclass(frozen=True, slots=True)
class _Entry:
    """One session on its way into the history."""

    day: str
    kind: str
    topic: str | None
    talk: Talk
    name: str
    """`event 0`, `trajectory 3`, `filler 12`: which list of the release it stands in, and where."""


def build_trajectory(
    out: Path, users: int = 100, seed: int = 0, lang: Language = "en", tokens: int | None = None
) -> TrajectoryFiles:
    """Build a folder of users in the PRAGMA format.

    Each user has a topic with two to five events, a way of four to eight states along two axes, thirty filler sessions
    dated by PRAGMA's rule (three of them about the same topic in general), and four queries. Evidence and filler
    sessions have one form and one length; only what the day's news is tells them apart.

    Args:
        out: The folder; files of an earlier build are replaced, other people's files never.
        users: How many users, 1–100,000; four probes each.
        seed: Any whole number; the same seed gives the same users.
        lang: `en` or `zh`.
        tokens: Tokens that each user's history reaches, by the project's estimate; None for short sessions.

    Returns:
        Counts and hashes.

    Raises:
        ConfigError: An unusable setting, a folder that holds other data, or more tokens than the templates give.
    """
    if lang not in LANGUAGES:
        raise ConfigError(f"no words for language {lang!r}; it is {' or '.join(LANGUAGES)}")
    if not 1 <= users <= _MOST_USERS:
        raise ConfigError(f"users is {users}; it is 1 to {_MOST_USERS:,}")
    if tokens is not None and tokens < 1:
        raise ConfigError(f"tokens is {tokens}; it is at least 1")
    if (out / FULL_SESSIONS).exists() and not (out / PROVENANCE).exists():
        raise ConfigError(f"{out} holds PRAGMA data that this builder did not write; name another folder")
    loaded = load_words(lang)
    try:
        out.mkdir(parents=True, exist_ok=True)
        return _build(out, loaded, users=users, seed=seed, lang=lang, tokens=tokens)
    except OSError as error:
        raise ConfigError(f"{out} cannot be written: {error}") from error


def _build(
    out: Path, loaded: LoadedWords, *, users: int, seed: int, lang: Language, tokens: int | None
) -> TrajectoryFiles:
    sessions = total = 0
    with ExitStack() as stack:
        files = {name: stack.enter_context(_ListFile(out / name)) for name in _FILES}
        files[PROVENANCE].add(
            {
                "builder": "trajectory",
                "version": BUILDER_VERSION,
                "settings": {"lang": lang, "seed": seed, "tokens": tokens},
                "templates": {"file": f"trajectory_{lang}.yaml", "sha256": loaded.sha256},
                "model": None,
            }
        )
        for number in range(users):
            phrases = Phrases(Draws(derive_seed("trajectory", lang, seed, number)))
            plan = plan_user(loaded.words, phrases, f"{lang}-{seed}-{number:05d}")
            entries = _entries(plan, loaded.words, phrases, tokens)
            _write_user(files, plan, loaded.words, entries)
            sessions += len(entries)
            total += sum(entry.talk.tokens for entry in entries)
    hashes = {name: sha256_of((out / name).read_bytes()) for name in _FILES}
    return TrajectoryFiles(out, users, 4 * users, sessions, total, hashes)


def _entries(plan: UserPlan, words: Words, phrases: Phrases, tokens: int | None) -> list[_Entry]:
    """The sessions by date; on one day events come first, then states, then fillers."""
    rng = phrases.rng
    told = [*plan.events, *plan.states]
    talker = Talker(words, phrases, plan.topic, len(told) + FILLERS)
    lengths = _lengths(rng, len(told) + FILLERS, tokens)
    entries: list[_Entry] = []
    try:
        for place, fact in enumerate(told):
            is_event = place < len(plan.events)
            kind = "event" if is_event else "trajectory"
            name = f"{kind} {place if is_event else place - len(plan.events)}"
            talk = talker.session(place, fact=fact.first, tokens=lengths[place])
            entries.append(_Entry(fact.day.isoformat(), kind, None, talk, name))
        alike = set(rng.sample(range(FILLERS), _LOOKALIKES))
        for number, day in enumerate(filler_days([fact.day for fact in told], FILLERS)):
            place = len(told) + number
            general = rng.randint(2, 3) if number in alike else 0
            topic = words.general_topic.replace("{topic}", plan.topic) if general else talker.items[place].title
            talk = talker.session(place, general=general, tokens=lengths[place])
            entries.append(_Entry(day.isoformat(), "filler", topic, talk, f"filler {number}"))
    except LookupError as error:
        reached = sum(entry.talk.tokens for entry in entries)
        raise ConfigError(
            f"the templates end before {tokens:,} tokens per user ({reached:,} reached); ask for fewer"
        ) from error
    return sorted(entries, key=lambda entry: entry.day)


def _lengths(rng: Draws, count: int, tokens: int | None) -> list[int | None]:
    """Unequal shares of the tokens, one per session; together they reach the number."""
    if tokens is None:
        return [None] * count
    weights = [rng.uniform(0.75, 1.25) for _ in range(count)]
    return [-int(-tokens * weight // sum(weights)) for weight in weights]


def _write_user(files: Mapping[str, _ListFile], plan: UserPlan, words: Words, entries: Sequence[_Entry]) -> None:
    by_name = {entry.name: index for index, entry in enumerate(entries)}
    talks = {entry.name: entry.talk.to_json() for entry in entries}
    who = {"user_id": plan.user_id, "persona": plan.persona}
    events = [event.third for event in plan.events]
    states = [state.third for state in plan.states]
    event_days = [event.day.isoformat() for event in plan.events]
    state_days = [state.day.isoformat() for state in plan.states]
    files[FULL_SESSIONS].add(
        {
            **who,
            "timestamps": [entry.day for entry in entries],
            "session_types": [entry.kind for entry in entries],
            "sessions": [talks[entry.name] for entry in entries],
            "topics": [entry.topic for entry in entries],
        }
    )
    fillers = sorted((e for e in entries if e.kind == "filler"), key=lambda e: int(e.name.split()[1]))
    files[FILLER_SESSIONS].add(
        {**who, "filler_topics": [e.topic for e in fillers], "filler_turns": [talks[e.name] for e in fillers]}
    )
    files[EVID_SESSIONS].add(
        {
            **who,
            "event_timestamps": event_days,
            "event_turns": [talks[f"event {n}"] for n in range(len(events))],
            "trajectory_timestamps": state_days,
            "trajectory_turns": [talks[f"trajectory {n}"] for n in range(len(states))],
        }
    )
    files[QUERY_DATA].add(
        {
            **who,
            "topic": plan.topic,
            "axes": plan.axis_texts,
            "rewritten axes": [axis.label for axis in plan.axes],
            "events": events,
            "event_timestamps": event_days,
            "type1": plan.queries[0],
            "type2": plan.queries[1],
            "type2_evid": list(plan.type2_evidence),
            "trajectory": states,
            "trajectory_timestamps": state_days,
            "type3": plan.queries[2],
            "type4": plan.queries[3],
            "type4_evid": list(plan.type4_evidence),
        }
    )
    gold = {
        "type1": [(f"event {n}", text) for n, text in enumerate(events)],
        "type2": [(f"event {n}", events[n]) for n in plan.type2_evidence],
        "type3": [(f"trajectory {n}", text) for n, text in enumerate(states)],
        "type4": [(f"trajectory {n}", states[n]) for n in plan.type4_evidence],
    }
    axes = "; ".join(plan.axis_texts)
    for query, (kind, evidence) in zip(plan.queries, gold.items(), strict=True):
        places = [by_name[name] for name, _ in evidence]
        summaries = [text for _, text in evidence]
        files[METADATA].add(
            {
                **who,
                "query_type": kind,
                "query": query,
                "query_timestamp": QUERY_DAY.isoformat(),
                "evidence_session_timestamps": [entries[place].day for place in places],
                "evidence_session_index": places,
                "summarized_evidence": summaries,
            }
        )
        shown = json.dumps(summaries, ensure_ascii=False)
        rubric = {
            f"{name}_metric": text.replace("{axes}", axes).replace("{evidence}", shown)
            for name, text in words.rubric[kind].items()
        }
        files[RESPONSE_METRICS].add(
            {"user_id": plan.user_id, "query_type": kind, "query": query, "evidence": summaries, **rubric}
        )
    files[PROVENANCE].add(
        {
            "user_id": plan.user_id,
            "fields": {
                **plan.provenance,
                "rubrics": {kind: f"rubric.{kind}" for kind in gold},
                "evidence_session_index": "places of the evidence sessions after sorting by date",
                "filler_topics": "main item of the session, or general[] for three lookalikes",
                "filler_timestamps": "dating rule over the evidence days",
            },
            "sessions": [
                {"index": index, "name": entry.name, "tokens": entry.talk.tokens, **entry.talk.provenance}
                for index, entry in enumerate(entries)
            ],
        }
    )


class _ListFile:
    """A JSON list on its way to disk, one row a line; the file appears whole or not at all."""

    def __init__(self, path: Path) -> None:
        self._path, self._part = path, path.with_name(f"{path.name}.part")

    def __enter__(self) -> Self:
        self._stream = self._part.open("w", encoding="utf-8", newline="\n")
        self._separator = "[\n"
        return self

    def add(self, row: Mapping[str, object]) -> None:
        """Write one row."""
        self._stream.write(self._separator + json.dumps(row, ensure_ascii=False))
        self._separator = ",\n"

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._stream.write("\n]\n")
        self._stream.close()
        if kind is None:
            self._part.replace(self._path)
        else:
            self._part.unlink(missing_ok=True)
