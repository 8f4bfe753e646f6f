"""Timing windows: from where a fact was told and where its topic returns, when would bringing it up help or hurt?

For each fact: it is closed while it has just been said (the turn that told it and the next few), open at a person's
later turn that comes back to it, and nothing is claimed elsewhere. Each fact gives up to three moments: one of each
kind and a neutral one, at a turn that shares a word with it and is about something else. All are heuristics and are
labelled so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mnemoscope.core.errors import ConfigError
from mnemoscope.core.identity import derive_seed
from mnemoscope.core.language.tokens import content_tokens
from mnemoscope.scenarios.builders.built import Block, BuiltScenario, BuiltSet, history_block
from mnemoscope.scenarios.builders.journal import Journal, Made, build_each
from mnemoscope.scenarios.builders.lexicon import Lexicon
from mnemoscope.scenarios.records import GoldFact, Scenario, Turn

__all__ = ["build_windows"]

_ECHO = 3
"""Turns after the telling, within the same session, in which repeating the fact is an echo."""
_RETURNS, _FAR = 0.2, 0.06
"""Likeness to the telling turn from which the topic has come back, and below which it is far."""
_MIN_WORDS = 2
"""Content words that a fact needs, so that its return can be told."""


@dataclass(frozen=True, slots=True)
class _Told:
    """A fact, the turn that told it last, and where its topic returns."""

    fact: GoldFact
    told: int
    returns: tuple[tuple[int, float], ...]
    far: tuple[int, ...]


def build_windows(
    scenarios: Iterable[Scenario], *, per_scenario: int = 10, seed: int = 0, journal: Journal | None = None
) -> BuiltSet:
    """Moments with open and closed windows, from scenarios whose facts name the turns that hold them.

    Args:
        scenarios: The sources.
        per_scenario: How many facts at most per scenario; which ones, the seed decides. Only facts whose topic
            returns are taken.
        seed: The same seed gives the same set.
        journal: Where finished scenarios are kept, so that an interrupted build goes on.

    Returns:
        One scenario per source that gave any.

    Raises:
        ConfigError: No scenario, or none asked for.
    """
    if per_scenario < 1:
        raise ConfigError("nothing is asked for: at least one fact per scenario")
    sources = list(scenarios)
    if not sources:
        raise ConfigError("there are no scenarios to build windows from")
    settings = {"per_scenario": str(per_scenario), "seed": str(seed), "echo": str(_ECHO)}
    built = BuiltSet("windows", settings, sources[0].card)

    def build(scenario: Scenario) -> Made:
        return _build(scenario, per_scenario, seed)

    for made, counts in build_each(sources, build, kind="windows", settings=settings, journal=journal):
        built.counts.update(counts)
        if made is not None:
            built.scenarios.append(made)
    return built


def _build(scenario: Scenario, per_scenario: int, seed: int) -> Made:
    counts: Counter[str] = Counter()
    turns = scenario.turns
    lexicon = Lexicon([turn.content for turn in turns])
    index = {str(turn.turn_id): turn.index for turn in turns}
    facts: dict[str, GoldFact] = {}
    for probe in scenario.probes:
        for fact in scenario.gold_by_probe[probe.probe_id].facts:
            if (
                fact.sources
                and all(source in index for source in fact.sources)
                and len(content_tokens(fact.text)) >= _MIN_WORDS
            ):
                facts.setdefault(fact.text, fact)
    chosen = sorted(facts.values(), key=lambda fact: derive_seed(seed, scenario.scenario_id, fact.text))
    probes: list[Block] = []
    origins: dict[str, str] = {"sessions": f"copied: {scenario.scenario_id}"}
    for fact in chosen:
        if counts["facts"] == per_scenario:
            break
        told = _told(fact, turns, lexicon, max(index[source] for source in fact.sources))
        if not told.returns:
            counts["facts whose topic never returns"] += 1
            continue
        counts["facts"] += 1
        name = f"f{counts['facts']}"
        for kind, moment in _probes(told, turns, name, seed):
            probes.append(moment)
            counts[f"moments {kind}"] += 1
        strength = ", ".join(f"{turns[i].turn_id} {score:.2f}" for i, score in told.returns)
        origins[f"probes.{name}.gold.windows"] = (
            f"heuristic: told in {turns[told.told].turn_id}; returns (likeness of {_RETURNS} or more) in {strength}"
        )
    if not probes:
        counts["left out: no fact whose topic returns"] += 1
        return None, counts
    block = history_block(scenario, scenario_id=f"{scenario.scenario_id}-windows")
    return BuiltScenario({**block, "probes": probes}, origins), counts


def _told(fact: GoldFact, turns: Sequence[Turn], lexicon: Lexicon, told: int) -> _Told:
    about = f"{turns[told].content} {fact.text}"
    words = set(content_tokens(fact.text))
    returns, far = [], []
    for turn in turns[told + 1 + _ECHO :]:
        if turn.role == "assistant" or not turn.text.strip() or turn.is_empty:
            continue
        score = lexicon.likeness(about, turn.index)
        if score >= _RETURNS and words & set(content_tokens(turn.content)):
            returns.append((turn.index, score))
        elif score < _FAR and set(content_tokens(about)) & set(content_tokens(turn.content)):
            far.append(turn.index)
    return _Told(fact, told, tuple(returns), tuple(far))


def _probes(told: _Told, turns: Sequence[Turn], name: str, seed: int) -> list[tuple[str, Block]]:
    """A moment in an open window, one in the closed one, and a neutral one, in the order of the history."""
    session = turns[told.told].session_id
    echo_end = told.told
    while echo_end + 1 < len(turns) and echo_end < told.told + _ECHO and turns[echo_end + 1].session_id == session:
        echo_end += 1
    windows = [("closed", told.told, echo_end)] + [("open", i - 1, i - 1) for i, _ in told.returns]
    order = (seed, name, told.fact.fact_id)
    places = [("open", min(told.returns, key=lambda pair: (-pair[1], pair[0]))[0])]
    echoes = [i for i in range(told.told + 1, echo_end + 1) if turns[i].role != "assistant" and turns[i].text.strip()]
    if echoes:
        places.append(("closed", echoes[0]))
    opened = {i for i, _ in told.returns}
    neutral = sorted((i for i in told.far if i not in opened), key=lambda i: derive_seed(*order, i))
    if neutral:
        places.append(("neutral", neutral[0]))
    return [
        (kind, _moment(told.fact, name, kind, place, windows, turns))
        for kind, place in sorted(places, key=lambda pair: pair[1])
    ]


def _moment(
    fact: GoldFact, name: str, kind: str, place: int, windows: Sequence[tuple[str, int, int]], turns: Sequence[Turn]
) -> Block:
    # A window that begins at the probe's own turn says nothing of the probe, and the format refuses it.
    seen = [window for window in windows if window[1] != place]
    expected = {
        "open": "Brings the fact in, as the topic has come back.",
        "closed": "Does not repeat what was just said.",
        "neutral": "Brings up nothing from earlier.",
    }
    return {
        "id": f"{name}-{kind}",
        "style": "moment",
        "in_place_of": turns[place].turn_id,
        "gold": {
            **({"evidence": list(fact.sources)} if kind == "open" else {}),
            "facts": [{"id": "told", "text": fact.text, "sources": list(fact.sources)}],
            "windows": [
                {"fact": "told", "kind": k, "from": turns[first].turn_id, "to": turns[last].turn_id}
                for k, first, last in seen
            ],
            "expected": expected[kind],
            "strata": ["moment", kind],
        },
    }
