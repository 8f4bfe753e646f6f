"""StratMem-Bench: one query to a virtual person per item, with a pool of memories whose labels stay hidden."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import cast

from mnemoscope.core.errors import ConfigError, DataError
from mnemoscope.core.identity import ItemId, ProbeId, ScenarioId, SessionId, TurnId, derive_seed, sha256_of
from mnemoscope.core.language.dates import DateFormatError, parse_locomo_date
from mnemoscope.scenarios.reading import Fields, JsonFile, note_file, official_file, read_json, refuse_foreign
from mnemoscope.scenarios.records import (
    Card,
    Cut,
    Gold,
    GoldFact,
    MemoryPool,
    MemoryRole,
    Participant,
    PoolItem,
    Probe,
    Scenario,
    Turn,
)
from mnemoscope.scenarios.source import DataReport, LoadRequest

__all__ = ["OFFICIAL_NAMES", "StratmemSource", "open_stratmem", "pool_item_id"]

OFFICIAL_NAMES = ("StratMemBench_testset.json", "StratMemBench.json")
"""The test set first: published results are computed on it."""
FULL_SHA256 = "f1a5339910a239d07b673f2f9fe36d7cb7b05ea1bbc1766fad72f39eb56104f6"
TESTSET_SHA256 = "594040954e1a788033aa299820133d6119c6ca8e46d7905076af38dd738adc64"

_LABELS: tuple[MemoryRole, ...] = ("must", "nice", "irr")
_STRATA = {"A": "must-only", "B": "nice-only", "C": "must+nice"}
_ANNOTATOR_NOTE = re.compile(r"(?P<fact>.*[.!?])\s*\([^()]*\)\s*", re.DOTALL)
"""A parenthesis after a finished sentence, at the end: a remark about the fact, not part of it."""
_FULL_DATE = re.compile(r"(?<!\d)\d{4}-\d{2}-\d{2}(?!\d)", re.ASCII)
_CENSUS = (
    *("items", "stratum must-only", "stratum nice-only", "stratum must+nice", "clusters", "declared type differs"),
    *("inferred type differs", "with history", "history turns", "persona summaries given as lists", "annotator notes"),
    *("facts must", "facts nice", "facts irr", "items without irrelevant memory"),
)


@dataclass(frozen=True, slots=True)
class _Labelled:
    """One memory of a pool with its hidden label, in file order."""

    item: PoolItem
    label: MemoryRole


def open_stratmem(request: LoadRequest) -> StratmemSource:
    """Open a StratMem-Bench file; `also=PATH` reads a second one after it, and refuses an id that both hold.

    The benchmark has nothing to repair, so `repaired` reads as `robust`.

    Args:
        request: What to load; a folder is searched for the official names, the test set first.

    Returns:
        The opened file; scenarios are built while it is iterated.

    Raises:
        DataError: The file cannot be read, or is of another benchmark.
        ConfigError: No path, or a role other than `also`.
    """
    if unknown := sorted(request.roles.keys() - {"also"}):
        raise ConfigError(f"stratmem has no role {unknown[0]!r}; it takes also=PATH")
    paths: list[Path | None] = [request.path, *request.roles.values()]
    found = [official_file(path, OFFICIAL_NAMES, kind="stratmem") for path in paths]
    files = [read_json(path, encoding=request.encoding, lenient=request.lenient) for path in found]
    return StratmemSource(files, request)


def pool_item_id(text: str) -> ItemId:
    """The id of a pool's memory: from its text alone, so that it tells nothing of label or order.

    Example:
        >>> pool_item_id("Bruno collects stamps.") == pool_item_id("Bruno collects stamps.")
        True
    """
    return ItemId(f"m-{sha256_of(text)[:10]}")


class StratmemSource:
    """One or two opened files; each item is one scenario without a history of its own."""

    def __init__(self, files: Sequence[JsonFile], request: LoadRequest) -> None:
        self._files, self._request = files, request
        self._rows = [_rows(file) for file in files]
        self._cards = [_card(file, request) for file in files]
        self.card = self._cards[0]
        self.report = DataReport()
        self._note_files()

    def __iter__(self) -> Iterator[Scenario]:
        self.report.counts.clear()
        self.report.notices.clear()
        self._note_files()
        self.report.counts.update(dict.fromkeys(_CENSUS, 0))
        clusters: set[str] = set()
        known: dict[str, str] = {}
        for file, card, rows in zip(self._files, self._cards, self._rows, strict=True):
            for index, row in enumerate(rows):
                row_id = _row_id(row, file, index, known)
                try:
                    scenario = _Item(row, row_id, str(file.path), self._request, self.report).scenario(card)
                except DataError as error:
                    if not self._request.lenient:
                        raise
                    self.report.note("skipped-record", row_id, str(error))
                    continue
                clusters.add(scenario.cluster)
                self.report.counts["clusters"] = len(clusters)
                yield scenario

    def _note_files(self) -> None:
        for file in self._files:
            note_file(self.report, file, published={FULL_SHA256, TESTSET_SHA256})
            if file.sha256 == FULL_SHA256:
                detail = (
                    "full pools; published results are computed on the test set, whose pools keep two nice memories"
                )
                self.report.note("full-pools", file.path.name, detail)


class _Item:
    """One row while it is being read."""

    def __init__(self, row: object, row_id: str, file: str, request: LoadRequest, report: DataReport) -> None:
        self.row = Fields.of(row, file=file, record=row_id)
        self.row_id, self.request, self.report = row_id, request, report

    def scenario(self, card: Card) -> Scenario:
        row = self.row
        roles = row.fields("roles")
        human, virtual = roles.text("human"), roles.text("virtual_person")
        now = self._now()
        labelled = self._pool(now)
        stratum = self._stratum(labelled)
        recent = self._history(human, virtual, now)
        probe = Probe(
            probe_id=ProbeId(self.row_id),
            style="situational",
            speaker=human,
            text=row.text("query").strip(),
            cut=Cut(seq=0, turn_id=None),
            now=now,
            speaks_as=virtual,
            recent_turns=recent,
            persona=self._persona(),
            pool=MemoryPool(items=_in_seeded_order(labelled, self.request.seed, self.row_id)),
        )
        self._count(labelled, stratum, recent)
        return Scenario(
            scenario_id=ScenarioId(self.row_id),
            benchmark="stratmem",
            cluster=f"{human}/{virtual}|{row.text('query_time')}",
            participants=(Participant(name=human, role="user"), Participant(name=virtual, role="assistant")),
            sessions=(),
            probes=(probe,),
            gold_by_probe={probe.probe_id: _gold(labelled, stratum)},
            card=card,
        )

    def _now(self) -> datetime | None:
        written = self.row.text("query_time")
        try:
            return parse_locomo_date(written).value
        except DateFormatError as error:
            if not self.request.lenient:
                raise self.row.wrong("query_time", error.expected) from error
            self.report.note("unreadable-date", self.row_id, f"{error}; the time is unknown")
            return None

    def _pool(self, now: datetime | None) -> tuple[_Labelled, ...]:
        memory = self.row.fields("memory")
        pool: dict[ItemId, _Labelled] = {}
        for label in _LABELS:
            for position, entry in enumerate(memory.sequence(label)):
                where = f"{self.row_id} memory.{label}[{position}]"
                fact = self._fact(Fields.of(entry, file=memory.file, record=where))
                item = PoolItem(item_id=pool_item_id(fact), text=fact, at=_fact_date(fact, now))
                earlier = pool.setdefault(item.item_id, _Labelled(item, label))
                if earlier.item is not item:
                    self._repeated_fact(where, fact, earlier.label, label)
        return tuple(pool.values())

    def _fact(self, entry: Fields) -> str:
        fact = entry.text("fact").strip()
        note = _ANNOTATOR_NOTE.fullmatch(fact)
        if note is not None and self.request.mode != "strict-release":
            self.report.counts["annotator notes"] += 1
            self.report.note("annotator-note-stripped", entry.record, f"dropped {fact[note.end('fact') :].strip()!r}")
            fact = note["fact"]
        if not fact:
            raise entry.wrong("fact", "a sentence")
        return fact

    def _repeated_fact(self, where: str, fact: str, earlier: MemoryRole, label: MemoryRole) -> None:
        if earlier != label:
            raise DataError(
                f"one fact is labelled both {earlier} and {label}",
                file=self.row.file,
                record=where,
                field="fact",
                seen=fact,
            )
        self.report.note("repeated-fact", where, "the same fact is in the pool already; kept once")

    def _stratum(self, labelled: Sequence[_Labelled]) -> str:
        labels = {entry.label for entry in labelled}
        if {"must", "nice"} <= labels:
            return "must+nice"
        if labels & {"must", "nice"}:
            return "must-only" if "must" in labels else "nice-only"
        raise DataError(
            "a pool without must and nice memories cannot be scored",
            file=self.row.file,
            record=self.row_id,
            field="memory",
        )

    def _history(self, human: str, virtual: str, now: datetime | None) -> tuple[Turn, ...]:
        spoken: list[tuple[str, str]] = []
        for line in self._history_lines():
            name, colon, text = line.partition(":")
            if colon and name.strip() in (human, virtual):
                spoken.append((name.strip(), text.strip()))
            elif spoken:
                self.report.note("history-line-without-speaker", self.row_id, f"{line!r} goes on from the line before")
                spoken[-1] = (spoken[-1][0], f"{spoken[-1][1]}\n{line.strip()}")
            else:
                raise self.row.wrong("history", f"lines that begin with `{human}:` or `{virtual}:`")
        turns = tuple(
            Turn(
                turn_id=TurnId(f"{self.row_id}/h{index}"),
                session_id=SessionId("current"),
                index=index,
                speaker=name,
                role="user" if name == human else "assistant",
                text=text,
                at=now,
            )
            for index, (name, text) in enumerate(spoken)
        )
        return tuple(turn for turn in turns if not self._is_empty(turn))

    def _is_empty(self, turn: Turn) -> bool:
        if turn.is_empty:
            self.report.note("empty-history-line", self.row_id, f"line {turn.index} says nothing; left out")
        return turn.is_empty

    def _history_lines(self) -> tuple[str, ...]:
        """The history is a JSON list inside a string, a list, or nothing."""
        value = self.row.values.get("history")
        if isinstance(value, str) and value.strip():
            try:
                value = json.loads(value)
            except ValueError as error:
                raise self.row.wrong("history", f"a JSON list in a text ({error})") from error
        if value is None or (isinstance(value, str) and not value.strip()):
            return ()
        if not isinstance(value, list) or not all(isinstance(line, str) for line in value):
            raise self.row.wrong("history", "a list of `Name: text` lines")
        return tuple(cast("list[str]", value))

    def _persona(self) -> str:
        persona = self.row.fields("virtual_person_persona")
        name = persona.text("virtual_person_name")
        if isinstance(persona.values.get("summary"), list):
            self.report.counts["persona summaries given as lists"] += 1
            summary = " ".join(text.strip() for text in persona.texts("summary"))
        else:
            summary = persona.text("summary").strip()
        lists = [(title, persona.texts(title)) for title in ("traits", "style", "domains", "values")]
        lines = [f"{title.capitalize()}: {'; '.join(texts)}" for title, texts in lists if texts]
        return "\n".join([f"{name}: {summary}", *lines])

    def _count(self, labelled: Sequence[_Labelled], stratum: str, recent: Sequence[Turn]) -> None:
        counts = self.report.counts
        counts["items"] += 1
        counts[f"stratum {stratum}"] += 1
        counts["declared type differs"] += _STRATA.get(str(self.row.values.get("given_type"))) != stratum
        counts["inferred type differs"] += _STRATA.get(str(self.row.values.get("inferred_type"))) != stratum
        counts["with history"] += bool(recent)
        counts["history turns"] += len(recent)
        for entry in labelled:
            counts[f"facts {entry.label}"] += 1
        if all(entry.label != "irr" for entry in labelled):
            counts["items without irrelevant memory"] += 1
            self.report.note("no-irrelevant-memory", self.row_id, "the pool holds nothing to leave out")


def _rows(file: JsonFile) -> Sequence[object]:
    refuse_foreign(file.value, kind="stratmem", path=file.path)
    if not isinstance(file.value, list) or not file.value:
        raise DataError("not a StratMem-Bench file", file=file.path, fix="expected a list of items")
    return file.value


def _row_id(row: object, file: JsonFile, index: int, known: dict[str, str]) -> str:
    row_id = Fields.of(row, file=str(file.path), record=f"item {index}").text("id")
    if (first := known.get(row_id)) is not None:
        raise DataError(
            "an item id occurs twice", file=file.path, record=row_id, field="id", seen=row_id, fix=f"first in {first}"
        )
    known[row_id] = f"{file.path.name}, item {index}"
    return row_id


def _in_seeded_order(labelled: Sequence[_Labelled], seed: int, row_id: str) -> tuple[PoolItem, ...]:
    """An order that texts and seed decide alone: the file's order, which gives labels away, has no part in it."""
    pool_seed = derive_seed("pool", seed, row_id)
    items = (entry.item for entry in labelled)
    return tuple(sorted(items, key=lambda item: (derive_seed(pool_seed, item.item_id), item.item_id)))


def _fact_date(fact: str, now: datetime | None) -> datetime | None:
    """The one full date that a fact names, if it is no later than the query."""
    dates = set(_FULL_DATE.findall(fact))
    if len(dates) != 1:
        return None
    try:
        day = datetime.combine(date.fromisoformat(dates.pop()), time(), tzinfo=UTC)
    except ValueError:
        return None
    return day if now is None or day <= now else None


def _gold(labelled: Sequence[_Labelled], stratum: str) -> Gold:
    needed = [entry.item for entry in labelled if entry.label != "irr"]
    return Gold(
        evidence=tuple(item.item_id for item in needed),
        evidence_unit="item",
        facts=tuple(GoldFact(fact_id=item.item_id, text=item.text, sources=(item.item_id,)) for item in needed),
        roles={entry.item.item_id: entry.label for entry in labelled},
        strata=(stratum,),
    )


def _card(file: JsonFile, request: LoadRequest) -> Card:
    return Card(
        benchmark="stratmem",
        source="https://github.com/seucoin/StratMem-Bench",
        licence="Apache-2.0",
        annotation="Memories labelled must, nice or irrelevant for each query by a model, then by experts "
        "(Fleiss kappa .81 before discussion).",
        known_errors=(
            "given_type differs from the pool's content in 427 of 657 items; it is never used.",
            "Three facts end in an annotator's remark in parentheses, which tells the label; `robust` drops it.",
            "Two published rows were computed on an earlier labelling and cannot be reproduced from these files.",
        ),
        strata_source="which of the must and nice sets hold memories",
        file=file.path.name,
        sha256=file.sha256,
        mode="strict-release" if request.mode == "strict-release" else "robust",
        settings={
            "pool_seed": str(request.seed),
            "roles": "the assistant plays the character; it sees the session so far, and memories come with the probe",
            "encoding": file.encoding,
            "times": "query_time for the query and the current session; a fact's own date where it names one",
        },
    )
