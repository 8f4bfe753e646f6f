"""What is replayed: turns, sessions, probes, gold and scenarios. Frozen; unknown fields are errors.

What an assistant may see is in `Probe`; what it may not see is in `Gold`. A scenario keeps them apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, Self

import regex
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, model_validator

from mnemoscope.core.identity import ItemId, ProbeId, ScenarioId, SessionId, TurnId, sha256_of

__all__ = [
    "Card",
    "Cut",
    "FalsePremise",
    "Gold",
    "GoldFact",
    "MemoryPool",
    "MemoryRole",
    "Participant",
    "PoolItem",
    "Probe",
    "Role",
    "Scenario",
    "Session",
    "Style",
    "Turn",
    "Window",
    "seen_id",
]

Role = Literal["user", "assistant", "peer"]
MemoryRole = Literal["must", "nice", "irr"]
Style = Literal[
    "question", "dialog", "implicit", "counterfactual", "composed", "recollection", "plan", "situational", "moment"
]
"""How a probe is put: `question` asks outright (LoCoMo QA); `dialog, implicit, counterfactual, composed` are
LoCoMo-Conv's; `recollection` and `plan` rest on a wrong memory or a wrong plan; `situational` is StratMem-Bench's
query with a pool; `moment` is a turn at which the assistant may bring something up or keep quiet."""


_VISIBLE = regex.compile(r"[^\s\p{Cf}\p{Cc}]")


def seen_id(probe_id: str) -> ProbeId:
    """The id under which an assistant sees a probe."""
    return ProbeId(f"p-{sha256_of(probe_id)[:12]}")


class Record(BaseModel):
    """Base of all records: frozen, and a field that is not listed is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Participant(Record):
    """Someone who talks in the history."""

    name: str
    role: Role
    """`peer`: a human among humans; the assistant then is an observer."""


class Turn(Record):
    """One utterance of the history."""

    turn_id: TurnId
    session_id: SessionId
    index: Annotated[int, Field(ge=0)]
    """Position in the whole history, from 0, empty turns counted; cuts refer to it."""
    speaker: str
    role: Role
    text: str
    """As spoken; may be empty where only a caption exists."""
    caption: str | None = None
    """What a shared image shows, in words."""
    at: AwareDatetime | None
    """When it was said. None only where a lenient load could not tell."""
    meta: Mapping[str, str] = Field(default_factory=dict)

    @property
    def content(self) -> str:
        """Text with the caption as `[image: …]`: the one form in which turns reach a memory."""
        text = self.text.strip()
        if not self.caption:
            return text
        return f"{text} [image: {self.caption.strip()}]" if text else f"[image: {self.caption.strip()}]"

    @property
    def is_empty(self) -> bool:
        """Nothing but white space and zero-width characters, and no caption."""
        return not _VISIBLE.search(self.content)


class Session(Record):
    """Turns of one sitting, in order."""

    session_id: SessionId
    at: AwareDatetime | None
    turns: tuple[Turn, ...]


class Cut(Record):
    """How much of the history a probe's assistant may know."""

    seq: Annotated[int, Field(ge=0)]
    """Number of leading turns that are known: turns with `index < seq`."""
    turn_id: TurnId | None
    """The last known turn, for people to read; None before the first."""


class PoolItem(Record):
    """One memory that a benchmark hands over; its label is in `Gold.roles`."""

    item_id: ItemId
    """Derived from the text, so that it tells nothing of the label or the order."""
    text: str
    at: AwareDatetime | None = None


class MemoryPool(Record):
    """Memories given with a probe, in a seeded order that is never the file's."""

    items: tuple[PoolItem, ...]


class Probe(Record):
    """A moment at which the assistant is asked or may speak; `as_seen` is what it sees of it."""

    probe_id: ProbeId
    style: Style | None
    """What is tested; None in the form that an assistant sees, because it would tell."""
    speaker: str
    """Who utters the text; for LoCoMo's third-person questions, an unnamed asker."""
    text: str
    cut: Cut
    now: AwareDatetime | None
    """The conversation's time at the probe; never the wall clock."""
    speaks_as: str | None = None
    """Whose voice the reply has, where the assistant plays a person."""
    recent_turns: tuple[Turn, ...] = ()
    """The current session up to the probe: the same for every system."""
    persona: str | None = None
    pool: MemoryPool | None = None

    def as_seen(self) -> Probe:
        """The probe as an assistant sees it: without its style, and under an id that names neither style nor place."""
        return self.model_copy(update={"probe_id": seen_id(self.probe_id), "style": None})


class GoldFact(Record):
    """One thing that a good reply knows. Loss attribution counts these."""

    fact_id: str
    text: str
    """A plain sentence, as a detector reads it."""
    sources: tuple[str, ...] = ()
    """Turn ids or pool item ids that hold the fact together, all of them needed; session ids where the evidence unit is
    the session."""


class FalsePremise(Record):
    """Something that the user asserts and the history contradicts."""

    asserted: str
    truth: str
    sources: tuple[str, ...] = ()


class Window(Record):
    """When bringing up a fact helps (`open`) or hurts (`closed`), in turns of the history, both ends included."""

    fact_id: str
    kind: Literal["open", "closed"]
    from_index: Annotated[int, Field(ge=0)]
    to_index: Annotated[int, Field(ge=0)]

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.to_index < self.from_index:
            raise ValueError("to_index is before from_index")
        return self


class Gold(Record):
    """What the evaluators know about a probe and no assistant may."""

    answers: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    """Ids that hold the answer, resolvable ones only, in file order, without repeats."""
    evidence_unit: Literal["turn", "session", "item"] = "turn"
    unresolvable: tuple[str, ...] = ()
    """Evidence strings that name nothing in the history; kept, counted, never guessed."""
    facts: tuple[GoldFact, ...] = ()
    stale: tuple[GoldFact, ...] = ()
    """Facts that held once and no longer do; a good reply rests on `facts`. Loss attribution leaves them out."""
    trap: str | None = None
    """The answer that a fooled assistant gives (LoCoMo's `adversarial_answer`)."""
    unanswerable: bool = False
    """The right reply says that it was not mentioned, or rejects the premise."""
    false_premise: FalsePremise | None = None
    rubric: str | None = None
    roles: Mapping[str, MemoryRole] = Field(default_factory=dict)
    """Pool item id to label."""
    windows: tuple[Window, ...] = ()
    expected: str | None = None
    """A description of the ideal reply; for judges and readers only."""
    judge_inputs: Mapping[str, str] = Field(default_factory=dict)
    """Texts that a benchmark's own judges are given, by name and version: `cue@1.2`, `expected@1.1`."""
    strata: tuple[str, ...] = ()
    """Strata that the probe is counted in (`multi-hop`, `non-adversarial`, `must+nice`)."""
    supportive: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)
    """Secondary evidence: turn id to the systems whose own citations named it, none where the file does not say.
    Never counted as `evidence`; leave a system's own out when that system is scored."""
    published: Gold | None = None
    """What the authors published, where an overlay corrected this gold or took it out; None where nothing changed."""

    @property
    def is_unplaced(self) -> bool:
        """Whether something is wanted, and nothing says where it stands: no evidence, no fact's source, no role.

        Nobody can hand such gold over, or avoid it. A probe that calls for no memory is another thing: there, handing
        over nothing is right.
        """
        is_wanted = bool(self.facts or self.answers or self.rubric) and not self.unanswerable
        return is_wanted and not (self.evidence or self.roles or any(fact.sources for fact in self.facts))


class Card(Record):
    """Where data comes from and what is known to be wrong with it."""

    benchmark: str
    source: str
    """Where its authors offer it."""
    licence: str
    annotation: str
    """Who made the labels, and how."""
    known_errors: tuple[str, ...] = ()
    strata_source: str = ""
    """Where the names of the strata come from."""
    file: str = ""
    """Name of the file read, without its folder."""
    sha256: str = ""
    mode: Literal["robust", "strict-release", "repaired"] = "robust"
    settings: Mapping[str, str] = Field(default_factory=dict)
    """Choices of the load that change what systems see: `image_captions`, `pool_seed`, `encoding`, `times`."""


class Scenario(Record):
    """One history with one memory lifetime, its participants and its probes."""

    scenario_id: ScenarioId
    benchmark: str
    cluster: str
    """Unit of resampling: items that share a history or its people share a cluster."""
    participants: tuple[Participant, ...]
    sessions: tuple[Session, ...]
    probes: tuple[Probe, ...]
    gold_by_probe: Mapping[ProbeId, Gold]
    card: Card

    @property
    def turns(self) -> tuple[Turn, ...]:
        """All turns in order, empty ones included."""
        return tuple(turn for session in self.sessions for turn in session.turns)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        turns = self.turns
        if [t.index for t in turns] != list(range(len(turns))):
            raise ValueError("turn indexes do not count up from 0 without a gap")
        if len({t.turn_id for t in turns}) != len(turns):
            raise ValueError("a turn id occurs twice")
        if len({s.session_id for s in self.sessions}) != len(self.sessions):
            raise ValueError("a session id occurs twice")
        ids = [p.probe_id for p in self.probes]
        if len(set(ids)) != len(ids):
            raise ValueError("a probe id occurs twice")
        if set(ids) != set(self.gold_by_probe):
            raise ValueError("probes and gold do not have the same ids")
        if any(p.style is None for p in self.probes):
            raise ValueError("a probe has no style")
        if any(p.cut.seq > len(turns) for p in self.probes):
            raise ValueError("a probe's cut lies beyond the history")
        return self
