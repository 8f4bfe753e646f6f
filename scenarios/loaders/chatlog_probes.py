"""Probes that a user writes for a chat log: the native format's `probes`, checked against the log's own turns."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

from pydantic import ValidationError

from mnemoscope.core.errors import DataError
from mnemoscope.scenarios.loaders.native_checks import ABSENT, check_scenario
from mnemoscope.scenarios.loaders.native_format import ScenarioEntry
from mnemoscope.scenarios.loaders.native_records import build_scenario
from mnemoscope.scenarios.loaders.native_yaml import read_yaml
from mnemoscope.scenarios.reading import decode_text, read_json, reading_error
from mnemoscope.scenarios.records import Card, Gold, Participant, Probe, Session, Turn
from mnemoscope.scenarios.source import DataReport, LoadRequest

__all__ = ["read_probes"]

_NO_TIME = datetime(1970, 1, 1, tzinfo=UTC)
"""Stands in for unknown times while references are checked; it never reaches a probe."""


def read_probes(
    path: Path,
    name: str,
    participants: Sequence[Participant],
    sessions: Sequence[Session],
    request: LoadRequest,
    report: DataReport,
) -> list[tuple[Probe, Gold]]:
    """Read a list of native probes for a log. Turns are named `s2t5`: session by position, turn by position.

    Args:
        path: YAML or JSON: a list of probes, or an object with `probes`.
        name: Id of the log's scenario.
        participants: The log's people.
        sessions: The log's sessions.
        request: Encoding, leniency and the order of pools.
        report: Where notices go.

    Returns:
        Probes with their gold, in file order.

    Raises:
        DataError: A probe is not as the format says, or names what the log does not have.
    """
    value = _value(path, request, report)
    probes = value.get("probes") if isinstance(value, dict) else value
    if not isinstance(probes, list) or not probes:
        raise DataError("not a list of probes", file=path, fix="write a list, or an object with `probes`")
    ordered = _in_order(sessions)
    try:
        entry = ScenarioEntry.model_validate(
            {
                "id": "log",
                "participants": [person.model_dump() for person in participants],
                "sessions": [_session(session, dated=ordered) for session in sessions],
                "probes": probes,
            }
        )
    except ValidationError as error:
        raise _shape_error(error, path) from error
    for finding in check_scenario(entry):
        if finding.path[:1] != ("probes",):
            continue
        number = finding.path[1]
        field = ".".join(str(key) for key in finding.path[2:]) or None
        known = {} if finding.seen is ABSENT else {"seen": finding.seen}
        raise DataError(finding.what, file=path, record=f"probe {number}", field=field, fix=finding.fix, **known)
    card = Card(benchmark="chatlog", source="-", licence="-", annotation="-")
    built = build_scenario(entry, card, captions=request.captions, seed=request.seed)
    turns = [turn for session in sessions for turn in session.turns]
    found = []
    for probe, written in zip(built.probes, entry.probes, strict=True):
        own = probe.model_copy(
            update={
                "probe_id": f"{name}/{written.id}",
                "recent_turns": tuple(turns[turn.index] for turn in probe.recent_turns),
                "now": _now(probe, written.now, turns, dated=ordered),
            }
        )
        found.append((own, built.gold_by_probe[probe.probe_id]))
    return found


def _now(probe: Probe, written: str | None, turns: Sequence[Turn], *, dated: bool) -> datetime | None:
    if written is not None or dated:
        return probe.now
    return turns[probe.cut.seq - 1].at if probe.cut.seq else None


def _value(path: Path, request: LoadRequest, report: DataReport) -> object:
    if path.suffix.lower() == ".json":
        file = read_json(path, encoding=request.encoding, lenient=request.lenient)
        for repeated in file.repeated:
            report.note("repeated-key", f"{path.name} {repeated.path}", f"{repeated.key}: the last value is used")
        return file.value
    try:
        raw = path.read_bytes()
    except (OSError, ValueError) as error:
        raise reading_error(path, error) from error
    return read_yaml(decode_text(raw, file=path, encoding=request.encoding)[0], path).value


def _in_order(sessions: Sequence[Session]) -> bool:
    times = [turn.at for session in sessions for turn in session.turns]
    known = [at for at in times if at is not None]
    return len(known) == len(times) and all(before <= after for before, after in pairwise(known))


def _session(session: Session, *, dated: bool) -> dict[str, object]:
    def written(at: datetime | None) -> str:
        return f"{(at if dated and at else _NO_TIME).replace(microsecond=0):%Y-%m-%dT%H:%M:%S}"

    return {
        "id": session.session_id,
        "at": written(session.at),
        "turns": [
            {"id": turn.turn_id, "speaker": turn.speaker, "text": turn.text, "at": written(turn.at)}
            for turn in session.turns
        ],
    }


def _shape_error(error: ValidationError, path: Path) -> DataError:
    detail = error.errors(include_url=False)[0]
    place = detail["loc"]
    record = f"probe {place[1]}" if place[:1] == ("probes",) and len(place) > 1 else "probes"
    field = ".".join(str(key) for key in place[2:]) or None
    fix = "see docs/scenario-format.md"
    return DataError(detail["msg"].lower(), file=path, record=record, field=field, seen=detail["input"], fix=fix)
