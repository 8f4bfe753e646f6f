"""A calibration as `mnemoscope judge calibrate` prints it: agreement by task, and what sways the judge."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mnemoscope.evaluators.calibration.library import CAUTION

if TYPE_CHECKING:
    from rich.console import RenderableType

    from mnemoscope.evaluators.calibration.record import Calibration, MemberAgreement, MetricCalibration

__all__ = ["calibration_json", "calibration_tables"]


def calibration_json(found: Calibration) -> dict[str, object]:
    """The calibration as its file has it, and for each metric why its κ is to be read with care."""
    document = found.model_dump(mode="json")
    metrics = zip(document["metrics"], found.metrics, strict=True)
    return {**document, "metrics": [{**plain, "cautions": list(one.cautions)} for plain, one in metrics]}


def calibration_tables(found: Calibration) -> list[RenderableType]:
    """Agreement with what must be read beside it, and acceptance by kind of reply where rows name kinds."""
    from mnemoscope.cli.tables import plain_table

    table = plain_table(f"{found.judge} against {found.source}", _swayed(found))
    for name in ("metric", "n", "cl.", "agree", "κ [95 % interval]", "sens.", "spec.", "judge says", "people say"):
        table.add_column(name, justify="left" if name in ("metric", "judge says", "people say") else "right")
    for one in found.metrics:
        table.add_row(
            one.metric,
            f"{one.n}/{one.rows}",
            str(one.clusters),
            _share(one.agreement),
            _kappa(one),
            _share(one.sensitivity.value),
            _share(one.specificity.value),
            _rates(one.judge),
            _rates(one.people),
        )
    kinds = plain_table("accepted, by kind of reply (judge / people)")
    kinds.add_column("kind")
    for one in found.metrics:
        kinds.add_column(one.metric, justify="right")
    names = sorted({kind for one in found.metrics for kind in one.kinds})
    for kind in names:
        cells = [one.kinds.get(kind) for one in found.metrics]
        kinds.add_row(kind, *("" if c is None else f"{c.judge.count}/{c.people.count} of {c.judge.n}" for c in cells))
    return [table, "", kinds] if names else [table]


def _swayed(found: Calibration) -> str:
    lines = []
    for one in found.metrics:
        if one.cautions:
            lines.append(f"{CAUTION} {one.metric}: {', '.join(one.cautions)}: too few to believe the interval")
        lines += [
            f"{one.metric}: {name}: {p.gap:+.3f} (n={p.n}; {p.meaning})" for name, p in one.probes.items() if p.gap
        ]
        if one.consistency is not None:
            flips = one.consistency.flips
            lines.append(
                f"{one.metric}: asked {one.consistency.asked} times: {flips.count} of {flips.n} answers differ"
            )
        if one.members is not None:
            lines.append(f"{one.metric}: {_members(one.members)}")
        lines += [f"{one.metric}: {one.n_invalid} invalid, {one.n_error} failed"] if one.n_invalid + one.n_error else []
    if found.injection is not None:
        steered = found.injection.steered
        lines.append(f"steered by instructions in replies: {steered.count} of {steered.n}")
    return "\n".join(lines)


def _kappa(one: MetricCalibration) -> str:
    return f"{_kappa_of(one)}{CAUTION if one.cautions and one.kappa is not None else ''}"


def _kappa_of(one: MetricCalibration | MemberAgreement) -> str:
    if one.kappa is None:
        return f"– ({one.reason})"
    if one.low is None or one.high is None:
        return f"{one.kappa:.2f}"
    # of few rows that all agree, every draw is the same: that is no certainty
    ends = " [ – ]" if one.low == one.high else f" [{one.low:.2f}, {one.high:.2f}]"
    return f"{one.kappa:.2f}{ends}"


def _members(found: MemberAgreement) -> str:
    pairs = ", ".join(f"{pair} {_share(share)}" for pair, share in found.pairwise.items())
    return f"members agree: Fleiss' κ {_kappa_of(found)} n={found.n}; equal labels: {pairs or '–'}"


def _rates(rates: dict[str, float] | object) -> str:
    assert isinstance(rates, dict)
    return ", ".join(f"{label} {share:.0%}" for label, share in rates.items())


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"
