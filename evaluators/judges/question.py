"""What a judge is asked about one visible reply, and what it answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal, get_args

from pydantic import ConfigDict

from mnemoscope.core.usage import Usage
from mnemoscope.evaluators.verdict import VerdictStatus

__all__ = ["TASKS", "Answer", "Fact", "Question", "Task"]

Task = Literal[
    "use",
    "coverage",
    "fact-use",
    "correction",
    "objection",
    "hallucination",
    "three-axis",
    "integration",
    "answer",
    "unprompted",
    "grounding",
    "alignment",
    "references",
    "quality",
    "tied",
    "outcome",
    "refusal",
    "preference",
]
"""What is judged. Each task has a closed set of labels, a score per label and a prompt of its own:

- `use`: does the reply use the one fact? `used` 1, `not used` 0; quotes.
- `coverage`: which of the facts does it state? Per fact `stated` 1, `not stated` 0; quotes.
- `fact-use`: how much of the expected answer does it hold? `full` 1, `partial` 0.5, `none` 0.
- `correction`: what does it make of the premise? `corrected` 1, `vague` 0.5, `unaware` 0, `wrong correction` 0.
- `objection`: does it tell the user that something is wrong? `corrects` 1; `contradicts` 1, it says the opposite of one
  of the facts; `none` 0.
- `hallucination`: does it assert as remembered what the context does not hold? `unsupported` 1, `supported` 0.
- `three-axis`: `faithfulness`, `relevance` and `engagement`, each 0, 0.5 or 1, one answer per axis.
- `integration`: does it show memory of what the cue refers to? `integrated` 1, `not integrated` 0.
- `answer`: does it give the expected answer to the question (the utterance)? `right` 1, `wrong` 0.
- `unprompted`: does it bring up an earlier conversation? `recalls` 1, `quiet` 0.
- `grounding`: is what it recalls in the context? `ungrounded` 0, `partial` 1, `grounded` 2.
- `alignment`: does it do what the rubric asks of it? `aligned` 1, `not aligned` 0.
- `references`: which of the facts does it refer to explicitly? Per fact `referred` 1, `not referred` 0, and one answer
  with subject `others`, the number of things that it claims of the past and that are none of the facts.
- `quality`: how naturally, relevantly and rightly attributed are the facts used (MIQ)? 1 to 5.
- `tied`: does it speak to the situation that the utterance describes? `tied` 1, `untied` 0.
- `outcome`: MemUse's five kinds of reply: `full`, `gist`, `generic`, `hallucinated`, `admits`; `full` scores 1, all
  others 0.
- `refusal`: does it say that it does not know or was not told? `refuses` 1, `does not refuse` 0.
- `preference`: which of two replies serves better, given the facts? `first` 1, `tie` 0.5, `second` 0.
"""

TASKS: tuple[Task, ...] = get_args(Task)
_STRICT = ConfigDict(extra="forbid")
"""How a question is read from a file (`rows.AnswerRow`)."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One fact that a judge is asked about, under the id by which its answer is joined."""

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT

    fact_id: str
    text: str


@dataclass(frozen=True, slots=True)
class Question:
    """All that a judge sees. It has no field for a system's name, a plan or hidden reasoning.

    Equal questions get equal answers: they are asked once per evaluation.
    """

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT

    task: Task
    reply: str
    """The visible reply."""
    utterance: str = ""
    """What the reply answers: the user's turn, a question, or the cue span."""
    speaker: str = ""
    facts: tuple[Fact, ...] = ()
    expected: str = ""
    """The expected answer, the truth behind a premise, or a description of what should be recalled."""
    premise: str = ""
    """What the user asserts and the history contradicts."""
    context: str = ""
    """The memory block, or summaries of earlier sessions."""
    rubric: str = ""
    """What a benchmark asks of the reply, in its own words or ours."""
    other: str = ""
    """The second reply, where two are compared."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One judge's answer about one subject of a question. A missing score is `None`, never 0."""

    label: str
    """A label of the task; for `invalid` and `error` the problem in a word, for `not_applicable` the reason."""
    score: float | None
    subject: str = "reply"
    """`reply`, a fact's id, or an axis."""
    status: VerdictStatus = "scored"
    judge_key: str = ""
    prompt_sha: str = ""
    raw: str = ""
    """What the judge said, as received; several votes as a JSON list. `asking.ask` cuts it at 20,000 characters."""
    quote: str = ""
    """Words that stand in the visible reply."""
    agreement: float | None = None
    """Share of the valid votes that gave this label, 0–1; None for one vote."""
    flags: tuple[str, ...] = ()
    """What a reader should look at:

    - `injection`: the reply talks to whoever judges it.
    - `clipped`: of a very long reply, only the beginning and the end were read.
    - `unfound-quote`: what the judge quotes does not stand in the reply.
    - `cut-off`: the judge's own answer ended early and was read as far as it went.
    - `cue-without-fact`: the reply says that it remembers, and shows nothing of it.
    - `shotgun`: the expected answer is one of many guesses.
    """
    usage: Usage = field(default=Usage(), compare=False)
