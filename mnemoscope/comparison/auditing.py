"""Scorings of run files: which judges have judged what, and two of them side by side when someone asks for it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from mnemoscope.comparison.merging import RunSet, open_runs
from mnemoscope.core.errors import ConfigError
from mnemoscope.evaluators.calibration.auditing import AuditRow, Item, Judged, Scoring, audit
from mnemoscope.runfile.rows import NO_REPLY, CellKey

__all__ = ["audit_runs", "scorings_of"]


def scorings_of(runs: RunSet, metrics: Sequence[str] = ()) -> tuple[Scoring, ...]:
    """Every judged scoring that the files hold, sorted by metric, in the order of the files.

    Args:
        runs: The files.
        metrics: Only these; empty: all.
    """
    found: defaultdict[tuple[str, str], dict[Item, Judged]] = defaultdict(dict)
    for member in runs.members:
        for row in member.run.verdict_rows():
            if row.judge_key and (not metrics or row.metric in metrics):
                name = f"{row.judge_key} [{member.label}]" if len(runs.members) > 1 else row.judge_key
                item = Item(row.system, row.scenario_id, row.probe_id, row.replicate, row.subject)
                found[row.metric, name][item] = Judged(row.label, row.score if row.status == "scored" else None)
    return tuple(Scoring(metric, name, verdicts) for (metric, name), verdicts in sorted(found.items(), key=_by_metric))


def _by_metric(entry: tuple[tuple[str, str], object]) -> str:
    return entry[0][0]


def audit_runs(
    paths: Sequence[Path],
    *,
    judges: Sequence[Sequence[str]] = (),
    metrics: Sequence[str] = (),
    across: bool = False,
    seed: int = 0,
) -> tuple[AuditRow, ...]:
    """Compare scorings of the same replies.

    Verdicts of two judge keys are never compared unasked: name the judges, or say `across`.

    Args:
        paths: Run files that hold the same replies.
        judges: Judges to compare, each by its keys or parts of them; the first is the one compared with. Empty: see
            `across`.
        metrics: Metrics to audit; empty: all that two of the scorings share. Two metrics that differ in their
            parameters (what the judge is shown) are compared with each other where just these are named.
        across: Compare every scoring with the first of its metric.
        seed: Of the draws.

    Raises:
        ConfigError: Fewer than two scorings to compare, several and nothing said, a judge that no verdict is of, or
            files that hold other replies.
        RunFileError: A file cannot be read.
    """
    with open_runs(paths) as runs:
        scorings = _chosen(scorings_of(runs, metrics), judges)
        pairs = _pairs(scorings, metrics)
        if not pairs:
            held = "; ".join(dict.fromkeys(s.name for s in scorings)) or "none"
            raise ConfigError(
                f"no metric has verdicts of two judges to compare; there are: {held}. "
                "Judge again with mnemoscope score RUN.db --judge OTHER, or name two run files of the same replies"
            )
        if not judges and not across:
            held = ", ".join(dict.fromkeys(scoring.name for pair in pairs for scoring in pair))
            raise ConfigError(
                f"verdicts of different judge keys are not compared unasked ({held}); name two with --judge, "
                "or add --across"
            )
        _refuse_other_replies(runs)
        clusters = {(row.scenario_id, row.probe_id): row.cluster for row in runs.probes()}
        return tuple(row for first, second in pairs for row in audit(first, second, clusters, seed=seed))


def _refuse_other_replies(runs: RunSet) -> None:
    """Only the judge may differ between two scorings; verdicts imported without replies are taken at their word."""
    if len(runs.members) < 2:
        return
    said: dict[CellKey, tuple[str, str]] = {}
    for member in runs.members:
        for cell in member.run.cells():
            reply = member.run.reply_of(cell)
            if cell.status != "ok" or reply.reasoning == NO_REPLY:
                continue
            text, label = said.setdefault(cell.key, (reply.visible_text, member.label))
            if text != reply.visible_text:
                raise ConfigError(
                    f"{cell.system} does not say the same to {cell.probe_id} of {cell.scenario_id} in {label} and in "
                    f"{member.label}; an audit compares judges on the same replies: judge one file again with "
                    "mnemoscope score"
                )


def _chosen(scorings: Sequence[Scoring], judges: Sequence[Sequence[str]]) -> list[Scoring]:
    if not judges:
        return list(scorings)
    chosen: list[Scoring] = []
    for keys in judges:
        found = [scoring for scoring in scorings if any(key in scoring.name for key in keys)]
        if not found:
            held = ", ".join(sorted({scoring.name for scoring in scorings})) or "none"
            raise ConfigError(f"no verdict here is of judge {' or '.join(keys)}; there are: {held}")
        chosen += found
    return chosen


def _pairs(scorings: Sequence[Scoring], metrics: Sequence[str]) -> list[tuple[Scoring, Scoring]]:
    by_metric: defaultdict[str, dict[str, Scoring]] = defaultdict(dict)
    for scoring in scorings:
        by_metric[scoring.metric].setdefault(scoring.name, scoring)
    pairs = []
    for found in by_metric.values():
        first, *others = found.values()
        pairs += [(first, other) for other in others]
    if not pairs and len(metrics) == 2 and all(by_metric.get(metric) for metric in metrics):
        one, two = (next(iter(by_metric[metric].values())) for metric in metrics)
        pairs.append((one, two))
    return pairs
