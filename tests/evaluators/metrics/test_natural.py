"""MemUse's three metrics: what the judge is shown in each version, and the released verdicts as figures."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mnemoscope.core.errors import ConfigError
from mnemoscope.evaluators.aggregate import aggregate
from mnemoscope.evaluators.case import EvaluationCase
from mnemoscope.evaluators.judges.question import Answer, Question
from mnemoscope.evaluators.judges.recorded import RecordedJudge
from mnemoscope.evaluators.judges.rows import answer_rows
from mnemoscope.evaluators.metrics.metric import Judged
from mnemoscope.evaluators.metrics.registry import METRICS
from mnemoscope.evaluators.rows import ProbeFacts, ScoreRow
from mnemoscope.scenarios.loaders.memuse_gold import SubQuestion
from mnemoscope.scenarios.opening import open_source
from mnemoscope.scenarios.records import Gold, GoldFact
from tests.evaluators.judging import verdicts_of
from tests.evaluators.metrics.memuse_cases import ASKED, FAIR, Table, direct, named, natural, natural_gold, negative
from tests.evaluators.metrics.scripted import Scripted, always, only, says

LABELS = {"integration": ("integrated", "not integrated"), "answer": ("right", "wrong")}


def asked(metric: str, case: EvaluationCase) -> list[Question]:
    made = METRICS.create(metric)
    assert isinstance(made, Judged)
    return list(made.questions(case))


def test_the_version_decides_what_stands_for_cue_and_description() -> None:
    case = natural("How was it?")
    (paper,) = asked("natural-integration", case)
    assert paper == Question(
        "integration", "How was it?", "that fair I told you about", expected="Recalls the fair in Delft."
    )
    (older,) = asked("natural-integration(inputs=1.1)", case)
    assert (older.utterance, older.expected) == (
        f"Long day. {FAIR}",
        "The user told of a ceramics fair in Delft and was nervous about selling.",
    )


def test_nothing_is_cut_unless_it_is_asked_for() -> None:
    long = natural("r", natural_gold(expected_1_1="x" * 299 + "FACT", expected_1_2="y" * 400))
    assert [len(asked(name, long)[0].expected) for name in (
        "natural-integration", "natural-integration(cut=300)", "natural-integration(inputs=1.1,cut=300)"
    )] == [400, 300, 300]  # fmt: skip
    assert asked("natural-integration(inputs=1.1,cut=300)", long)[0].expected.endswith("xF")


@pytest.mark.parametrize(
    "name",
    ["natural-integration", "natural-integration(inputs=1.1)", "natural-integration(inputs=1.1,cut=300)",
     "natural-integration(cut=300)"],
)  # fmt: skip
def test_names_read_back(name: str) -> None:
    assert METRICS.create(name).name == name
    assert METRICS.create("natural-integration(inputs=1.2)").name == "natural-integration"


@pytest.mark.parametrize("given", ["inputs=1.3", "inputs=paper", "cut=0", "cut=-1", "cut=true", "cut=many"])
def test_other_versions_and_cuts_are_refused(given: str) -> None:
    with pytest.raises(ConfigError, match="natural-integration"):
        METRICS.create(f"natural-integration({given})")


def test_a_missing_version_is_left_out_and_never_filled_in() -> None:
    gold = natural_gold()
    old = gold.model_copy(update={"judge_inputs": {k: v for k, v in gold.judge_inputs.items() if "1.2" not in k}})
    verdict = only("natural-integration", natural("r", old))
    assert (verdict.status, verdict.label) == ("not_applicable", "no judge inputs 1.2")
    judged = only("natural-integration(inputs=1.1)", natural("r", old), always("integration", "integrated", 1.0))
    assert (judged.label, judged.score, judged.judge_key) == ("integrated", 1.0, "integration-key")


def test_reference_puts_the_fact_questions_to_the_natural_reply() -> None:
    case = natural("Good luck in Delft!")
    questions = asked("reference", case)
    assert [(q.task, q.reply, q.utterance, q.expected, q.rubric) for q in questions] == [
        ("answer", "Good luck in Delft!", entry.question, entry.answer, "") for entry in ASKED
    ]
    script = {
        "answer": lambda q: [says("answer", "right" if q.expected == "Delft" else "wrong", q.expected == "Delft")]
    }
    found = {v.subject: v.score for v in verdicts_of("reference", case, Scripted(script))}
    assert found == {"q0": 1.0, "q1": 0.0}


def test_direct_qa_asks_the_same_of_the_direct_reply() -> None:
    (question,) = asked("direct-qa", direct("In Delft."))
    (first, _) = asked("reference", natural("In Delft."))
    assert question == first, "one prompt for both, as in the release"
    assert only("direct-qa", direct("In Delft."), always("answer", "right", 1.0)).score == 1.0
    failed = only("direct-qa", direct("In Delft."), always("answer", "unparseable", None))
    assert (failed.status, failed.score) == ("invalid", None)


def test_the_offline_judge_serves_all_three() -> None:
    right, wrong = natural("Good luck in Delft, do not be nervous!"), natural("As you told me, exciting!")
    assert [v.score for v in verdicts_of("natural-integration", right)] == [1.0]
    assert [v.score for v in verdicts_of("natural-integration", wrong)] == [0.0]
    assert [v.score for v in verdicts_of("direct-qa", direct("It is in Delft."))] == [1.0]
    assert [v.score for v in verdicts_of("reference", wrong)] == [0.0, 0.0]


def test_each_metric_has_its_own_probes() -> None:
    where = {name: METRICS.create(name) for name in ("natural-integration", "reference", "direct-qa")}
    cases = {"natural": natural("r"), "direct": direct("r"), "negative": negative("r")}
    applies = {n: [c for c, made in cases.items() if m.applies(made.gold, made.probe)] for n, m in where.items()}
    assert applies == {"natural-integration": ["natural"], "reference": ["natural"], "direct-qa": ["direct"]}
    none = natural_gold(asked=())
    assert only("reference", natural("r", none)).label == "no fact question"
    loose = Gold(facts=(GoldFact(fact_id="q9", text="x"),), judge_inputs=natural_gold().judge_inputs)
    assert only("reference", natural("r", loose)).label == "no fact question"


@pytest.mark.data
def test_what_the_released_replies_are_judged_by(benchmark_data: Path) -> None:
    """The questions of real instances are the slots of the released scorer: quote and paragraph, or span and recall."""
    source = {
        row["instance_id"]: row for row in map(json.loads, _lines(benchmark_data / "memuse_instances_sample.jsonl"))
    }
    seen = 0
    for scenario in open_source(f"memuse:{benchmark_data / 'memuse_instances_sample.jsonl'}"):
        row = source[str(scenario.scenario_id)]
        target, quote = row["target"], row["input"]["trigger_quote"]
        for probe in scenario.probes:
            gold = scenario.gold_by_probe[probe.probe_id]
            case = EvaluationCase(probe=probe, gold=gold, reply=natural("the reply").reply, history=())
            if str(probe.probe_id).endswith("/natural"):
                (paper,), (older,) = (
                    asked(f"natural-integration({given}cut=300)", case) for given in ("", "inputs=1.1,")
                )
                assert (paper.utterance, paper.expected) == (target["judge_trigger"], target["judge_expected"][:300])
                assert (older.utterance.split(), older.expected) == (quote.split(), target["ground_truth"][:300])
                found = [(q.utterance, q.expected) for q in asked("reference", case)]
                assert found == [(sub["question"], sub["answer"]) for sub in target["sub_questions"]]
            else:
                sub = target["sub_questions"][int(str(probe.probe_id).rpartition("/q")[2])]
                assert asked("direct-qa", case) == [
                    Question("answer", "the reply", sub["question"], expected=sub["answer"])
                ]
            seen += 1
    assert seen > len(source)


@pytest.mark.data
@pytest.mark.parametrize(
    ("system", "direct_yes", "reference_yes", "natural_yes"), [("mem0", 16, 2, 3), ("letta", 18, 4, 4)]
)
def test_released_replies_and_verdicts_give_the_released_counts(
    benchmark_data: Path, tmp_path: Path, system: str, direct_yes: int, reference_yes: int, natural_yes: int
) -> None:
    rows = [r for r in map(json.loads, _lines(benchmark_data / "memuse_judged_sample.jsonl")) if r["system"] == system]
    cases = list(_sample_cases(rows))
    file = tmp_path / "released.jsonl"
    file.write_text("".join(_recorded(cases, rows)), encoding="utf-8")
    judge = RecordedJudge(file)
    found = [v for case in cases for name in LABELLED for v in _applied(name, case, judge)]
    assert {v.status for v in found} == {"scored"}
    counts = {name: sum(v.score or 0 for v in found if v.metric == name) for name in LABELLED}
    assert counts == {"direct-qa": direct_yes, "reference": reference_yes, "natural-integration": natural_yes}
    assert counts["direct-qa"] == sum(row["verdict_direct"] for row in rows)
    assert [sum(v.metric == name for v in found) for name in LABELLED] == [28, 28, 7]


@pytest.mark.data
@pytest.mark.parametrize(
    ("report", "natural_yes", "direct_yes", "reference_yes", "macro"),
    [
        ("mem0_schema1.1", 42, 131, 23, 0.0750),
        ("letta_schema1.1", 41, 194, 34, 0.1076),
        ("mem0_schema1.2", 20, 134, 23, 0.0750),
        ("letta_schema1.2", 21, 193, 35, 0.1111),
    ],
)
def test_all_released_labels_aggregate_to_the_published_figures(
    benchmark_data: Path, report: str, natural_yes: int, direct_yes: int, reference_yes: int, macro: float
) -> None:
    document = json.loads((benchmark_data / "memuse_labels" / f"report_{report}.json").read_text(encoding="utf-8"))
    answers: dict[Question, bool] = {}
    cases = list(_label_cases(document, answers))
    judge, rows = Table(answers, LABELS), list[ScoreRow]()
    for case in cases:
        probe = str(case.probe.probe_id)
        for name in LABELLED:
            rows += [
                ScoreRow("s", probe, probe, 0, v.metric, v.subject, v.label, v.score, v.status, v.judge_key)
                for v in _applied(name, case, judge)
            ]
    probes = {(row.scenario_id, row.probe_id): ProbeFacts(row.scenario_id.partition("/")[0], (), "") for row in rows}
    found = {r.metric: r for r in aggregate(rows, probes, resamples=50).metrics if r.stratum == "all"}
    assert (found["natural-integration"].n_scored, found["direct-qa"].n_scored, found["reference"].n_scored) == (
        *(72, 316, 72),
    )
    assert found["natural-integration"].value == pytest.approx(natural_yes / 72, abs=1e-6)
    assert found["direct-qa"].value == pytest.approx(direct_yes / 316, abs=1e-6)
    assert sum(row.score or 0 for row in rows if row.metric == "reference") == reference_yes
    assert found["reference"].value == pytest.approx(macro, abs=5e-5)


LABELLED = ("direct-qa", "reference", "natural-integration")


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def _applied(name: str, case: EvaluationCase, judge: Any) -> list[Any]:
    return verdicts_of(name, case, judge) if METRICS.create(name).applies(case.gold, case.probe) else []


def _sample_cases(rows: list[dict[str, Any]]) -> Iterator[EvaluationCase]:
    """One natural case per instance and one direct case per row, with the released replies."""
    for instance in dict.fromkeys(row["instance_id"] for row in rows):
        own = [row for row in rows if row["instance_id"] == instance]
        entries = tuple(SubQuestion(f"q{r['question_idx']}", r["question"], r["gold_answer"]) for r in own)
        gold = natural_gold(entries, cue_1_2=f"cue of {instance}")
        yield named(natural(own[0]["natural_reply"], gold), f"{instance}/natural")
        for row, entry in zip(own, entries, strict=True):
            yield named(direct(row["direct_answer"], entry, gold), f"{instance}/{entry.fact_id}")


def _recorded(cases: list[EvaluationCase], rows: list[dict[str, Any]]) -> Iterator[str]:
    """The released verdicts as recorded answers to the published judge's questions, made from the rows alone."""
    for row in rows:
        for reply, verdict in (("direct_answer", "verdict_direct"), ("natural_reply", "verdict_reference")):
            question = Question("answer", row[reply], row["question"], expected=row["gold_answer"])
            said = Answer("right" if row[verdict] else "wrong", float(row[verdict]), judge_key="released")
            yield from (a.model_dump_json() + "\n" for a in answer_rows(question, [said]))
        if row["question_idx"] == min(r["question_idx"] for r in rows if r["instance_id"] == row["instance_id"]):
            yes = row["verdict_natural_integration"]
            cue, expected = f"cue of {row['instance_id']}", "Recalls the fair in Delft."
            question = Question("integration", row["natural_reply"], cue, expected=expected)
            said = Answer("integrated" if yes else "not integrated", float(yes), judge_key="released")
            yield from (a.model_dump_json() + "\n" for a in answer_rows(question, [said]))


def _label_cases(document: dict[str, Any], answers: dict[Question, bool]) -> Iterator[EvaluationCase]:
    """Cases without texts, one per released label: ids stand for replies."""
    for instance, label in document["per_instance"].items():
        own = [row for row in document["per_sub_question"] if row["instance_id"] == instance]
        entries = tuple(SubQuestion(f"q{r['sub_q_idx']}", f"question {r['sub_q_idx']}", "answer") for r in own)
        gold = natural_gold(entries, cue_1_2="cue", expected_1_2="expected")
        answers[Question("integration", instance, "cue", expected="expected")] = label["natural_integration"]
        yield named(natural(instance, gold), f"{instance}/natural")
        for row, entry in zip(own, entries, strict=True):
            reply = f"{instance}/{entry.fact_id}"
            answers[Question("answer", instance, entry.question, expected="answer")] = row["reference"]
            answers[Question("answer", reply, entry.question, expected="answer")] = row["direct_qa"]
            yield named(direct(reply, entry, gold), reply)
