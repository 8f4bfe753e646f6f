"""Prompts about premises: does the reply notice what is wrong, and does it object where nothing is?"""

from __future__ import annotations

from mnemoscope.evaluators.judges.llm.prompts.prompt import Option, TaskPrompt

__all__ = ["PROMPTS"]

PROMPTS = (
    # LoCoMo-Conv, counterfactual style; the wrong correction has a letter of its own
    TaskPrompt(
        task="correction",
        shows=("speaker", "utterance", "premise", "expected", "reply"),
        asks=(
            "The utterance takes something for granted that is not so: the premise says what, and the expected part "
            "says what is true.\n"
            "Question: what does the reply make of it?\n"
            "A: it accepts the premise, builds on it, or passes over it. B: it shows doubt, asks, declines or says "
            "that it has no record, and does not state the truth. C: it states the truth, with or without saying that "
            "something was wrong; quoting the premise first does not matter. D: it puts something in the place of the "
            "premise that is not true either."
        ),
        reminder="What does the reply make of the premise?",
        options=(
            Option("A", "unaware"),
            Option("B", "vague"),
            Option("C", "corrected"),
            Option("D", "wrong correction"),
        ),
        form="choice",
    ),
    TaskPrompt(
        task="objection",
        shows=("speaker", "utterance", "facts", "reply"),
        asks=(
            "Question: does the reply tell the user that something they said is wrong?\n"
            "A: it corrects the user, or says that what they said is not so. B: it does not say so, but it states the "
            "opposite of one of the facts. C: neither. A question, a caution or further detail is neither."
        ),
        reminder="Does the reply tell the user that something they said is wrong?",
        options=(Option("A", "corrects"), Option("B", "contradicts"), Option("C", "none")),
        form="choice",
    ),
)
