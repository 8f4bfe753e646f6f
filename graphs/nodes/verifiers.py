"""Nodes for `verify`: does the draft say what the plan decided?"""

from __future__ import annotations

import regex

from mnemoscope.core.identity import ItemId
from mnemoscope.graphs.nodes.ports import Verification, VerificationTask

__all__ = ["SlotCheck", "fact_of"]

_STAMP = r"\[(?:undated|\d{1,2} [A-Z][a-z]+ \d{1,4}, \d\d:\d\d)\] "
_FRAME = regex.compile(rf"^{_STAMP}(?:[^:\n]{{1,80}}: ?)?", regex.MULTILINE)
_CLOSED = regex.compile(r"[.!?…。！？][\"”’'）)\]」』]*$")
_UNSPACED_END = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}。！？]$")


class SlotCheck:
    """Looks for each must, nice and suppressed slot in the visible text, with the detector that it is given.

    Slots whose plan says to use them silently are not looked for.
    """

    name = "slots"

    def check(self, task: VerificationTask) -> Verification:
        """Slot by slot; a slot whose memory was not given counts as not realised."""
        texts = {item.id: item.text for item in task.memories}
        realised = {
            slot.slot_id: slot.memory_id in texts and task.detector.detect(task.draft, texts[slot.memory_id]).used
            for slot in task.plan.slots
            if slot.speak != "use"
        }
        return Verification(
            realised,
            unmet=tuple(s.slot_id for s in task.plan.slots if s.role == "must" and not realised.get(s.slot_id, True)),
            leaked=tuple(s.slot_id for s in task.plan.slots if s.role == "suppress" and realised.get(s.slot_id)),
        )

    def mend(self, task: VerificationTask, unmet: tuple[str, ...]) -> str:
        """The draft with the memory's own words, one plain sentence per slot, who said it in front."""
        items = {item.id: item for item in task.memories}
        text = task.draft.rstrip()
        for memory_id in _memories_of(task, unmet):
            if memory_id not in items:
                continue
            speaker = items[memory_id].attrs.get("speaker")
            fact = " ".join(fact_of(items[memory_id].text).split())
            text = _with_sentence(text, fact if speaker is None else f"{speaker}: {fact}")
        return text


def fact_of(text: str) -> str:
    """What a stored text says, without when and by whom: the frames of turns are taken off line by line.

    Example:
        >>> fact_of("[8 May 2023, 13:56] Caroline: I adopted a dog.")
        'I adopted a dog.'
    """
    return _FRAME.sub("", text)


def _memories_of(task: VerificationTask, slot_ids: tuple[str, ...]) -> list[ItemId]:
    return list(dict.fromkeys(slot.memory_id for slot in task.plan.slots if slot.slot_id in slot_ids))


def _with_sentence(text: str, sentence: str) -> str:
    closed = sentence if _CLOSED.search(sentence) else sentence + ("。" if _UNSPACED_END.search(sentence) else ".")
    if not text:
        return closed
    return text + ("" if _UNSPACED_END.search(text) else " ") + closed
