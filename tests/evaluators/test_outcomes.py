"""Outcomes of sessions: z within users, relations with a planted truth, behaviour, length."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemoscope.evaluators.aggregate import ScoreRow
from mnemoscope.evaluators.outcomes import (
    LengthRow,
    Moment,
    SessionKey,
    SessionOutcome,
    length_adjusted,
    length_changes,
    outcome_table,
    re_provides,
    re_provisions,
    relate,
    return_rate,
    uptake,
    within_user,
)
from mnemoscope.evaluators.outcomes.assignment import condition_power
from mnemoscope.evaluators.outcomes.behaviour import returned
from mnemoscope.evaluators.statistics.association import spearman_p
from mnemoscope.evaluators.statistics.intervals import wilson
from mnemoscope.evaluators.statistics.randomisation import randomisation

START = date(2026, 1, 1)


def rated(user: str, *ratings: float | None, every: int = 1) -> list[SessionOutcome]:
    return [
        SessionOutcome(user, str(n), START + timedelta(days=n * every), rating=rating)
        for n, rating in enumerate(ratings)
    ]


def test_the_filter_runs_before_z_and_counts_whom_it_drops() -> None:
    days = [
        *rated("ana", 2, 4, 6),
        *rated("bo", 5, 5, 5.5),
        *rated("cy", 7),
        *rated("dan", 1, 7, None),
        *rated("eve", None),
    ]
    found = within_user(days, drop_users=("dan",))
    assert found.z == {("ana", "0"): -1.0, ("ana", "1"): 0.0, ("ana", "2"): 1.0}
    assert (found.users, found.sessions) == (1, 3)
    assert found.dropped == {
        "listed": (1, 2),
        "one rated session": (1, 1),
        "ratings hardly vary": (1, 3),
        "no rating": (1, 2),
    }


def test_an_sd_of_exactly_the_limit_is_dropped_and_ddof_is_the_callers() -> None:
    days = rated("ana", 4, 5)
    assert within_user(days, ddof=0, min_sd=0.5).users == 0
    assert within_user(days, ddof=1, min_sd=0.5).z[SessionKey("ana", "1")] == pytest.approx(0.5**0.5)
    assert within_user(rated("ana", 4, 4), min_sd=0.0).users == 0, "an SD of 0 has no z, whatever the limit"
    with pytest.raises(ValueError, match="ddof is 2"):
        within_user(days, ddof=2)
    with pytest.raises(ValueError, match="session '0' of user 'ana' occurs twice"):
        within_user([*days, days[0]])


@given(
    st.dictionaries(
        st.text("abc", min_size=1, max_size=3),
        st.lists(st.integers(1, 7), min_size=1, max_size=8),
        min_size=1,
        max_size=6,
    )
)
def test_z_has_mean_0_and_sd_1_in_every_kept_user(ratings: dict[str, list[int]]) -> None:
    days = [outcome for user, values in ratings.items() for outcome in rated(user, *values)]
    found = within_user(days)
    by_user: dict[str, list[float]] = {}
    for key, z in found.z.items():
        by_user.setdefault(key.user, []).append(z)
    for user, values in by_user.items():
        assert np.mean(values) == pytest.approx(0, abs=1e-9)
        assert np.std(values, ddof=1) == pytest.approx(1)
        assert np.std(ratings[user], ddof=1) > 0.5
    assert found.sessions + sum(d.sessions for d in found.dropped.values()) == len(days)
    assert found.users + sum(d.users for d in found.dropped.values()) == len(ratings)


def planted(
    effect: float, users: int = 25, per_user: int = 12, seed: int = 11
) -> tuple[dict[SessionKey, float | None], dict[SessionKey, float]]:
    rng = np.random.default_rng(seed)
    values: dict[SessionKey, float | None] = {}
    outcome: dict[SessionKey, float] = {}
    for user in range(users):
        for session in range(per_user):
            key = SessionKey(f"u{user:02}", str(session))
            values[key] = float(rng.random() < 0.4)
            outcome[key] = effect * (values[key] or 0.0) + float(rng.normal())
    return values, outcome


def test_a_planted_effect_is_found_and_its_size_is_in_the_model() -> None:
    values, outcome = planted(0.8)
    found = relate(values, outcome, metric="integration", resamples=2_000)
    assert found.association.rho is not None and found.association.rho > 0.2
    assert found.association.p_within is not None and found.association.p_within < 0.01
    assert found.mixed is not None
    term = found.mixed.term("metric")
    assert term.error is not None and abs(term.beta - 0.8) < 3 * term.error
    low, high = found.bands
    assert (low.score, high.score, low.n + high.n) == (0.0, 1.0, 300)
    assert high.mean - low.mean == pytest.approx(term.beta, abs=0.05)
    assert high.low is not None and high.high is not None and high.low < high.mean < high.high


def test_without_an_effect_one_in_twenty_is_shown() -> None:
    shown = 0
    for seed in range(60):
        found = relate(*planted(0.0, users=8, per_user=6, seed=seed), graded=False, resamples=300).association
        assert found.p_within is not None
        shown += found.p_within < 0.05
    assert shown <= 8, "of 60, more than 8 has a chance of 0.4 % at the level of 5 %"


def test_sessions_without_a_partner_are_counted() -> None:
    keys = [SessionKey("ana", str(n)) for n in range(5)]
    found = relate({**dict.fromkeys(keys[:3], 1.0), keys[3]: None}, {keys[0]: 0.1, keys[1]: 0.2}, resamples=50)
    assert (found.left_out, found.n) == ({"no outcome": 1, "no score": 1}, 2)
    assert (found.association.rho, found.association.reason, found.mixed) == (None, "a column is constant", None)
    assert relate({}, {}, resamples=50).n == 0


def test_the_published_p_is_the_naive_one() -> None:
    assert round(spearman_p(0.29, 48) or 0, 4) == 0.0456


def test_saying_it_again_is_counted_by_what_the_reply_did() -> None:
    moments = [
        Moment(used=False, next_turn="As I said, I moved to Ghent."),
        Moment(used=False, next_turn="I told you: nuts make me ill."),
        Moment(used=False, next_turn="Fine, thanks."),
        Moment(used=True, next_turn="Like I said, it was great!"),
        Moment(used=True, next_turn="Yes, the kiln works."),
        Moment(used=False),
        Moment(next_turn="As I said, no."),
    ]
    found = re_provisions(moments)
    assert (found.after_miss, found.misses, found.after_use, found.uses) == (2, 3, 1, 2)
    assert found.left_out == {"not judged": 1, "session ended": 1}
    assert found.rate_after_miss == pytest.approx(2 / 3)
    assert re_provisions([]).rate_after_miss is None


@pytest.mark.parametrize(
    ("text", "again"),
    [
        ("I’ve already told you about the kiln", True),
        ("remember, I said we moved", True),
        ("我上次跟你说过我搬家了", True),
        ("I mentioned it to you last week", True),
        ("I told my sister about it", False),
        ("She said it was fine", False),
        ("他说过要来", False),
        ("", False),
    ],
)
def test_wordings_of_saying_it_again(text: str, again: bool) -> None:
    assert re_provides(text) is again


def test_uptake_needs_a_word_that_the_user_had_not_said_before() -> None:
    recalled = "You were worried about the kiln in Ghent."
    found = uptake(
        [
            Moment(recalled=recalled, trigger="I had a long day", next_turn="The kiln works again!"),
            Moment(recalled=recalled, trigger="The kiln again", next_turn="kiln, kiln, kiln"),
            Moment(recalled=recalled, next_turn="That's wrong, the kiln is my sister's."),
            Moment(recalled=recalled, next_turn="Anyway, good night."),
            Moment(recalled=recalled),
            Moment(recalled="  ", next_turn="What?"),
        ]
    )
    assert (found.taken, found.put_right, found.left, found.recalls) == (1, 1, 2, 4)
    assert found.left_out == {"nothing recalled": 1, "session ended": 1}
    assert found.rate == 0.25
    assert uptake([]).rate is None


def test_a_rate_of_all_or_none_is_not_certain() -> None:
    days = [SessionOutcome(user, str(n), date(2026, 1, n)) for user in ("ana", "bo", "cy") for n in (1, 2)]
    rate = return_rate(days, days=7, until=date(2026, 1, 3), resamples=50)
    assert (rate.share, rate.n, rate.users, rate.high) == (1.0, 3, 3, 1.0)
    assert rate.low == pytest.approx(wilson(3, 3).low)


def test_days_at_the_end_of_the_calendar_are_days_too() -> None:
    days = [SessionOutcome("ana", "1", date.min), SessionOutcome("ana", "2", date.max)]
    assert returned(days, days=7) == ({("ana", "1"): 0.0}, 1)
    assert returned(days, days=10**12) == ({("ana", "1"): 1.0}, 1)


def test_returns_that_the_log_cannot_show_are_left_out() -> None:
    days = [
        SessionOutcome("ana", "1", date(2026, 1, 1)),
        SessionOutcome("ana", "2", date(2026, 1, 4)),
        SessionOutcome("ana", "3", date(2026, 1, 20)),
        SessionOutcome("bo", "1", date(2026, 1, 2)),
        SessionOutcome("bo", "2", date(2026, 1, 2)),
    ]
    found, open_ended = returned(days, days=7)
    assert found == {("ana", "1"): 1.0, ("ana", "2"): 0.0, ("bo", "1"): 1.0, ("bo", "2"): 0.0}
    assert open_ended == 1
    rate = return_rate(days, days=7, resamples=200)
    assert (rate.share, rate.hits, rate.n, rate.users, rate.left_out) == (0.5, 2, 4, 2, {"log ends before": 1})
    assert return_rate(days, days=7, until=date(2026, 2, 1), resamples=200).share == pytest.approx(2 / 5)
    assert return_rate([], resamples=50).share is None
    one = return_rate([d for d in days if d.user == "ana"], resamples=50)
    assert (one.share, one.low, one.high) == (0.5, None, None), "one user gives no interval"
    with pytest.raises(ValueError, match="days is 0"):
        return_rate(days, days=0)


def test_length_changes_go_to_the_users_own_next_session() -> None:
    days = [
        SessionOutcome("ana", "2", date(2026, 1, 4), turns=8),
        SessionOutcome("ana", "1", date(2026, 1, 1), turns=5),
        SessionOutcome("bo", "1", date(2026, 1, 2), turns=9),
        SessionOutcome("bo", "2", date(2026, 1, 3)),
        SessionOutcome("bo", "3", date(2026, 1, 5), turns=1),
    ]
    found = length_changes(days, resamples=100)
    assert found.by_session == {("ana", "1"): 3.0}
    assert found.left_out == {"last session": 2, "no turns": 2}
    assert length_changes(days, unit="minutes", resamples=100).mean is None


def test_length_is_taken_out_of_scores() -> None:
    rng = np.random.default_rng(3)
    rows = []
    for system, words, skill in (("brief", 40, 0.3), ("wordy", 120, 0.3)):
        for n in range(200):
            length = int(rng.integers(words - 30, words + 31))
            rows.append(LengthRow(system, f"u{n % 20}", skill + 0.002 * length + float(rng.normal(0, 0.05)), length))
    found = length_adjusted(rows)
    assert found.beta == pytest.approx(0.002, abs=0.0004)
    assert found.low is not None and found.high is not None and found.low < 0.002 < found.high
    brief, wordy = found.means
    assert wordy.raw - brief.raw == pytest.approx(0.16, abs=0.02)
    assert wordy.adjusted - brief.adjusted == pytest.approx(0, abs=0.04)
    assert (found.n, found.clusters, brief.n) == (400, 20, 200)
    assert found.beta_sd == pytest.approx((found.beta or 0) * 17.6, rel=0.05)


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([], "too few replies"),
        ([LengthRow("a", f"u{n}", n / 9, 30) for n in range(9)], "replies of a system are all of one length"),
        ([LengthRow("a", "u", n / 9, n) for n in range(9)], "fewer than three clusters"),
    ],
)
def test_a_beta_that_cannot_be_told_has_a_reason(rows: Sequence[LengthRow], reason: str) -> None:
    found = length_adjusted(rows)
    assert (found.beta, found.p, found.reason) == (None, None, reason)
    assert all(mean.raw == mean.adjusted for mean in found.means)


def test_a_perfect_line_has_no_nan() -> None:
    found = length_adjusted([LengthRow("a", f"u{n}", n / 10, n) for n in range(10)])
    assert found.beta == pytest.approx(0.1)
    assert all(value is None or np.isfinite(value) for value in (found.low, found.high, found.p, found.beta_sd))


def score(system: str, probe: str, value: float | None, *, metric: str = "integration", judge: str = "j") -> ScoreRow:
    status = "error" if value is None else "scored"
    return ScoreRow(system, "s", probe, 0, metric, "reply", "", value, status, judge)


def table_inputs(
    users: int = 6, per_user: int = 8
) -> tuple[list[ScoreRow], dict[tuple[str, str], SessionKey], list[SessionOutcome]]:
    rng = np.random.default_rng(5)
    rows, sessions, outcomes = [], {}, []
    for user in range(users):
        for n in range(per_user):
            key, probe = SessionKey(f"u{user}", str(n)), f"u{user}-{n}"
            used = float(rng.random() < 0.5)
            rows.append(score("dense", probe, used))
            sessions["s", probe] = key
            outcomes.append(
                SessionOutcome(
                    *key,
                    START + timedelta(days=3 * n + user),
                    rating=float(np.clip(round(3 + 2 * used + rng.normal()), 1, 7)),
                    condition=("summary", "full")[int(rng.integers(2))],
                    turns=int(rng.integers(3, 12)),
                    moments=(Moment(used=used == 1, next_turn="As I said." if not used else "Right."),),
                )
            )
    return rows, sessions, outcomes


def test_a_table_relates_every_metric_to_every_outcome() -> None:
    rows, sessions, outcomes = table_inputs()
    extra = [score("dense", "u0-0", 1.0, judge="other"), score("dense", "nowhere", 1.0), score("dense", "u1-1", None)]
    words = {("dense", "s", f"u{user}-{n}", 0): 10 * n for user in range(6) for n in range(8)}
    found = outcome_table([*rows, *extra], sessions, outcomes, words=words, resamples=500)
    names = [(r.metric, r.judge_key, r.outcome) for r in found.relations]
    assert names == [
        ("integration", judge, name) for judge in ("j", "other") for name in ("rating", "returned", "turns")
    ]
    rating = found.relations[0]
    assert (rating.n, rating.left_out) == (47, {"no score": 1}), "a failed cell is no miss"
    assert rating.association.rho is not None and rating.association.rho > 0.2
    assert rating.mixed is not None and rating.mixed.term("metric").beta > 0
    assert found.relations[1].mixed is None, "a yes-no outcome gets no linear model"
    assert found.unmatched == {"probe without session": 1}
    misses = sum(row.score == 0 for row in rows)
    assert (found.re_provisions.after_miss, found.re_provisions.misses) == (misses, misses)
    assert found.assignment is not None and found.assignment.df == 5
    assert found.lengths[0].metric == "integration" and found.lengths[0].adjusted.n == 47
    assert found.warnings[-1].startswith("2 relations with the rating are tested")


def test_a_condition_of_one_session_does_not_hide_the_power_of_the_others() -> None:
    conditions = ["pilot", *["summary"] * 20, *["full"] * 30]
    found = condition_power(randomisation([f"u{n % 5}" for n in range(51)], conditions))
    assert found is not None and found.sessions == (20, 30)
    assert condition_power(randomisation(["a", "b", "c"], ["pilot", "full", "full"])) is None


def test_nothing_rated_gives_no_relation_with_ratings() -> None:
    rows, sessions, outcomes = table_inputs()
    silent = [SessionOutcome(o.user, o.session, o.date, turns=o.turns) for o in outcomes]
    found = outcome_table(rows, sessions, silent, resamples=200)
    assert [r.outcome for r in found.relations] == ["returned", "turns"]
    assert (found.satisfaction.users, found.assignment, found.lengths) == (0, None, ())
    assert found.satisfaction.dropped == {"no rating": (6, 48)}


@settings(max_examples=6, deadline=None)
@given(st.permutations(range(12)))
def test_the_order_of_rows_changes_nothing(order: list[int]) -> None:
    rows, sessions, outcomes = table_inputs(users=3, per_user=4)
    first = outcome_table(rows, sessions, outcomes, resamples=60)
    second = outcome_table([rows[i] for i in order], sessions, [outcomes[i] for i in order], resamples=60)
    assert first.relations == second.relations
    assert (first.returns, first.turns.mean) == (second.returns, second.turns.mean)
