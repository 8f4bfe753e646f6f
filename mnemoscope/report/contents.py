"""The page's parts put together: title, facts, tables, charts, probes, cards, footer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mnemoscope import __version__
from mnemoscope.comparison.merging import RunSet
from mnemoscope.comparison.summary import Comparison, Cost, Funnel
from mnemoscope.evaluators.attribution import STAGES
from mnemoscope.evaluators.metrics.registry import lower_is_better
from mnemoscope.report.figures import FunnelChart, funnel_chart
from mnemoscope.report.page import Table, headline_table, stratum_tables
from mnemoscope.report.pairs import PairTable, pair_tables
from mnemoscope.report.selecting import ProbeChoice, ProbeGroup
from mnemoscope.report.wording import Wording
from mnemoscope.runfile.judging import Judgements

__all__ = ["Page", "page_of"]

_HASH_DIGITS = 16


@dataclass(frozen=True, slots=True)
class CostCell:
    """One number as printed and as sorted."""

    text: str
    sort: str


@dataclass(frozen=True, slots=True)
class CostRow:
    """What one system took."""

    system: str
    cells: tuple[CostCell, ...]


@dataclass(frozen=True, slots=True)
class StrataPart:
    """The strata of one benchmark, and where their names come from."""

    name: str
    source: str
    tables: tuple[Table, ...]


@dataclass(frozen=True, slots=True)
class CardView:
    """One data card, or the settings of one run file."""

    title: str
    lines: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Page:
    """Everything on the page."""

    version: str
    title: str
    lede: str
    facts: tuple[tuple[str, str], ...]
    nav: tuple[tuple[str, str], ...]
    warnings: tuple[str, ...]
    headlines: tuple[Table, ...]
    has_privileged: bool
    has_imported: bool
    has_gaps: bool
    has_unequal: bool
    """Whether a row says that its settings are others than most rows'."""
    funnel: FunnelChart | None
    funnels: tuple[Funnel, ...]
    stages: tuple[str, ...]
    """Columns of the funnel: what came through first and the earliest loss last; `unknown` only where it occurs."""
    strata: tuple[StrataPart, ...]
    pairs: tuple[tuple[str, tuple[PairTable, ...]], ...]
    pairs_note: str
    costs: tuple[CostRow, ...]
    probes_note: str
    probe_groups: tuple[ProbeGroup, ...]
    outcomes: tuple[str, ...]
    has_doubt: bool
    """Whether a shown probe has a judgement that a person should look at."""
    hashes: tuple[str, ...]
    """Content of the run files, in their order: what `report --check` compares."""
    cards: tuple[CardView, ...]
    footer: str


def page_of(runs: RunSet, comparison: Comparison, choice: ProbeChoice, hashes: Sequence[str], words: Wording) -> Page:
    """The page of one comparison."""
    headlines = {name: wanted for name, wanted in comparison.headlines.items() if wanted}
    lower = frozenset(f.metric for f in comparison.metrics if lower_is_better(f.metric))
    privileged = frozenset(s.name for s in comparison.systems if s.row.privileged)
    strata = tuple(
        StrataPart(name, _strata_source(runs, name), tables)
        for name, wanted in headlines.items()
        if (tables := stratum_tables(comparison, name, wanted, words, lower))
    )
    pairs = tuple(
        (name, differences)
        for name, wanted in headlines.items()
        if (differences := pair_tables(comparison, name, wanted))
    )
    scenarios = runs.scenarios()
    return Page(
        version=__version__,
        title=f"{words('title')}: {', '.join(dict.fromkeys(row.benchmark for row in scenarios))}",
        lede=words("lede", systems=len(comparison.systems), probes=f"{choice.total:,}", scenarios=len(scenarios)),
        facts=_facts(runs, comparison, words),
        nav=_nav(words, has_strata=bool(strata)),
        warnings=comparison.warnings,
        headlines=tuple(headline_table(comparison, name, wanted, words, lower) for name, wanted in headlines.items()),
        has_privileged=bool(privileged),
        has_imported=any(s.is_imported for s in comparison.systems),
        has_gaps=any(f.vs_none is not None or f.vs_oracle is not None for f in comparison.metrics),
        has_unequal=any(s.unequal for s in comparison.systems),
        funnel=funnel_chart(comparison.funnels, privileged) if comparison.funnels else None,
        funnels=comparison.funnels,
        stages=tuple(s for s in reversed(STAGES) if s != "unknown" or any(f.stages[s] for f in comparison.funnels)),
        strata=strata,
        pairs=pairs,
        pairs_note=_pairs_note(comparison, words),
        costs=tuple(_cost(cost) for cost in comparison.costs),
        probes_note=_probes_note(choice, words),
        probe_groups=choice.groups,
        outcomes=choice.outcomes,
        has_doubt=choice.has_doubt,
        hashes=tuple(hashes),
        cards=(*_data_cards(runs, words), *_run_cards(runs, words)),
        footer=words(
            "footer",
            version=__version__,
            files=", ".join(member.run.path.name for member in runs.members),
            hash=", ".join(one[:_HASH_DIGITS] for one in hashes),
        ),
    )


def _nav(words: Wording, *, has_strata: bool) -> tuple[tuple[str, str], ...]:
    names = ("headline", "funnel", "strata", "pairs", "costs", "probes", "data")
    return tuple((name, words(f"nav_{name}")) for name in names if name != "strata" or has_strata)


def _facts(runs: RunSet, comparison: Comparison, words: Wording) -> tuple[tuple[str, str], ...]:
    systems, configs = comparison.systems, [member.run.config for member in runs.members]
    keys = [member.run.meta.keys for member in runs.members]
    cells = words(
        "cells_value",
        done=f"{sum(s.cells_done for s in systems):,}",
        expected=f"{sum(s.cells_expected for s in systems):,}",
        failed=f"{sum(s.cells_failed for s in systems):,}",
    )
    if not comparison.is_complete:
        cells += f" – {words('incomplete')}"
    budgets = [
        " · ".join(
            filter(
                None,
                (
                    "" if config.k is None else words("budget_k", k=config.k),
                    "" if config.memory_tokens is None else words("budget_tokens", n=f"{config.memory_tokens:,}"),
                ),
            )
        )
        or words("budget_none")
        for config in configs
    ]
    judged = comparison.judgements
    return (
        (words("cells"), cells),
        *(() if judged is None else ((words("judgements"), _judgements(judged, words)),)),
        (words("data"), _each(row.source_spec for row in runs.scenarios())),
        (words("budget"), _each(budgets)),
        (words("writer"), _each(k.get("writer", "–") for k in keys)),
        *(
            ((words("judged_by"), _each(_judge(judge, judge_keys) for judge, judge_keys in comparison.judges.items())),)
            if comparison.judges
            else ()
        ),
        (words("attributed_by"), _each(k.get("detector", "–") for k in keys)),
        (words("embedder"), _each(k.get("embedder", "–") for k in keys)),
        (words("captions"), _each(words("on") if config.captions else words("off") for config in configs)),
    )


def _judgements(judged: Judgements, words: Wording) -> str:
    share, asked, failed = f"{judged.failed_share:.1%}", f"{judged.asked:,}", f"{judged.n_failed:,}"
    said = words("judgements_value", asked=asked, failed=failed, share=share)
    causes = ", ".join(f"{cause} {count:,}" for cause, count in judged.failed.items())
    return f"{said}: {causes}" if causes else said


def _each(values: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(values))


def _strata_source(runs: RunSet, benchmark: str) -> str:
    return _each(
        row.card.strata_source for row in runs.scenarios() if row.benchmark == benchmark and row.card.strata_source
    )


def _pairs_note(comparison: Comparison, words: Wording) -> str:
    if comparison.baseline is None:
        return ""
    return words("pairs_chosen" if comparison.baseline_is_chosen else "pairs_baseline", baseline=comparison.baseline)


def _judge(judge: str, keys: Sequence[str]) -> str:
    return judge if tuple(keys) == (judge,) else f"{judge} ({', '.join(keys)})"


def _probes_note(choice: ProbeChoice, words: Wording) -> str:
    if choice.shown == choice.total:
        return words("probes_all", n=f"{choice.total:,}")
    omitted = choice.total - choice.shown
    return words("probes_some", shown=f"{choice.shown:,}", n=f"{choice.total:,}", omitted=f"{omitted:,}")


def _cost(cost: Cost) -> CostRow:
    def number(value: float | None, form: str) -> CostCell:
        return CostCell("–", "") if value is None else CostCell(format(value, form), f"{value:.6f}")

    tokens = cost.prompt_tokens + cost.completion_tokens
    return CostRow(
        cost.system,
        (
            number(cost.context_tokens, ",.0f"),
            number(cost.given, ",.1f"),
            number(cost.model_calls, ",d"),
            CostCell(f"{cost.prompt_tokens:,} / {cost.completion_tokens:,}", str(tokens)),
            number(cost.embedded_texts, ",d"),
            number(cost.reply_ms, ",.1f"),
            number(cost.reply_characters, ",.0f"),
            number(cost.ingest_ms / 1000, ",.1f"),
        ),
    )


def _data_cards(runs: RunSet, words: Wording) -> Sequence[CardView]:
    cards: dict[str, CardView] = {}
    for row in runs.scenarios():
        card = row.card
        title = f"{card.benchmark} – {card.file}"
        lines = [
            (words("source"), card.source),
            ("sha256", card.sha256),
            (words("licence"), card.licence),
            (words("annotation"), card.annotation),
            (words("mode"), card.mode),
            *((words("known_errors"), text) for text in card.known_errors),
            (words("settings"), "; ".join(f"{name}: {value}" for name, value in card.settings.items())),
        ]
        cards[title] = CardView(title, tuple(line for line in lines if line[1]))
    return tuple(cards.values())


def _run_cards(runs: RunSet, words: Wording) -> Sequence[CardView]:
    cards = []
    for member in runs.members:
        meta = member.run.meta
        lines = [
            (words("settings"), "; ".join(f"{name}: {value}" for name, value in sorted(member.settings.items()))),
            ("config", meta.config_hash),
            (words("packages"), ", ".join(f"{name} {version}" for name, version in meta.packages.items())),
        ]
        cards.append(CardView(f"{words('run_file')} {member.run.path.name}", tuple(lines)))
    return cards
