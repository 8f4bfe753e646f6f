"""Verdicts and outcomes joined by session: how each metric goes with ratings and with what users did."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from mnemoscope.evaluators._tally import Cell, Row, collect
from mnemoscope.evaluators.outcomes.assignment import ConditionPower, assignment_of, condition_power
from mnemoscope.evaluators.outcomes.behaviour import (
    Changes,
    Rate,
    ReProvisions,
    Uptake,
    clustered_rate,
    length_changes,
    re_provisions,
    returned,
    uptake,
)
from mnemoscope.evaluators.outcomes.length import LengthAdjusted, LengthRow, length_adjusted
from mnemoscope.evaluators.outcomes.records import SessionKey, SessionOutcome
from mnemoscope.evaluators.outcomes.relation import Relation, relate
from mnemoscope.evaluators.outcomes.satisfaction import WithinUser, within_user
from mnemoscope.evaluators.statistics.randomisation import Randomisation

__all__ = ["LENGTH_METRICS", "CellName", "LengthFigure", "OutcomeTable", "ProbeName", "outcome_table"]

ProbeName = tuple[str, str]
"""Scenario id and probe id."""
CellName = tuple[str, str, str, int]
"""System, scenario id, probe id and replicate."""
LENGTH_METRICS = ("integration", "natural-integration")
"""Metrics that long replies gain on, and that are printed with length taken out."""


@dataclass(frozen=True, slots=True)
class LengthFigure:
    """One metric of one judge with length taken out, all systems together."""

    metric: str
    judge_key: str
    adjusted: LengthAdjusted


@dataclass(frozen=True, slots=True)
class OutcomeTable:
    """Everything that outcomes say about a set of verdicts."""

    satisfaction: WithinUser
    relations: tuple[Relation, ...]
    """By metric, judge, system and outcome."""
    returns: Rate
    days: int
    """Days within which a user counts as come back."""
    turns: Changes
    re_provisions: ReProvisions
    uptake: Uptake
    lengths: tuple[LengthFigure, ...]
    assignment: Randomisation | None
    """User × condition over the sessions of kept users; None where no session names a condition."""
    power: ConditionPower | None
    """Between the two smallest conditions; None where fewer than two have sessions enough."""
    sessions: int
    """In the outcomes."""
    unmatched: Mapping[str, int]
    """Probes and sessions that found no partner: `probe without session`, `session without probe`."""
    warnings: tuple[str, ...] = field(default=())


def outcome_table(
    rows: Iterable[Row],
    sessions: Mapping[ProbeName, SessionKey],
    outcomes: Sequence[SessionOutcome],
    *,
    metrics: Collection[str] = (),
    words: Mapping[CellName, int] | None = None,
    ddof: int = 1,
    min_sd: float = 0.5,
    drop_users: Collection[str] = (),
    days: int = 7,
    seed: int = 0,
    resamples: int = 10_000,
) -> OutcomeTable:
    """Relate every metric to every outcome.

    A session's value is the mean over its scored cells; verdicts of two judges are never averaged. Verdicts without a
    session are counted and left out.

    Args:
        rows: Verdicts, as `ScoreRow`.
        sessions: Which session each probe belongs to.
        outcomes: One per session.
        metrics: Only these; empty: all.
        words: Words of each cell's reply, to take length out of integration; None: not done.
        ddof: See `within_user`.
        min_sd: See `within_user`.
        drop_users: See `within_user`.
        days: See `returned`.
        seed: Of all draws and permutations.
        resamples: How many.

    Raises:
        ValueError: See `within_user` and `returned`.
    """
    satisfaction = within_user(outcomes, ddof=ddof, min_sd=min_sd, drop_users=drop_users)
    came_back, open_ended = returned(outcomes, days=days)
    turns = length_changes(outcomes, seed=seed, resamples=resamples)
    against = (("rating", satisfaction.z, True), ("returned", came_back, False), ("turns", turns.by_session, True))
    relations: list[Relation] = []
    lengths: list[LengthFigure] = []
    seen: dict[ProbeName, SessionKey | None] = {}
    for (metric, judge), cells in sorted(collect(rows).items()):
        if metrics and metric not in metrics:
            continue
        seen |= {(c.scenario_id, c.probe_id): sessions.get((c.scenario_id, c.probe_id)) for c in cells}
        for system, values in _by_system(cells, sessions).items():
            relations += [
                relate(
                    values,
                    outcome,
                    system=system,
                    metric=metric,
                    judge_key=judge,
                    name=name,
                    graded=graded,
                    seed=seed,
                    resamples=resamples,
                )
                for name, outcome, graded in against
                if outcome
            ]
        if words is not None and metric in LENGTH_METRICS:
            lengths.append(LengthFigure(metric, judge, length_adjusted(_length_rows(cells, words, sessions))))
    assignment = assignment_of(outcomes, satisfaction)
    moments = [moment for outcome in outcomes for moment in outcome.moments]
    known = {outcome.key for outcome in outcomes}
    unmatched = Counter(
        {
            "probe without session": sum(key is None or key not in known for key in seen.values()),
            "session without probe": len(known - set(seen.values())),
        }
    )
    return OutcomeTable(
        satisfaction=satisfaction,
        relations=tuple(relations),
        returns=clustered_rate(
            came_back, {"log ends before": open_ended} if open_ended else {}, seed=seed, resamples=resamples
        ),
        days=days,
        turns=turns,
        re_provisions=re_provisions(moments),
        uptake=uptake(moments),
        lengths=tuple(lengths),
        assignment=assignment,
        power=condition_power(assignment),
        sessions=len(outcomes),
        unmatched=dict(+unmatched),
        warnings=_warnings(satisfaction, relations),
    )


def _by_system(
    cells: Sequence[Cell], sessions: Mapping[ProbeName, SessionKey]
) -> dict[str, dict[SessionKey, float | None]]:
    scores: defaultdict[str, defaultdict[SessionKey, list[float]]] = defaultdict(lambda: defaultdict(list))
    for cell in cells:
        key = sessions.get((cell.scenario_id, cell.probe_id))
        if key is not None and cell.status != "not_applicable":
            scores[cell.system][key] += [] if cell.score is None else [cell.score]
    return {
        system: {key: sum(found) / len(found) if found else None for key, found in by_session.items()}
        for system, by_session in sorted(scores.items())
    }


def _length_rows(
    cells: Sequence[Cell], words: Mapping[CellName, int], sessions: Mapping[ProbeName, SessionKey]
) -> list[LengthRow]:
    """Clusters are users where the session is known, else scenarios."""
    found = []
    for cell in cells:
        said = words.get((cell.system, cell.scenario_id, cell.probe_id, cell.replicate))
        if cell.score is not None and said is not None:
            key = sessions.get((cell.scenario_id, cell.probe_id))
            found.append(LengthRow(cell.system, cell.scenario_id if key is None else key.user, cell.score, said))
    return found


def _warnings(satisfaction: WithinUser, relations: Sequence[Relation]) -> tuple[str, ...]:
    found = [
        f"left out, {reason}: {counts.users} user{'' if counts.users == 1 else 's'} with {counts.sessions} rated "
        f"session{'' if counts.sessions == 1 else 's'}"
        for reason, counts in satisfaction.dropped.items()
        if reason != "no rating"
    ]
    rated = [relation for relation in relations if relation.outcome == "rating"]
    if any(r.mixed is not None and r.mixed.singular for r in rated):
        found.append(
            "a within-user z differs little or not between users: where λ is 0, the mixed model is least squares"
        )
    if len(rated) > 1:
        found.append(f"{len(rated)} relations with the rating are tested; no p is adjusted for that")
    return tuple(found)
