"""One reply of the judge's model, read: what it says about each subject, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from mnemoscope.core.ports import Completion
from mnemoscope.core.usage import Usage
from mnemoscope.evaluators.judges.llm.prompts.prompt import Option, TaskPrompt
from mnemoscope.evaluators.judges.parsing.fields import read_object
from mnemoscope.evaluators.judges.parsing.labels import YesNo, as_yes_no, choice, yes_no
from mnemoscope.evaluators.judges.parsing.listing import axes, items
from mnemoscope.evaluators.judges.parsing.numbers import level
from mnemoscope.evaluators.judges.parsing.reading import Parsed, visible_text
from mnemoscope.evaluators.judges.question import Question
from mnemoscope.evaluators.judges.quotes import find_quote, is_evidence

__all__ = ["UNFOUND", "Ballot", "Said", "read_ballot", "subjects"]

UNFOUND = "unfound-quote"


@dataclass(frozen=True, slots=True)
class Said:
    """What one reply says about one subject: a label, or a fault in a word."""

    label: str = ""
    quote: str = ""
    fault: str = ""
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ballot:
    """One vote: what the model said about each subject, in all the calls that it took."""

    said: Mapping[str, Said]
    raws: tuple[str, ...] = ()
    usage: Usage = Usage()

    @property
    def faults(self) -> frozenset[str]:
        """What is wrong, of any subject."""
        return frozenset(said.fault for said in self.said.values() if said.fault)

    @property
    def has_label(self) -> bool:
        """Whether it says something about any subject."""
        return any(not said.fault for said in self.said.values())

    def after(self, first: Ballot) -> Ballot:
        """This second asking with what the first one said of subjects that only the first could tell."""
        said = {
            name: second if not second.fault or first.said[name].fault else first.said[name]
            for name, second in self.said.items()
        }
        return replace(self, said=said, raws=(*first.raws, *self.raws), usage=first.usage + self.usage)


def subjects(prompt: TaskPrompt, question: Question) -> tuple[str, ...]:
    """What there is an answer about, in the order of the question."""
    if prompt.form == "axes":
        return prompt.axes
    if prompt.form == "items":
        others = ("others",) if prompt.task == "references" else ()
        return (*(fact.fact_id for fact in question.facts), *others)
    return (question.facts[0].fact_id,) if prompt.task == "use" and question.facts else ("reply",)


def read_ballot(prompt: TaskPrompt, question: Question, completion: Completion) -> Ballot:
    """Read a reply of the model. Nothing is raised for any text: what cannot be read is a fault."""
    text, finish = completion.text, completion.finish_reason
    if prompt.form == "items":
        said = _items(prompt, question, text, finish)
    elif prompt.form == "axes":
        said = _axes(prompt, text, finish)
    else:
        said = dict.fromkeys(subjects(prompt, question), _single(prompt, question, text, finish))
    return Ballot(said, (text,), completion.usage)


def _single(prompt: TaskPrompt, question: Question, text: str, finish: str | None) -> Said:
    codes = [option.code for option in prompt.options]
    parsed: Parsed[str]
    if prompt.form == "yes-no":
        parsed = _as_code(yes_no(text, finish_reason=finish))
    elif prompt.form == "level":
        parsed = _as_code(level(text, [float(code) for code in codes], finish_reason=finish))
    else:
        parsed = choice(text, codes, finish_reason=finish)
    if parsed.value is None:
        return _fault(parsed)
    found = read_object(visible_text(text)[0])
    quote = found.value.get("quote") if found is not None and found.value is not None else None
    return _backed(prompt, prompt.option(parsed.value), quote, question, parsed.repairs)


def _items(prompt: TaskPrompt, question: Question, text: str, finish: str | None) -> dict[str, Said]:
    """Facts go by number to the judge and back to their ids here, so that no id is read into."""
    numbers = [str(n) for n in range(1, len(question.facts) + 1)]
    found = items(text, numbers, as_yes_no, finish_reason=finish, field=prompt.key)
    said: dict[str, Said] = {}
    for number, fact in zip(numbers, question.facts, strict=True):
        item = found.by_id[number]
        parsed = _as_code(item.verdict)
        if parsed.value is None:
            said[fact.fact_id] = _fault(parsed)
        else:
            option = prompt.option("true" if parsed.value == "yes" else "false")
            said[fact.fact_id] = _backed(prompt, option, item.fields.get("quote"), question, found.repairs)
    return {**said, "others": _others(text)} if prompt.task == "references" else said


def _others(text: str) -> Said:
    found = read_object(visible_text(text)[0])
    value = found.value.get("others") if found is not None and found.value is not None else None
    if value is None:
        return Said(fault="missing")
    whole = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return Said(str(value)) if whole else Said(fault="wrong-type")


def _axes(prompt: TaskPrompt, text: str, finish: str | None) -> dict[str, Said]:
    found = axes(text, prompt.axes, [float(option.code) for option in prompt.options], finish_reason=finish)
    codes = {name: _as_code(parsed) for name, parsed in found.items()}
    return {
        name: _fault(code) if code.value is None else Said(prompt.option(code.value).label)
        for name, code in codes.items()
    }


def _backed(prompt: TaskPrompt, option: Option, quote: object, question: Question, repairs: Sequence[str] = ()) -> Said:
    """A label with its quote looked up; where the task wants evidence, one without is a fault."""
    flags = ("cut-off",) if "cut-off" in repairs else ()
    wanted = quote if isinstance(quote, str) else ""
    passage = find_quote(question.reply, wanted) if wanted.strip() else None
    if passage is not None and is_evidence(passage) and is_evidence(wanted):
        return Said(option.label, passage, flags=flags)
    if option.label in prompt.quoted:
        return Said(fault=UNFOUND, flags=(*flags, UNFOUND))
    unfound = (UNFOUND,) if wanted.strip() and passage is None and "other" not in prompt.shows else ()
    return Said(option.label, flags=(*flags, *unfound))


def _as_code(parsed: Parsed[YesNo] | Parsed[float]) -> Parsed[str]:
    value = parsed.value
    code = f"{value:g}" if isinstance(value, float) else value
    return Parsed(code, parsed.problem, parsed.repairs)


def _fault(parsed: Parsed[str]) -> Said:
    assert parsed.problem is not None, "a reading has a value or a problem"
    return Said(fault=parsed.problem.kind)
