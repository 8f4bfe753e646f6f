"""A run's verdicts joined to a log's outcomes: which session each probe belongs to, and whose replies users rated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path

from mnemoscope.comparison.merging import RunSet, open_runs
from mnemoscope.comparison.naming import refuse_unknown_metrics, written_metrics
from mnemoscope.comparison.verdicts import all_verdicts
from mnemoscope.core.errors import UnknownNameError
from mnemoscope.evaluators.outcomes.reading import read_outcomes
from mnemoscope.evaluators.outcomes.records import SessionKey, SessionOutcome
from mnemoscope.evaluators.outcomes.table import CellName, OutcomeTable, ProbeName, outcome_table
from mnemoscope.scenarios.records import Probe, Scenario

__all__ = ["outcomes_of_runs", "sessions_of"]


def outcomes_of_runs(
    paths: Sequence[str | Path],
    outcomes: str | Path,
    *,
    metrics: Collection[str] = (),
    drop_users: Collection[str] = (),
    min_sd: float = 0.5,
    days: int = 7,
    seed: int = 0,
    resamples: int = 10_000,
) -> OutcomeTable:
    """Relate the metrics of run files to the outcomes of the sessions that their probes stand in.

    Args:
        paths: Run files.
        outcomes: A JSON Lines file; see `read_outcomes`.
        metrics: Only these; empty: all.
        drop_users: See `within_user`.
        min_sd: See `within_user`.
        days: See `returned`.
        seed: Of all draws and permutations.
        resamples: How many.

    Raises:
        DataError: The outcomes are not as their format says.
        RunFileError: A run file cannot be read.
        UnknownNameError: A metric that no verdict is of, or a user without a session; the nearest are listed.
    """
    wanted = written_metrics(metrics)
    read = read_outcomes(Path(outcomes))
    users = {outcome.user for outcome in read}
    for user in drop_users:
        if user not in users:
            raise UnknownNameError("user in these outcomes", user, get_close_matches(user, users, n=3, cutoff=0.3))
    with open_runs(paths) as runs:
        verdicts = list(all_verdicts(runs))
        refuse_unknown_metrics(wanted, (row.metric for row in verdicts))
        sessions = sessions_of(runs, read)
        unmatched = () if sessions else (_unmatched(runs, read),)
        table = outcome_table(
            verdicts,
            sessions,
            read,
            metrics=wanted,
            words=_words(runs),
            drop_users=drop_users,
            min_sd=min_sd,
            days=days,
            seed=seed,
            resamples=resamples,
        )
        replayed = [system.name for system in runs.systems() if system.evidence_class != "imported"]
    if not replayed:
        return replace(table, warnings=(*unmatched, *table.warnings))
    named = ", ".join(replayed[:4]) + (" …" if len(replayed) > 4 else "")
    said = (
        f"users rated the replies of the log, not those of {named}: "
        "such a row says what a metric goes with, not what the system would have been rated"
    )
    return replace(table, warnings=(*unmatched, said, *table.warnings))


def _unmatched(runs: RunSet, outcomes: Sequence[SessionOutcome]) -> str:
    """What to do where no session of the log is one that a probe stands in."""
    first, cluster = outcomes[0].key, next((row.cluster for row in runs.scenarios()), "none")
    return (
        f"0 of {len(outcomes):,} session{'s match' if len(outcomes) != 1 else ' matches'} a probe, so no metric is "
        f"related to anything: users of the log (such as {first.user!r}) must be the clusters of the scenarios (such "
        f"as {cluster!r}), and sessions their session ids (session {first.session!r}) or days; see mnemoscope scenario "
        "info"
    )


def sessions_of(runs: RunSet, outcomes: Sequence[SessionOutcome]) -> dict[ProbeName, SessionKey]:
    """The session of each probe that has one among the outcomes.

    The user is the scenario's cluster. The session is the one that the probe interrupts, by its id or, where ids are
    `s` and a number, by that number; where the probe opens a session, it is the user's only one on the probe's day.

    Args:
        runs: The run files.
        outcomes: One per session.
    """
    known = {outcome.key for outcome in outcomes}
    on_day = Counter((outcome.user, outcome.date) for outcome in outcomes)
    by_day = {(o.user, o.date): o.key for o in outcomes if on_day[o.user, o.date] == 1}
    found: dict[ProbeName, SessionKey] = {}
    for row in runs.scenarios():
        scenario = runs.scenario(row.scenario_id)
        for probe in scenario.probes:
            key = next((k for k in _candidates(scenario, probe) if k in known), None)
            if key is None and not probe.recent_turns and probe.now is not None:
                key = by_day.get((scenario.cluster, probe.now.date()))
            if key is not None:
                found[row.scenario_id, probe.probe_id] = key
    return found


def _candidates(scenario: Scenario, probe: Probe) -> list[SessionKey]:
    if not probe.recent_turns:
        return []
    name = str(probe.recent_turns[-1].session_id)
    number = name.removeprefix("s")
    return [SessionKey(scenario.cluster, each) for each in ((name, number) if number.isdigit() else (name,))]


def _words(runs: RunSet) -> dict[CellName, int]:
    """Words of every visible reply."""
    found: dict[CellName, int] = {}
    for member in runs.members:
        for cell in member.run.cells():
            if cell.status == "ok":
                name = (member.shown[cell.system], str(cell.scenario_id), str(cell.probe_id), cell.replicate)
                found[name] = len(member.run.reply_of(cell).visible_text.split())
    return found
