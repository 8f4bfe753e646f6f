"""How far the members of a panel agree, by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from mnemoscope.cli import main
from mnemoscope.core.identity import canonical_json
from mnemoscope.evaluators.calibration.library import read_calibration
from mnemoscope.evaluators.calibration.members import agreement_of_members
from mnemoscope.evaluators.judges.question import Answer

VOTES = [("used", "used", "used"), ("used", "not used", "used"), ("not used", "not used", "not used")]


def answer(*labels: str | None) -> Answer:
    rows = [
        {"judge": name, "label": label or "truncated", "status": "scored" if label else "invalid"}
        for name, label in zip("abc", labels, strict=False)
    ]
    return Answer("used", 1.0, raw=canonical_json(rows))


def test_fleiss_and_pairs_by_hand() -> None:
    found = agreement_of_members([answer(*votes) for votes in VOTES], list("xyz"), seed=1, resamples=50)
    # mean agreement per item (1 + 1/3 + 1) / 3 = 7/9; labels 5 and 4 of 9, by chance (25 + 16) / 81
    assert found.kappa == pytest.approx((7 / 9 - 41 / 81) / (1 - 41 / 81))
    assert found.n == 3 and found.agreement == pytest.approx(7 / 9)
    assert found.pairwise == {"a + b": pytest.approx(2 / 3), "a + c": 1.0, "b + c": pytest.approx(2 / 3)}


def test_a_member_that_failed_leaves_the_row_to_the_others() -> None:
    found = agreement_of_members([answer("used", None, "used"), answer(*VOTES[1])], ["x", "y"], seed=1, resamples=50)
    assert found.n == 1
    assert found.pairwise == {"a + b": 0.0, "a + c": 1.0, "b + c": 0.0}


@pytest.mark.parametrize("answers", [[], [Answer("judge-error:server", None, status="error", raw="down")]])
def test_nothing_said_is_no_agreement(answers: list[Answer]) -> None:
    found = agreement_of_members(answers, ["x"] * len(answers), seed=1, resamples=50)
    assert (found.n, found.kappa, found.agreement) == (0, None, None) and found.reason


def test_a_panel_of_one_s_own_is_calibrated_with_its_members(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("never_right.py").write_text(
        "from mnemoscope.evaluators.judges.question import Answer\n\n\n"
        "class Never:\n"
        "    name = 'never_right.py:Never'\n\n"
        "    def key(self, task):\n"
        "        return 'never-1' if task == 'answer' else ''\n\n"
        "    async def judge(self, question):\n"
        "        return (Answer('wrong', 0.0),)\n",
        encoding="utf-8",
    )
    arguments = ["judge", "calibrate", "panel(offline+never_right.py:Never)", "bundled", "--metric", "answer"]
    assert main([*arguments, "--embedder", "hash(dim=64)", "--out", "mine.json"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "answer: members agree: Fleiss' κ" in said and "never_right.py:Never + offline" in said
    (one,) = read_calibration(Path("mine.json")).metrics
    assert one.members is not None and one.members.n == one.rows
    assert one.n_invalid > 0, "two members that differ are no majority"
