"""What a reader of the figures must know first: scripts not covered, empty retrievals, turns that went missing."""

from __future__ import annotations

from collections import Counter, defaultdict

from mnemoscope.runfile.damage import decoding_of
from mnemoscope.runfile.reader import RunReader
from mnemoscope.runfile.rows import LaneRow

__all__ = ["UNKNOWN_SHARE_LIMIT", "ZERO_RETRIEVAL_LIMIT", "run_warnings"]

UNKNOWN_SHARE_LIMIT = 0.20
"""Share of tokens unknown to the embedder above which a row says "script not covered"."""
ZERO_RETRIEVAL_LIMIT = 0.10
"""Share of a system's cells without any memory above which the run says so."""


def run_warnings(run: RunReader) -> tuple[str, ...]:
    """Warnings about a run as a whole, in a fixed order; empty where all is well."""
    lanes = run.lanes()
    return (
        *_unfinished(run),
        *_failures(run, lanes),
        *_excluded(run),
        *_scripts(lanes),
        *_coverage(lanes),
        *_unread(run, lanes),
        *_empty(run, lanes),
    )


def _unfinished(run: RunReader) -> list[str]:
    if run.is_complete:
        return []
    done = sum(1 for _ in run.cells())
    return [f"partial: {done:,} of {run.expected_cells:,} cells are there; go on with --resume"]


def _failures(run: RunReader, lanes: tuple[LaneRow, ...]) -> list[str]:
    failed: Counter[str] = Counter()
    said: str | None = None
    total = 0
    for cell in run.cells():
        total += 1
        if cell.status == "error":
            failed[cell.error_cause or "unknown"] += 1
            said = said or f"{cell.probe_id} × {cell.system}: {cell.error}"
    found = []
    if failed:
        causes = ", ".join(f"{cause} {count:,}" for cause, count in sorted(failed.items()))
        found.append(f"failed cells: {failed.total():,} of {total:,} ({causes}); first: {said}")
    if judging := run.judge_errors():
        causes = ", ".join(f"{metric} {cause} {count:,}" for (metric, cause), count in judging.items())
        found.append(f"failed judgements: {sum(judging.values()):,} ({causes})")
    if broken := [lane for lane in lanes if lane.status == "failed"]:
        first = broken[0]
        found.append(f"failed lanes: {len(broken):,}; first: {first.scenario_id} × {first.memory}: {first.error}")
    return found


def _excluded(run: RunReader) -> list[str]:
    """Cells that were not asked, per reason and share of a system's cells."""
    cells: Counter[str] = Counter()
    left: Counter[tuple[str, str]] = Counter()
    for cell in run.cells():
        cells[cell.system] += 1
        if cell.status == "excluded":
            left[cell.system, cell.error or cell.status] += 1
    by_share: dict[tuple[str, int, int], list[str]] = defaultdict(list)
    for (system, reason), count in left.items():
        by_share[reason, count, cells[system]].append(system)
    return [
        f"left out: {', '.join(names)} in {count:,} of {total:,} cells, not asked and in no figure ({reason})"
        for (reason, count, total), names in sorted(by_share.items())
    ]


def _scripts(lanes: tuple[LaneRow, ...]) -> list[str]:
    worst: dict[str, list[float]] = defaultdict(list)
    for lane in lanes:
        if lane.unknown_share is not None and lane.unknown_share > UNKNOWN_SHARE_LIMIT:
            worst[lane.memory].append(lane.unknown_share)
    return [
        f"script not covered: the embedder of {memory} does not know up to {max(shares):.0%} of the tokens "
        f"in {len(shares):,} scenarios"
        for memory, shares in sorted(worst.items())
    ]


def _coverage(lanes: tuple[LaneRow, ...]) -> list[str]:
    missing: Counter[str] = Counter()
    written: Counter[str] = Counter()
    for lane in lanes:
        if lane.status == "done":
            written[lane.memory] += lane.written
            missing[lane.memory] += lane.written - lane.covered - sum(lane.dropped.values())
    return [
        f"coverage below 100 %: {memory} neither stored nor dropped {count:,} of {written[memory]:,} turns"
        for memory, count in sorted(missing.items())
        if count > 0
    ]


def _unread(run: RunReader, lanes: tuple[LaneRow, ...]) -> list[str]:
    """What memories lost because their model's replies could not be read."""
    writing: Counter[str] = Counter()
    for lane in lanes:
        if lane.stats is not None and lane.stats.parse_failures:
            writing[lane.memory] += lane.stats.parse_failures
    searching: Counter[str] = Counter()
    with decoding_of(run.path):
        for system, count in run.unread_while_searching().items():
            searching[system] += count
    return [
        f"unread replies: {name} could not read {count:,} {'reply' if count == 1 else 'replies'} of its model, or "
        f"parts of them, while {doing}; what they held is lost to it"
        for doing, counts in (("writing", writing), ("searching", searching))
        for name, count in sorted(counts.items())
    ]


def _empty(run: RunReader, lanes: tuple[LaneRow, ...]) -> list[str]:
    stores = {lane.memory for lane in lanes if lane.covered}
    cells: Counter[str] = Counter()
    empty: Counter[str] = Counter()
    for cell in run.cells():
        if cell.status == "ok":
            cells[cell.system] += 1
            empty[cell.system] += cell.given == 0
    return [
        f"no memories: {system.name} was given none in {empty[system.name]:,} of {cells[system.name]:,} cells"
        for system in run.systems()
        if system.memory in stores
        and not system.privileged
        and empty[system.name] > ZERO_RETRIEVAL_LIMIT * cells[system.name]
    ]
