"""Choosing probes when not all are asked: by seed, over strata and clusters alike, never the first ones."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from mnemoscope.core.identity import derive_seed
from mnemoscope.scenarios.records import Scenario, Style

__all__ = ["choose_probes"]


@dataclass(frozen=True, slots=True)
class _Candidate:
    scenario_id: str
    probe_id: str
    cluster: str
    stratum: tuple[str, ...]
    draw: int
    """Its place in a seeded order that knows nothing of the file's order."""


def choose_probes(
    scenarios: Iterable[Scenario], *, styles: Sequence[Style], limit: int | None, seed: int
) -> Mapping[str, tuple[str, ...]]:
    """The probes to ask of one scenario set.

    Strata get their share of the limit by largest remainders; within them, clusters are drawn as evenly as they can
    be over the whole choice, so that a limit of at least the number of clusters leaves none out where the strata allow
    it. The same seed and data give the same choice, whatever the order of the file.

    Args:
        scenarios: One set, as one `--scenario` gave it; it is iterated once, and no scenario is kept.
        styles: Only probes of these styles; empty: all.
        limit: At most so many; None: all.
        seed: Of the draw.

    Returns:
        Scenario id to its chosen probes in the scenario's order; scenarios without any are left out.
    """
    candidates = [
        _Candidate(
            scenario.scenario_id,
            probe.probe_id,
            scenario.cluster,
            (str(probe.style), *scenario.gold_by_probe[probe.probe_id].strata),
            derive_seed(seed, "limit", scenario.scenario_id, probe.probe_id),
        )
        for scenario in scenarios
        for probe in scenario.probes
        if not styles or probe.style in styles
    ]
    kept = candidates if limit is None or limit >= len(candidates) else _draw(candidates, limit, seed)
    names = {(c.scenario_id, c.probe_id) for c in kept}
    chosen: dict[str, list[str]] = defaultdict(list)
    for candidate in candidates:
        if (candidate.scenario_id, candidate.probe_id) in names:
            chosen[candidate.scenario_id].append(candidate.probe_id)
    return {scenario_id: tuple(probes) for scenario_id, probes in chosen.items()}


def _draw(candidates: Sequence[_Candidate], limit: int, seed: int) -> list[_Candidate]:
    strata: dict[tuple[str, ...], dict[str, list[_Candidate]]] = defaultdict(lambda: defaultdict(list))
    for candidate in sorted(candidates, key=lambda c: c.draw, reverse=True):
        strata[candidate.stratum][candidate.cluster].append(candidate)
    quotas = _quotas({key: sum(map(len, clusters.values())) for key, clusters in strata.items()}, limit, seed)
    taken: Counter[str] = Counter()
    chosen: list[_Candidate] = []
    # The rarest strata choose first: they have the fewest clusters to choose from.
    for stratum in sorted(quotas, key=lambda key: (quotas[key], key)):
        clusters = strata[stratum]
        for _ in range(quotas[stratum]):
            cluster = min((c for c in clusters if clusters[c]), key=lambda c: (taken[c], clusters[c][-1].draw))
            taken[cluster] += 1
            chosen.append(clusters[cluster].pop())
    return chosen


def _quotas(sizes: Mapping[tuple[str, ...], int], limit: int, seed: int) -> dict[tuple[str, ...], int]:
    """Each stratum's share; what rounding leaves goes to the largest remainders, equal ones in a seeded order."""
    total = sum(sizes.values())
    exact = {key: limit * size / total for key, size in sizes.items()}
    quotas = {key: int(share) for key, share in exact.items()}
    order = {key: derive_seed(seed, "stratum", *key) for key in sizes}
    for key in sorted(sizes, key=lambda k: (round(quotas[k] - exact[k], 9), order[k]))[: limit - sum(quotas.values())]:
        quotas[key] += 1
    return quotas
