"""Judges are opened by name, and their names open them again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mnemoscope.core.errors import ConfigError, UnknownNameError
from mnemoscope.evaluators.judges.judge import Judge, use_question
from mnemoscope.evaluators.judges.question import TASKS
from mnemoscope.evaluators.judges.registry import JUDGES, JudgePorts, open_judge


@pytest.fixture
def ports(scripted: Callable) -> JudgePorts:
    def opened(text: str | None) -> object:
        model = scripted("?")
        model.key = text or model.key
        return model

    return JudgePorts(model=opened)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "name",
    [
        "offline",
        "llm",
        "llm(votes=3)",
        "llm(votes=1,expected_cut=300)",
        "llm(parser=memuse)",
        "llm(parser=locomo-conv,seed=7)",
        "llm(model=openai(model=tiny,base_url=http://127.0.0.1:1/v1),votes=5)",
        "panel(offline+llm(votes=3))",
        "panel(offline+llm(model=openai(model=a,temperature=0),votes=3)+llm(model=b))",
        "recording(llm(votes=3),file=said.jsonl)",
        "recording(panel(offline+llm),file=said.jsonl)",
    ],
)
def test_names_round_trip(name: str, ports: JudgePorts) -> None:
    judge = open_judge(name, ports)
    assert isinstance(judge, Judge)
    assert judge.name == name
    again = open_judge(judge.name, ports)
    assert [again.key(task) for task in TASKS] == [judge.key(task) for task in TASKS]
    assert judge.key("use") or "parser" in name


def test_a_judge_without_its_model_says_what_to_type() -> None:
    with pytest.raises(ConfigError, match=r"--judge-model MODEL .*--judge offline"):
        open_judge("llm", JudgePorts())
    with pytest.raises(ConfigError, match="needs the model 'tiny'"):
        open_judge("llm(model=tiny)", JudgePorts())


def test_the_model_of_a_name_goes_before_the_run_s(ports: JudgePorts) -> None:
    assert open_judge("llm(model=tiny)", ports).key("use").endswith("model=tiny)")
    assert open_judge("llm", ports).key("use").endswith("model=scripted)")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("lllm", "unknown judge 'lllm'; nearest: llm"),
        ("llm(vote=3)", "vote"),
        ("llm(votes=0)", "votes is 0"),
        ("llm(parser=paper)", "no parser 'paper'"),
        ("llm(expected_cut=0)", "expected_cut is 0"),
        ("panel(offline)", "at least two judges"),
        ("panel(offline+offline)", "sits twice"),
        ("panel(offline+ofline)", "unknown judge 'ofline'; nearest: offline"),
        ("panel", "panel"),
        ("recorded", "recorded"),
        ("recorded(file=absent.jsonl)", "check file="),
        ("builtins:dict", "not a judge"),
        ("builtins:int", "not a judge"),
    ],
)
def test_other_names_are_refused_with_a_way_out(text: str, said: str, ports: JudgePorts) -> None:
    with pytest.raises(ConfigError) as caught:
        open_judge(text, ports)
    assert said in str(caught.value)
    if said.startswith("unknown"):
        assert isinstance(caught.value, UnknownNameError)


MINE = '''
from mnemoscope.evaluators.judges.question import Answer


class Length:
    """Long replies use everything."""

    def __init__(self, least: int = 20) -> None:
        self.least = least
        self.name = f"{__file__}:Length({least})"

    def key(self, task):
        return f"length-{self.least}" if task == "use" else ""

    async def judge(self, question):
        used = len(question.reply) >= self.least
        label = "used" if used else "not used"
        return (Answer(label, float(used), question.facts[0].fact_id, judge_key=self.key(question.task)),)
'''


async def test_a_judge_of_one_s_own_is_named_by_its_file(tmp_path: Path, ports: JudgePorts) -> None:
    path = tmp_path / "mine_judge.py"
    path.write_text(MINE)
    judge = open_judge(f"{path}:Length(5)", ports)
    (answer,) = await judge.judge(use_question("Hello there.", "Anything."))
    assert (answer.label, answer.judge_key) == ("used", "length-5")
    assert open_judge(judge.name, ports).key("use") == "length-5"
    both = open_judge(f"panel(offline+{path}:Length)", ports)
    assert both.key("use").endswith("+length-20)")


def test_the_names_are_listed_without_loading_them() -> None:
    assert {"llm", "offline", "panel", "recorded", "recording"} <= set(JUDGES.names())
