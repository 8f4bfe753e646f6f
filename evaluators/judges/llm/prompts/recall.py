"""Prompts about recall: does the reply show memory, unasked or unsupported, and is it in the memory that was given?"""

from __future__ import annotations

from mnemoscope.evaluators.judges.llm.prompts.prompt import Option, TaskPrompt

__all__ = ["PROMPTS"]

PROMPTS = (
    # MemUse, natural integration; what stands as utterance and as expected is the metric's choice (its inputs version)
    TaskPrompt(
        task="integration",
        shows=("utterance", "expected", "reply"),
        asks=(
            "The utterance alludes to something from an earlier conversation; the expected part describes what.\n"
            "Question: does the reply show that it remembers what is alluded to?\n"
            "It does if something in it could come only from knowing what is described. Phrases of remembering without "
            "such content do not count, nor do words that repeat the utterance, nor does sympathy that would suit "
            "anyone. What contradicts the description is no memory of it. Where a rubric is given, it goes before "
            "these rules."
        ),
        reminder="Does the reply show memory of what the utterance alludes to?",
        options=(Option("yes", "integrated"), Option("no", "not integrated")),
    ),
    # MemUse, negatives
    TaskPrompt(
        task="unprompted",
        shows=("utterance", "reply"),
        asks=(
            "Question: does the reply bring up an earlier conversation?\n"
            "It does if it asserts or presupposes that the user said, did or felt something particular on an earlier "
            "occasion that the utterance does not speak of. Answering what the utterance says, general knowledge and "
            "questions about the past are not bringing it up."
        ),
        reminder="Does the reply bring up an earlier conversation?",
        options=(Option("yes", "recalls"), Option("no", "quiet")),
    ),
    # MemUse, negatives that bring something up
    TaskPrompt(
        task="grounding",
        shows=("context", "reply"),
        asks=(
            "Question: is what the reply recalls of the past in the memory?\n"
            "2: all of it is there. 1: a part is there, or it is there in another form, and a part is not. 0: it is "
            "not there, or contradicts what is. Look only at what the reply claims of the past, not at advice or "
            "sympathy."
        ),
        reminder="Is what the reply recalls in the memory?",
        options=(Option("0", "ungrounded"), Option("1", "partial"), Option("2", "grounded")),
        form="level",
        key="score",
    ),
    # LoCoMo-Conv, category 5; against the memory block that this system was given
    TaskPrompt(
        task="hallucination",
        shows=("speaker", "utterance", "context", "reply"),
        asks=(
            "Question: does the reply assert, as something remembered, what the memory does not hold?\n"
            "It does if it states of the people concerned a particular that is not in the memory and does not follow "
            "from it, also by telling of one person what the memory tells of another. Saying that something is not "
            "known, asking, and general knowledge are no such assertion. If no memory is shown, none was given."
        ),
        reminder="Does the reply assert as remembered what the memory does not hold?",
        options=(Option("yes", "unsupported"), Option("no", "supported")),
    ),
)
