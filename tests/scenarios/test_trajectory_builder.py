"""The trajectory builder: PRAGMA folders from a seed, whose facts agree with their queries, in both languages."""

from __future__ import annotations

import json
import re
import time
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemoscope.core.errors import ConfigError
from mnemoscope.core.language.tokens import content_tokens, estimate_tokens, has_unspaced_script
from mnemoscope.scenarios.builders.shortcut import check_shortcuts
from mnemoscope.scenarios.builders.trajectory import PROVENANCE, build_trajectory
from mnemoscope.scenarios.builders.trajectory_dates import FIRST_DAY, QUERY_DAY, filler_days
from mnemoscope.scenarios.builders.trajectory_draws import Draws
from mnemoscope.scenarios.builders.trajectory_plan import axis_levels
from mnemoscope.scenarios.builders.trajectory_words import LANGUAGES, Language, Phrases, load_words
from mnemoscope.scenarios.loaders.pragma_checks import validate_pragma
from mnemoscope.scenarios.opening import open_source
from tests.scenarios.pragma_files import small_files, write_files

FILES = (
    *("full_sessions.json", "metadata.json", "response_metrics.json", "query_data.json"),
    *("evid_sessions.json", "filler_sessions.json", PROVENANCE),
)
USERS = 6


@pytest.fixture(scope="module", params=LANGUAGES)
def built(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Language]:
    folder = tmp_path_factory.mktemp(request.param)
    build_trajectory(folder, users=USERS, seed=7, lang=request.param)
    return folder, request.param


def rows(folder: Path, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((folder / name).read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize(
    ("days", "count", "expected"),
    [
        # ten days for three fillers: 2, 5 and 7 days after the start; here the first gap of two
        (["2025-05-11"], 6, ["2025-05-03", "2025-05-06", "2025-05-08", "2025-08-07", "2025-11-04", "2026-02-01"]),
        # a gap of one day: the start itself, as often as it must be
        (
            ["2025-05-02", "2025-05-03"],
            6,
            ["2025-05-01", "2025-05-01", "2025-05-02", "2025-05-02", "2025-09-01", "2025-12-31"],
        ),
        # evidence on one day makes no gap between its sessions
        (["2025-05-02", "2025-05-02"], 3, ["2025-05-01", "2025-05-01", "2025-10-31"]),
    ],
)
def test_fillers_are_dated_by_the_rule(days: list[str], count: int, expected: list[str]) -> None:
    found = filler_days([date.fromisoformat(day) for day in days], count)
    assert [day.isoformat() for day in found] == expected


@given(st.lists(st.integers(0, 364), min_size=1, max_size=13), st.integers(0, 40))
def test_fillers_lie_in_the_window(offsets: list[int], count: int) -> None:
    evidence = [date.fromordinal(FIRST_DAY.toordinal() + n) for n in offsets]
    found = filler_days(evidence, count)
    assert len(found) == count
    assert all(FIRST_DAY <= day < QUERY_DAY for day in found)
    assert found == sorted(found)


@given(st.integers(0, 2**32), st.integers(4, 8), st.booleans())
def test_ways_turn_and_fall_back(seed: int, count: int, relapse: bool) -> None:
    levels = axis_levels(Draws(seed), count, relapse=relapse)
    assert len(levels) == count
    assert levels[0] <= 1
    assert sum(level >= 3 for level in levels[:-1]) >= 2
    assert all(level >= 3 for level in levels[-3:-1])
    assert list(levels) not in (sorted(levels), sorted(levels, reverse=True))
    assert levels[-1] == (2 if relapse else 3)


def test_a_build_is_pragma_data(built: tuple[Path, Language]) -> None:
    folder, _ = built
    assert sorted(path.name for path in folder.iterdir()) == sorted(FILES)
    assert validate_pragma(folder) == ()


def test_a_build_loads_without_a_notice(built: tuple[Path, Language]) -> None:
    folder, language = built
    source = open_source(f"pragma:{folder}")
    scenarios = list(source)
    assert source.report.notice_counts == {}
    assert sum(len(s.probes) for s in scenarios) == 4 * USERS
    for scenario in scenarios:
        for probe in scenario.probes:
            gold = scenario.gold_by_probe[probe.probe_id]
            assert len(gold.evidence) >= 2
            assert all(fact.sources for fact in gold.facts)
            assert gold.rubric is not None
            assert has_unspaced_script(probe.text) == (language == "zh")


def test_evidence_sessions_say_their_fact_and_no_other_does(built: tuple[Path, Language]) -> None:
    folder, language = built
    who, me = ("用户", "我") if language == "zh" else ("The user", "I")
    for plan, row, notes in zip(
        rows(folder, "query_data.json"),
        rows(folder, "full_sessions.json"),
        rows(folder, PROVENANCE)[1:],
        strict=True,
    ):
        facts = {**dict(zip(plan["events"], plan["event_timestamps"], strict=True))}
        facts |= dict(zip(plan["trajectory"], plan["trajectory_timestamps"], strict=True))
        for fact, day in facts.items():
            own = fact.replace(who, me, 1).replace(" their ", " my ")
            holding = [n for n, session in enumerate(row["sessions"]) if any(own in t["content"] for t in session)]
            assert [row["timestamps"][n] for n in holding] == [day]
            (index,) = holding
            turn = notes["sessions"][index]["news_turn"]
            assert own in row["sessions"][index][turn]["content"]
            assert 0 < turn < len(row["sessions"][index]) - 1


def test_the_second_query_mixes_two_events_in_other_words(built: tuple[Path, Language]) -> None:
    folder, language = built
    topics = {topic.name: topic for topic in load_words(language).words.topics}
    for plan, notes in zip(rows(folder, "query_data.json"), rows(folder, PROVENANCE)[1:], strict=True):
        told, retold = notes["fields"]["events"], notes["fields"]["type2_evid"]["retold"]
        assert retold == [told[n].replace("tries", "retold") for n in plan["type2_evid"]]
        first, second = (topics[plan["topic"]].retold[int(name.rstrip("]").split("[")[-1])] for name in retold)
        assert first[0] in plan["type2"] and second[1] in plan["type2"]
        assert first[1] not in plan["type2"] and second[0] not in plan["type2"]
        own = set(content_tokens(plan["type2"])) - set(content_tokens(plan["topic"]))
        for place in plan["type2_evid"]:
            shared = own & set(content_tokens(plan["events"][place]))
            assert not shared, (plan["type2"], plan["events"][place])
        assert "type2_rewritten" not in plan


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_is_retold_has_no_content_word_of_what_was_told(language: Language) -> None:
    words = load_words(language).words
    for topic in words.topics:
        assert len(topic.retold) == len(topic.tries)
        told = " . ".join(part.replace("|", " ") for pair in topic.tries for part in pair)
        asked = re.sub(r"\{\w+\}", " . ", " . ".join(words.ask2))
        assert not set(content_tokens(asked)) & set(content_tokens(told))
        for attempt, outcome in topic.retold:
            assert not set(content_tokens(f"{attempt} . {outcome}")) & set(content_tokens(told))
            assert attempt not in (other[0] for other in topic.retold if other != (attempt, outcome))


@pytest.mark.parametrize("language", LANGUAGES)
def test_common_words_find_the_evidence_no_more_often_than_chance(tmp_path: Path, language: Language) -> None:
    """Ten turns by chance hold all evidence of 2.5 % of these probes (measured over 20 draws each)."""
    build_trajectory(tmp_path, users=40, seed=3, lang=language)
    report = check_shortcuts(open_source(f"pragma:{tmp_path}"))
    assert report.probes == {"evidence": 160}
    assert (report.share("bm25") or 0) <= 0.05
    assert (report.share("recent") or 0) <= 0.05
    assert report.too_easy == []


def test_the_first_query_names_the_topic_and_no_event(built: tuple[Path, Language]) -> None:
    folder, _ = built
    for plan in rows(folder, "query_data.json"):
        assert plan["topic"] in plan["type1"]
        assert all(label in plan["type3"] for label in plan["rewritten axes"])
        for text in (*plan["events"], *plan["trajectory"]):
            assert text[3:] not in plan["type1"]


def test_the_decision_goes_against_the_way(built: tuple[Path, Language]) -> None:
    """The decision lies at the pole that the counter-evidence is far from, on both axes."""
    folder, language = built
    axes = {axis.id: axis for axis in load_words(language).words.axes}
    for plan, notes in zip(rows(folder, "query_data.json"), rows(folder, PROVENANCE)[1:], strict=True):
        fields = notes["fields"]
        for name, axis_note, decision in zip("ab", fields["axes"], fields["type4"]["decision"], strict=True):
            axis = axes[axis_note.split()[1]]
            pole, pick = (int(part.rstrip("]")) for part in decision.split("[")[1:])
            phrase = axis.choose[pole][pick]
            assert phrase in plan["type4"] or phrase[0].upper() + phrase[1:] in plan["type4"]
            levels = [int(state[name].split("[")[1].rstrip("]")) for state in fields["trajectory"]]
            distance = [level if pole == 0 else 4 - level for level in levels]
            assert all(distance[n] >= 3 for n in plan["type4_evid"])
            assert any(d < 3 for d in distance)
        others = set(range(len(plan["trajectory"]))) - set(plan["type4_evid"])
        assert len(plan["trajectory"]) - 1 in others or len(plan["type4_evid"]) >= 2


def test_no_turn_is_said_twice_to_one_user(built: tuple[Path, Language]) -> None:
    folder, _ = built
    for row in rows(folder, "full_sessions.json"):
        texts = [turn["content"] for session in row["sessions"] for turn in session]
        assert len(set(texts)) == len(texts)
        assert not any(mark in text for text in texts for mark in ("{", "}", "<", ">", "|"))


def test_sessions_do_not_tell_by_their_length_what_they_are(built: tuple[Path, Language]) -> None:
    folder, _ = built
    lengths: dict[bool, list[int]] = {True: [], False: []}
    for row in rows(folder, "full_sessions.json"):
        for kind, session in zip(row["session_types"], row["sessions"], strict=True):
            lengths[kind == "filler"].append(len(session))
    means = [sum(found) / len(found) for found in lengths.values()]
    assert abs(means[0] - means[1]) < 1


def test_fillers_hold_lookalikes_of_the_topic(built: tuple[Path, Language]) -> None:
    folder, _ = built
    for plan, row in zip(rows(folder, "query_data.json"), rows(folder, "full_sessions.json"), strict=True):
        topics = [topic for topic in row["topics"] if topic is not None]
        assert sum(plan["topic"] in topic for topic in topics) == 3
        assert len({topic for topic in topics if plan["topic"] not in topic}) == 27


def test_provenance_names_templates_for_every_field(built: tuple[Path, Language]) -> None:
    folder, language = built
    head, *users = rows(folder, PROVENANCE)
    assert head["builder"] == "trajectory"
    assert head["settings"] == {"lang": language, "seed": 7, "tokens": None}
    assert head["templates"]["sha256"] == load_words(language).sha256
    generated = {key for key in rows(folder, "query_data.json")[0] if key not in ("user_id", "rewritten axes")}
    for notes, row in zip(users, rows(folder, "full_sessions.json"), strict=True):
        assert generated <= notes["fields"].keys()
        assert [session["index"] for session in notes["sessions"]] == list(range(len(row["sessions"])))


def test_the_same_settings_give_the_same_bytes(tmp_path: Path) -> None:
    first = build_trajectory(tmp_path / "a", users=3, seed=7)
    second = build_trajectory(tmp_path / "b", users=3, seed=7)
    assert first.sha256 == second.sha256
    again = build_trajectory(tmp_path / "a", users=3, seed=7)
    assert again.sha256 == first.sha256
    assert build_trajectory(tmp_path / "c", users=3, seed=8).sha256 != first.sha256
    more = build_trajectory(tmp_path / "d", users=4, seed=7)
    assert rows(more.folder, "full_sessions.json")[:3] == rows(first.folder, "full_sessions.json")


def test_a_hundred_users_in_time(tmp_path: Path) -> None:
    began = time.process_time()
    files = build_trajectory(tmp_path, users=100, seed=7)
    assert time.process_time() - began < 30
    assert (files.users, files.probes) == (100, 400)
    assert len(rows(tmp_path, "metadata.json")) == 400
    assert len({row["query"] for row in rows(tmp_path, "metadata.json")}) > 350


@pytest.mark.parametrize("language", LANGUAGES)
def test_histories_grow_to_the_tokens_asked_for(tmp_path: Path, language: Language) -> None:
    files = build_trajectory(tmp_path, users=2, seed=7, lang=language, tokens=160_000)
    assert validate_pragma(tmp_path) == ()
    for row in rows(tmp_path, "full_sessions.json"):
        texts = [turn["content"] for session in row["sessions"] for turn in session]
        assert 160_000 <= estimate_tokens(texts) < 170_000
        assert len(set(texts)) == len(texts)
    assert 320_000 <= files.tokens < 340_000


def test_more_tokens_than_the_words_give_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="the templates end before 900,000 tokens per user"):
        build_trajectory(tmp_path, users=1, tokens=900_000)
    assert list(tmp_path.iterdir()) == []


def test_unusable_settings_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="users is 0"):
        build_trajectory(tmp_path, users=0)
    with pytest.raises(ConfigError, match="no words for language 'fr'; it is en or zh"):
        build_trajectory(tmp_path, lang="fr")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="tokens is 0"):
        build_trajectory(tmp_path, tokens=0)
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(ConfigError, match="cannot be written"):
        build_trajectory(tmp_path / "file" / "below", users=1)


def test_other_peoples_data_is_never_replaced(tmp_path: Path) -> None:
    write_files(tmp_path, small_files())
    with pytest.raises(ConfigError, match="holds PRAGMA data that this builder did not write"):
        build_trajectory(tmp_path, users=1)


def test_validation_finds_what_does_not_agree(tmp_path: Path) -> None:
    build_trajectory(tmp_path, users=1, seed=7)
    sessions, queries = rows(tmp_path, "full_sessions.json"), rows(tmp_path, "metadata.json")
    plans = rows(tmp_path, "query_data.json")
    filler = sessions[0]["session_types"].index("filler")
    sessions[0]["sessions"][filler][0]["content"] = " "
    queries[0]["evidence_session_index"][0] = filler
    queries[3]["query_timestamp"] = "2026-05-02"
    plans[0]["type4_evid"] = [0]
    write_files(tmp_path, {"full_sessions.json": sessions, "metadata.json": queries, "query_data.json": plans})
    problems = "\n".join(validate_pragma(tmp_path))
    for problem in (
        f"session {filler}: an empty turn",
        "type1: evidence indexes and dates disagree",
        "type1: an evidence session is not of kind event",
        "type4: asked on 2026-05-02",
        "type4_evid should name two entries or more",
        "the filler sessions are not those of filler_sessions.json",
    ):
        assert problem in problems
    (tmp_path / "metadata.json").unlink()
    assert any("no such file" in problem for problem in validate_pragma(tmp_path))


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_words_are_many_enough(language: Language) -> None:
    words = load_words(language).words
    assert len(words.topics) >= 12
    assert len({topic.name for topic in words.topics}) == len(words.topics)
    assert all(len({outcome for _, outcome in topic.tries}) == len(topic.tries) >= 7 for topic in words.topics)
    assert len(words.axes) >= 8
    assert all([len(level) for level in axis.levels] == [3, 3, 2, 3, 3] for axis in words.axes)
    items = [item for family in words.families for domain in family.domains for item in domain.items]
    assert len(set(items)) == len(items) == 144
    assert len(words.contexts) >= 24


def test_phrases_avoid_what_was_said() -> None:
    phrases = Phrases(Draws(1))
    found = {phrases.fresh(["<a|b> {x}", "c {x}"], {"x": "1"})[0] for _ in range(3)}
    assert found == {"a 1", "b 1", "c 1"}
    assert phrases.expand("<3-3> {y}") == "3 {y}"
    assert phrases.knows("a 1")
    assert not phrases.take("a 1")


def test_draws_are_even_and_stay_as_they_are() -> None:
    draws = Draws(7)
    assert [draws.randrange(100) for _ in range(6)] == [56, 26, 77, 74, 91, 13]
    counts = [0] * 6
    for _ in range(6000):
        counts[draws.randint(1, 6) - 1] += 1
    assert all(850 < count < 1150 for count in counts)
    assert sorted(draws.sample(range(9), 9)) == list(range(9))
    assert 0.5 <= draws.uniform(0.5, 1.5) < 1.5
    with pytest.raises(ValueError, match="3 cannot be drawn from 2"):
        draws.sample([1, 2], 3)
