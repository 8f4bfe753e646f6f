"""Prompts about facts: is one used, which are stated, to which does the reply refer?"""

from __future__ import annotations

from mnemoscope.evaluators.judges.llm.prompts.prompt import Option, TaskPrompt

__all__ = ["PROMPTS"]

PROMPTS = (
    # StratMem-Bench, section 4: the judge sees the reply and one fact, and must quote before it decides
    TaskPrompt(
        task="use",
        shows=("facts", "reply"),
        asks=(
            "Question: does the reply use the fact?\n"
            "It does if something that it says carries the content of the fact: stated, paraphrased, or plainly "
            "presupposed. Sharing only the topic, a name or a mood with the fact is no use, and neither is content "
            "that differs from the fact in person, number, time or polarity, or that anyone could say without knowing "
            "it. Without words of the reply to quote, the verdict is no."
        ),
        reminder="Does the reply use the fact?",
        options=(Option("yes", "used"), Option("no", "not used")),
        quoted=frozenset({"used"}),
    ),
    # LoCoMo-Conv, composed style: one verdict per numbered fact, joined by its number
    TaskPrompt(
        task="coverage",
        shows=("utterance", "facts", "reply"),
        asks=(
            "Question: which of the numbered facts does the reply state?\n"
            "A fact is covered if the reply says its substance, in whatever words and for whatever purpose. It is not "
            "covered if only its topic is touched, if a detail that makes up the fact is missing, or if it is told of "
            "another person, number or time. Judge each fact by itself. Without words of the reply to quote, a fact is "
            "not covered."
        ),
        reminder="Which of the facts does the reply state?",
        options=(Option("true", "stated"), Option("false", "not stated")),
        form="items",
        quoted=frozenset({"stated"}),
        key="covered",
    ),
    # PRAGMA, grounding of types 2 and 4, by index instead of by a share that the judge computes
    TaskPrompt(
        task="references",
        shows=("utterance", "facts", "reply"),
        asks=(
            "Question: to which of the numbered facts does the reply refer explicitly?\n"
            "It refers to a fact if a reader who knows all of them can tell that this one is meant: it names what "
            "happened or what was said there. A remark that would suit several of them, or anyone, refers to none. "
            'Then count, as "others", the further things that the reply claims about the user\'s past and that are '
            "none of the facts. Without words of the reply to quote, it does not refer to a fact."
        ),
        reminder="To which of the facts does the reply refer, and how many other things of the past does it claim?",
        options=(Option("true", "referred"), Option("false", "not referred")),
        form="items",
        quoted=frozenset({"referred"}),
        key="referred",
    ),
    # StratMem-Bench, section 4: memory integration quality
    TaskPrompt(
        task="quality",
        shows=("utterance", "facts", "reply"),
        asks=(
            "Question: how well are the facts worked into the reply?\n"
            "Look at the facts that the reply uses, and for these faults: the talk drifts away from the utterance; a "
            "fact is forced in where it has no business; something is made up around it; it is spun out beyond what "
            "serves; it is given to the wrong person, time or source.\n"
            "5: natural, relevant and rightly attributed throughout. 4: one slight fault. 3: noticeable faults that do "
            "not mislead. 2: a grave fault, or several. 1: the facts harm the reply, or it makes them up."
        ),
        reminder="How well are the facts worked into the reply, from 1 to 5?",
        options=tuple(Option(str(n), str(n)) for n in range(1, 6)),
        form="level",
        key="score",
    ),
)
