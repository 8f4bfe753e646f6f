"""Comparison tables for a terminal of 80 columns: names give way, numbers never do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from mnemoscope.comparison.comparing import BY
from mnemoscope.comparison.strata import ALL, MACRO, micro_stratum, shown_strata, stratum_title
from mnemoscope.comparison.summary import Comparison, Cost, Figure, Funnel, PairFigure, SystemView
from mnemoscope.core.language.display import clip, visible_controls
from mnemoscope.evaluators.attribution import STAGES
from mnemoscope.evaluators.metrics.registry import lower_is_better

__all__ = ["WIDTH", "comparison_tables", "plain_table"]

WIDTH = 80
_NAME, _NARROW, _PAIR = 27, 19, 25
_PAIRS_SHOWN = 12
"""Differences that a table shows of each metric; JSON, CSV and the report have all."""


def plain_table(title: str = "", caption: str = "") -> Table:
    """An empty table in the one style of this program."""
    return Table(
        title=title or None,
        title_justify="left",
        title_style="bold",
        caption=caption or None,
        caption_justify="left",
        caption_style="dim",
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        padding=(0, 1, 0, 0),
        header_style="bold",
    )


def comparison_tables(comparison: Comparison, *, by: str | None, pairs: bool = True) -> Iterator[RenderableType]:
    """One table per headline figure, then the losses, the differences, and how many cells are there.

    Args:
        comparison: What to print.
        by: As given to `compare_runs`; with it, tables have a row per system and stratum.
        pairs: Whether to print the differences between systems.
    """
    for benchmark, headlines in comparison.headlines.items():
        # By stratum, one table of a metric holds all of its headlines.
        for metric, stratum in headlines if by is None else {h.metric: h for h in headlines}.values():
            every = [f for f in comparison.metrics if f.benchmark == benchmark and f.metric == metric]
            for judge in dict.fromkeys(f.judge_key for f in every):
                figures = [f for f in every if f.judge_key == judge]
                if by is not None:
                    yield _strata_table(comparison, benchmark, metric, figures, whole=by not in BY)
                else:
                    yield _figure_table(comparison, benchmark, metric, stratum, figures)
    if by is None and comparison.funnels:
        yield _funnel_table(comparison.funnels)
    if by is None and comparison.costs:
        yield _reply_table(comparison.costs)
    if by is None and pairs:
        for benchmark, headlines in comparison.headlines.items():
            for metric, stratum in headlines:
                wanted = (benchmark, metric, stratum)
                found = [p for p in comparison.pairs if (p.benchmark, p.metric, p.stratum) == wanted]
                if found:
                    yield _pair_table(benchmark, metric, stratum, found, comparison)
    if comparison.judgements is not None:
        yield str(comparison.judgements)
    if comparison.judges:
        yield f"judged by {', '.join(comparison.judges)}; --json has the keys"
    if comparison.detectors and comparison.funnels:
        yield f"losses attributed by {', '.join(comparison.detectors)}"
    yield _state(comparison)


def _state(comparison: Comparison) -> str:
    done, failed = (sum(getattr(s, f"cells_{what}") for s in comparison.systems) for what in ("done", "failed"))
    expected = sum(s.cells_expected for s in comparison.systems)
    state = "complete" if comparison.is_complete else "incomplete"
    return f"{state}: {done:,} of {expected:,} cells, {failed:,} failed"


def _name(text: str, limit: int = _NAME) -> Text:
    return Text(visible_controls(clip(text, limit)), no_wrap=True)


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{value * 100:.1f}"


def _points(value: float | None) -> str:
    return "–" if value is None else f"{value * 100:+.1f}"


def _span(figure: Figure) -> str:
    if figure.value is None:
        return "–"
    if figure.low is None:
        return f"{_percent(figure.value)} [ – ]"
    return f"{_percent(figure.value)} [{_percent(figure.low)}, {_percent(figure.high)}]"


def _marks(view: SystemView) -> str:
    return ", ".join(view.marks if view.is_complete else (*view.marks, "incomplete"))


def _title(benchmark: str, metric: str, stratum: str) -> str:
    where = "" if stratum == ALL else f" · {stratum_title(benchmark, stratum)}"
    return f"{metric} · {benchmark}{where}" + (" · lower is better" if lower_is_better(metric) else "")


def _judge(figures: Sequence[Figure]) -> str:
    figure = next((f for f in figures if f.judge_key), None)
    if figure is None:
        return ""
    if not figure.judged:
        return f"rule: {figure.judge_key}"
    return f"judge: {figure.judge_key} ({figure.calibration})"


def _ordered(comparison: Comparison, figures: dict[str, Figure], metric: str) -> list[SystemView]:
    """Ranked, then imported ones in their order, then those that read gold."""
    sign = 1 if lower_is_better(metric) else -1

    def key(view: SystemView) -> tuple[int, bool, float, int]:
        value = figures[view.name].value if view.name in figures and not view.is_imported else None
        return (view.part, value is None, sign * (value or 0.0), view.row.position)

    return sorted(comparison.systems, key=key)


def _figure_table(
    comparison: Comparison, benchmark: str, metric: str, stratum: str, figures: Sequence[Figure]
) -> RenderableType:
    found = {f.system: f for f in figures if f.stratum == stratum}
    macro = {f.system: f for f in figures if f.stratum == MACRO} if stratum == micro_stratum(benchmark) else {}
    failed = any(f.n_failed for f in found.values())
    table = plain_table(_title(benchmark, metric, stratum), _caption(figures, found, failed, bool(macro)))
    width = _NARROW if failed or macro else _NAME
    table.add_column("system", min_width=8, max_width=width, overflow="ellipsis", no_wrap=True)
    head = "micro\n% [95 % interval]" if macro else "% [95 % interval]"
    table.add_column(head, justify="right", no_wrap=True, min_width=19)
    if macro:
        table.add_column("macro\n%", justify="right", no_wrap=True, min_width=5)
    table.add_column("n", justify="right", no_wrap=True, min_width=9)
    if failed:
        table.add_column("strict", justify="right", no_wrap=True, min_width=6)
    table.add_column("evidence", max_width=19, overflow="fold")
    part = 0
    for view in _ordered(comparison, found, metric):
        if (figure := found.get(view.name)) is None:
            continue
        if view.part != part and table.row_count:
            table.add_section()
        part = view.part
        cells: list[str | Text] = [_name(view.name, width), _span(figure)]
        cells += [_percent(macro[view.name].value if view.name in macro else None)] if macro else []
        cells.append(f"{figure.n_scored}/{figure.n_expected}")
        cells += [_percent(figure.strict) if figure.n_failed else ""] if failed else []
        table.add_row(*cells, _marks(view), style="dim" if view.part else None)
    return Group(table, Text(""))


def _caption(figures: Sequence[Figure], found: dict[str, Figure], failed: bool, macro: bool) -> str:
    lines = [_judge(list(found.values()))]
    if flipped := max((f.flip_rate or 0.0 for f in found.values()), default=0.0):
        lines.append(f"up to {_percent(flipped)} % of the judge's votes went against its own majority")
    if macro:
        lines.append("micro: probes weigh the same; macro: categories do")
    if (ceiling := next((f.ceiling for f in figures if f.ceiling is not None), None)) is not None:
        lines.append(f"ceiling over all: {_percent(ceiling)}, by the overlay")
    if left_out := sorted({reason for f in found.values() if f.value is None for reason in f.n_excluded}):
        lines.append(f"–: {'; '.join(left_out)}")
    if any(f.low is None and f.value is not None for f in found.values()):
        lines.append("[ – ]: one cluster, so no interval")
    if failed:
        causes: dict[str, int] = {}
        for figure in found.values():
            for cause, count in (
                *figure.n_error.items(),
                *((("invalid", figure.n_invalid),) if figure.n_invalid else ()),
            ):
                causes[cause] = causes.get(cause, 0) + count
        said = ", ".join(f"{cause} {count}" for cause, count in sorted(causes.items()))
        lines.append(f"strict counts failures as 0, or 1 where lower is better: {said}")
    return "\n".join(line for line in lines if line)


def _strata_table(
    comparison: Comparison, benchmark: str, metric: str, figures: Sequence[Figure], *, whole: bool
) -> RenderableType:
    strata = shown_strata(benchmark, (f.stratum for f in figures if f.n_expected))
    gaps = any(f.vs_none is not None or f.vs_oracle is not None for f in figures)
    said = "vs: points above or below the same profile without memory, and with gold" if gaps else ""
    table = plain_table(_title(benchmark, metric, ALL), "\n".join(filter(None, (_judge(figures), said))))
    where, name = (13, 16) if gaps else (22, _NAME)
    table.add_column("stratum", max_width=where, overflow="ellipsis", no_wrap=True)
    table.add_column("system", max_width=name, overflow="ellipsis", no_wrap=True)
    table.add_column("% [95 % interval]", justify="right", no_wrap=True, min_width=19)
    table.add_column("n", justify="right", no_wrap=True, min_width=7 if gaps else 9)
    for other in ("none", "oracle") if gaps else ():
        table.add_column(f"vs\n{other}", justify="right", no_wrap=True, min_width=6)
    for stratum in strata:
        if whole and stratum == ALL:
            continue
        found = {f.system: f for f in figures if f.stratum == stratum}
        label = _name(stratum_title(benchmark, stratum), where)
        for view in _ordered(comparison, found, metric):
            if (figure := found.get(view.name)) is not None:
                cells = (_name(view.name, name), _span(figure), f"{figure.n_scored}/{figure.n_expected}")
                vs = (_points(figure.vs_none), _points(figure.vs_oracle)) if gaps else ()
                table.add_row(label, *cells, *vs)
                label = Text("")
        table.add_section()
    return Group(table, Text(""))


def _funnel_table(funnels: Sequence[Funnel]) -> RenderableType:
    skipped = () if any(funnel.stages["unknown"] for funnel in funnels) else ("unknown",)
    stages = [stage for stage in STAGES if stage not in skipped]
    table = plain_table(
        "where gold facts were lost",
        "one row adds up to its facts; right = said, and not contradicted;\n"
        "retr.: stored, but not retrieved; planned: retrieved, but not planned;\n"
        "of nice memories one is wanted; failed cells are left out"
        + ("" if "unknown" in skipped else "\nunknown: not right or not asked, and where it was lost cannot be told"),
    )
    table.add_column("system", max_width=_NAME, overflow="ellipsis", no_wrap=True)
    heads = {"kept": "right", "not-stored": "stored", "not-retrieved": "retr.", "not-planned": "planned"}
    for stage in stages:
        head = heads.get(stage, stage.removeprefix("not-"))
        table.add_column(
            head if stage in ("kept", "wrong", "unknown") else f"not\n{head}",
            justify="right",
            no_wrap=True,
            min_width=5,
        )
    table.add_column("facts", justify="right", no_wrap=True, min_width=5)
    for funnel in funnels:
        table.add_row(_name(funnel.system), *(str(funnel.stages[stage]) for stage in stages), str(funnel.facts))
    return Group(table, Text(""))


def _reply_table(costs: Sequence[Cost]) -> RenderableType:
    table = plain_table("what a reply was given, and its length", "means per reply; tokens are estimates")
    table.add_column("system", max_width=_NAME, overflow="ellipsis", no_wrap=True)
    for head in ("memories\ngiven", "memory\ntokens", "characters\nreplied"):
        table.add_column(head, justify="right", no_wrap=True)
    for cost in costs:
        found = (cost.given, cost.context_tokens, cost.reply_characters)
        table.add_row(_name(cost.system), *("–" if value is None else f"{value:,.1f}" for value in found))
    return Group(table, Text(""))


def _pair_table(
    benchmark: str, metric: str, stratum: str, pairs: Sequence[PairFigure], comparison: Comparison
) -> RenderableType:
    baseline, rules = comparison.baseline, comparison.statistics
    ordered = sorted(pairs, key=lambda p: (not p.comparable, -abs(p.delta or 0.0), p.a, p.b))
    shown = ordered[:_PAIRS_SHOWN]
    notes = [
        f"p, rows: {', '.join(sorted({pair.test for pair in shown}))}, clusters ignored;",
        f"p, cluster: by sign flips of clusters, after {rules.correction.title()}; * below {_level(rules.alpha)},",
        "else no difference shown; (p): not comparable;",
        "mde: detectable at 80 % power",
        *_floors(shown),
    ]
    if (margin := rules.equivalence_margin) is not None:
        notes.append(f"±{margin * 100:g}: shown to be less than {margin * 100:g} points apart, by two one-sided tests")
    if any(pair.is_within_flips for pair in shown):
        notes.append("~: no more than the judge's own changes of mind can make")
    if comparison.baseline_is_chosen:
        notes.append("no --baseline was given and systems are more than eight:")
        notes.append("the first of recent, full-context, bm25 and none is it, else the first")
    if len(ordered) > len(shown):
        notes.append(f"the {len(shown)} largest of {len(ordered)} pairs; --json has all")
    width = _PAIR if margin is None else _PAIR - 7
    table = plain_table(f"difference in {_title(benchmark, metric, stratum)}", "\n".join(notes))
    table.add_column(f"a − {clip(baseline, width)}" if baseline else "a − b", max_width=width, overflow="fold")
    table.add_column("points [interval]", justify="right", no_wrap=True, min_width=19)
    table.add_column("p\nrows", justify="right", no_wrap=True, min_width=4)
    table.add_column("p\ncluster", justify="right", no_wrap=True, min_width=7)
    table.add_column("n/cl", justify="right", no_wrap=True, min_width=6)
    table.add_column("mde", justify="right", no_wrap=True, min_width=4)
    if margin is not None:
        table.add_column(f"±{margin * 100:g}", no_wrap=True, min_width=5)
    for pair in shown:
        delta = _points(pair.delta)
        if pair.low is not None and pair.high is not None:
            delta += f" [{pair.low * 100:+.1f}, {pair.high * 100:+.1f}]"
        by_rows, p = _p(pair.p), _p(pair.p_adjusted)
        p = f"({p})" if not pair.comparable else f"{p}*" if pair.is_significant else p
        p += "~" if pair.is_within_flips else ""
        mde = "–" if pair.mde is None else f"{pair.mde * 100:.0f}"
        names = visible_controls(clip(pair.a, width))
        names += "" if baseline else f"\n− {visible_controls(clip(pair.b, width - 2))}"
        counts = f"{pair.n}/{pair.clusters}"
        within = () if margin is None else ("shown" if pair.is_equivalent else "–",)
        table.add_row(Text(names), delta, by_rows, p, counts, mde, *within, style=None if pair.comparable else "dim")
    return Group(table, Text(""))


def _floors(pairs: Sequence[PairFigure]) -> Iterator[str]:
    """The smallest p that the number of clusters allows, said once for each number that allows little."""
    floors = {pair.clusters: pair.p_floor for pair in pairs if pair.p_floor is not None and pair.p_floor >= 0.0005}
    if floors:
        said = ", ".join(f"{_p(floor)} with {clusters}" for clusters, floor in sorted(floors.items()))
        yield f"smallest p that clusters allow, before correction: {said}"


def _level(alpha: float) -> str:
    return f"{alpha:g}".removeprefix("0")


def _p(value: float | None) -> str:
    if value is None:
        return "–"
    return "<.001" if value < 0.0005 else f"{value:.3f}".removeprefix("0")
