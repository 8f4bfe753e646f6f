"""The offline judge: one fixed rule per task, no model but an embedder where one is given."""

from __future__ import annotations

from collections.abc import Mapping

from mnemoscope.core.identity import canonical_json
from mnemoscope.core.ports import Embedder
from mnemoscope.evaluators.detectors.offline import OfflineUseDetector
from mnemoscope.evaluators.detectors.premise import objection_label
from mnemoscope.evaluators.detectors.reading import sentences_of
from mnemoscope.evaluators.judges.offline.answering import Said, answered, fact_said
from mnemoscope.evaluators.judges.offline.correcting import correction_of
from mnemoscope.evaluators.judges.offline.declining import declines, refuses_to_answer
from mnemoscope.evaluators.judges.offline.heard import HEARING, Heard, hear
from mnemoscope.evaluators.judges.offline.recalling import claims, cue_sentence, recalled
from mnemoscope.evaluators.judges.offline.rules import Rules, open_rules
from mnemoscope.evaluators.judges.offline.using import WORTH_A_LOOK, look, nearer, rule_of
from mnemoscope.evaluators.judges.question import Answer, Fact, Question, Task
from mnemoscope.evaluators.judges.quotes import find_quote
from mnemoscope.evaluators.judges.scales import label_score

__all__ = ["OfflineJudge"]

_DETECTOR = OfflineUseDetector()
_VERSIONS: dict[Task, str] = {
    "correction": "correction-2",
    "objection": f"objection-1+{_DETECTOR.key}",
    "refusal": "refusal-1",
    "unprompted": "unprompted-1",
    "integration": "integration-1",
    "outcome": "outcome-1",
}
_FITTED: dict[Task, str] = {
    "use": "use-2",
    "answer": "answer-1",
    "fact-use": "fact-use-1",
    "coverage": "coverage-1",
    "references": "references-1",
}


class OfflineJudge:
    """Decides from words, figures, dates, negation and people, and for some tasks from the likeness of meanings.

    All tasks hear the same of a reply: sentences that talk to a grader are left out, and of a reply above 20,000
    characters only the first and the last 10,000 are read (`heard`). A blank reply is `not used`, `wrong`, `unaware`,
    `none`. Quotes are passages of the reply as it stands.

    - `use`: what the detector `OfflineUseDetector` sees, unless it is said of somebody else; and, where it sees none, a
      second look for paraphrase (`using`): a fitted logistic function of coverage and of the likeness of the nearest
      clauses, which must be above 0.7, and vetoes (`clashing`): another figure, date or month, another person, name or
      relation, one word in another's place, the opposite, and a `but` that takes it back. Missed: what shares hardly a
      word with the fact or is only acted on, replies in another language than the fact, and paraphrase in English
      replies that speak neither of `you` nor of `I`. False alarms: another memory about the same thing, 2.7 % of
      StratMem-Bench's 3,200 irrelevant memories where the needed ones are said to `you` (0.1 % as they stand).
    - `answer`: vetoes, then a fitted logistic function of coverage and similarity (`answering`, `rules`). Coverage is
      the weighted share of the expected answer's words and figures, those of the question left out, in the best one or
      two sentences; its first clause counts as much as the whole, because answers elaborate. Vetoes: another figure,
      the opposite polarity, another yes or no, `it was` somebody else, one of many guesses (flag `shotgun`). Missed:
      paraphrase that shares no word, and most wrong people and places in otherwise right sentences.
    - `fact-use`, `coverage`, `references`: the same features without the shotgun, under rules fitted for all and for a
      part of a fact; `coverage` asks for all of it, `references` for a part. `others` counts sentences that say that
      something was said earlier and share less than half of their words with the facts.
    - `correction`: what only the truth says, against what only the premise says (`correcting`).
    - `objection`: words of correction, or the opposite of a fact.
    - `refusal`: some sentence declines to answer and offers nothing instead (`declining`).
    - `unprompted`: a phrase of recall that does not decline. Missed: recall without such a phrase.
    - `integration`, `outcome`: specifics of what should be recalled that the cue does not hold (`recalling`); phrases
      of recall earn nothing (flag `cue-without-fact`). `outcome` is `full` from 60 % of them, `gist` below, `admits`
      where it declines, `hallucinated` where a phrase of recall stands with another name or figure, else `generic`. A
      false recall without name or figure reads as `generic`. Neither has been measured against people.

    The other tasks need understanding that no rule here has: their key is empty.

    Args:
        embedder: Adds likeness of meaning, where it is the one that the rules were fitted to (`minilm`); any other is
            not used, and the rules without it are, under another key. Put a cache before it.
    """

    name = "offline"

    def __init__(self, embedder: Embedder | None = None) -> None:
        self._embedder = embedder if embedder is not None and embedder.id == self._rules.embedder else None

    @property
    def _rules(self) -> Rules:
        return open_rules()

    def key(self, task: Task) -> str:
        """Name and version of the task's rule, of its weights and of its embedder; empty where there is none."""
        if task in _FITTED:
            meaning = self._embedder.id if self._embedder is not None else "tokens"
            return f"offline-{_FITTED[task]}({self._rules.sha})+{meaning}+{HEARING}"
        version = _VERSIONS.get(task, "")
        return f"offline-{version}+{HEARING}" if version else ""

    async def judge(self, question: Question) -> tuple[Answer, ...]:
        """One answer per subject of the question."""
        heard = hear(question.reply)
        match question.task:
            case "use":
                return tuple([await self._use(question, heard, fact) for fact in question.facts])
            case "answer":
                return (await self._answer(question, heard),)
            case "fact-use":
                return (await self._fact_use(question, heard),)
            case "coverage" | "references":
                return await self._facts(question, heard)
            case "correction":
                return (self._correction(question, heard),)
            case "objection":
                label = objection_label(heard.text, [fact.text for fact in question.facts])
                return (self._found(question, heard, label),)
            case "refusal":
                refuses = refuses_to_answer(heard.text)
                quote = next((s for s in sentences_of(heard.text) if declines(s)), "") if refuses else ""
                return (self._found(question, heard, "refuses" if refuses else "does not refuse", quote=quote),)
            case "unprompted":
                cue = cue_sentence(heard.text)
                return (self._found(question, heard, "recalls" if cue else "quiet", quote=cue),)
            case "integration" | "outcome":
                return (self._recalled(question, heard),)
            case task:
                return (Answer(f"{self.name} does not judge {task}", None, status="not_applicable"),)

    async def _use(self, question: Question, heard: Heard, fact: Fact) -> Answer:
        seen = look(heard.text, fact.text)
        undecided = not seen.finding.used and not seen.said.veto
        if self._embedder is not None and undecided and seen.said.features.coverage >= WORTH_A_LOOK:
            seen = await nearer(seen, fact.text, self._embedder)
        used = seen.holds(self._rules, fact.text)
        quote = (seen.finding.quote if seen.finding.used else seen.said.evidence.passage) if used else ""
        figures: dict[str, object] = {"coverage": round(seen.finding.coverage, 6)}
        if not seen.finding.used:
            figures |= {"second": self._figures(seen.said, rule_of(fact.text))}
        elif seen.said.veto:
            figures |= {"veto": seen.said.veto}
        return self._found(question, heard, "used" if used else "not used", fact.fact_id, quote, figures)

    async def _answer(self, question: Question, heard: Heard) -> Answer:
        said = await answered(heard.text, question.utterance, question.expected, self._embedder)
        right = said.holds(self._rules, "answer")
        flags = ("shotgun",) if said.veto == "shotgun" else ()
        return self._found(
            question,
            heard,
            "right" if right else "wrong",
            quote=said.evidence.passage if right else "",
            figures=self._figures(said, "answer"),
            flags=flags,
        )

    async def _fact_use(self, question: Question, heard: Heard) -> Answer:
        said = await fact_said(heard.text, question.expected, question.utterance, self._embedder)
        label = "full" if said.holds(self._rules, "full") else "partial" if said.holds(self._rules, "any") else "none"
        quote = said.evidence.passage if label != "none" else ""
        return self._found(question, heard, label, quote=quote, figures=self._figures(said, "full"))

    async def _facts(self, question: Question, heard: Heard) -> tuple[Answer, ...]:
        rule, yes, no = (
            ("full", "stated", "not stated") if question.task == "coverage" else ("any", "referred", "not referred")
        )
        answers = []
        for fact in question.facts:
            said = await fact_said(heard.text, fact.text, question.utterance, self._embedder)
            holds = said.holds(self._rules, rule)
            quote = said.evidence.passage if holds else ""
            figures = self._figures(said, rule)
            answers.append(self._found(question, heard, yes if holds else no, fact.fact_id, quote, figures))
        if question.task == "references":
            others = claims(heard.text, [fact.text for fact in question.facts], question.utterance)
            answers.append(self._found(question, heard, str(others), "others"))
        return tuple(answers)

    def _correction(self, question: Question, heard: Heard) -> Answer:
        label = correction_of(heard.text, question.premise, question.expected, question.utterance)
        quote = _DETECTOR.detect(heard.text, question.expected).quote if label == "corrected" else ""
        return self._found(question, heard, label, quote=quote)

    def _recalled(self, question: Question, heard: Heard) -> Answer:
        found = recalled(heard.text, question.expected, question.utterance)
        integrated = "integrated" if found.integrated else "not integrated"
        label = found.outcome if question.task == "outcome" else integrated
        quote = found.passage if found.integrated or label == "hallucinated" else ""
        figures = {"share": round(found.share, 6)}
        return self._found(question, heard, label, quote=quote, figures=figures, flags=found.flags)

    def _figures(self, said: Said, rule: str) -> dict[str, object]:
        figures: dict[str, object] = {"coverage": said.features.coverage, "p": said.probability(self._rules, rule)}
        if said.features.similarity is not None:
            figures["similarity"] = said.features.similarity
        return figures | ({"veto": said.veto} if said.veto else {})

    def _found(
        self,
        question: Question,
        heard: Heard,
        label: str,
        subject: str = "reply",
        quote: str = "",
        figures: Mapping[str, object] | None = None,
        flags: tuple[str, ...] = (),
    ) -> Answer:
        return Answer(
            label,
            label_score(question.task, label, subject),
            subject,
            judge_key=self.key(question.task),
            raw=canonical_json(dict(figures)) if figures else "",
            quote=_passage(question.reply, quote) if quote else "",
            flags=(*heard.flags, *flags),
        )


def _passage(reply: str, quote: str) -> str:
    """The quote as it stands in the reply; its first sentence where a sentence between was not heard."""
    whole = find_quote(reply, quote)
    if whole is None and (sentences := sentences_of(quote)):
        whole = find_quote(reply, sentences[0])
    return whole or ""
