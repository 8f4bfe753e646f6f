"""How conditions were dealt, what a sample can find, and how far seeds spread."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.contingency_tables import Table

from mnemoscope.core.errors import ConfigError
from mnemoscope.evaluators.statistics.power import power_of_difference, rows_for_power
from mnemoscope.evaluators.statistics.randomisation import chi_square_p, randomisation
from mnemoscope.evaluators.statistics.variance import SeedRun, seed_spreads


def test_the_published_check_of_the_deployment() -> None:
    assert chi_square_p(146.0, (29 - 1) * (7 - 1)) == pytest.approx(0.889, abs=5e-4)
    with pytest.raises(ConfigError, match="degrees of freedom"):
        chi_square_p(-1.0, 3)


def test_random_dealing_passes_and_a_favoured_user_stands_out() -> None:
    rng = np.random.default_rng(3)
    units = [f"u{i:02}" for i in range(29) for _ in range(44)]
    dealt = [f"c{c}" for c in rng.integers(0, 7, len(units))]
    found = randomisation(units, dealt)
    assert (found.df, found.n, found.sparse) == (168, 1_276, 0.0)
    assert found.p is not None and found.p > 0.05
    favoured = [("c3" if unit == "u11" and rng.random() < 0.6 else c) for unit, c in zip(units, dealt, strict=True)]
    found = randomisation(units, favoured)
    assert found.p is not None and found.p < 0.01
    peak = np.unravel_index(np.argmax(found.residuals), (29, 7))
    assert (found.units[peak[0]], found.conditions[peak[1]]) == ("u11", "c3")
    assert found.residuals[peak[0]][peak[1]] > 3


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("xy")), min_size=1, max_size=40))
def test_as_statsmodels(rows: list[tuple[str, str]]) -> None:
    found = randomisation([a for a, _ in rows], [b for _, b in rows])
    if found.p is None:
        assert found.reason in ("one unit", "one condition")
        return
    peer = Table(np.array(found.table), shift_zeros=False)
    assert found.statistic == pytest.approx(peer.test_nominal_association().statistic, abs=1e-9)
    assert np.array(found.residuals) == pytest.approx(np.asarray(peer.standardized_resids))
    assert 0 <= found.p <= 1


def test_nothing_assigned_has_no_p() -> None:
    assert (randomisation([], []).p, randomisation([], []).reason) == (None, "nothing assigned")


def test_published_power_belongs_to_the_unfiltered_sessions() -> None:
    assert power_of_difference(0.10, 264) == pytest.approx(0.209, abs=5e-4)
    assert power_of_difference(0.10, 181) == pytest.approx(0.158, abs=5e-4)
    assert power_of_difference(0.0, 50) == pytest.approx(0.05)
    assert power_of_difference(-0.3, 50) == power_of_difference(0.3, 50)
    assert power_of_difference(0.5, 20, 80) == pytest.approx(power_of_difference(0.5, 80, 20))


@settings(max_examples=25, deadline=None)
@given(st.floats(0.05, 2), st.floats(0.2, 0.95))
def test_the_rows_that_are_needed_are_the_fewest(d: float, power: float) -> None:
    n = rows_for_power(d, power=power)
    assert n is not None and power_of_difference(d, n) >= power
    assert n == 2 or power_of_difference(d, n - 1) < power


def test_no_difference_needs_no_finite_sample() -> None:
    assert rows_for_power(0.0) is None
    with pytest.raises(ConfigError, match="between alpha"):
        rows_for_power(0.5, power=0.01)
    with pytest.raises(ConfigError, match="at least 2"):
        power_of_difference(0.5, 1)
    with pytest.raises(ConfigError, match="d is nan"):
        power_of_difference(float("nan"), 10)
    with pytest.raises(ConfigError, match="alpha is 0"):
        power_of_difference(0.5, 10, alpha=0)


def test_answer_and_index_seeds_are_never_pooled() -> None:
    # answering spreads by .01, indexing by .1; pooled they would show neither
    runs = [SeedRun(a, i, 0.5 + 0.01 * (a - 45) + 0.1 * (i - 44)) for a in range(43, 48) for i in range(43, 46)]
    found = seed_spreads(reversed(runs))
    assert [(s.source, s.held) for s in found] == [("answer", i) for i in (43, 44, 45)] + [
        ("index", a) for a in range(43, 48)
    ]
    answer, index = found[1], found[5]
    assert answer.seeds == (43, 44, 45, 46, 47)
    assert (answer.mean, answer.sd) == (pytest.approx(0.5), pytest.approx(0.01 * np.sqrt(2.5)))
    assert (index.seeds, index.sd) == ((43, 44, 45), pytest.approx(0.1))
    assert (answer.low, answer.high) == (pytest.approx(0.48), pytest.approx(0.52))


def test_one_seed_has_no_spread_and_a_doubled_one_is_refused() -> None:
    only = seed_spreads([SeedRun(43, 43, 0.5)])
    assert [(s.sd, s.reason) for s in only] == [(None, "one seed")] * 2
    assert seed_spreads([]) == ()
    with pytest.raises(ConfigError, match="come twice"):
        seed_spreads([SeedRun(43, 43, 0.5), SeedRun(43, 43, 0.6)])
    with pytest.raises(ConfigError, match="the aggregate is nan"):
        seed_spreads([SeedRun(43, 43, float("nan"))])
