"""The benchmarks' own response files, which their authors' judge scripts read.

- MemUse: `{"natural": {instance_id: reply}, "direct_qa": {instance_id: [reply per question]}}`.
- LoCoMo-Conv: a list of response records with the keys that the authors' driver writes.
- StratMem-Bench: its authors have published neither a response format nor judge scripts; a list of
  `{"id", "query", "response", "error"}` with the data's own ids and queries.

A failed reply is never written as text: MemUse's format leaves the instance out, the others say `error`.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from mnemoscope.core.errors import ConfigError
from mnemoscope.exports.cells import RunView
from mnemoscope.runfile.rows import NO_REPLY, CellRow, ProbeRow, SystemRow
from mnemoscope.scenarios.loaders.locomo_conv_ids import ProbeName, conversation_number, probe_name
from mnemoscope.scenarios.loaders.locomo_question import CATEGORY_NAMES
from mnemoscope.scenarios.records import Gold, Probe, Scenario

__all__ = ["OFFICIAL", "Answers", "locomo_conv_responses", "memuse_responses", "refuse_without", "stratmem_responses"]


_CATEGORY_OF = {name: number for number, name in CATEGORY_NAMES.items()}
_VARIANTS = {"none": "no_memory", "full-context": "all_memory", "oracle": "oracle"}
"""Memory to the authors' name of the condition; any other memory is `top_k`."""


@dataclass(slots=True)
class Answers:
    """The replies of one system and replicate to one benchmark's probes, and what must be said about the file."""

    view: RunView
    system: SystemRow
    replicate: int
    benchmark: str
    notes: list[str] = field(default_factory=list)

    def __iter__(self) -> Iterator[tuple[CellRow, ProbeRow, Probe, str | None]]:
        """Cells with their visible text; None where there is no reply."""
        for cell, row, probe in self.view.cells(self.system):
            if row.benchmark == self.benchmark and cell.replicate == self.replicate:
                reply = self.view.run.reply_of(cell) if cell.status == "ok" else None
                text = None if reply is None or reply.reasoning == NO_REPLY else reply.visible_text
                yield cell, row, probe, text

    def scenario(self, cell: CellRow) -> Scenario:
        """The scenario of a cell."""
        return self.view.run.scenario(cell.scenario_id)

    def note(self, what: str, names: list[str]) -> None:
        """Say which names something is true of, the first twenty by name."""
        if names:
            more = f" and {len(names) - 20:,} more" if len(names) > 20 else ""
            self.notes.append(f"{self.system.name}: {what}: {len(names):,} ({', '.join(names[:20])}{more})")


def refuse_without(view: RunView, benchmark: str) -> None:
    """Refuse a run that holds no probe of the benchmark.

    Raises:
        ConfigError: The format has nothing to write.
    """
    found = sorted({row.benchmark for row in view.probes.values()})
    if benchmark not in found:
        raise ConfigError(f"the run holds no probe of {benchmark}; its probes are of {', '.join(found) or 'nothing'}")


def memuse_responses(answers: Answers) -> str:
    """MemUse's responses file for one system.

    Failed replies are left out and named in a note, because the authors' scripts would judge any text in their place.
    A list of direct answers is aligned by position, so an instance that lacks one is left out of `direct_qa` whole.
    """
    natural: dict[str, str] = {}
    direct: dict[str, dict[int, str]] = defaultdict(dict)
    asked: dict[str, int] = {}
    silent: list[str] = []
    for cell, _, _, text in answers:
        kind = cell.probe_id.removeprefix(f"{cell.scenario_id}/")
        if kind != "natural":
            questions = [name for name in answers.scenario(cell).gold_by_probe if "/q" in name]
            asked[cell.scenario_id] = len(questions)
        if text is None:
            silent.append(cell.probe_id)
        elif kind == "natural":
            natural[cell.scenario_id] = text
        else:
            direct[cell.scenario_id][int(kind.removeprefix("q"))] = text
    whole = {name: direct[name] for name in asked if set(direct[name]) == set(range(asked[name]))}
    answers.note("no reply, left out", silent)
    answers.note(
        "not all direct questions answered, left out of direct_qa", [name for name in asked if name not in whole]
    )
    document: dict[str, object] = {"natural": natural}
    if asked:
        document["direct_qa"] = {name: [texts[i] for i in range(len(texts))] for name, texts in whole.items()}
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"


def locomo_conv_responses(answers: Answers) -> str:
    """LoCoMo-Conv's `responses.json` for one system.

    `prompt_len` is null: it is the length of the authors' own prompt. `sample_idx` is null for a conversation that is
    neither one of the published ten nor has composed clusters. Memories `none`, `full-context` and `oracle` under the
    baseline profile are the authors' conditions `no_memory`, `all_memory` and `oracle`; any other is `top_k`.
    """
    records = []
    unknown: list[str] = []
    for cell, _, probe, text in answers:
        name = probe_name(cell.scenario_id, cell.probe_id)
        if name is None:
            continue
        scenario = answers.scenario(cell)
        number = conversation_number(scenario)
        if number is None and cell.scenario_id not in unknown:
            unknown.append(cell.scenario_id)
        condition = _condition(answers)
        job = _job(name, number, probe, scenario)
        failed = None if text is not None else cell.error or NO_REPLY
        records.append({**job, **condition, "response": text or "", "prompt_len": None, "error": failed})
    answers.note("sample_idx unknown", unknown)
    return json.dumps(records, ensure_ascii=False, indent=2) + "\n"


def stratmem_responses(answers: Answers) -> str:
    """A response per StratMem-Bench item, by the data's own id."""
    records = [
        {"id": cell.probe_id, "query": probe.text, "response": text, "error": None if text is not None else cell.error}
        for cell, _, probe, text in answers
    ]
    return json.dumps(records, ensure_ascii=False, indent=2) + "\n"


def _condition(answers: Answers) -> dict[str, object]:
    system = answers.system
    variant = _VARIANTS.get(system.memory, "top_k") if system.profile == "baseline" else "top_k"
    named = variant == "top_k"
    k = answers.view.run.config.k if named else None
    return {"variant": variant, "system": system.name if named else None, "k": k}


def _job(name: ProbeName, number: int | None, probe: Probe, scenario: Scenario) -> dict[str, object]:
    gold = scenario.gold_by_probe[probe.probe_id]
    names = [person.name for person in scenario.participants]
    role = next((r for r, n in zip(("speaker_a", "speaker_b"), names, strict=False) if n == probe.speaker), None)
    job: dict[str, object] = {"style": name.style, "sample_idx": number, "q_idx": name.question}
    if name.cluster is not None:
        job["cluster_id"] = name.cluster
    job |= {
        "query": probe.text,
        "gold_answer": "; ".join(gold.answers),
        "gold_evidence": [*gold.evidence, *gold.unresolvable],
    }
    speakers = {"subject_speaker": role, "subject_speaker_name": probe.speaker}
    if name.cluster is not None:
        return {**job, **speakers}
    return {**job, "adversarial_answer": gold.trap, **speakers, "category": _category(gold)}


def _category(gold: Gold) -> int | None:
    return next((_CATEGORY_OF[stratum] for stratum in gold.strata if stratum in _CATEGORY_OF), None)


OFFICIAL: dict[str, Callable[[Answers], str]] = {
    "memuse": memuse_responses,
    "locomo-conv": locomo_conv_responses,
    "stratmem": stratmem_responses,
}
"""Format to what writes one system's file."""
