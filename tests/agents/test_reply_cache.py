"""The reply cache: hits cost nothing, several processes share it, and neither kills nor damage lose what is good."""

from __future__ import annotations

import logging
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path

import pytest
from endpoint_stub import always, chat, in_turn
from hypothesis import given
from hypothesis import strategies as st

from mnemoscope.agents.gateway import ReplyCache
from mnemoscope.agents.gateway.request import ChatRequest, alternating
from mnemoscope.agents.gateway.settings import read_endpoint
from mnemoscope.core.errors import ConfigError
from mnemoscope.core.ports import Message
from mnemoscope.core.usage import Usage

ASK = [Message("user", "What is the cat called?")]
SCHEMA = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}


async def test_a_cached_reply_is_the_same_and_is_counted_as_cached(
    serve: Callable, open_at: Callable, tmp_path: Path
) -> None:
    stub = serve(in_turn(chat("<think>cat</think>Pixel"), chat("Other")))
    first = await open_at(stub, cache=tmp_path).complete(ASK, phase="respond")
    again = await open_at(stub, cache=tmp_path).complete(ASK, phase="respond")
    assert (first.text, first.hidden, first.cached) == ("Pixel", "cat", False)
    assert first.usage == Usage({"respond": 1}, 11, 3)
    assert (again.text, again.hidden, again.model, again.cached) == ("Pixel", "cat", first.model, True)
    assert again.usage == Usage({"respond": 1}, 11, 3, cache_hits=1)
    assert len(stub.bodies) == 1


async def test_whatever_can_change_the_reply_is_asked_anew(serve: Callable, open_at: Callable, tmp_path: Path) -> None:
    stub = serve(always(chat("{}")))
    ask = open_at(stub, cache=tmp_path).complete
    await ask(ASK, phase="respond")
    await ask(ASK, phase="respond", replicate=1)
    await ask(ASK, phase="respond", max_tokens=7)
    await ask(ASK, phase="respond", schema=SCHEMA)
    await ask([Message("system", "Be brief."), *ASK], phase="respond")
    await open_at(stub, cache=tmp_path, temperature=0.5).complete(ASK, phase="respond")
    await open_at(stub, cache=tmp_path, seed=3).complete(ASK, phase="respond")
    await open_at(stub, cache=tmp_path, top_p=0.5).complete(ASK, phase="respond")
    assert len(stub.bodies) == 8
    await ask(ASK, phase="judge")
    assert len(stub.bodies) == 8


async def test_what_an_endpoint_cannot_do_is_not_tried_again_by_the_next_process(
    serve: Callable, open_at: Callable, tmp_path: Path
) -> None:
    def plain_only(body: dict, number: int) -> object:
        from endpoint_stub import error

        return error(400, "response_format is not supported") if "response_format" in body else chat("{}")

    stub = serve(plain_only)
    await open_at(stub, cache=tmp_path).complete(ASK, phase="judge", schema=SCHEMA)
    assert len(stub.bodies) == 3
    await open_at(stub, cache=tmp_path).complete(ASK, phase="judge", schema=SCHEMA, replicate=1)
    assert len(stub.bodies) == 4


def test_the_first_stored_reply_stays(tmp_path: Path) -> None:
    one, two = ReplyCache(tmp_path), ReplyCache(tmp_path)
    assert one.put("k", {"text": "first"}) == {"text": "first"}
    assert two.put("k", {"text": "second"}) == {"text": "first"}
    assert one.get("other") is None
    one.close()
    two.close()


WRITER = """
import sys
from pathlib import Path
from mnemoscope.agents.gateway.cache import ReplyCache
cache = ReplyCache(Path(sys.argv[1]))
for number in range(int(sys.argv[2])):
    cache.put(f"key-{number}", {"text": f"reply {number}", "by": sys.argv[3]})
    print(number, flush=True)
"""


def test_a_killed_process_loses_no_reply_that_it_had_stored(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(tmp_path), "1000000", "a"], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    for line in process.stdout:
        if int(line) >= 50:
            break
    process.send_signal(signal.SIGKILL)
    acknowledged = [int(line) for line in process.stdout.read().split()]
    process.wait()
    process.stdout.close()
    cache = ReplyCache(tmp_path)
    for number in range(max([50, *acknowledged]) + 1):
        assert cache.get(f"key-{number}") == {"text": f"reply {number}", "by": "a"}
    cache.close()
    assert [path.name for path in tmp_path.iterdir() if "damaged" in path.name] == []


def test_several_processes_write_at_once(tmp_path: Path) -> None:
    processes = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), "100", name], stdout=subprocess.DEVNULL)
        for name in "abc"
    ]
    assert [process.wait() for process in processes] == [0, 0, 0]
    cache = ReplyCache(tmp_path)
    stored = [cache.get(f"key-{number}") for number in range(100)]
    cache.close()
    assert [reply and reply["text"] for reply in stored] == [f"reply {number}" for number in range(100)]


def _fill(folder: Path, rows: int = 400) -> Path:
    cache = ReplyCache(folder)
    for number in range(rows):
        cache.put(f"key-{number}", {"text": "reply " * 50})
    cache.close()
    return cache.path


@pytest.mark.parametrize("damage", [b"garbage, not a database, " * 40, b"SQLite format 3\0" + b"\xff" * 600])
def test_a_damaged_file_is_moved_aside_and_begun_anew(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: bytes
) -> None:
    path = _fill(tmp_path)
    path.write_bytes(damage)
    cache = ReplyCache(tmp_path)
    assert cache.get("key-1") is None
    assert cache.put("key-1", {"text": "new"}) == {"text": "new"}
    cache.close()
    assert (tmp_path / "replies.sqlite.damaged-1").read_bytes() == damage
    assert "was damaged; it was moved to replies.sqlite.damaged-1" in caplog.text


def test_damage_inside_is_never_trusted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = _fill(tmp_path)
    data = bytearray(path.read_bytes())
    for place in range(4096 * 3, len(data) - 200, 4096):
        data[place : place + 64] = b"\xee" * 64
    path.write_bytes(bytes(data))
    cache = ReplyCache(tmp_path)
    for number in range(400):
        assert cache.get(f"key-{number}") in (None, {"text": "reply " * 50})
    cache.put("key-new", {"text": "new"})
    assert cache.get("key-new") == {"text": "new"}
    cache.close()
    assert "damaged" in caplog.text


def test_a_changed_row_is_asked_for_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = _fill(tmp_path, rows=2)
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE reply SET body = replace(body, 'reply', 'other') WHERE key = 'key-1'")
    connection.close()
    cache = ReplyCache(tmp_path)
    assert cache.get("key-1") is None
    assert cache.get("key-0") == {"text": "reply " * 50}
    cache.close()
    assert "is damaged and is asked for again" in caplog.text


def test_foreign_and_newer_files_are_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "replies.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE theirs (x)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(ConfigError, match="not a cache of this program"):
        ReplyCache(tmp_path)
    assert path.read_bytes() == before
    path.unlink()
    _fill(tmp_path, rows=1)
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(ConfigError, match="written by a newer version"):
        ReplyCache(tmp_path)


def test_an_unusable_folder_is_named(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("x", encoding="utf-8")
    with pytest.raises(ConfigError, match="cannot use the cache folder"):
        ReplyCache(blocked / "cache")


async def test_a_full_disk_costs_the_cache_and_not_the_run(
    serve: Callable, open_at: Callable, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    long = "Pixel " * 5_000
    model = open_at(serve(always(chat(long))), cache=tmp_path)
    model._cache._connection.execute("PRAGMA max_page_count = 1")
    assert (await model.complete(ASK, phase="respond", max_tokens=50_000)).text == long
    assert "is left out: database or disk is full" in caplog.text


@given(
    st.lists(
        st.builds(Message, st.sampled_from(["system", "user", "assistant"]), st.text(min_size=1, max_size=12)),
        min_size=1,
        max_size=8,
    )
)
def test_any_messages_become_alternating_without_losing_text(messages: list[Message]) -> None:
    sent = alternating(messages)
    roles = [message.role for message in sent]
    spoken = roles[1:] if roles[0] == "system" else roles
    assert spoken[0] == "user" and "system" not in spoken
    assert all(a != b for a, b in pairwise(spoken))
    assert all(any(message.content in other.content for other in sent) for message in messages)
    assert alternating(sent) == sent


@given(st.text(max_size=40), st.text(max_size=40), st.integers(0, 3))
def test_keys_tell_requests_apart_and_nothing_else(one: str, two: str, replicate: int) -> None:
    settings = read_endpoint("openai(model=tiny,base_url=http://127.0.0.1:1/v1)", {"OPENAI_API_KEY": "sk-a-secret"})
    other_key = read_endpoint("openai(model=tiny,base_url=http://u:p@127.0.0.1:1/v1)", {})

    def key(text: str, used: object = settings) -> str:
        return ChatRequest.of(used, [Message("user", text)], None, None, replicate).key

    assert (key(one) == key(two)) == (one == two)
    assert key(one) == key(one, other_key)


def test_a_connection_that_was_inherited_over_a_fork_is_not_used(tmp_path: Path) -> None:
    cache = ReplyCache(tmp_path)
    cache.put("k", {"text": "first"})
    inherited, cache._owner = cache._connection, -1
    assert cache.get("k") == {"text": "first"}
    assert cache._connection is not inherited
    assert inherited is not None and inherited.execute("SELECT count(*) FROM reply").fetchone() == (1,)
    cache.close()
    inherited.close()


async def test_of_two_that_ask_at_once_both_count_what_the_stored_reply_took(
    serve: Callable, open_at: Callable, tmp_path: Path
) -> None:
    stub = serve(in_turn(chat("Pixel"), chat(""), chat("Other")))
    one, two = open_at(stub, cache=tmp_path), open_at(stub)
    stored = await one.complete(ASK, phase="respond")
    two._cache = LateCache(tmp_path)
    late = await two.complete(ASK, phase="respond")
    assert len(stub.bodies) == 3
    assert (late.text, late.usage) == ("Pixel", stored.usage)


class LateCache(ReplyCache):
    """Another process stores its reply while this one is still asking."""

    asked = False

    def get(self, key: str) -> Mapping[str, object] | None:
        if not self.asked:
            self.asked = True
            return None
        return super().get(key)
