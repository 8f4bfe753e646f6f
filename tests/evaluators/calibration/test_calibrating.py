"""Calibration: agreement on known labels, what is left out of it, repeats, and what sways a judge."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from mnemoscope.core.errors import ConfigError, DataError
from mnemoscope.evaluators.calibration.calibrating import calibrate
from mnemoscope.evaluators.calibration.labels import Labels, bundled_rows, read_labels
from mnemoscope.evaluators.calibration.library import Calibrations, Kappa, bundled_calibrations, read_calibration
from mnemoscope.evaluators.calibration.record import Calibration, MetricCalibration
from mnemoscope.evaluators.judges.judge import Judge
from mnemoscope.evaluators.judges.offline.judge import OfflineJudge
from mnemoscope.evaluators.judges.question import TASKS, Answer, Question, Task

AT = datetime(2026, 3, 1, tzinfo=UTC)


class Scripted:
    """Says right where the reply holds a word."""

    name = "scripted"

    def __init__(self, word: str = "Pixel", *, version: str = "1") -> None:
        self.word, self.version = word, version

    def key(self, task: Task) -> str:
        return f"scripted-{self.version}" if task in ("answer", "preference", "fact-use") else ""

    async def judge(self, question: Question) -> tuple[Answer, ...]:
        key = self.key(question.task)
        if "broken" in question.reply:
            return (Answer("unparseable", None, status="invalid", judge_key=key),)
        if "down" in question.reply:
            return (Answer("judge-error:timeout", None, status="error", judge_key=key),)
        if question.task == "preference":
            return (Answer("first", 1.0, judge_key=key),)  # whichever stands first
        yes = self.word in question.reply
        return (Answer("right" if yes else "wrong", float(yes), judge_key=key),)


def row(number: int, reply: str, label: str, **fields: object) -> dict[str, object]:
    return {
        "id": f"r{number}",
        "cluster": f"c{number // 2}",
        "metric": "answer",
        "reply": reply,
        "question": "What is the cat called?",
        "gold": "Pixel",
        "label": label,
        **fields,
    }


def labels(tmp_path: Path, rows: Sequence[dict[str, object]]) -> Labels:
    file = tmp_path / "rows.jsonl"
    file.write_text("\n".join(json.dumps(r, ensure_ascii=False) for r in rows), encoding="utf-8")
    return read_labels([file])


async def measured(rows: Labels, *askings: Judge) -> Calibration:
    return await calibrate(askings or (Scripted(),), rows, at=AT, resamples=300, with_canaries=False)


def only(found: Calibration) -> MetricCalibration:
    (one,) = found.metrics
    return one


async def test_agreement_by_hand_with_failures_outside_it(tmp_path: Path) -> None:
    rows = [
        *(row(n, "It is Pixel.", "right", kind="paraphrase") for n in range(4)),
        row(4, "It is Pixel, I guess.", "wrong", kind="hedge"),
        *(row(n, "No idea.", "wrong", kind="refusal") for n in range(5, 8)),
        row(8, "The little one.", "right"),
        row(9, "broken", "right"),
        row(10, "down", "wrong"),
    ]
    one = only(await measured(labels(tmp_path, rows)))
    assert (one.rows, one.n, one.n_invalid, one.n_error, one.n_excluded) == (11, 9, 1, 1, 0)
    # 4 right-right, 1 wrong-right, 3 wrong-wrong, 1 right-wrong: observed 7/9, expected (5*5 + 4*4)/81
    assert one.agreement == pytest.approx(7 / 9)
    assert one.kappa == pytest.approx((7 / 9 - 41 / 81) / (1 - 41 / 81), abs=1e-6)
    assert one.confusion == {"right": {"right": 4, "wrong": 1}, "wrong": {"right": 1, "wrong": 3}}
    assert (one.sensitivity.count, one.sensitivity.n, one.specificity.count, one.specificity.n) == (4, 5, 3, 4)
    assert one.low is not None and one.high is not None and one.low <= one.kappa <= one.high
    assert (one.kinds["hedge"].judge.count, one.kinds["hedge"].people.count) == (1, 0)
    assert one.people == {"right": pytest.approx(5 / 9), "wrong": pytest.approx(4 / 9)}


async def test_one_class_has_no_kappa_and_says_why(tmp_path: Path) -> None:
    one = only(await measured(labels(tmp_path, [row(n, "It is Pixel.", "right") for n in range(6)])))
    assert (one.kappa, one.agreement, bool(one.reason)) == (None, 1.0, True)


async def test_a_task_that_the_judge_cannot_do_is_left_out_and_counted(tmp_path: Path) -> None:
    class Deaf(Scripted):
        async def judge(self, question: Question) -> tuple[Answer, ...]:
            return (Answer("does not judge this", None, status="not_applicable"),)

    one = only(await measured(labels(tmp_path, [row(n, "Pixel", "right") for n in range(3)]), Deaf()))
    assert (one.n, one.n_excluded, one.kappa) == (0, 3, None)


async def test_repeats_show_how_often_a_judge_contradicts_itself(tmp_path: Path) -> None:
    rows = labels(tmp_path, [row(n, "It is Pixel." if n % 4 else "It is Mochi.", "right") for n in range(8)])
    steady = only(await measured(rows, Scripted(), Scripted(), Scripted()))
    assert steady.consistency is not None
    assert (steady.consistency.asked, steady.consistency.flips.count, steady.consistency.band) == (3, 0, 0.0)
    torn = only(await measured(rows, Scripted(), Scripted("Mochi")))
    assert torn.consistency is not None
    assert (torn.consistency.flips.count, torn.consistency.flips.n, torn.consistency.band) == (8, 8, 1.0)
    assert only(await measured(rows)).consistency is None


async def test_wording_that_claims_to_remember_shows_in_its_probe(tmp_path: Path) -> None:
    class Impressed(Scripted):
        """Gives right to whatever claims to remember."""

        async def judge(self, question: Question) -> tuple[Answer, ...]:
            yes = "As you" in question.reply
            return (Answer("right" if yes else "wrong", float(yes), judge_key=self.key(question.task)),)

    rows = [row(n, "As you mentioned before, it is late." if n % 2 else "It is late.", "wrong") for n in range(8)]
    swayed = only(await measured(labels(tmp_path, rows), Impressed())).probes["wording"]
    assert (swayed.n, swayed.before, swayed.after, swayed.gap, swayed.flips) == (8, 0.0, 1.0, 1.0, 8)
    fair = only(await measured(labels(tmp_path, rows))).probes["wording"]
    assert (fair.gap, fair.flips) == (0.0, 0)


async def test_a_judge_that_likes_what_stands_first_shows_in_its_probe(tmp_path: Path) -> None:
    rows = [
        row(n, "Reply one.", "first", metric="preference", other="Reply two.", gold="", question="") for n in range(4)
    ]
    probe = only(await measured(labels(tmp_path, rows))).probes["position"]
    assert (probe.before, probe.after, probe.gap, probe.flips) == (1.0, 0.0, -1.0, 4)


async def test_own_model_length_and_drift(tmp_path: Path) -> None:
    class Vain(Scripted):
        def key(self, task: Task) -> str:
            return "llm(model=openai(model=own))"

    rows = [
        row(n, "It is Pixel." if n < 4 else "No idea, but here is a very long reply instead of one.", "wrong", model=m)
        for n, m in enumerate(["own", "own", "own", "own", "other", "other", "other", "other"])
    ]
    probes = only(await measured(labels(tmp_path, rows), Vain())).probes
    assert (probes["own-model"].before, probes["own-model"].after, probes["own-model"].gap) == (0.0, 1.0, 1.0)
    assert probes["length"].gap == -1.0
    assert probes["drift"].gap == -1.0


async def test_neither_length_nor_order_is_mistaken_for_the_script(tmp_path: Path) -> None:
    class OnlyEnglish(Scripted):
        """Finds everything wrong that is not in Latin letters, however long it is."""

        async def judge(self, question: Question) -> tuple[Answer, ...]:
            yes = question.reply.isascii()
            return (Answer("right" if yes else "wrong", float(yes), judge_key=self.key(question.task)),)

    english = ["It is Pixel, as always.", "Your cat is called Pixel, and it sleeps on the wheel."]
    chinese = ["叫皮克。", "你的猫叫皮克，睡在转盘上。"]
    rows = [row(n, (english + chinese)[n % 4], "right") for n in range(16)]
    probes = only(await measured(labels(tmp_path, rows), OnlyEnglish())).probes
    assert (probes["length"].n, probes["length"].gap) == (16, 0.0)
    rows = [row(n, (english if n < 8 else chinese)[n % 2], "right") for n in range(16)]
    drift = only(await measured(labels(tmp_path, rows), OnlyEnglish())).probes["drift"]
    assert (drift.n, drift.gap) == (16, 0.0), "one language after the other is no drift"


async def test_kappa_is_bound_to_the_judge_and_to_the_metric(tmp_path: Path) -> None:
    rows = labels(
        tmp_path, [row(n, "It is Pixel." if n % 2 else "No.", "right" if n % 2 else "wrong") for n in range(8)]
    )
    found = await measured(rows)
    file = tmp_path / "calibration.json"
    file.write_text(found.model_dump_json(), encoding="utf-8")
    known = Calibrations([read_calibration(file)])
    kappa = known.kappa("answer", "scripted-1")
    assert kappa is not None and (kappa.value, kappa.n, kappa.source) == (1.0, 8, "rows.jsonl")
    assert known.kappa("answer", "scripted-2") is None, "another judge"
    assert known.kappa("direct-qa", "scripted-1") is None, "another metric of the same task"
    assert str(Kappa(0.708, 0.55, 0.84, 120, 31, "x", None)) == "κ .71 [.55, .84] n=120"


@pytest.mark.parametrize(
    ("change", "field", "seen"),
    [
        ({"label": "maybe"}, "label", "right, wrong"),
        ({"metric": "anwser"}, "metric", "answer"),
        ({"gold": " "}, "gold", "fill it in"),
        ({"note": "x"}, "note", "fields are"),
        ({"id": ""}, "id", "at least 1"),
        ({"reply": None}, "reply", "string"),
    ],
)
def test_bad_rows_say_line_and_field(tmp_path: Path, change: dict[str, object], field: str, seen: str) -> None:
    with pytest.raises(DataError) as failed:
        labels(tmp_path, [row(0, "Pixel", "right"), {**row(1, "Pixel", "right"), **change}])
    assert "line 2" in str(failed.value) and field in str(failed.value) and seen in str(failed.value)


def test_bad_files_say_so(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot read labels"):
        read_labels([tmp_path / "none.jsonl"])
    with pytest.raises(DataError, match="an id occurs twice"):
        labels(tmp_path, [row(0, "a", "right"), row(0, "b", "wrong")])
    (tmp_path / "rows.jsonl").write_bytes(b"\xff\xfe{}")
    with pytest.raises(DataError, match="not UTF-8"):
        read_labels([tmp_path / "rows.jsonl"])
    (tmp_path / "c.json").write_text("{}", encoding="utf-8")
    with pytest.raises(DataError, match="not a calibration"):
        read_calibration(tmp_path / "c.json")


def test_bundled_calibrations_are_of_the_offline_judge_as_it_is_and_of_the_sealed_rows() -> None:
    (found,) = bundled_calibrations()
    assert found.labels_sha256 == read_labels(bundled_rows()).sha256, "made from other rows: calibrate again"
    assert found.judge == "offline"
    bare = {OfflineJudge().key(task).partition("(")[0].partition("+")[0] for task in TASKS}
    assert {one.metric for one in found.metrics} == {"answer", "correction", "fact-use", "refusal", "use"}
    for one in found.metrics:
        assert one.judge_key.partition("(")[0].partition("+")[0] in bare, "made by another rule: calibrate again"
        assert one.n == one.rows
