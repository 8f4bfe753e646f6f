"""MIQ on all replies, on passes, and on overlapping classes of use."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from mnemoscope.core.errors import ConfigError
from mnemoscope.evaluators.case import EvaluationCase
from mnemoscope.evaluators.metrics.metric import tasks_of
from mnemoscope.evaluators.metrics.registry import DEFAULT_METRICS, METRICS
from mnemoscope.scenarios.records import Gold, MemoryRole
from tests.evaluators.conftest import case
from tests.evaluators.judging import OFFLINE, verdicts_of
from tests.evaluators.metrics.scripted import Script, Scripted, always, by_text, only

POOL = {"m": "Her kiln broke.", "n": "She likes jazz.", "i": "It rained in May."}
ROLES: dict[str, MemoryRole] = {"m": "must", "n": "nice", "i": "irr"}


def pooled(roles: Mapping[str, MemoryRole] = ROLES) -> EvaluationCase:
    gold = Gold(roles=roles)
    return case(reply="r", gold=gold, style="situational", text="How is she?", pool={i: POOL[i] for i in roles})


def script(level: float | None, *used: str) -> Script:
    quality = always("quality", "unparseable" if level is None else f"{level:g}", level)
    return {**quality, **by_text("use", {text: float(i in used) for i, text in POOL.items()}, "used", "not used")}


@pytest.mark.parametrize(("level", "share"), [(1.0, 0.0), (2.0, 0.25), (4.0, 0.75), (5.0, 1.0)])
def test_a_level_is_a_share_of_four_steps(level: float, share: float) -> None:
    verdict = only("miq", pooled(), script(level))
    assert (verdict.score, verdict.label) == (share, f"{level:g}")
    assert json.loads(verdict.raw) == {"level": level}


def test_subsets_overlap_and_say_why_a_reply_is_outside() -> None:
    found = {
        name: only(name, pooled(), script(4.0, "m", "n"))
        for name in ("miq", "miq(on=pass)", "miq(used=must)", "miq(used=nice)", "miq(used=irr)", "miq(used=any)")
    }
    assert {name: v.score for name, v in found.items() if v.score is not None} == dict.fromkeys(
        ("miq", "miq(on=pass)", "miq(used=must)", "miq(used=nice)", "miq(used=any)"), 0.75
    )
    outside = found["miq(used=irr)"]
    assert (outside.status, outside.label) == ("not_applicable", "no irr memory used")
    assert outside.judge_key == found["miq(used=must)"].judge_key == "quality-key + use-key"


@pytest.mark.parametrize("used", [(), ("m",), ("n",), ("m", "n", "i")])
def test_on_pass_follows_smc(used: tuple[str, ...]) -> None:
    verdict = only("miq(on=pass)", pooled(), script(5.0, *used))
    assert (verdict.status, verdict.label) == ("not_applicable", "smc not passed")
    assert only("smc", pooled(), script(5.0, *used)).score == 0.0
    assert only("miq", pooled(), script(5.0, *used)).score == 1.0, "no subset: every reply counts"


def test_nothing_used_is_outside_every_class() -> None:
    labels = [only(f"miq(used={used})", pooled(), script(5.0)).label for used in ("must", "nice", "irr", "any")]
    assert labels == ["no must memory used", "no nice memory used", "no irr memory used", "no memory used"]


def test_a_judge_that_cannot_be_read_gives_no_level() -> None:
    assert only("miq", pooled(), script(None)).status == "invalid"
    assert only("miq(on=pass)", pooled(), script(None, "m", "n")).status == "invalid"
    assert only("miq(on=pass)", pooled(), script(None, "m")).label == "smc not passed"
    unread = {**script(5.0), **by_text("use", dict.fromkeys(POOL.values()))}
    assert only("miq(used=must)", pooled(), unread).status == "invalid"


def test_the_judge_sees_the_pool_and_no_roles() -> None:
    judge = Scripted(script(3.0, "m"))
    verdicts_of("miq", pooled(), judge)
    (question,) = judge.asked
    assert [fact.text for fact in question.facts] == list(POOL.values())
    shown = (question.utterance, question.rubric, question.context, *(f.fact_id + f.text for f in question.facts))
    assert not any(role in text for text in shown for role in ("must", "nice", "irr"))
    (quality, *uses) = METRICS.create("miq(on=pass)").questions(pooled())  # type: ignore[attr-defined]
    assert quality == question and set(uses) == set(METRICS.create("smc").questions(pooled()))  # type: ignore[attr-defined]


def test_pools_without_the_class_are_excluded_beforehand() -> None:
    no_must = pooled({"n": "nice", "i": "irr"})
    verdict = only("miq(used=must)", no_must, script(5.0, "n"))
    assert (verdict.status, verdict.label) == ("not_applicable", "no must memory in the pool")
    assert METRICS.create("miq(used=must)").questions(no_must) == []  # type: ignore[attr-defined]
    assert only("miq(on=pass)", pooled({"i": "irr"}), script(5.0)).label == "no must or nice memory in the pool"


@pytest.mark.parametrize("given", ["on=fail", "used=all", "on=pass,used=must", "of=plan"])
def test_other_subsets_are_refused(given: str) -> None:
    with pytest.raises(ConfigError, match="miq"):
        METRICS.create(f"miq({given})")


def test_names_read_back_and_models_alone_judge() -> None:
    names = [name for name in DEFAULT_METRICS if name.startswith("miq")]
    assert len(names) == 5 and [METRICS.create(name).name for name in names] == names
    assert tasks_of(METRICS.create("miq")) == {"quality"} and not OFFLINE.key("quality")
