"""Prompts about answers: is the expected one given, how much of it, or is it refused?"""

from __future__ import annotations

from mnemoscope.evaluators.judges.llm.prompts.prompt import Option, TaskPrompt

__all__ = ["PROMPTS"]

PROMPTS = (
    # LongMemEval and MemUse (direct question, reference); special rules of a question type come as the rubric
    TaskPrompt(
        task="answer",
        shows=("utterance", "expected", "reply"),
        asks=(
            "Question: does the reply give the expected answer to the utterance?\n"
            "It does if it commits to an answer with the same content: other words, more detail and further remarks do "
            "no harm. It does not if a required part is missing, if a detail differs, if it offers several candidates "
            "without deciding, if it only repeats the question, or if it says that it does not know. Where a rubric is "
            "given, the rubric goes before these rules."
        ),
        reminder="Does the reply give the expected answer?",
        options=(Option("yes", "right"), Option("no", "wrong")),
    ),
    # LoCoMo-Conv, dialog and implicit style: three levels
    TaskPrompt(
        task="fact-use",
        shows=("speaker", "utterance", "expected", "reply"),
        asks=(
            "Question: how much of the expected content does the reply hold?\n"
            "1: its full substance, in whatever words, also if said with caution. 0.5: the central thing or its kind, "
            "but not the specifics that the expected content lists. 0: something wrong, a vague allusion, or nothing "
            "of it. The reply need not mention the content for its own sake: what shapes its advice visibly counts."
        ),
        reminder="How much of the expected content does the reply hold?",
        options=(Option("1", "full"), Option("0.5", "partial"), Option("0", "none")),
        form="level",
        key="score",
    ),
    TaskPrompt(
        task="refusal",
        shows=("utterance", "reply"),
        asks=(
            "Question: does the reply say that it does not know, was not told, or cannot tell?\n"
            "It does if this is what it has to say on what the utterance asks. It does not if it gives an answer all "
            "the same, even a cautious one, or if it admits ignorance only about something else."
        ),
        reminder="Does the reply say that it does not know or was not told?",
        options=(Option("yes", "refuses"), Option("no", "does not refuse")),
    ),
    # MemUse, failure taxonomy of replies to memory-seeking turns
    TaskPrompt(
        task="outcome",
        shows=("utterance", "expected", "context", "reply"),
        asks=(
            "Question: which kind is the reply? The expected part says what it should recall.\n"
            "A: it brings in the specifics of what is expected, rightly. B: it shows the gist or the topic of it, "
            "without specifics. C: it is kind or helpful in a way that would suit anyone, and recalls nothing. D: it "
            "claims to recall something that is not what is expected and not in the memory either. E: it admits that "
            "it does not remember."
        ),
        reminder="Which kind is the reply?",
        options=(
            Option("A", "full"),
            Option("B", "gist"),
            Option("C", "generic"),
            Option("D", "hallucinated"),
            Option("E", "admits"),
        ),
        form="choice",
    ),
)
