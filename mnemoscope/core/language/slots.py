"""Facts that can replace one another: who, which slot of their life, what fills it, and whether that is over."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import regex

from mnemoscope.core.language._slot_patterns import (
    BARE,
    CHINESE,
    CHINESE_HEAD,
    ENGLISH,
    ENGLISH_HEAD,
    HYPOTHETICAL,
    OPPOSITES,
    OWNED,
    OWNER_HEAD,
    SINGLE,
    VALUE_END,
    Predicate,
)
from mnemoscope.core.language.facts import as_said
from mnemoscope.core.language.tokens import content_tokens, has_unspaced_script, lexical_tokens

__all__ = ["SINGLE", "SlotConflict", "SlotFact", "slot_conflict", "slot_facts"]

SlotConflict = Literal["same", "replaces", "ends", "separate"]


@dataclass(frozen=True, slots=True)
class SlotFact:
    """What one clause says about one slot of somebody's life."""

    subject: str
    """A speaker's or another's name, or `Amy's sister`, `Amy的姐姐`."""
    slot: str
    """`lives-in`, `works-at`, `works-as`, `studies`, `birthday`, `married-to`, `dating`, `from`, `name` and `diet` hold
    one value at a time; so do not `likes`, `dislikes`, `prefers`, `allergic-to`, `has-pet`, `has-child`, `owns` and
    `plans-to`."""
    value: str
    """As it stands in the clause; empty where only the end of any value is told (`I quit my job`)."""
    negated: bool
    """The clause says that it does not hold, or no longer."""


@lru_cache(maxsize=16_384)
def slot_facts(clause: str, *, speaker: str, addressee: str | None = None) -> tuple[SlotFact, ...]:
    """Find what a clause says about the slots of people's lives, as it was said or as `fact_text` renders it.

    Only plain statements count: what is wished, imagined, asked or told of the past fills no slot, and neither do
    pronouns of which nobody knows whom they mean, nor instructions. `I` and `we` are the speaker, `you` the addressee.
    That an assistant repeats what a user said is for the caller to see: it says `you`, so the fact is about the user.

    Args:
        clause: A clause as it was said, or a fact made of it: the frame and resolved dates are no part of a value.
        speaker: Who said it.
        addressee: To whom; without one, nothing is learnt about `you`.

    Returns:
        Facts in order of their place, each once.

    Example:
        >>> slot_facts("I moved to Bergen and my sister works at Acme", speaker="Amy")[1]
        SlotFact(subject="Amy's sister", slot='works-at', value='Acme', negated=False)
        >>> slot_facts("我不再喜欢咖啡", speaker="Amy")
        (SlotFact(subject='Amy', slot='likes', value='咖啡', negated=True),)
    """
    clause = as_said(clause, speaker=speaker, addressee=addressee)
    if clause.rstrip().endswith(("?", "？", "吗", "呢")):
        return ()
    doubt = HYPOTHETICAL.search(clause)
    stated = doubt.start() if doubt else len(clause)
    found = [*_english(clause, stated, speaker, addressee)]
    if has_unspaced_script(clause):
        found += _chinese(clause, stated, speaker, addressee)
    return tuple(fact for _, fact in dict.fromkeys(sorted(found, key=lambda item: item[0])))


def slot_conflict(old: SlotFact, new: SlotFact) -> SlotConflict:
    """What a new fact does to an old one.

    Two subjects never conflict. Values are alike where the words of one are among the other's (`Oslo`, `a flat in
    Oslo`), unless a capitalised word in front makes another name of it (`York`, `New York`).

    Args:
        old: What was known.
        new: What was said later.

    Returns:
        `same` where nothing new is said, `replaces` where a slot of one value gets another, or liking turns into
        disliking, `ends` where the new fact says that the old one no longer holds, `separate` otherwise.
    """
    if old.subject.casefold() != new.subject.casefold():
        return "separate"
    alike = _alike(old.value, new.value)
    if OPPOSITES.get(old.slot) == new.slot:
        return "replaces" if alike and not old.negated and not new.negated else "separate"
    if old.slot != new.slot:
        return "separate"
    if old.negated == new.negated:
        return "same" if alike else "replaces" if new.slot in SINGLE and not new.negated else "separate"
    if not alike:
        return "separate"
    return "ends" if new.negated else "replaces"


_Placed = tuple[int, SlotFact]


def _english(clause: str, stated: int, speaker: str, addressee: str | None) -> Iterator[_Placed]:
    last, named = None, False
    for head in ENGLISH_HEAD.finditer(clause, 0, stated):
        if head["carried"] is None:
            last, named = _english_subject(head, speaker, addressee), head["name"] is not None
        if last is None or head["past"] or (named and not head["plain"] and BARE.match(clause, head.end())):
            continue
        negated = any(head[mark] is not None for mark in ("never", "over"))
        yield from _read(ENGLISH, clause, head.end(), last, negated, plain=head["plain"] is not None)
    for head in OWNER_HEAD.finditer(clause, 0, stated):
        subject = _owner(head, speaker, addressee)
        if subject is not None:
            yield from _read(OWNED, clause, head.end(), subject, False, plain=False)


def _english_subject(head: regex.Match[str], speaker: str, addressee: str | None) -> str | None:
    if head["relation"]:
        owner = _owner(head, speaker, addressee)
        return None if owner is None else f"{owner}'s {head['relation'].lower()}"
    if head["first"]:
        return speaker
    if head["second"]:
        return addressee
    name = str(head["name"])
    return name if content_tokens(name) and not name.endswith(("ing", "ly")) else None


def _owner(match: regex.Match[str], speaker: str, addressee: str | None) -> str | None:
    owner = match["owner"].lower()
    if owner in {"my", "our"}:
        return speaker
    return addressee if owner == "your" else match["owner"].rstrip("s").rstrip("'’")


def _chinese(clause: str, stated: int, speaker: str, addressee: str | None) -> Iterator[_Placed]:
    last: str | None = speaker
    for head in CHINESE_HEAD.finditer(clause, 0, stated):
        if head["who"]:
            person = speaker if head["who"][0] in "我咱" else addressee if head["who"][0] in "你您" else None
            last = f"{person}的{head['relation']}" if head["relation"] and person else person
        elif head["name"]:
            last = head["name"]
        if last is not None and not head["past"]:
            negated = head["never"] is not None or head["over"] is not None
            yield from _read(CHINESE, clause, head.end(), last, negated, plain=head["never"] is not None)


def _read(
    predicates: tuple[Predicate, ...], clause: str, place: int, subject: str, negated: bool, *, plain: bool
) -> Iterator[_Placed]:
    for predicate in predicates:
        match = predicate.pattern.match(clause, place)
        if match is None:
            continue
        value = _value(match)
        if not (value or predicate.ends):
            continue
        groups = match.groupdict()
        slot, over = predicate.slot, negated or groups.get("over") is not None or predicate.ends
        if plain and groups.get("over") is None and slot == "likes":
            slot, over = "dislikes", False  # `I don't like tea` is a taste; `I don't like tea any more` ends one.
        elif plain:
            over = True
        if groups.get("not") is not None:
            over = True
        yield match.start(), SlotFact(subject, slot, value, over)


def _value(match: regex.Match[str]) -> str:
    value = match.groupdict().get("value") or ""
    end = VALUE_END.search(value)
    value = (value[: end.start()] if end else value).strip(" \t\"'“”‘’")
    return value if content_tokens(value) or has_unspaced_script(value) else ""


def _alike(one: str, other: str) -> bool:
    if not one or not other or one.casefold() == other.casefold():
        return True
    if has_unspaced_script(one + other):
        return one in other or other in one
    shorter, longer = sorted((one, other), key=len)
    few, many = set(content_tokens(shorter)), set(content_tokens(longer))
    if not few or not few <= many:
        return False
    first = lexical_tokens(shorter)[0]
    before = regex.search(rf"(?<![\p{{L}}])(\p{{Lu}}[\p{{L}}]*)\s+{regex.escape(first)}(?![\p{{L}}])", longer, regex.I)
    return before is None or not before[1][0].isupper() or before[1].lower() in few
