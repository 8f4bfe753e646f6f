"""LoCoMo-Conv's composed clusters, mined from LoCoMo alone: pairs of questions that share part of their evidence.

Construction (LoCoMo-Conv, construction of the composed style): of all questions of categories 1 to 4 with evidence,
every unordered pair of one conversation is kept whose evidence sets overlap, differ, and name at least two turns
together. Pairs are enumerated by ascending question number; a cluster's id is its running number in the conversation.
What needs a model (the utterance, its speaker, the description of the ideal reply) is null.

How evidence strings are read decides how many clusters there are, so the ways have names (`MODES`).
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import combinations
from pathlib import Path
from typing import Literal, TypedDict, get_args

from mnemoscope.core.errors import ConfigError, DataError
from mnemoscope.scenarios.loaders.locomo import OFFICIAL_NAMES
from mnemoscope.scenarios.loaders.locomo_conversation import Sample, read_samples
from mnemoscope.scenarios.loaders.locomo_question import ADVERSARIAL, CATEGORY_NAMES, category_of
from mnemoscope.scenarios.reading import Fields, official_file, read_json

__all__ = ["MODES", "Cluster", "MemberFact", "MiningMode", "mine_clusters", "mine_composed", "write_composed"]

MiningMode = Literal["release", "raw", "repaired"]
MODES: tuple[MiningMode, ...] = get_args(MiningMode)
"""`release` splits evidence at `;` only, as the published 1,069 clusters need; `raw` takes the strings as they are
(1,065); `repaired` finds every `D<session>:<turn>` in them, drops zero padding and reads `D:11:26` as `D11:26`
(1,081)."""

_MODEL = "null: needs a model"
_PROVENANCE: Mapping[str, str] = {
    **dict.fromkeys(("sample_idx", "cluster_id", "member_q_idxs"), "mined: enumeration of question pairs"),
    "gold_dia_ids": "mined: sorted union of the members' evidence",
    "member_facts": "copied: questions, answers, categories; evidence as the mode reads it",
    **dict.fromkeys(("composed_query", "subject_speaker", "subject_speaker_name", "expected_memory_use"), _MODEL),
    **dict.fromkeys(("rewrite_reason", "rewrite_error"), _MODEL),
}
_TURN_ID = re.compile(r"D:?(\d+):(\d+)", re.ASCII)


class MemberFact(TypedDict):
    """One question of a cluster."""

    q_idx: int
    question: str
    answer: object
    """As the file has it: a text or a number."""
    evidence: list[str]
    category: int


class Cluster(TypedDict):
    """One cluster in the structure of the published file."""

    sample_idx: int
    cluster_id: str
    member_q_idxs: list[int]
    gold_dia_ids: list[str]
    """The union of the members' evidence in lexicographic order: `D12:1` stands before `D3:11`."""
    member_facts: list[MemberFact]
    composed_query: None
    subject_speaker: None
    subject_speaker_name: None
    expected_memory_use: None
    rewrite_reason: None
    rewrite_error: None


def mine_composed(path: str | Path, mode: MiningMode = "release", *, encoding: str = "utf-8") -> list[Cluster]:
    """Mine the clusters of a LoCoMo file.

    Args:
        path: The file, or a folder that holds it under its official name.
        mode: How evidence strings are read.
        encoding: What the file was saved in.

    Returns:
        Clusters by conversation and running number.

    Raises:
        DataError: The file cannot be read or a row is malformed.
        ConfigError: No such mode.
    """
    file = read_json(official_file(Path(path), OFFICIAL_NAMES, kind="locomo"), encoding=encoding)
    return mine_clusters(read_samples(file), mode)


def mine_clusters(samples: Sequence[Sample], mode: MiningMode) -> list[Cluster]:
    """Mine the clusters of conversations that are already open.

    Raises:
        DataError: A row is malformed.
        ConfigError: No such mode.
    """
    if mode not in MODES:
        raise ConfigError(f"unknown mining mode {mode!r}; it is {', '.join(MODES)}")
    return [cluster for number, sample in enumerate(samples) for cluster in _mined(number, sample, _READERS[mode])]


def write_composed(path: str | Path, mode: MiningMode, out: Path, *, encoding: str = "utf-8") -> Mapping[str, int]:
    """Mine a LoCoMo file and write the clusters as the published file has them.

    The same input gives the same bytes. An existing file is replaced only once the new one is whole. Beside it stands
    `<name>.provenance.json`, which says where each field comes from.

    Args:
        path: The LoCoMo file or its folder.
        mode: How evidence strings are read.
        out: The JSON file to write.
        encoding: What the LoCoMo file was saved in.

    Returns:
        Number of clusters by `S<conversation>`.

    Raises:
        DataError: The LoCoMo file cannot be read or a row is malformed.
        ConfigError: No such mode, or the output cannot be written.
    """
    file = read_json(official_file(Path(path), OFFICIAL_NAMES, kind="locomo"), encoding=encoding)
    clusters = mine_clusters(read_samples(file), mode)
    provenance = {
        "builder": "composed",
        "mode": mode,
        "source": file.path.name,
        "source_sha256": file.sha256,
        "clusters": len(clusters),
        "fields": _PROVENANCE,
    }
    _write(out, clusters)
    _write(out.with_name(f"{out.stem}.provenance.json"), provenance)
    return dict(Counter(f"S{cluster['sample_idx']}" for cluster in clusters))


def _write(out: Path, value: object) -> None:
    part = out.with_name(f"{out.name}.part")
    try:
        part.write_text(json.dumps(value, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
        os.replace(part, out)  # noqa: PTH105 - one step, so that no half-written file stands under the name
    except OSError as error:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        raise ConfigError(f"{out} cannot be written: {error.strerror or error}") from error


def _mined(number: int, sample: Sample, read: Callable[[Sequence[str]], list[str]]) -> Iterator[Cluster]:
    facts = [
        fact
        for index, value in enumerate(sample.questions)
        if (
            fact := _fact(
                Fields.of(value, file=sample.conversation.file, record=f"{sample.sample_id} qa {index}"), index, read
            )
        )
    ]
    sets = {fact["q_idx"]: frozenset(fact["evidence"]) for fact in facts}
    pairs = (
        (first, second)
        for first, second in combinations(facts, 2)
        if _linked(sets[first["q_idx"]], sets[second["q_idx"]])
    )
    for running, (first, second) in enumerate(pairs):
        yield Cluster(
            sample_idx=number,
            cluster_id=f"S{number}_C{running}",
            member_q_idxs=[first["q_idx"], second["q_idx"]],
            gold_dia_ids=sorted(sets[first["q_idx"]] | sets[second["q_idx"]]),
            member_facts=[first, second],
            composed_query=None,
            subject_speaker=None,
            subject_speaker_name=None,
            expected_memory_use=None,
            rewrite_reason=None,
            rewrite_error=None,
        )


def _linked(first: frozenset[str], second: frozenset[str]) -> bool:
    return bool(first & second) and first != second and len(first | second) > 1


def _fact(row: Fields, index: int, read: Callable[[Sequence[str]], list[str]]) -> MemberFact | None:
    """A question that may be a member; None where its category or its empty evidence rules it out."""
    category = category_of(row, lambda kind, detail: None)
    evidence = read(row.texts("evidence")) if row.values.get("evidence") is not None else []
    if category == ADVERSARIAL or category not in CATEGORY_NAMES or not evidence:
        return None
    if "answer" not in row.values:
        raise DataError("a field is missing", file=row.file, record=row.record, field="answer")
    return MemberFact(
        q_idx=index, question=row.text("question"), answer=row.values["answer"], evidence=evidence, category=category
    )


def _as_written(raw: Sequence[str]) -> list[str]:
    return list(raw)


def _split_at_semicolons(raw: Sequence[str]) -> list[str]:
    return [part for text in raw for part in (piece.strip() for piece in text.split(";")) if part]


def _repaired(raw: Sequence[str]) -> list[str]:
    found = (f"D{int(match[1])}:{int(match[2])}" for text in raw for match in _TURN_ID.finditer(text))
    return list(dict.fromkeys(found))


_READERS: Mapping[MiningMode, Callable[[Sequence[str]], list[str]]] = {
    "release": _split_at_semicolons,
    "raw": _as_written,
    "repaired": _repaired,
}
