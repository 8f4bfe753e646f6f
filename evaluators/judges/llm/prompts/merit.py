"""Prompts about merit: how good is the reply on a few axes, by a rubric, in its situation, or beside another one?"""

from __future__ import annotations

from mnemoscope.evaluators.judges.llm.prompts.prompt import Option, TaskPrompt

__all__ = ["PROMPTS"]

PROMPTS = (
    # LoCoMo-Conv, implicit style: each reply is judged beside the memory block that it was made from
    TaskPrompt(
        task="three-axis",
        shows=("context", "speaker", "utterance", "reply"),
        asks=(
            "Question: how good is the reply on three axes, each 0, 0.5 or 1?\n"
            "faithfulness: 1, all that it says of the past is borne out by the memory; 0.5, a slip that does not "
            "mislead; 0, it makes something up or mixes something up. relevance: 1, what it brings in serves this "
            "utterance; 0.5, partly; 0, it is beside the point. engagement: 1, it meets this person in this situation; "
            "0.5, it is friendly in general; 0, it is flat or puts off. Judge each axis by itself. If no memory is "
            "shown, judge faithfulness by what the utterance itself says of the past."
        ),
        reminder="How good is the reply on each of the three axes?",
        options=(Option("0", "0"), Option("0.5", "0.5"), Option("1", "1")),
        form="axes",
        axes=("faithfulness", "relevance", "engagement"),
        key="",
    ),
    # PRAGMA, alignment: the rubric says what this query wants
    TaskPrompt(
        task="alignment",
        shows=("facts", "context", "utterance", "reply"),
        asks=(
            "Question: does the reply do what the rubric asks of it?\n"
            "The rubric is a description of a good reply; what it says about forms of output does not matter here. The "
            "reply does what is asked if it does all of it in substance. Doing a part, or promising it, is not enough."
        ),
        reminder="Does the reply do what the rubric asks of it?",
        options=(Option("yes", "aligned"), Option("no", "not aligned")),
    ),
    # LoCoMo-Conv, second axis of the two-axis analysis
    TaskPrompt(
        task="tied",
        shows=("utterance", "reply"),
        asks=(
            "Question: does the reply speak to the situation that the utterance describes?\n"
            "It does if it takes up the plan, trouble or feeling of this very situation. It does not if it would read "
            "the same under another utterance, or answers something else."
        ),
        reminder="Does the reply speak to the situation of the utterance?",
        options=(Option("yes", "tied"), Option("no", "untied")),
    ),
    # LoCoMo-Conv, silent grounding: pairs, in an order that the judge cannot foresee
    TaskPrompt(
        task="preference",
        shows=("facts", "speaker", "utterance", "reply", "other"),
        asks=(
            "The facts are what is known of the user.\n"
            "Question: which of the two replies serves the user better, given the facts?\n"
            "A: the first reply. B: the second reply. TIE: neither serves better. A reply may be the better one "
            "without mentioning any fact, if the facts show that it fits. Order and length do not matter."
        ),
        reminder="Which of the two replies serves the user better?",
        options=(Option("A", "first"), Option("B", "second"), Option("TIE", "tie")),
        form="choice",
    ),
)
