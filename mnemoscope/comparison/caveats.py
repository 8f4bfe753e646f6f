"""What a reader must know before believing a table: incomplete runs, unequal conditions, degenerate settings."""

from __future__ import annotations

import shlex
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from mnemoscope.comparison.conditions import NEVER_ANSWERS
from mnemoscope.comparison.merging import RunSet
from mnemoscope.comparison.strata import ALL
from mnemoscope.comparison.summary import Figure, SystemView
from mnemoscope.evaluators.verdict import NOT_JUDGED
from mnemoscope.runfile.notices import run_warnings

__all__ = ["caveats"]


def caveats(
    runs: RunSet, systems: Sequence[SystemView], figures: Sequence[Figure], aggregated: Sequence[str]
) -> tuple[str, ...]:
    """Every warning about a set of runs, gravest first.

    Args:
        runs: The run files.
        systems: Their systems.
        figures: Their figures.
        aggregated: What the aggregation warned of.
    """
    return (
        *_missing_cells(systems),
        *_from_runs(runs),
        *runs.notes,
        *_unequal(systems),
        *_from_figures(aggregated),
        *_half_judged(runs, figures),
        *_uneven_probes(figures),
        *_trained(systems),
        *_missing_baselines(systems),
        *_k_beyond_store(runs),
        *_estimates(runs),
    )


def _missing_cells(systems: Sequence[SystemView]) -> list[str]:
    lacking = [s for s in systems if not s.is_complete]
    if not lacking:
        return []
    done, expected = sum(s.cells_done for s in systems), sum(s.cells_expected for s in systems)
    named = ", ".join(f"{s.name} {s.cells_done:,}/{s.cells_expected:,}" for s in lacking[:6])
    more = f" and {len(lacking) - 6} more" if len(lacking) > 6 else ""
    return [f"incomplete: {done:,} of {expected:,} cells are there ({named}{more}); figures cover what is there"]


def _from_runs(runs: RunSet) -> list[str]:
    found = []
    for member in runs.members:
        prefix = f"{member.label}: " if len(runs.members) > 1 else ""
        found += [prefix + text for text in run_warnings(member.run) if not text.startswith("partial:")]
    return found


def _unequal(systems: Sequence[SystemView]) -> list[str]:
    by_key: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    keys = {key for system in systems for key in system.settings} - NEVER_ANSWERS
    for key in sorted(keys):
        for system in systems:
            by_key[key][system.settings.get(key, "not set")].append(system.name)
    return [
        f"unequal conditions: {key} is "
        + "; ".join(
            f"{value} for {', '.join(names[:4])}{' …' if len(names) > 4 else ''}" for value, names in values.items()
        )
        for key, values in by_key.items()
        if len(values) > 1
    ]


def _from_figures(texts: Sequence[str]) -> list[str]:
    """Warnings of the aggregation; failures that concern many metrics are told once."""
    failures = [text for text in texts if "cells failed" in text]
    rest = [text for text in texts if "cells failed" not in text]
    more = f" (the same for {len(failures) - 1:,} more metrics)" if len(failures) > 1 else ""
    return [*(text + more for text in failures[:1]), *rest]


def _half_judged(runs: RunSet, figures: Iterable[Figure]) -> list[str]:
    """Per judge: what it has not been asked about, and the commands that ask it."""
    left: dict[tuple[str, str | None], Counter[str]] = defaultdict(Counter)
    files: dict[tuple[str, str | None], dict[Path, None]] = defaultdict(dict)
    for figure in figures:
        if figure.stratum == ALL and (count := figure.n_excluded.get(NOT_JUDGED)):
            members = runs.members_of(figure.system)
            asked = members[0].run.judge_of(figure.metric, figure.judge_key)
            left[asked.judge, asked.model][figure.metric] += count
            files[asked.judge, asked.model] |= {member.run.path: None for member in members}
    found = []
    for (judge, model), counts in left.items():
        named = ", ".join(f"{metric} in {count:,} cells" for metric, count in counts.items())
        asking = ["--judge", judge, *(["--judge-model", model] if model else [])]
        asking += [part for metric in counts for part in ("--metric", metric)]
        commands = [shlex.join(["mnemoscope", "score", str(path), *asking]) for path in files[judge, model]]
        found.append(
            f"half judged: {judge} has not judged {named}; they are left out of its figures until you run "
            + " and ".join(commands)
        )
    return found


def _uneven_probes(figures: Iterable[Figure]) -> list[str]:
    expected: dict[tuple[str, str, str], dict[int, list[str]]] = defaultdict(lambda: defaultdict(list))
    for figure in figures:
        expected[figure.benchmark, figure.metric, figure.stratum][figure.n_expected].append(figure.system)
    uneven = {key: sizes for key, sizes in expected.items() if len(sizes) > 1}
    if not uneven:
        return []
    (_, metric, stratum), sizes = next(iter(sorted(uneven.items())))
    said = "; ".join(
        f"{n:,} for {', '.join(names[:3])}{' …' if len(names) > 3 else ''}" for n, names in sorted(sizes.items())
    )
    return [f"not the same probes: {metric} ({stratum}) has {said}; pairs use the probes that both answered"]


def _trained(systems: Sequence[SystemView]) -> list[str]:
    planned = [system.name for system in systems if system.row.profile.partition("(")[0] == "strategic"]
    if not planned:
        return []
    return [
        f"trained planner: {', '.join(planned)} learned from StratMem-Bench; there each item is planned by the model "
        "that has not seen its pair of people (trained on this benchmark's other pairs, cross-validated), elsewhere by "
        "the model of all pairs; published rows are zero-shot generation under another judge: not comparable"
    ]


def _missing_baselines(systems: Sequence[SystemView]) -> list[str]:
    present = {system.row.memory for system in systems}
    lacking = [name for name in ("none", "recent", "full-context", "oracle") if not any(_is(name, m) for m in present)]
    if not lacking:
        return []
    return [f"no row for {', '.join(lacking)}: without its floor and ceiling a memory's score says little"]


def _is(name: str, memory: str) -> bool:
    return memory == name or memory.startswith(f"{name}(")


def _k_beyond_store(runs: RunSet) -> list[str]:
    small: dict[tuple[str, int], set[str]] = defaultdict(set)
    for member, lane in runs.lanes():
        k = member.run.config.k
        if k is None or lane.stats is None or lane.status != "done":
            continue
        size = sum(lane.stats.items_by_kind.values())
        if 0 < size <= k:
            small[lane.memory, k].add(lane.scenario_id)
    return [
        f"k ≥ store: {memory} holds at most {k} items in {len(names):,} scenario{'s' if len(names) > 1 else ''}, "
        f"so recall@{k} there says nothing about its ranking"
        for (memory, k), names in sorted(small.items())
    ]


def _estimates(runs: RunSet) -> list[str]:
    if any(member.run.config.memory_tokens is not None for member in runs.members):
        return ["token budgets and context tokens are estimates (4 characters, or 1 of an unspaced script, per token)"]
    return ["context tokens are estimates (4 characters, or 1 of an unspaced script, per token)"]
