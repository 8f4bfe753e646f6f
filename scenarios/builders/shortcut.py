"""The shortcut check of built scenarios: how often do recency or common words alone give the right outcome?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal

from mnemoscope.core.language.tokens import content_tokens
from mnemoscope.scenarios.builders.lexicon import Lexicon
from mnemoscope.scenarios.records import Gold, Probe, Scenario, Turn

__all__ = ["ALLOWED", "POLICIES", "ShortcutReport", "check_shortcuts"]

Policy = Literal["recent", "bm25"]
POLICIES: tuple[Policy, ...] = ("recent", "bm25")
_K = 10
_CHOSEN = 2
_KNOWN = 0.5
_TWIN = "-twin"
ALLOWED = 0.10
"""Share of one kind of probe (0–1) that a shortcut may solve; a set above it asks for something else than a memory."""
_NO_TIME = datetime.min.replace(tzinfo=UTC)


@dataclass(slots=True)
class ShortcutReport:
    """How many probes each shortcut gets right, by what the probe asks for."""

    probes: Counter[str] = field(default_factory=Counter)
    """`pool`, `evidence`, `pair`, `abstain`, `timing`; `unchecked` where there is nothing to check."""
    solved: dict[str, Counter[str]] = field(default_factory=lambda: {policy: Counter() for policy in POLICIES})

    def share(self, policy: Policy, kind: str | None = None) -> float | None:
        """Share of checked probes that a shortcut solves; None without any."""
        kinds = [kind] if kind else [name for name in self.probes if name != "unchecked"]
        total = sum(self.probes[name] for name in kinds)
        return sum(self.solved[policy][name] for name in kinds) / total if total else None

    @property
    def too_easy(self) -> list[tuple[Policy, str, float]]:
        """Each shortcut that solves more of one kind of probe than is allowed: its name, the kind, and the share."""
        shares = ((policy, kind, self.share(policy, kind)) for policy in POLICIES for kind in sorted(self.probes))
        return [(p, kind, share) for p, kind, share in shares if kind != "unchecked" and share and share > ALLOWED]

    def lines(self) -> list[str]:
        """One line per shortcut and kind of probe: how many it solves, and by how much it fails; then the verdict."""
        found = []
        for policy in POLICIES:
            for kind, total in sorted(self.probes.items()):
                if kind == "unchecked":
                    continue
                right = self.solved[policy][kind]
                fails = 100 * (1 - right / total)
                found.append(f"{policy} solves {right:,} of {total:,} {kind} probes; it fails by {fails:.1f} points")
        return [*found, self._verdict()]

    def _verdict(self) -> str:
        checked = self.probes.total() - self.probes["unchecked"]
        if not checked:
            return "shortcut: not checked, there is no probe to try one on"
        if not self.too_easy:
            return f"shortcut: passed, none solves more than {ALLOWED:.0%} of any kind of probe"
        easy = ", ".join(f"{policy} solves {share:.1%} of {kind} probes" for policy, kind, share in self.too_easy)
        return f"shortcut: not passed, {easy}; more than {ALLOWED:.0%} can be had without a memory of what matters"

    def to_json(self) -> dict[str, object]:
        """Counts as plain data."""
        return {
            "probes": dict(sorted(self.probes.items())),
            "solved": {policy: dict(sorted(self.solved[policy].items())) for policy in POLICIES},
            "allowed": ALLOWED,
            "passed": not self.too_easy,
        }


def check_shortcuts(scenarios: Iterable[Scenario]) -> ShortcutReport:
    """Try `recent` and `bm25` on every probe.

    - A pool: the two items that are latest, or nearest by BM25, are used; right where that is must and nice without
      irrelevant ones (StratMem-Bench's strict rule).
    - Evidence: the last ten known turns, or the ten nearest; right where they hold all of it.
    - A negative with a twin (`NAME-twin`): right where both are, the negative as below, the twin because a turn among
      them covers half of its words.
    - Nothing to be found: a turn among them covers half of the utterance's content words, so the shortcut believes to
      know; right where none does.
    - Timing: a fact is mentioned where its source is among the last ten turns, or where the utterance shares a content
      word with it; right where that agrees with its windows for all facts of the probe.

    Args:
        scenarios: What a builder made, as records.
    """
    report = ShortcutReport()
    for scenario in scenarios:
        turns = scenario.turns
        lexicon = Lexicon([turn.content for turn in turns])
        probes = {str(probe.probe_id): probe for probe in scenario.probes}
        for name, probe in probes.items():
            if name.endswith(_TWIN) and name.removesuffix(_TWIN) in probes:
                continue
            gold = scenario.gold_by_probe[probe.probe_id]
            kind, twin = _kind(probe, gold), probes.get(f"{name}{_TWIN}")
            counted = "pair" if twin else kind
            report.probes[counted] += 1
            for policy in POLICIES if kind != "unchecked" else ():
                right = _solves(policy, kind, probe, gold, turns, lexicon)
                report.solved[policy][counted] += right and (twin is None or _believes(policy, twin, lexicon))
    return report


def _kind(probe: Probe, gold: Gold) -> str:
    if gold.roles and probe.pool is not None:
        return "pool"
    if gold.windows:
        return "timing"
    if gold.unanswerable:
        return "abstain"
    return "evidence" if gold.evidence and gold.evidence_unit != "item" else "unchecked"


def _solves(policy: Policy, kind: str, probe: Probe, gold: Gold, turns: Sequence[Turn], lexicon: Lexicon) -> bool:
    if kind == "pool":
        return _passes(gold, _chosen(policy, probe))
    if kind == "timing":
        return all(said == due for said, due in _mentions(policy, probe, gold, turns))
    if kind == "abstain":
        return not _believes(policy, probe, lexicon)
    found = _given(policy, probe, lexicon)
    given = {
        turns[position].session_id if gold.evidence_unit == "session" else turns[position].turn_id for position in found
    }
    return set(gold.evidence) <= {str(name) for name in given}


def _believes(policy: Policy, probe: Probe, lexicon: Lexicon) -> bool:
    """A gate on words: some turn that it brings covers half of what is asked."""
    return lexicon.best_coverage(probe.text, _given(policy, probe, lexicon)) >= _KNOWN


def _given(policy: Policy, probe: Probe, lexicon: Lexicon) -> list[int]:
    """Positions of known turns that a shortcut brings; the current session is everyone's and counts like the rest."""
    seq = probe.cut.seq
    if policy == "recent":
        return list(range(max(0, seq - _K), seq))
    return [position for position, _ in lexicon.bm25(probe.text, _K, until=seq)]


def _chosen(policy: Policy, probe: Probe) -> set[str]:
    items = probe.pool.items if probe.pool else ()
    if policy == "recent":
        latest = sorted(items, key=lambda item: (item.at or _NO_TIME, item.item_id), reverse=True)
        return {item.item_id for item in latest[:_CHOSEN]}
    ranked = Lexicon([item.text for item in items]).bm25(probe.text, _CHOSEN)
    return {items[position].item_id for position, _ in ranked}


def _passes(gold: Gold, used: set[str]) -> bool:
    of_role = {role: {name for name, given in gold.roles.items() if given == role} for role in ("must", "nice", "irr")}
    must, nice, irr = of_role["must"], of_role["nice"], of_role["irr"]
    return bool(must or nice) and must <= used and (not nice or bool(nice & used)) and not irr & used


def _mentions(policy: Policy, probe: Probe, gold: Gold, turns: Sequence[Turn]) -> Iterator[tuple[bool, bool]]:
    """For each fact with windows: would the shortcut mention it, and is it due?"""
    moment = max(0, probe.cut.seq - 1)
    recent = {turn.turn_id for turn in turns[max(0, probe.cut.seq - _K) : probe.cut.seq]}
    texts = {turn.turn_id: turn.content for turn in turns}
    words = set(content_tokens(probe.text))
    for fact in gold.facts:
        inside = [w.kind for w in gold.windows if w.fact_id == fact.fact_id and w.from_index <= moment <= w.to_index]
        if not any(w.fact_id == fact.fact_id for w in gold.windows):
            continue
        said = any(source in recent for source in fact.sources)
        if policy == "bm25":
            about = " ".join([fact.text, *(texts.get(source, "") for source in fact.sources)])  # type: ignore[call-overload]
            said = bool(words & set(content_tokens(about)))
        yield said, "open" in inside and "closed" not in inside
