"""Pools of must, nice and irrelevant memories, cut from a conversation the way StratMem-Bench's are.

Memories come from a window of one to three sessions, the session that follows is the current one, and the question is
asked at its end: what is remembered and what was just said never overlap in time. Labels are offline heuristics: the
question's evidence is must, what the same people said about something close is nice, the rest of the window is
irrelevant; each label's origin is written down.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mnemoscope.core.errors import ConfigError
from mnemoscope.core.identity import derive_seed, sha256_of
from mnemoscope.core.language.tokens import content_tokens
from mnemoscope.scenarios.builders.built import BuiltScenario, BuiltSet, history_block, native_time
from mnemoscope.scenarios.builders.journal import Journal, Made, build_each
from mnemoscope.scenarios.builders.lexicon import Lexicon
from mnemoscope.scenarios.records import MemoryRole, Probe, Scenario, Turn

__all__ = ["WINDOW_SIZES", "build_pools"]

WINDOW_SIZES = (1, 2, 3)
_NICE, _IRRELEVANT = 2, 5
_CLOSE, _FAR = 0.15, 0.05
"""Cosine to question and evidence: from `_CLOSE` on a memory is nice, below `_FAR` irrelevant, else left out."""
_MIN_WORDS = 4


@dataclass(frozen=True, slots=True)
class _Place:
    """A question, the window that holds its evidence and the session after it."""

    probe: Probe
    must: tuple[Turn, ...]
    window: tuple[int, ...]
    current: int


def build_pools(
    scenarios: Iterable[Scenario], *, per_scenario: int = 20, seed: int = 0, journal: Journal | None = None
) -> BuiltSet:
    """Pools from scenarios with questions that name turns as evidence.

    Args:
        scenarios: The sources.
        per_scenario: How many pools at most per scenario; which ones, the seed decides.
        seed: The same seed gives the same set.
        journal: Where finished scenarios are kept, so that an interrupted build goes on.

    Returns:
        One native scenario per question, in the cluster of its source.

    Raises:
        ConfigError: No scenario, or none asked for.
    """
    if per_scenario < 1:
        raise ConfigError("nothing is asked for: at least one pool per scenario")
    sources = list(scenarios)
    if not sources:
        raise ConfigError("there are no scenarios to build pools from")
    settings = {"per_scenario": str(per_scenario), "seed": str(seed)}
    built = BuiltSet("pool", settings, sources[0].card)
    # One scenario gives several blocks; each question is an item of the journal of its own.
    for scenario in sources:
        places = _places(scenario, seed, built.counts)
        lexicon = Lexicon([turn.content for turn in scenario.turns])
        made_here = 0
        for place in places:
            if made_here == per_scenario:
                break
            one = scenario.model_copy(
                update={
                    "probes": (place.probe,),
                    "gold_by_probe": {place.probe.probe_id: scenario.gold_by_probe[place.probe.probe_id]},
                }
            )

            def build(
                _: Scenario, place: _Place = place, lexicon: Lexicon = lexicon, whole: Scenario = scenario
            ) -> Made:
                return _pool(whole, place, lexicon, seed)

            for made, counts in build_each([one], build, kind="pool", settings=settings, journal=journal):
                built.counts.update(counts)
                if made is not None:
                    built.scenarios.append(made)
                    made_here += 1
    return built


def _places(scenario: Scenario, seed: int, counts: Counter[str]) -> list[_Place]:
    turns = {str(turn.turn_id): turn for turn in scenario.turns}
    position = {session.session_id: i for i, session in enumerate(scenario.sessions)}
    found: list[_Place] = []
    for probe in scenario.probes:
        gold = scenario.gold_by_probe[probe.probe_id]
        if gold.unanswerable or gold.evidence_unit != "turn" or not gold.evidence or probe.style != "question":
            continue
        if not turns.keys() >= set(gold.evidence):
            counts["left out: evidence names no turn"] += 1
            continue
        must = tuple(turns[name] for name in gold.evidence)
        sessions = sorted({position[turn.session_id] for turn in must})
        size = derive_seed(seed, "window", probe.probe_id) % len(WINDOW_SIZES)
        sizes = [*WINDOW_SIZES[size:], *WINDOW_SIZES[:size]]
        fitting = next((w for w in sizes if sessions[-1] - sessions[0] < w and sessions[-1] + 1 - w >= 0), None)
        current = sessions[-1] + 1
        if fitting is None or current >= len(scenario.sessions):
            counts["left out: evidence fits no window with a session after it"] += 1
            continue
        found.append(_Place(probe, must, tuple(range(current - fitting, current)), current))
    return sorted(found, key=lambda place: derive_seed(seed, "pool", place.probe.probe_id))


def _pool(scenario: Scenario, place: _Place, lexicon: Lexicon, seed: int) -> Made:
    counts: Counter[str] = Counter()
    gold = scenario.gold_by_probe[place.probe.probe_id]
    about = " ".join([place.probe.text, *(turn.content for turn in place.must)])
    window = [turn for i in place.window for turn in scenario.sessions[i].turns]
    others = [
        (turn, lexicon.likeness(about, turn.index))
        for turn in window
        if turn not in place.must and len(content_tokens(turn.content)) >= _MIN_WORDS
    ]
    near = sorted((pair for pair in others if pair[1] >= _CLOSE), key=lambda pair: (-pair[1], pair[0].index))
    far = [pair for pair in others if pair[1] < _FAR]
    far.sort(key=lambda pair: derive_seed(seed, "irr", place.probe.probe_id, pair[0].turn_id))
    if not far:
        counts["left out: nothing irrelevant in the window"] += 1
        return None, counts
    labelled: list[tuple[Turn, MemoryRole, str]] = [(turn, "must", "evidence of the question") for turn in place.must]
    labelled += [(turn, "nice", f"heuristic: cosine {score:.3f}, {_CLOSE} or more") for turn, score in near[:_NICE]]
    labelled += [(turn, "irr", f"heuristic: cosine {score:.3f}, below {_FAR}") for turn, score in far[:_IRRELEVANT]]
    labelled = list({_memory(entry[0]): entry for entry in reversed(labelled)}.values())
    labelled.sort(key=lambda entry: derive_seed(seed, "order", _memory(entry[0])))
    return _block(scenario, place, labelled, gold.answers), counts


def _block(
    scenario: Scenario,
    place: _Place,
    labelled: Sequence[tuple[Turn, MemoryRole, str]],
    answers: Sequence[str],
) -> BuiltScenario:
    probe, current = place.probe, scenario.sessions[place.current]
    known = {turn.turn_id: f"m{number}" for number, (turn, _, _) in enumerate(labelled, 1)}
    roles: dict[str, MemoryRole] = {known[turn.turn_id]: role for turn, role, _ in labelled}
    kinds = set(roles.values())
    stratum = "must+nice" if "nice" in kinds else "must-only"
    asker = next((p.name for p in scenario.participants if p.role == "user"), None)
    block = history_block(scenario, scenario_id=f"pool-{sha256_of(probe.probe_id)[:10]}", sessions=(place.current,))
    block["probes"] = [
        {
            "id": "q",
            "style": "situational",
            "after": current.turns[-1].turn_id,
            "ask": probe.text,
            "speaker": asker or scenario.participants[0].name,
            "pool": [
                {"id": known[turn.turn_id], "text": _memory(turn), "at": native_time(turn.at, scenario)}
                for turn, _, _ in labelled
            ],
            "gold": {
                "answers": list(answers),
                "evidence": [known[turn.turn_id] for turn, role, _ in labelled if role != "irr"],
                "facts": [
                    {"id": f"f-{known[turn.turn_id]}", "text": turn.content, "sources": [known[turn.turn_id]]}
                    for turn, role, _ in labelled
                    if role != "irr"
                ],
                "roles": roles,
                "strata": [stratum, f"window {len(place.window)}"],
            },
        }
    ]
    origins = {
        "sessions": f"copied: {current.session_id} of {scenario.scenario_id}",
        "probes.q.ask": f"copied: {probe.probe_id}",
        "probes.q.pool": f"copied: turns of the {len(place.window)} sessions before {current.session_id}",
    }
    origins.update(
        {f"probes.q.gold.roles.{known[turn.turn_id]}": f"{turn.turn_id}: {how}" for turn, _, how in labelled}
    )
    return BuiltScenario(block, origins)


def _memory(turn: Turn) -> str:
    return f"{turn.speaker}: {turn.content}"
