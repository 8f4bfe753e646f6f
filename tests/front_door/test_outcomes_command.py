"""`mnemoscope outcomes`: probes find their sessions, and figures come out as text and as strict JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mnemoscope.cli import main
from mnemoscope.comparison.merging import open_runs
from mnemoscope.comparison.outcomes import outcomes_of_runs, sessions_of
from mnemoscope.evaluators.outcomes.reading import read_outcomes
from tests.front_door.import_tools import do_import, write
from tests.scenarios.test_memuse_loader import positive

USERS, SESSIONS = 4, 5


def instance(user: int, session: int) -> dict[str, Any]:
    made = positive(instance_id=f"pos_{user}{session}", user_id=f"annotator_{user}", trigger_session_idx=session + 1)
    made["input"]["current_session"]["session_idx"] = session + 1
    return made


def used(user: int, session: int) -> bool:
    return (user + session) % 2 == 0


@pytest.fixture
def logged(tmp_path: Path) -> tuple[Path, Path]:
    """A run file of recorded verdicts, and ratings that go with them."""
    pairs = [(user, session) for user in range(USERS) for session in range(1, SESSIONS + 1)]
    data = write(tmp_path, "i.jsonl", [instance(*pair) for pair in pairs])
    replies = {f"pos_{user}{session}": "You moved." if used(user, session) else "Nice!" for user, session in pairs}
    verdicts = [{"id": f"pos_{u}{s}/natural", "metric": "labelled", "score": float(used(u, s))} for u, s in pairs]
    log = [
        {
            "user": f"annotator_{u}",
            "session": s + 1,
            "date": f"2025-12-{3 * s + 1:02}",
            "turns": 4 + s,
            "rating": 3 + 2 * used(u, s) + (s == 3),
            "condition": "AB"[(u + s // 2) % 2],
            "moments": [{"used": used(u, s), "next_turn": "ok" if used(u, s) else "As I said, I moved."}],
        }
        for u, s in pairs
    ]
    do_import(
        tmp_path / "in.db",
        scenarios=[f"memuse:{data}"],
        replies=[write(tmp_path, "replies.json", {"natural": replies})],
        verdicts=[write(tmp_path, "verdicts.jsonl", verdicts)],
    )
    return tmp_path / "in.db", write(tmp_path, "log.jsonl", log)


def test_probes_find_the_session_that_they_interrupt(logged: tuple[Path, Path]) -> None:
    run, log = logged
    with open_runs([run]) as runs:
        found = sessions_of(runs, read_outcomes(log))
    natural = {probe: key for (_, probe), key in found.items() if probe.endswith("/natural")}
    assert len(natural) == USERS * SESSIONS
    assert natural["pos_23/natural"] == ("annotator_2", "4")


def test_ratings_go_with_the_recorded_verdicts(logged: tuple[Path, Path]) -> None:
    run, log = logged
    table = outcomes_of_runs([run], log, metrics=["labelled", "natural-integration"], resamples=500)
    rating = next(r for r in table.relations if (r.metric, r.outcome) == ("labelled", "rating"))
    assert (rating.n, rating.users, rating.left_out) == (USERS * SESSIONS, USERS, {})
    assert rating.association.rho is not None and rating.association.rho > 0.7
    assert rating.association.p_within is not None and rating.association.p_within < 0.01
    assert table.re_provisions.rate_after_miss == 1.0
    assert table.assignment is not None and table.assignment.n == USERS * SESSIONS
    assert table.lengths[0].adjusted.n == USERS * SESSIONS
    assert not any("users rated the replies of the log" in w for w in table.warnings), "these replies were the log's"
    fewer = outcomes_of_runs([run], log, metrics=["labelled"], drop_users=["annotator_1"], resamples=100)
    assert fewer.satisfaction.users == USERS - 1


def test_the_command_prints_both_p_and_strict_json(
    logged: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["outcomes", *map(str, logged), "--metric", "labelled"]
    assert main(arguments) == 0
    out = capsys.readouterr().out
    assert "ratings: 20 sessions of 4 users, as z within users (ddof 1)" in out
    assert "said again after a miss: 10 of 10, after a use: 0 of 10" in out
    assert "labelled of theirs with rating: ρ = +0." in out and "naive," in out and "within users" in out
    assert main([*arguments, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert len(document["satisfaction"]["z"]) == 20
    assert {relation["outcome"] for relation in document["relations"]} == {"rating", "returned", "turns"}


def test_a_metric_that_is_not_there_is_named_with_the_nearest(
    logged: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["outcomes", *map(str, logged), "--metric", "labeled"]) == 2
    said = capsys.readouterr()
    assert "metric in these runs" in said.err and "labeled" in said.err and "nearest: labelled" in said.err
    assert said.out == ""


def test_a_user_to_drop_who_is_not_there_is_named_with_the_nearest(
    logged: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["outcomes", *map(str, logged), "--drop-user", "anotator_1"]) == 2
    said = capsys.readouterr()
    assert "user in these outcomes 'anotator_1'; nearest: annotator_1" in said.err and said.out == ""


def test_what_conditions_could_have_shown_is_printed(
    logged: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["outcomes", *map(str, logged), "--metric", "labelled"]) == 0
    out = capsys.readouterr().out
    assert "user × condition: χ²(3)" in out
    assert "d = 0.10 between the two smallest (10 and 10 sessions): power 5.5 %; 80 % takes 1,571 sessions each" in out


def test_a_bad_log_ends_with_2(logged: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = write(tmp_path, "bad.jsonl", [{"user": "ana", "session": 1, "date": "soon"}])
    assert main(["outcomes", str(logged[0]), str(bad)]) == 2
    assert "line 1, field date" in capsys.readouterr().err


def test_a_log_of_other_users_says_that_nothing_matches_and_what_to_do(
    logged: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, _ = logged
    row = {"user": "someone", "session": 1, "date": "2025-12-01", "turns": 4, "rating": 3}
    assert main(["outcomes", str(run), str(write(tmp_path, "other.jsonl", [row]))]) == 0
    said = capsys.readouterr()
    assert "0 of 1 session matches a probe" in said.err and "'someone'" in said.err and "annotator_0" in said.err
    assert "1 sessions" not in said.out + said.err and "1 users" not in said.out + said.err
