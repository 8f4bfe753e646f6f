"""The chat log loader: shapes, columns, times, sessions, roles, probes, and every repair counted."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemoscope.core.errors import ConfigError, DataError
from mnemoscope.scenarios.loaders.chatlog import MAX_DEFAULT_PROBES, ChatlogSource
from mnemoscope.scenarios.opening import open_source
from mnemoscope.scenarios.records import Scenario
from mnemoscope.scenarios.replay import ForkAt, WriteTurn, replay

LINES = [
    {"speaker": "Mira", "time": "2024-03-01T09:00:00Z", "text": "I adopted a cat, Pixel."},
    {"speaker": "Bot", "time": "2024-03-01T09:01:00Z", "text": "Lovely!"},
    {"speaker": "Mira", "time": "2024-03-05T10:00:00Z", "text": "猫今天不吃东西。"},
    {"speaker": "Bot", "time": "2024-03-05T10:01:00Z", "text": "Since when?"},
    {"speaker": "Mira", "time": "2024-03-05T10:02:00Z", "text": "Since noon."},
]


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    def _write(value: object, name: str = "log.jsonl") -> Path:
        path = tmp_path / name
        if isinstance(value, str):
            text = value
        elif name.endswith(".jsonl"):
            text = "".join(json.dumps(row) + "\n" for row in value)  # type: ignore[attr-defined]
        else:
            text = json.dumps(value)
        path.write_text(text, encoding="utf-8", newline="")
        return path

    return _write


def load(path: Path, settings: str = "", **choices: Any) -> tuple[Scenario, ChatlogSource]:
    source = open_source(f"chatlog:{path}{settings}", **choices)
    assert isinstance(source, ChatlogSource)
    (scenario,) = source
    return scenario, source


def said(scenario: Scenario) -> list[list[str]]:
    return [[f"{turn.speaker}: {turn.text}" for turn in session.turns] for session in scenario.sessions]


def test_a_log_becomes_sessions_with_probes_in_the_last(write: Callable[..., Path]) -> None:
    scenario, source = load(write(LINES))
    assert [len(s.turns) for s in scenario.sessions] == [2, 3]
    assert [(p.name, p.role) for p in scenario.participants] == [("Mira", "user"), ("Bot", "assistant")]
    assert [(p.text, p.style, p.cut.seq, len(p.recent_turns)) for p in scenario.probes] == [
        ("猫今天不吃东西。", "moment", 2, 0),
        ("Since noon.", "moment", 4, 2),
    ]
    assert all(not gold.model_dump(exclude_defaults=True) for gold in scenario.gold_by_probe.values())
    assert source.card.settings["roles"] == "Mira = user, Bot = assistant (inferred from names)"
    assert source.card.sha256
    assert source.report.notice_counts == {"roles-inferred": 1}
    events = list(replay(scenario, pool_as_turns=False))
    assert sum(isinstance(e, WriteTurn) for e in events) == 5
    assert sum(isinstance(e, ForkAt) for e in events) == 2


def test_the_shapes_of_one_log_load_alike(write: Callable[..., Path]) -> None:
    messages = [{"role": "user" if row["speaker"] == "Mira" else "assistant", "content": row["text"]} for row in LINES]
    times = [row["time"] for row in LINES]
    rows = [f'{row["speaker"]},{row["time"]},"{row["text"]}"' for row in LINES]
    stamped = [{**m, "timestamp": t} for m, t in zip(messages, times, strict=True)]
    shapes = {
        "log.json": stamped,
        "one.json": {"messages": stamped},
        "two.json": [{"messages": stamped[:2]}, {"messages": stamped[2:]}],
        "three.json": {"conversations": [{"messages": stamped[:2]}, {"messages": stamped[2:]}]},
        "lists.json": [stamped[:2], stamped[2:]],
        "log.csv": "speaker,time,text\n" + "\n".join(rows) + "\n",
        "log.tsv": "Sender\tTimestamp\tMessage\n"
        + "\n".join(r.replace(",2", "\t2").replace(',"', '\t"') for r in rows)
        + "\n",
        "semi.csv": "说话人;时间;内容\n" + "\n".join(r.replace(",2", ";2").replace(',"', ';"') for r in rows) + "\n",
    }
    texts = [row["text"] for row in LINES]
    for name, value in shapes.items():
        scenario, source = load(write(value, name))
        assert [turn.text for turn in scenario.turns] == texts, name
        assert next(turn.at.isoformat() for turn in scenario.turns if turn.at) == "2024-03-01T09:00:00+00:00", name
        assert [len(s.turns) for s in scenario.sessions] == [2, 3], name
        assert len(scenario.probes) == 2, name
        assert source.card.settings["shape"] in ("messages", "conversations", "csv")


def test_content_parts_tools_and_systems(write: Callable[..., Path]) -> None:
    parts = [{"type": "text", "text": "Look:"}, {"type": "image_url", "image_url": {"url": "x"}}, "a cat"]
    messages = [
        {"role": "system", "content": "SYSTEM PROMPT"},
        {"role": "user", "content": parts},
        {"role": "assistant", "content": None, "tool_calls": []},
        {"role": "tool", "content": "TOOL"},
        {"role": "assistant", "content": "A cat."},
    ]
    scenario, source = load(write(messages, "log.json"))
    assert said(scenario) == [["User: Look:\na cat", "Assistant: ", "Assistant: A cat."]]
    counts = source.report.notice_counts
    assert counts == {"empty-turn": 1, "no-probes": 1, "not-spoken": 2, "part-left-out": 1, "undated": 1}
    assert source.report.counts["system messages left out"] == 1


def test_dt_04_offsets_are_converted_and_naive_times_take_the_declared_zone(
    case_dir: Callable[[str], Path], write: Callable[..., Path]
) -> None:
    times = json.loads((case_dir("DT-04") / "times.json").read_text(encoding="utf-8"))
    expected = json.loads((case_dir("DT-04") / "expected.json").read_text(encoding="utf-8"))
    path = write([{"speaker": "Mira", "text": time, "time": time} for time in times])
    scenario, source = load(path)
    assert [turn.text for turn in scenario.turns][:3] == expected["sorted_first_three"]
    found = {turn.text: turn.at.isoformat().replace("+00:00", "Z") for turn in scenario.turns if turn.at}
    assert [found[time] for time in times[:3]] == expected["utc"][:3]
    assert source.report.counts["naive times"] == 1
    assert source.report.notice_counts["doubtful-time"] == 1
    assert source.report.notice_counts["sorted-by-time"] == 1
    elsewhere, _ = load(path, ",zone=Asia/Tokyo")
    assert next(t.at for t in elsewhere.turns if t.text == times[1]).isoformat() == "2025-12-31T18:00:00+00:00"  # type: ignore[union-attr]
    assert elsewhere.card.settings["times"] == "Asia/Tokyo where a time names no zone"


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (1709283600, "2024-03-01T09:00:00+00:00"),
        (1709283600000, "2024-03-01T09:00:00+00:00"),
        ("1709283600", "2024-03-01T09:00:00+00:00"),
        ("2024/3/1 9:00", "2024-03-01T09:00:00+00:00"),
        ("2024.03.01 09:00:30", "2024-03-01T09:00:30+00:00"),
        ("2024-03-01", "2024-03-01T00:00:00+00:00"),
        ("9:00 am on 1 March, 2024", "2024-03-01T09:00:00+00:00"),
        ("2024/03/01 (Fri) 09:00", "2024-03-01T09:00:00+00:00"),
        ("2024/March/01", "2024-03-01T00:00:00+00:00"),
    ],
)
def test_times(write: Callable[..., Path], written: object, expected: str) -> None:
    scenario, _ = load(write([{"speaker": "Mira", "text": "x", "time": written}]))
    assert scenario.turns[0].at is not None
    assert scenario.turns[0].at.isoformat() == expected


@pytest.mark.parametrize("written", ["03/04/2024 09:00", "yesterday", 7, 10**30, True, -1.5, "2024-02-30", {}])
def test_other_times_are_refused_or_counted_as_missing(write: Callable[..., Path], written: object) -> None:
    path = write([LINES[0], {"speaker": "Mira", "text": "x", "time": written}])
    with pytest.raises(DataError) as caught:
        load(path)
    assert (caught.value.record, caught.value.field) == ("line 2", "time")
    scenario, source = load(path, lenient=True)
    assert scenario.turns[1].at == scenario.turns[0].at
    assert source.report.notice_counts["unreadable-date"] == 1
    assert source.report.notice_counts["time-inherited"] == 1


def test_pauses_and_ids_make_sessions(write: Callable[..., Path]) -> None:
    path = write(LINES)
    assert [len(s.turns) for s in load(path, ",gap=0.5")[0].sessions] == [2, 3]
    assert [len(s.turns) for s in load(path, ",gap=0.01")[0].sessions] == [1, 1, 1, 1, 1]
    assert [len(s.turns) for s in load(path, ",gap=1000")[0].sessions] == [5]
    rows = [{**row, "session_id": name} for row, name in zip(reversed(LINES), ("b", "b", 7, "a", "a"), strict=True)]
    scenario, source = load(write(rows))
    assert [(s.session_id, [t.turn_id for t in s.turns]) for s in scenario.sessions] == [
        ("a", ["s1t1", "s1t2"]),
        ("7", ["s2t1"]),
        ("b", ["s3t1", "s3t2"]),
    ]
    assert source.report.notice_counts == {"roles-inferred": 1, "sessions-reordered": 1, "sorted-by-time": 2}


def test_newest_first_exports_are_put_in_order(write: Callable[..., Path]) -> None:
    scenario, source = load(write(list(reversed(LINES))))
    assert [turn.text for turn in scenario.turns] == [row["text"] for row in LINES]
    assert source.report.counts["messages put in order of time"] == 4


def test_an_undated_log_is_one_session_in_the_order_of_the_file(write: Callable[..., Path]) -> None:
    scenario, source = load(write([{k: row[k] for k in ("speaker", "text")} for row in LINES]))
    assert [len(s.turns) for s in scenario.sessions] == [5]
    assert {turn.at for turn in scenario.turns} == {None}
    assert [p.text for p in scenario.probes] == [LINES[2]["text"], LINES[4]["text"]]
    assert source.report.notice_counts["undated"] == 1


@pytest.mark.parametrize(
    ("names", "settings", "roles"),
    [
        (("Mira", "Tomasz"), "", ["peer", "peer"]),
        (("Mira", "Tomasz"), ",assistant=Tomasz", ["user", "assistant"]),
        (("Mira", "Tomasz"), ",user=Mira,assistant=Tomasz", ["user", "assistant"]),
        (("Mira", "ChatGPT"), "", ["user", "assistant"]),
        (("我", "助手"), "", ["user", "assistant"]),
    ],
)
def test_sp_01_names_stay_and_roles_are_recorded(
    write: Callable[..., Path], names: tuple[str, str], settings: str, roles: list[str]
) -> None:
    rows = [{"speaker": names[i % 2], "text": f"line {i}"} for i in range(4)]
    scenario, source = load(write(rows), settings)
    assert [p.role for p in scenario.participants] == roles
    assert [turn.speaker for turn in scenario.turns] == list(names * 2)
    assert all(name in source.card.settings["roles"] for name in names)
    assert source.report.notice_counts["roles-inferred"] == 1
    assert {p.speaker for p in scenario.probes} <= set(names)


def test_settings_that_make_no_sense(write: Callable[..., Path]) -> None:
    path = write(LINES)
    for setting, message in (
        (",gap=soon", "gap=soon is no number of hours"),
        (",gap=-1", "gap=-1 is no number of hours"),
        (",zone=Mars/Base", "zone=Mars/Base is no time zone"),
        (",assistant=Rob", "nobody of that name speaks in log.jsonl; there are 'Mira', 'Bot'"),
        (",speaker=Rob", "chatlog has no setting 'speaker'"),
    ):
        with pytest.raises(ConfigError, match=message):
            load(path, setting)
    with pytest.raises(ConfigError, match=r"a \.jsonl, \.json, \.csv or \.tsv file, not log\.txt"):
        load(write("x", "log.txt"))
    with pytest.raises(ConfigError, match="write chatlog:FILE"):
        open_source("chatlog")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("who,said\na,b\n", "the first row names no columns of a chat log"),
        ("speaker,text\na\n", "1 cells under 2 columns .*record row 2"),
        ("speaker,text\na,b,c\n", "3 cells under 2 columns"),
        ('speaker,text\na,"b\n', "not valid CSV: unexpected end of data"),
        ("text,text\na,b\n", "a column name occurs twice"),
        ("speaker,text\n", "the log holds no message"),
        ("\n", "the file is empty"),
    ],
)
def test_bad_csv_says_where(write: Callable[..., Path], text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        load(write(text, "log.csv"))


def test_a_speaker_with_two_roles_is_refused(write: Callable[..., Path]) -> None:
    rows = [{"speaker": "Alex", "role": role, "text": "x"} for role in ("user", "assistant")]
    with pytest.raises(DataError, match=r"'Alex' is user in line 1 and assistant here .*record line 2, field role"):
        load(write(rows))


def test_files_of_other_kinds_are_named(write: Callable[..., Path]) -> None:
    with pytest.raises(DataError, match="this looks like a LoCoMo file"):
        load(write([{"conversation": {}, "qa": []}], "log.json"))
    with pytest.raises(DataError, match="a conversation without `messages`"):
        load(write([{"mapping": {}, "title": "x"}], "log.json"))


def test_long_last_sessions_are_probed_at_their_end(write: Callable[..., Path]) -> None:
    rows = [{"speaker": "Mira", "text": f"line {i}"} for i in range(MAX_DEFAULT_PROBES + 10)]
    scenario, source = load(write(rows), ",user=Mira")
    assert [p.text for p in scenario.probes] == [f"line {i}" for i in range(10, MAX_DEFAULT_PROBES + 10)]
    assert source.report.notice_counts["probes-left-out"] == 1


PROBES = """\
- id: cat
  style: question
  after: s1
  now: 2024-03-06 08:00
  ask: What is my cat called?
  gold: {answers: [Pixel], evidence: [s1t1]}
- id: noon
  style: moment
  in_place_of: s2t3
  gold: {rubric: Asks about Pixel., strata: [zh]}
"""


@pytest.mark.parametrize("dated", [True, False])
def test_probes_of_ones_own(write: Callable[..., Path], dated: bool) -> None:
    probes = write(PROBES, "probes.yaml")
    rows = (
        LINES if dated else [{**row, "time": None, "session": "s1" if i < 2 else "s2"} for i, row in enumerate(LINES)]
    )
    scenario, source = load(write(rows), f",probes={probes}")
    question, moment = scenario.probes
    assert (question.probe_id, question.cut.seq, question.speaker) == ("log/cat", 2, "Mira")
    assert scenario.gold_by_probe[question.probe_id].evidence == ("s1t1",)
    assert question.now is not None
    assert question.now.isoformat() == "2024-03-06T08:00:00+00:00"
    assert (moment.text, moment.cut.seq) == ("Since noon.", 4)
    assert moment.recent_turns == scenario.turns[2:4]
    assert moment.now == scenario.turns[4].at
    assert source.card.annotation == "probes by the author of probes.yaml"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("evidence: [s1t1]", "evidence: [s9t1]", r"this turn does not exist .*record probe 0, field gold\.evidence\.0"),
        ("after: s1", "after: s7", "record probe 0, field after; seen: 's7'"),
        ("style: moment", "style: mood", "record probe 1, field style"),
        ("now: 2024-03-06", "now: 2023-03-06", "earlier than what the probe knows"),
        ("- id: noon", "- id: cat", "this name is already taken"),
        (PROBES, "probes: []\n", "not a list of probes"),
    ],
)
def test_bad_probes_say_where(write: Callable[..., Path], old: str, new: str, message: str) -> None:
    probes = write(PROBES.replace(old, new), "probes.yaml")
    with pytest.raises(DataError, match=message) as caught:
        load(write(LINES), f",probes={probes}")
    assert caught.value.file == str(probes)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(["Mira", "Bot"]), st.text(max_size=8), st.none() | st.integers(0, 10**6)), min_size=1
    ),
    st.sampled_from(["log.jsonl", "log.json"]),
)
def test_nothing_is_lost_and_times_never_go_back(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str, int | None]], name: str
) -> None:
    path = tmp_path_factory.mktemp("log") / name
    value = [{"speaker": s, "text": t, "time": None if n is None else 1_700_000_000 + n} for s, t, n in rows]
    text = json.dumps(value) if name == "log.json" else "".join(json.dumps(row) + "\n" for row in value)
    path.write_text(text, encoding="utf-8")
    scenario, source = load(path)
    assert sorted((t.speaker, t.text) for t in scenario.turns) == sorted((s, t) for s, t, _ in rows)
    times = [turn.at for turn in scenario.turns if turn.at]
    assert times == sorted(times)
    assert source.report.notice_counts.get("empty-turn", 0) == sum(turn.is_empty for turn in scenario.turns)
    for probe in scenario.probes:
        assert all(turn.index < probe.cut.seq for turn in probe.recent_turns)
