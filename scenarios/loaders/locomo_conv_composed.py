"""LoCoMo-Conv's composed clusters: utterances that need the memories of several questions at once."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from mnemoscope.core.errors import DataError
from mnemoscope.core.identity import ProbeId
from mnemoscope.scenarios.loaders.locomo_conv_rows import Reading, leak_stratum, utterance_of
from mnemoscope.scenarios.loaders.locomo_conversation import Sample
from mnemoscope.scenarios.loaders.locomo_evidence import Evidence, resolve_evidence
from mnemoscope.scenarios.loaders.locomo_question import ADVERSARIAL, answer_of, category_of
from mnemoscope.scenarios.reading import Fields
from mnemoscope.scenarios.records import Gold, GoldFact, Probe
from mnemoscope.scenarios.source import DataReport

__all__ = ["ClusterRow", "composed_probe", "read_clusters"]

ORIGINALS = 30
"""The first clusters of each conversation are the original 300; the rest are the later extension, written by another
generator and repaired for leaks. The published file lists the originals first, which agrees with this rule."""

_LARGEST_BUCKET = 5
_ID = re.compile(r"S(\d+)_C(\d+)", re.ASCII)


@dataclass(frozen=True, slots=True)
class ClusterRow:
    """One cluster, checked against LoCoMo's rows."""

    conversation: int
    """The conversation's place in LoCoMo."""
    running: int
    """Its running number in the conversation."""
    fields: Fields
    members: tuple[Fields, ...]


@dataclass(frozen=True, slots=True)
class _Member:
    number: int
    question: str
    answer: str
    evidence: Evidence

    @property
    def ids(self) -> frozenset[str]:
        """What its evidence names, resolvable or not."""
        return frozenset((*self.evidence.turn_ids, *self.evidence.unresolvable))


def read_clusters(values: Sequence[object], file: str, reference: Sequence[Sample]) -> list[ClusterRow]:
    """Check the clusters of a file against the conversations that they refer to.

    Args:
        values: The file's list.
        file: Its name, for messages.
        reference: LoCoMo's conversations in LoCoMo's order.

    Raises:
        DataError: A cluster is malformed, its id is taken, or it refers to what LoCoMo does not hold.
    """
    rows: list[ClusterRow] = []
    taken: set[str] = set()
    for place, value in enumerate(values):
        cluster = Fields.of(value, file=file, record=f"cluster {place}")
        name = cluster.text("cluster_id")
        cluster = Fields(file, name, cluster.values)
        number, match = cluster.integer("sample_idx"), _ID.fullmatch(name)
        if not 0 <= number < len(reference):
            raise cluster.wrong("sample_idx", f"a number from 0 to {len(reference) - 1}")
        if match is None or int(match[1]) != number:
            raise cluster.wrong("cluster_id", f"S{number}_C and a number")
        if name in taken:
            raise DataError("a cluster id occurs twice", file=file, record=name, field="cluster_id", seen=name)
        taken.add(name)
        rows.append(ClusterRow(number, int(match[2]), cluster, _members(cluster, reference[number])))
    return rows


def composed_probe(row: ClusterRow, reading: Reading) -> tuple[Probe, Gold] | None:
    """The probe of one cluster, with its gold: one fact per member, never split further.

    Returns:
        The probe and its gold; None where the cluster has no utterance, which the caller counts.

    Raises:
        DataError: A field is missing or of the wrong type.
    """
    talk, report = reading.talk, reading.report
    utterance = utterance_of(row.fields, "composed_query", "subject_speaker", reading)
    if utterance is None:
        return None
    probe_id = ProbeId(f"{talk.sample_id}/{row.fields.record}")
    corrections = {m.integer("q_idx"): reading.overlay.of(talk.sample_id, m.integer("q_idx")) for m in row.members}
    gold = _gold(row, row.members, probe_id, utterance.text, reading, report)
    corrected: Gold | None = gold
    if any(corrections.values()):
        for correction in filter(None, corrections.values()):
            correction.note(report, row.fields.record)
        fixed = tuple(c.applied_to(m) if (c := corrections[m.integer("q_idx")]) else m for m in row.members)
        excluded = any(c is not None and c.action == "exclude" for c in corrections.values())
        corrected = None if excluded else _gold(row, fixed, probe_id, utterance.text, reading, DataReport())
    probe = Probe(
        probe_id=probe_id,
        style="composed",
        speaker=utterance.speaker,
        text=utterance.text,
        cut=talk.moment.cut,
        now=talk.moment.now,
    )
    report.counts["composed probes"] += 1
    return probe, reading.overlay.merged(gold, corrected)


def _members(cluster: Fields, sample: Sample) -> tuple[Fields, ...]:
    members: list[Fields] = []
    for value in cluster.sequence("member_facts"):
        member = Fields.of(value, file=cluster.file, record=f"{cluster.record} member {len(members)}")
        number = member.integer("q_idx")
        if not 0 <= number < len(sample.questions):
            raise member.wrong("q_idx", f"a question of {sample.sample_id}, 0 to {len(sample.questions) - 1}")
        known = sample.questions[number]
        asked = known.get("question") if isinstance(known, Mapping) else None
        if isinstance(asked, str) and asked.strip() != member.text("question").strip():
            raise DataError(
                f"the question is not the one of number {number} in {sample.sample_id}",
                file=member.file,
                record=member.record,
                field="question",
                seen=member.text("question"),
                fix=f"there it is {asked!r}",
            )
        members.append(member)
    numbers = [member.integer("q_idx") for member in members]
    listed = cluster.sequence("member_q_idxs")
    whole = all(type(number) is int for number in listed)  # true equals 1
    if not whole or listed != numbers or len(set(numbers)) != len(numbers) or len(numbers) < 2:
        raise cluster.wrong("member_q_idxs", f"the numbers of its member facts, at least two, each once ({numbers})")
    return tuple(members)


def _gold(
    row: ClusterRow, rows: Sequence[Fields], probe_id: ProbeId, text: str, reading: Reading, report: DataReport
) -> Gold:
    members = [_member(fields, reading, report) for fields in rows]
    evidence = _union(row.fields, members, corrected=tuple(rows) != row.members, reading=reading, report=report)
    answers = [member.answer for member in members]
    facts = tuple(
        GoldFact(
            fact_id=f"{probe_id}/q{member.number}",
            text=f"{member.question.strip().rstrip('?').strip()}: {member.answer}",
            sources=member.evidence.turn_ids,
        )
        for member in members
    )
    return Gold(
        answers=("; ".join(answers),),
        evidence=evidence.turn_ids,
        unresolvable=evidence.unresolvable,
        facts=facts,
        expected=row.fields.optional_text("expected_memory_use"),
        strata=(
            "composed",
            "non-adversarial",
            "composed-original" if row.running < ORIGINALS else "composed-extension",
            *_shape(members),
            *leak_stratum("composed", text, answers),
        ),
    )


def _member(row: Fields, reading: Reading, report: DataReport) -> _Member:
    def note(kind: str, detail: str) -> None:
        report.note(kind, row.record, detail)

    clean = reading.mode != "strict-release"
    answer = answer_of(row, "answer", note, clean=clean)
    if answer is None:
        raise row.wrong("answer", "a text or a number")
    if category_of(row, note) == ADVERSARIAL:
        note("adversarial-member", "an adversarial question is a member; its answer counts as a fact")
    evidence = resolve_evidence(row.texts("evidence"), reading.talk.moment.turns, reading.mode)
    return _Member(row.integer("q_idx"), row.text("question"), answer, evidence)


def _union(
    cluster: Fields, members: Sequence[_Member], *, corrected: bool, reading: Reading, report: DataReport
) -> Evidence:
    """The cluster's evidence: its own list in its order, or the members' union where an overlay changed one."""
    listed = resolve_evidence(cluster.texts("gold_dia_ids"), reading.talk.moment.turns, reading.mode)
    found = frozenset(turn_id for member in members for turn_id in member.evidence.turn_ids)
    if corrected:
        unresolvable = dict.fromkeys(text for member in members for text in member.evidence.unresolvable)
        return Evidence(tuple(sorted(found)), tuple(unresolvable), ())
    for kind, detail in listed.remarks:
        report.note(kind, cluster.record, detail)
    if found != frozenset(listed.turn_ids):
        apart = ", ".join(sorted(found ^ frozenset(listed.turn_ids)))
        report.note("cluster-evidence-differs", cluster.record, f"gold_dia_ids and its members differ in {apart}")
    return listed


def _shape(members: Sequence[_Member]) -> tuple[str, ...]:
    """Whether one member's evidence lies inside another's, and how many ids there are together."""
    pairs = [(a.ids, b.ids) for a, b in combinations(members, 2)]
    nested = "nested" if any(a < b or b < a for a, b in pairs) else "non-nested"
    size = len(frozenset().union(*(member.ids for member in members)))
    return nested, f"union-{size}" if size < _LARGEST_BUCKET else f"union-{_LARGEST_BUCKET}+"
