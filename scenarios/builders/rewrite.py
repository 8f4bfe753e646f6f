"""LoCoMo's questions rewritten by a model as dialog, implicit and counterfactual utterances, in LoCoMo-Conv's format.

Each rewriting is checked by rule: how much of the answer it gives away, how long it is, and, for a counterfactual one,
whether the wrong value is in it and is another than the answer. One that fails is asked for anew with the reason, up to
three times; then the attempt that gives least away is kept and flagged, or, where none could be read, the reason.
Finished rewritings are written to a journal line by line, so that an interrupted build goes on where it stopped.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from mnemoscope.core.errors import ConfigError
from mnemoscope.core.identity import canonical_json, sha256_of
from mnemoscope.core.language.tokens import content_tokens, lexical_tokens
from mnemoscope.core.ports import LanguageModel
from mnemoscope.core.structured import read_structured
from mnemoscope.core.usage import Usage
from mnemoscope.scenarios.answer_leak import LEAK_LIMITS, answer_leak
from mnemoscope.scenarios.builders.rewrite_prompts import PROMPT_SHA, SCHEMAS, rewrite_messages
from mnemoscope.scenarios.loaders.locomo import OFFICIAL_NAMES
from mnemoscope.scenarios.loaders.locomo_conv_files import REWRITES
from mnemoscope.scenarios.loaders.locomo_conversation import Sample, read_samples
from mnemoscope.scenarios.loaders.locomo_question import ADVERSARIAL, answer_of, category_of
from mnemoscope.scenarios.reading import Fields, JsonFile, official_file, read_json

__all__ = ["MIN_WORDS", "REPAIRS", "STYLES", "RewriteOutcome", "Rewriting", "build_rewrites", "problems_of"]

STYLES = tuple(REWRITES)
REPAIRS = 3
"""How often an utterance that fails is asked for anew."""
MIN_WORDS: Mapping[str, int] = {"dialog": 4, "implicit": 5, "counterfactual": 6}
"""Fewest words of an utterance, of LoCoMo-Conv's programmatic validation."""
_MAX_TOKENS = 400


@dataclass(frozen=True, slots=True)
class _Task:
    """One question in one style."""

    sample: int
    sample_id: str
    question: int
    style: str
    speakers: tuple[str, str]
    text: str
    answer: str | None
    category: int

    def key(self, model: str) -> str:
        """Changes with the question, the style, the prompts and the model."""
        return sha256_of(canonical_json([PROMPT_SHA, model, self.style, self.speakers, self.text, self.answer]))


@dataclass(frozen=True, slots=True)
class Rewriting:
    """What became of one question in one style."""

    fields: Mapping[str, str] | None
    """The model's reply by field of the schema; None where no attempt could be read."""
    problems: tuple[str, ...]
    """What is still wrong with it."""
    leak: float | None
    attempts: int


@dataclass(slots=True)
class RewriteOutcome:
    """What a build made."""

    rewritings: dict[tuple[int, int, str], Rewriting] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    usage: Usage = field(default_factory=Usage)


async def build_rewrites(
    path: str | Path,
    out: Path,
    model: LanguageModel,
    *,
    journal: Path,
    styles: Sequence[str] = STYLES,
    only: Mapping[str, Sequence[int]] | None = None,
    concurrency: int = 8,
    encoding: str = "utf-8",
    told: Callable[[int, int], None] = lambda done, total: None,
) -> RewriteOutcome:
    """Rewrite the questions of a LoCoMo file and write them as LoCoMo-Conv's main file.

    Args:
        path: The LoCoMo file or its folder.
        out: The JSON file to write; `NAME.provenance.json` beside it says where each field comes from.
        model: Asked once per question and style, and up to three times more where a check fails.
        journal: Finished rewritings, one JSON line each; those of the same prompts and model are not asked for again.
        styles: Which styles.
        only: Sample id to numbers of its questions; None: all. Other questions are left out of the file.
        concurrency: Questions in flight.
        encoding: What the LoCoMo file was saved in.
        told: Is told how many rewritings are done, and of how many.

    Raises:
        DataError: The LoCoMo file cannot be read or a row is malformed.
        ConfigError: An unknown style, nothing to rewrite, or an output that cannot be written.
        EndpointError: The model's endpoint failed for good; what is finished stays in the journal.
    """
    if unknown := [style for style in styles if style not in STYLES]:
        raise ConfigError(f"unknown style {unknown[0]!r}; there are {', '.join(STYLES)}")
    file = read_json(official_file(Path(path), OFFICIAL_NAMES, kind="locomo"), encoding=encoding)
    samples = read_samples(file)
    tasks = [task for number, sample in enumerate(samples) for task in _tasks(number, sample, styles, only)]
    if not tasks:
        raise ConfigError("there is no question to rewrite in the styles that are asked for")
    outcome, book = RewriteOutcome(), _Journal(journal)
    gate, failures = asyncio.Semaphore(concurrency), list[Exception]()

    async def one(task: _Task) -> None:
        key = task.key(model.key)
        made = book.get(key)
        if made is None:
            async with gate:
                if failures:  # an endpoint that failed for good is not asked again
                    return
                try:
                    made, usage = await _rewritten(task, model)
                except Exception as error:
                    failures.append(error)
                    return
            outcome.usage = outcome.usage + usage
            book.put(key, made)
        else:
            outcome.counts["from the journal"] += 1
        outcome.rewritings[task.sample, task.question, task.style] = made
        told(len(outcome.rewritings), len(tasks))

    await asyncio.gather(*(one(task) for task in tasks))
    if failures:
        raise failures[0]
    for (_, _, style), made in outcome.rewritings.items():
        state = "unreadable" if made.fields is None else "flagged" if made.problems else "passed"
        outcome.counts[f"{style} {state}"] += 1
    built = [_sample_row(number, sample, outcome) for number, sample in enumerate(samples)]
    _write(out, [sample for sample in built if sample["qa"] or only is None])
    _write(out.with_name(f"{out.stem}.provenance.json"), _provenance(file, model, styles, outcome, samples))
    return outcome


def problems_of(style: str, fields: Mapping[str, str], answer: str | None) -> tuple[list[str], float | None]:
    """What the rules find wrong with a rewriting, in words that the model is told, and how much it gives away.

    Args:
        style: Its style.
        fields: The model's reply by field.
        answer: The question's answer; None for adversarial questions.
    """
    query = fields["query"].strip()
    leak = None if answer is None else answer_leak(query, [answer])
    problems = []
    if leak is not None and leak > LEAK_LIMITS[style]:
        problems.append(f"it gives away {leak:.0%} of the answer's words, {LEAK_LIMITS[style]:.0%} are the limit")
    words = len(lexical_tokens(query))
    if words < MIN_WORDS[style]:
        problems.append(f"it has {words} words and needs at least {MIN_WORDS[style]}")
    if style == "counterfactual":
        wrong = fields["asserted_wrong"].strip()
        if not wrong or wrong.casefold() not in query.casefold():
            problems.append("asserted_wrong does not stand in the message in these words")
        if answer is not None and set(content_tokens(wrong)) == set(content_tokens(answer)):
            problems.append("asserted_wrong is the true answer")
        elif answer is not None and len(answer) > 1 and answer.casefold() in query.casefold():
            problems.append("the message tells the true answer")
    return problems, leak


async def _rewritten(task: _Task, model: LanguageModel) -> tuple[Rewriting, Usage]:
    """Ask until a rewriting passes or the repairs are spent; then the one that gives least away."""
    rejected: list[tuple[str, str, Sequence[str]]] = []
    kept: list[tuple[int, float, int, Rewriting]] = []
    usage, unreadable = Usage(), ""
    for attempt in range(1, REPAIRS + 2):
        messages = rewrite_messages(
            task.style,
            speakers=task.speakers,
            question=task.text,
            answer=task.answer,
            category=task.category,
            rejected=rejected[-1:],
        )
        completion = await model.complete(
            messages, phase="rewrite", schema=SCHEMAS[task.style], max_tokens=_MAX_TOKENS, replicate=attempt - 1
        )
        usage = usage + completion.usage
        reply = read_structured(completion.text, SCHEMAS[task.style])
        if reply.value is None:
            unreadable = reply.problem or "it could not be read"
            rejected.append((completion.text, unreadable, ()))
            continue
        fields = {name: str(value).strip() for name, value in reply.value.items()}
        problems, leak = problems_of(task.style, fields, task.answer)
        made = Rewriting(fields, tuple(problems), leak, attempt)
        if not problems:
            return made, usage
        kept.append((len(problems) > 1, leak or 0.0, attempt, made))
        forbidden = [word for word in (task.answer or "").split() if len(word) > 3]
        rejected.append((completion.text, "; ".join(problems), forbidden if leak else ()))
    if not kept:
        return Rewriting(None, (unreadable,), None, REPAIRS + 1), usage
    return min(kept, key=lambda one: one[:3])[3], usage


def _tasks(number: int, sample: Sample, styles: Sequence[str], only: Mapping[str, Sequence[int]] | None) -> list[_Task]:
    talk = sample.conversation
    speakers = (talk.text("speaker_a"), talk.text("speaker_b"))
    wanted = None if only is None else set(only.get(sample.sample_id, ()))
    tasks = []
    for place, value in enumerate(sample.questions):
        if wanted is not None and place not in wanted:
            continue
        row = Fields.of(value, file=talk.file, record=f"{sample.sample_id} qa {place}")
        category = category_of(row, _unheard)
        answer = None if category == ADVERSARIAL else answer_of(row, "answer", _unheard, clean=True)
        for style in styles:
            if style == "counterfactual" and answer is None:
                continue
            tasks.append(
                _Task(number, sample.sample_id, place, style, speakers, row.text("question").strip(), answer, category)
            )
    return tasks


def _unheard(kind: str, detail: str) -> None:
    """Oddities of LoCoMo's rows are told by its loader."""


def _sample_row(number: int, sample: Sample, outcome: RewriteOutcome) -> dict[str, object]:
    """A conversation in the official structure: questions first, with the fields of the styles that were made."""
    rows = []
    for place, value in enumerate(sample.questions):
        made = {style: outcome.rewritings.get((number, place, style)) for style in STYLES}
        own = {style: one for style, one in made.items() if one is not None}
        if own and isinstance(value, Mapping):
            talk = sample.conversation.values
            rows.append(
                {
                    **value,
                    "dialog_query": None,
                    **{k: v for style, one in own.items() for k, v in _fields(style, one, talk).items()},
                }
            )
    return {"qa": rows, "sample_id": sample.sample_id, "conversation": dict(sample.conversation.values)}


def _fields(style: str, made: Rewriting, talk: Mapping[str, object]) -> dict[str, object]:
    names = REWRITES[style]
    prefix = "" if style == "dialog" else f"{style}_"
    reason = "rewrite_reason" if style == "dialog" else f"{prefix}reason"
    if made.fields is None:
        return {names.query: None, reason: None, names.error: "; ".join(made.problems)}
    speaker = made.fields["speaker"]
    own = {name: text for name, text in made.fields.items() if name not in ("query", "speaker", "reason")}
    return {
        names.query: made.fields["query"],
        names.speaker: speaker,
        f"{names.speaker}_name": talk[speaker],
        **own,
        reason: made.fields["reason"],
        names.error: None,
    }


def _provenance(
    file: JsonFile, model: LanguageModel, styles: Sequence[str], outcome: RewriteOutcome, samples: Sequence[Sample]
) -> dict[str, object]:
    generated = {name: f"model: {model.key}" for style in styles for name in _names(style)}
    copied = dict.fromkeys(("question", "answer", "evidence", "category", "adversarial_answer"), "copied: LoCoMo")
    checks = {
        f"{samples[sample].sample_id} qa {question} {style}": {
            "attempts": made.attempts,
            "leak": None if made.leak is None else round(made.leak, 4),
            "problems": list(made.problems),
        }
        for (sample, question, style), made in sorted(outcome.rewritings.items())
    }
    return {
        "builder": "conv-rewrite",
        "source": file.path.name,
        "source_sha256": file.sha256,
        "model": model.key,
        "prompts": PROMPT_SHA,
        "styles": list(styles),
        "limits": {"leak": {style: LEAK_LIMITS[style] for style in styles}, "words": dict(MIN_WORDS)},
        "counts": {name: n for name, n in sorted(outcome.counts.items()) if name != "from the journal"},
        "fields": {**copied, **generated, "*_name": "copied: the conversation's speakers"},
        "checks": checks,
    }


def _names(style: str) -> tuple[str, ...]:
    names, reason = REWRITES[style], "rewrite_reason" if style == "dialog" else f"{style}_reason"
    own = {"dialog": "naturalness", "implicit": "expected_memory_use", "counterfactual": "asserted_wrong"}[style]
    return names.query, names.speaker, own, reason


class _Journal:
    """Finished rewritings by key; a line that was cut short counts as not written."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: dict[str, Rewriting] = {}
        try:
            raw = path.read_bytes() if path.exists() else b""
        except OSError as error:
            raise ConfigError(f"{path} cannot be read: {error.strerror or error}") from error
        self._torn = bool(raw) and not raw.endswith(b"\n")
        for line in raw.split(b"\n"):
            with suppress(ValueError, KeyError, TypeError):
                row = json.loads(line)
                made = Rewriting(row["fields"], tuple(row["problems"]), row["leak"], row["attempts"])
                self._known[row["key"]] = made

    def get(self, key: str) -> Rewriting | None:
        return self._known.get(key)

    def put(self, key: str, made: Rewriting) -> None:
        """Write it down; it is on disk when this returns."""
        fields = None if made.fields is None else dict(made.fields)
        row = {"key": key, "fields": fields, "problems": made.problems, "leak": made.leak, "attempts": made.attempts}
        try:
            with self._path.open("a", encoding="utf-8", newline="\n") as file:
                file.write(("\n" if self._torn else "") + json.dumps(row, ensure_ascii=False) + "\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise ConfigError(f"{self._path} cannot be written: {error.strerror or error}") from error
        self._torn = False


def _write(out: Path, value: object) -> None:
    part = out.with_name(f"{out.name}.part")
    try:
        part.write_text(json.dumps(value, ensure_ascii=False, indent=2) + "\n", encoding="utf-8", newline="\n")
        os.replace(part, out)  # noqa: PTH105 - one step, so that no half-written file stands under the name
    except OSError as error:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        raise ConfigError(f"{out} cannot be written: {error.strerror or error}") from error
