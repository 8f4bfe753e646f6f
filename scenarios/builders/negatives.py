"""Hard negatives: moments at which memory seems to be called for and the right reply does not pretend to have any.

Four kinds, all by rules: a question that is asked before its answer was told (`other-time`); a question about the other
person (`other-person`); a remark that only shares a rare word with something told (`near-miss`); "as I told you" about
something that was never told (`never-told`, a sentence of another scenario). Each comes with a twin, the same form of
words where the memory is there, so that a system that always keeps quiet gains nothing. Negatives that share most words
with the history are taken first.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal, get_args

import regex

from mnemoscope.core.errors import ConfigError
from mnemoscope.core.identity import derive_seed
from mnemoscope.core.language.tokens import content_tokens, has_unspaced_script
from mnemoscope.scenarios.builders.built import Block, BuiltScenario, BuiltSet, history_block, native_time
from mnemoscope.scenarios.builders.journal import Journal, Made, build_each
from mnemoscope.scenarios.builders.lexicon import Lexicon
from mnemoscope.scenarios.records import Gold, GoldFact, Probe, Scenario, Turn

__all__ = ["NEGATIVE_KINDS", "NegativeKind", "build_negatives"]

NegativeKind = Literal["other-time", "other-person", "near-miss", "never-told"]
NEGATIVE_KINDS: tuple[NegativeKind, ...] = get_args(NegativeKind)

_KNOWN = 0.5
_TOLD = 0.6
"""Share of an answer's content words in one turn from which the answer may have been told there."""
_LATER = timedelta(minutes=1)
_SENTENCE = regex.compile(r"[^.!?。！？\n]+[.!?。！？]")
_TEXTS: Mapping[str, tuple[str, str]] = {
    "near-miss": (
        "I walked past a poster today with nothing on it but the word “{word}”, in lovely letters. How was your day?",
        "今天路过一张海报，上面只写着“{word}”两个字，字体真好看。你今天怎么样？",
    ),
    "never-told": (
        "As I told you last time: {sentence} What do you make of it now?",
        "我上次跟你说过：{sentence}你现在怎么看？",
    ),
}
_EXPECTED = {
    "other-time": "Says that this has not come up yet, and guesses nothing.",
    "other-person": "Says that this is not known of this person, and does not hand over what is known of the other.",
    "near-miss": "Answers the remark lightly and brings up nothing from earlier.",
    "never-told": "Says that this was not told before, and does not play along.",
}


@dataclass(frozen=True, slots=True)
class _Known:
    """A source scenario with what the builders ask of it again and again."""

    scenario: Scenario
    turns: tuple[Turn, ...]
    lexicon: Lexicon
    bounds: tuple[tuple[int, int], ...]
    """First turn of each session, and the one after its last."""

    @classmethod
    def of(cls, scenario: Scenario) -> _Known:
        turns, bounds, start = scenario.turns, [], 0
        for session in scenario.sessions:
            bounds.append((start, start + len(session.turns)))
            start += len(session.turns)
        return cls(scenario, turns, Lexicon([turn.content for turn in turns]), tuple(bounds))

    def session_of(self, index: int) -> int:
        return next(i for i, (first, end) in enumerate(self.bounds) if first <= index < end)

    def asker(self) -> str | None:
        """Who may talk to the assistant: the user, else the first person."""
        people = sorted(self.scenario.participants, key=lambda p: p.role != "user")
        return next((p.name for p in people if p.role != "assistant"), None)


@dataclass(frozen=True, slots=True)
class _Draft:
    """A negative and its twin: the same form of words, where the memory is there."""

    probe: Block
    twin: Block
    origins: Mapping[str, str]
    fools: bool
    """A lexical gate takes it for known: some turn that it may know has half of its content words, or its one word."""

    @property
    def ask(self) -> str:
        return str(self.probe["ask"])


def build_negatives(
    scenarios: Iterable[Scenario],
    *,
    kinds: Sequence[NegativeKind] = NEGATIVE_KINDS,
    per_kind: int = 5,
    seed: int = 0,
    journal: Journal | None = None,
) -> BuiltSet:
    """Hard negatives of scenarios with questions, facts and turns as evidence.

    Args:
        scenarios: The sources; `never-told` takes its sentences from the other scenarios, so it needs two or more.
        kinds: Which kinds.
        per_kind: How many of each kind at most, per scenario; which ones, the seed decides.
        seed: The same seed gives the same set.
        journal: Where finished scenarios are kept, so that an interrupted build goes on.

    Returns:
        One scenario per source that gave any; `counts` has them by kind.

    Raises:
        ConfigError: An unknown kind, or nothing asked for.
    """
    if unknown := [kind for kind in kinds if kind not in NEGATIVE_KINDS]:
        raise ConfigError(f"unknown kind of negative {unknown[0]!r}; there are {', '.join(NEGATIVE_KINDS)}")
    if per_kind < 1 or not kinds:
        raise ConfigError("nothing is asked for: give a kind and at least one per kind")
    sources = list(scenarios)
    if not sources:
        raise ConfigError("there are no scenarios to build negatives from")
    donors = {s.scenario_id: _sentences(s) for s in sources} if "never-told" in kinds else {}
    others = {
        s.scenario_id: [sentence for name, given in donors.items() if name != s.scenario_id for sentence in given]
        for s in sources
    }
    pool = str(derive_seed(*(text for given in donors.values() for text in given[:50])))
    settings = {"kinds": ",".join(kinds), "per_kind": str(per_kind), "seed": str(seed), "donors": pool}
    built = BuiltSet("negatives", settings, sources[0].card)

    def build(scenario: Scenario) -> Made:
        return _build(scenario, kinds, per_kind, seed, others[scenario.scenario_id])

    for made, counts in build_each(sources, build, kind="negatives", settings=settings, journal=journal):
        built.counts.update(counts)
        if made is not None:
            built.scenarios.append(made)
    return built


def _build(scenario: Scenario, kinds: Sequence[NegativeKind], per_kind: int, seed: int, donors: Sequence[str]) -> Made:
    counts: Counter[str] = Counter()
    if not scenario.sessions:
        counts["left out: no history"] += 1
        return None, counts
    known = _Known.of(scenario)
    makers: Mapping[NegativeKind, Callable[[], list[_Draft]]] = {
        "other-time": lambda: _each_question(known, _other_time),
        "other-person": lambda: _each_question(known, _other_person),
        "near-miss": lambda: _each_question(known, _near_miss),
        "never-told": lambda: _never_told(known, donors, per_kind * 40, seed),
    }
    probes: list[Block] = []
    origins: dict[str, str] = {"sessions": f"copied: {scenario.scenario_id}"}
    for kind in kinds:
        drafts = sorted(
            makers[kind](),
            key=lambda draft: (not draft.fools, derive_seed(seed, kind, scenario.scenario_id, draft.ask)),
        )
        for number, draft in enumerate(drafts[:per_kind], 1):
            name = f"{kind}-{number}"
            probes += [{"id": name, **draft.probe}, {"id": f"{name}-twin", **draft.twin}]
            origins.update({f"probes.{name}.{place}": how for place, how in draft.origins.items()})
            origins[f"probes.{name}-twin"] = "copied: the question or statement that the negative was made from"
            counts[kind] += 1
            counts["that fool a lexical gate"] += draft.fools
    if not probes:
        counts["left out: nothing to build from"] += 1
        return None, counts
    block = history_block(scenario, scenario_id=f"{scenario.scenario_id}-negatives")
    return BuiltScenario({**block, "probes": probes}, origins), counts


def _each_question(known: _Known, make: Callable[[_Known, Probe, Gold], _Draft | None]) -> list[_Draft]:
    """Drafts of all questions with one answer that turns of the history hold."""
    drafts: list[_Draft] = []
    asked: set[str] = set()
    ids = {str(turn.turn_id) for turn in known.turns}
    for probe in known.scenario.probes:
        gold = known.scenario.gold_by_probe[probe.probe_id]
        usable = probe.style in ("question", "dialog") and not gold.unanswerable and gold.false_premise is None
        if not usable or not gold.facts or gold.evidence_unit != "turn" or probe.pool is not None:
            continue
        fact = gold.facts[0]
        if not fact.sources or not ids.issuperset(fact.sources) or not content_tokens(fact.text):
            continue
        draft = make(known, probe, gold)
        if draft is not None and draft.ask not in asked:
            asked.add(draft.ask)
            drafts.append(draft)
    return drafts


def _other_time(known: _Known, probe: Probe, gold: Gold) -> _Draft | None:
    """The question at the end of the session before the one in which its answer was first told."""
    fact = gold.facts[0]
    told = min(turn.index for turn in known.turns if turn.turn_id in fact.sources)
    session = known.session_of(told) - 1
    if session < 0:
        return None
    end = known.bounds[session][1]
    if known.lexicon.best_coverage(fact.text, range(end)) >= _TOLD:
        return None
    return _question_pair(
        known, probe, gold, probe.text, session, "other-time", f"asked before {known.turns[told].turn_id}"
    )


def _other_person(known: _Known, probe: Probe, gold: Gold) -> _Draft | None:
    """The question with the name of the other of two people."""
    people = [p.name for p in known.scenario.participants if p.role != "assistant"]
    named = [name for name in people if re.search(rf"\b{re.escape(name)}\b", probe.text)]
    if len(people) != 2 or len(named) != 1:
        return None
    other = next(name for name in people if name != named[0])
    text = re.sub(rf"\b{re.escape(named[0])}\b", other, probe.text)
    if any(p.text == text for p in known.scenario.probes):
        return None
    by_other = (turn.index for turn in known.turns if turn.speaker == other)
    if known.lexicon.best_coverage(gold.facts[0].text, by_other) >= _TOLD:
        return None
    last = len(known.bounds) - 1
    return _question_pair(known, probe, gold, text, last, "other-person", f"{named[0]} replaced by {other}")


def _question_pair(
    known: _Known, probe: Probe, gold: Gold, text: str, session: int, kind: NegativeKind, how: str
) -> _Draft:
    negative: Block = {"unanswerable": True, "trap": gold.facts[0].text}
    origins = {
        "ask": f"derived: {how}",
        "gold.trap": "copied: the answer of the question it comes from",
        "gold.unanswerable": f"heuristic: no turn in question has {_TOLD:.0%} of the answer's words",
    }
    return _Draft(
        _asked(known, "question", text, session, kind, negative),
        _twin(known, "question", probe.text, kind, gold),
        origins,
        _fools(known, text, session),
    )


def _near_miss(known: _Known, probe: Probe, gold: Gold) -> _Draft | None:
    """A remark with one rare word of what was told, after the end of the history."""
    fact = gold.facts[0]
    source = next(turn for turn in known.turns if turn.turn_id == fact.sources[0])
    names = {name for p in known.scenario.participants for name in content_tokens(p.name)}
    words = [w for w in known.lexicon.shared(fact.text, source.index) if len(w) > 3 or has_unspaced_script(w)]
    word = next((word for word in words if word not in names and not word.isdigit()), None)
    if word is None:
        return None
    last, session = known.turns[-1].turn_id, len(known.bounds) - 1
    text = _TEXTS["near-miss"][has_unspaced_script(word)].format(word=word)
    negative: Block = {
        "facts": [{"id": "told", "text": fact.text, "sources": list(fact.sources)}],
        "windows": [{"fact": "told", "kind": "closed", "from": last, "to": last}],
    }
    origins = {
        "ask": f"template: with {word!r}, the rarest word that the fact shares with {source.turn_id}",
        "gold.facts": f"copied: {probe.probe_id}",
        "gold.windows": "derived: the remark is about the word alone",
    }
    return _Draft(
        _asked(known, "moment", text, session, "near-miss", negative),
        _twin(known, "question", probe.text, "near-miss", gold),
        origins,
        fools=True,
    )


def _never_told(known: _Known, donors: Sequence[str], limit: int, seed: int) -> list[_Draft]:
    """A sentence of another scenario, claimed to have been told; the twin claims one that was."""
    seeds = (seed, "donor", known.scenario.scenario_id)
    own = sorted(_said(known.scenario), key=lambda pair: derive_seed(*seeds, pair[0], pair[1]))
    chinese = has_unspaced_script(" ".join(turn.text for turn in known.turns[:20]))
    session = len(known.bounds) - 1
    drafts: list[_Draft] = []
    for sentence in sorted(set(donors), key=lambda text: derive_seed(*seeds, text)):
        if len(drafts) == min(limit, len(own)):
            break
        if has_unspaced_script(sentence) != chinese:
            continue
        if known.lexicon.best_coverage(sentence, range(len(known.turns))) >= _TOLD:
            continue
        text = _TEXTS["never-told"][chinese].format(sentence=sentence)
        true, turn_id = own[len(drafts)]
        twin = Gold(evidence=(turn_id,), facts=(GoldFact(fact_id="told", text=true, sources=(turn_id,)),))
        twin_text = _TEXTS["never-told"][chinese].format(sentence=true)
        origins = {
            "ask": "template: with a sentence of another scenario",
            "gold.unanswerable": f"heuristic: no turn of this history has {_TOLD:.0%} of the sentence's words",
        }
        drafts.append(
            _Draft(
                _asked(known, "dialog", text, session, "never-told", {"unanswerable": True}),
                _twin(known, "dialog", twin_text, "never-told", twin),
                origins,
                _fools(known, text, session),
            )
        )
    return drafts


def _asked(known: _Known, style: str, text: str, session: int, kind: NegativeKind, gold: Block) -> Block:
    """A probe once a session is over, a minute after its last turn."""
    last = known.turns[known.bounds[session][1] - 1]
    at = last.at + _LATER if last.at is not None else None
    return {
        "style": style,
        "after": known.scenario.sessions[session].session_id,
        "now": native_time(at, known.scenario),
        "ask": text,
        "speaker": known.asker(),
        "gold": {**gold, "expected": _EXPECTED[kind], "strata": ["negative", kind]},
    }


def _twin(known: _Known, style: str, text: str, kind: NegativeKind, gold: Gold) -> Block:
    probe = _asked(known, style, text, len(known.bounds) - 1, kind, {})
    probe["gold"] = {
        "answers": list(gold.answers),
        "evidence": list(gold.evidence),
        "facts": [
            {"id": f"f{i}", "text": f.text, "sources": list(f.sources)} for i, f in enumerate(gold.facts) if f.sources
        ],
        "strata": ["twin", kind],
    }
    return probe


def _fools(known: _Known, text: str, session: int) -> bool:
    return known.lexicon.best_coverage(text, range(known.bounds[session][1])) >= _KNOWN


def _sentences(scenario: Scenario) -> list[str]:
    return [sentence for sentence, _ in _said(scenario)]


def _said(scenario: Scenario) -> list[tuple[str, str]]:
    """What people say of themselves, with the turn: sentences of a plain length that begin with `I`, or hold 我."""
    found: list[tuple[str, str]] = []
    for turn in scenario.turns:
        for sentence in _SENTENCE.findall(turn.text) if turn.role != "assistant" else ():
            text = sentence.strip()
            of_self = text.startswith(("I ", "I'")) or "我" in text
            if of_self and 5 <= len(content_tokens(text)) <= 16 and not text.endswith(("?", "？")):
                found.append((text, turn.turn_id))
    return found
