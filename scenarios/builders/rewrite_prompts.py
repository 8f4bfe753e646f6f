"""What a model is asked when LoCoMo's questions are rewritten as things that people say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mnemoscope.core.identity import sha256_of
from mnemoscope.core.ports import Message

__all__ = ["PROMPT_SHA", "SCHEMAS", "rewrite_messages"]

_GLOSSES = {
    1: "multi-hop: the answer is put together from several places of the conversation",
    2: "temporal: the answer is a time, an order or a duration",
    3: "open-domain: the answer is inferred from the conversation and common knowledge",
    4: "single-hop: the answer stands in one place of the conversation",
    5: "adversarial: the conversation does not answer it; the question confuses persons or facts",
}
_OPENING = (
    "Two friends, {a} (speaker_a) and {b} (speaker_b), have talked for months, and an assistant knows their talks. "
    "You rewrite a question about those talks as a message that one of the two sends to the assistant today. Write in "
    "the language of the question, in the first person, as people write: no quotation marks, no names of the "
    "conversation's sessions, no dates of it. "
)
_CONTRACTS = {
    "dialog": (
        "The message asks for the same thing as the question, directly, from memory. It must not hold the answer, any "
        "part of it, a date or anything else that is not in the question."
    ),
    "implicit": (
        "The message does not ask for a memory. It tells of a situation, a plan or a feeling of today, in which an "
        "assistant who remembers what the question is about would help better. It must not hold the answer or any part "
        "of it. In expected_memory_use, describe in two sentences how a good reply makes use of the answer."
    ),
    "counterfactual": (
        "The message takes for granted something wrong in the place of the answer, and asks for help on that ground. "
        "Choose asserted_wrong of the same kind as the answer and clearly different from it: another item of that kind "
        "for multi-hop, a year two to five years off or another month or season for temporal, the opposite inference "
        "for open-domain, one element changed for single-hop. The message holds asserted_wrong in these words, keeps "
        "to the question's topic, and never tells the true answer."
    ),
}
_STRING = {"type": "string"}
_SPEAKER = {"type": "string", "enum": ["speaker_a", "speaker_b"]}
_FIELDS: Mapping[str, Mapping[str, object]] = {
    "dialog": {"naturalness": {"type": "string", "enum": ["high", "medium", "low"]}},
    "implicit": {"expected_memory_use": _STRING},
    "counterfactual": {"asserted_wrong": _STRING},
}
SCHEMAS: Mapping[str, Mapping[str, object]] = {
    style: {
        "type": "object",
        "properties": {"query": _STRING, "speaker": _SPEAKER, "reason": _STRING, **fields},
        "required": ["query", "speaker", "reason", *fields],
    }
    for style, fields in _FIELDS.items()
}
"""The reply wanted for each style: the message, who sends it, why it is put so, and what the style needs besides."""
_FORM = (
    " Reply with one JSON object: query (the message), speaker (speaker_a or speaker_b: whoever the matter concerns), "
    "reason (one sentence on your choice), {fields}."
)
_REPAIR = "That cannot be used: {problems}. Write it anew as JSON.{forbidden}"
PROMPT_SHA = sha256_of("\n".join([_OPENING, *_CONTRACTS.values(), _FORM, _REPAIR, *_GLOSSES.values()]))
"""Of all prompts: finished items that were made with others are made again."""


def rewrite_messages(
    style: str,
    *,
    speakers: tuple[str, str],
    question: str,
    answer: str | None,
    category: int,
    rejected: Sequence[tuple[str, str, Sequence[str]]] = (),
) -> list[Message]:
    """The messages that ask for one rewriting.

    Args:
        style: `dialog`, `implicit` or `counterfactual`.
        speakers: Names of speaker_a and speaker_b.
        question: LoCoMo's question.
        answer: Its answer; None for adversarial questions.
        category: Its category.
        rejected: Earlier replies, what was wrong with each, and the words that it must not hold.
    """
    fields = ", ".join(_FIELDS[style])
    system = _OPENING.format(a=speakers[0], b=speakers[1]) + _CONTRACTS[style] + _FORM.format(fields=fields)
    known = f"Answer: {answer}" if answer is not None else "Answer: not in the conversation"
    asked = f"Question: {question}\nCategory: {_GLOSSES.get(category, 'unknown')}\n{known}"
    messages = [Message("system", system), Message("user", asked)]
    for reply, problems, words in rejected:
        forbidden = f" Do not use these words: {', '.join(words)}." if words else ""
        messages += [
            Message("assistant", reply),
            Message("user", _REPAIR.format(problems=problems, forbidden=forbidden)),
        ]
    return messages
