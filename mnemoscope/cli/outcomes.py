"""`mnemoscope outcomes`: what users felt and did, beside the metrics of the replies they got."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mnemoscope.cli.output import JsonFlag, emit_json, note, show

if TYPE_CHECKING:
    from mnemoscope.evaluators.outcomes.behaviour import Rate
    from mnemoscope.evaluators.outcomes.records import SessionKey
    from mnemoscope.evaluators.outcomes.relation import Relation
    from mnemoscope.evaluators.outcomes.table import OutcomeTable

__all__ = ["outcomes"]


def outcomes(
    run: Annotated[Path, typer.Argument(help="The run file.", show_default=False)],
    log: Annotated[Path, typer.Argument(help="Outcomes of sessions, one JSON object per line.", show_default=False)],
    metric: Annotated[list[str] | None, typer.Option("--metric", help="Only this metric; repeatable.")] = None,
    drop_user: Annotated[
        list[str] | None, typer.Option("--drop-user", help="Leave this user's ratings out; repeatable.")
    ] = None,
    min_sd: Annotated[
        float, typer.Option("--min-sd", min=0.0, help="Leave out users whose ratings' SD is this or less.")
    ] = 0.5,
    days: Annotated[int, typer.Option("--days", min=1, help="Days within which a user counts as come back.")] = 7,
    seed: Annotated[int, typer.Option("--seed", help="Of draws and permutations.")] = 0,
    as_json: JsonFlag = False,
) -> None:
    """Relate metrics to ratings within users, to coming back and to longer sessions; count what users say again.

    Two p-values stand beside each correlation: the naive one, and one that permutes within users.
    """
    from mnemoscope.comparison.outcomes import outcomes_of_runs

    table = outcomes_of_runs(
        [run], log, metrics=metric or (), drop_users=drop_user or (), min_sd=min_sd, days=days, seed=seed
    )
    if as_json:
        emit_json(_document(table))
        return
    for line in _lines(table):
        show(line)
    for warning in table.warnings:
        note(f"warning: {warning}")


def _lines(table: OutcomeTable) -> list[str]:
    kept, uptake, again = table.satisfaction, table.uptake, table.re_provisions
    rated = f"{_counted(kept.sessions, 'session')} of {_counted(kept.users, 'user')}"
    lines = [f"ratings: {rated}, as z within users (ddof {kept.ddof})"]
    lines += [
        f"  left out, {reason}: {_counted(d.users, 'user')}, {_counted(d.sessions, 'session')}"
        for reason, d in kept.dropped.items()
    ]
    lines.append(f"came back within {table.days} days: {_rate(table.returns)}")
    lines.append(
        f"said again after a miss: {again.after_miss} of {again.misses}, after a use: {again.after_use} of {again.uses}"
    )
    lines.append(f"recalls taken up: {uptake.taken} of {uptake.recalls}, put right: {uptake.put_right}")
    if table.turns.mean is not None:
        lines.append(f"next session longer by {table.turns.mean:+.2f} turns {_span(table.turns.low, table.turns.high)}")
    if table.assignment is not None and table.assignment.p is not None:
        found = table.assignment
        lines.append(f"user × condition: χ²({found.df}) = {found.statistic:.1f}, p = {found.p:.3f}")
    if (power := table.power) is not None:
        lines.append(
            f"  d = {power.d:.2f} between the two smallest ({power.sessions[0]:,} and {power.sessions[1]:,} sessions): "
            f"power {power.power * 100:.1f} %"
            + (f"; 80 % takes {power.needed:,} sessions each" if power.needed is not None else "")
        )
    lines += [_relation(relation) for relation in table.relations]
    for length in table.lengths:
        found_beta = length.adjusted
        said = found_beta.reason if found_beta.beta is None else f"β = {found_beta.beta:+.5f} per word"
        lines.append(f"{length.metric} by length: {said}")
        lines += [f"  {m.system}: {m.raw:.3f}, at equal length {m.adjusted:.3f} (n = {m.n})" for m in found_beta.means]
    return lines


def _counted(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def _relation(relation: Relation) -> str:
    found = relation.association
    head = f"{relation.metric} of {relation.system} with {relation.outcome}: "
    if found.rho is None:
        return f"{head}– ({found.reason}; n = {found.n})"
    naive, within = (("–" if p is None else f"{p:.3f}") for p in (found.p, found.p_within))
    return f"{head}ρ = {found.rho:+.2f} {_span(found.low, found.high)}, p {naive} naive, {within} within users, " + (
        f"n = {found.n} of {_counted(found.clusters, 'user')}"
    )


def _rate(rate: Rate) -> str:
    if rate.share is None:
        return "–"
    return f"{rate.share * 100:.1f} % ({rate.hits} of {rate.n}) {_span(rate.low, rate.high, 100)}"


def _span(low: float | None, high: float | None, scale: int = 1) -> str:
    return "[ – ]" if low is None or high is None else f"[{low * scale:.2f}, {high * scale:.2f}]"


def _document(table: OutcomeTable) -> dict[str, object]:
    """Plain data; sessions are lists of user and session."""
    from dataclasses import asdict

    document = asdict(table)
    document["satisfaction"]["dropped"] = {why: d._asdict() for why, d in table.satisfaction.dropped.items()}
    document["satisfaction"]["z"] = _by_session(table.satisfaction.z)
    document["turns"]["by_session"] = _by_session(table.turns.by_session)
    return document


def _by_session(values: Mapping[SessionKey, float]) -> list[dict[str, object]]:
    return [{"user": user, "session": session, "value": value} for (user, session), value in values.items()]
