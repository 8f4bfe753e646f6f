"""The gateway's small parts: settings, limits, counts, reasoning, redaction, structured replies, clock and ids."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemoscope.agents.clock import SystemClock
from mnemoscope.agents.gateway.classify import retry_after_seconds, unsupported_parameter
from mnemoscope.agents.gateway.counts import TokenCounts, read_counts
from mnemoscope.agents.gateway.limits import Limiter
from mnemoscope.agents.gateway.redaction import Redactor, bare_url, key_hint
from mnemoscope.agents.gateway.settings import read_endpoint
from mnemoscope.agents.ids import ContentIds
from mnemoscope.core.errors import ConfigError
from mnemoscope.core.language.hidden import split_hidden
from mnemoscope.core.structured import read_structured

LOCAL = "http://127.0.0.1:8000/v1"


def test_a_bare_name_takes_the_rest_from_the_environment() -> None:
    settings = read_endpoint(
        "Qwen/Qwen2.5-7B", {"OPENAI_BASE_URL": "https://me:pw-secret@host.example:8443/v1/?token=t-secret#x"}
    )
    assert (settings.model, settings.base_url) == ("Qwen/Qwen2.5-7B", "https://host.example:8443/v1")
    assert settings.host == "host.example:8443/v1"
    assert settings.user == ("me", "pw-secret")
    assert settings.query == {"token": "t-secret"}
    assert set(settings.secrets) == {"me", "pw-secret", "t-secret"}
    assert "secret" not in repr(settings) + settings.spec + json.dumps(settings.describe())


def test_what_is_written_wins_over_the_environment() -> None:
    environ = {"OPENAI_BASE_URL": "http://elsewhere.example/v1", "OPENAI_API_KEY": "sk-0123456789abcdef"}
    settings = read_endpoint(f"openai(model=tiny,base_url={LOCAL},temperature=0.6,rpm=30)", environ)
    assert (settings.base_url, settings.temperature, settings.rpm) == (LOCAL, 0.6, 30)
    assert settings.is_loopback
    assert settings.describe()["base_url"] == f"{LOCAL} (from argument)"
    assert settings.describe()["key"] == "set (…cdef) (from OPENAI_API_KEY)"


def test_the_spec_opens_the_same_model_again() -> None:
    settings = read_endpoint(f"openai(model=tiny,base_url={LOCAL},temperature=0.6,max_tokens=64,seed=3)", {})
    again = read_endpoint(settings.spec, {})
    assert again.spec == settings.spec
    assert again.request_parameters == settings.request_parameters


def test_no_file_is_searched_for_a_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".openai-key").write_text("sk-decoy-decoy-decoy", encoding="utf-8")
    (tmp_path / ".env").write_text("OPENAI_API_KEY=sk-decoy-decoy-decoy", encoding="utf-8")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match="set OPENAI_API_KEY"):
        read_endpoint("some-model", {})


@pytest.mark.parametrize(
    ("text", "environ", "said"),
    [
        ("", {}, "names no model"),
        ("openai(temperature=0)", {}, "names no model"),
        ("two words", {}, "is not a model"),
        ("anthropic(model=x)", {}, "unknown kind of model"),
        (f"openai(model=x,base_url={LOCAL},temprature=1)", {}, "no parameter 'temprature'"),
        (f"openai(model=x,base_url={LOCAL},temperature=3)", {}, "from 0 to 2"),
        (f"openai(model=x,base_url={LOCAL},retries=1.5)", {}, "a whole number"),
        (f"openai(model=x,base_url={LOCAL},concurrency=true)", {}, "a whole number"),
        (f"openai(model=x,base_url={LOCAL},timeout=none)", {}, "cannot be none"),
        ("openai(model=x,base_url=127.0.0.1:8000)", {}, "not an http"),
        ("x", {"OPENAI_BASE_URL": "http://u:sk-secret-value@:99999x/v1"}, "OPENAI_BASE_URL is not an http"),
    ],
)
def test_unusable_settings_are_named(text: str, environ: dict[str, str], said: str) -> None:
    with pytest.raises(ConfigError, match=said) as caught:
        read_endpoint(text, environ)
    assert "secret" not in str(caught.value)


def test_counts_of_all_known_shapes_mean_the_same(case_dir: Callable[[str], Path]) -> None:
    records = json.loads((case_dir("RN-13") / "usage.json").read_text(encoding="utf-8"))["records"]
    expected = json.loads((case_dir("RN-13") / "expected.json").read_text(encoding="utf-8"))
    for record in records:
        counts = read_counts(record.get("usage") or record.get("usageMetadata"))
        wanted = expected["normalised"].get(record["id"])
        if wanted is None:
            assert (record["id"], counts) == ("none", None)
            continue
        assert counts is not None
        assert {"uncached": counts.uncached, "cache_read": counts.cache_read, "output": counts.output} == wanted
        assert counts.prompt == 10_000


@pytest.mark.parametrize("odd", [{}, {"prompt_tokens": None, "completion_tokens": None}, {"prompt_tokens": "many"}, 7])
def test_counts_that_are_none_stay_unknown(odd: object) -> None:
    assert read_counts(odd) is None


def test_counts_with_parts_missing() -> None:
    assert read_counts({"prompt_tokens": 5, "completion_tokens": None}) == TokenCounts(5, 0, 0, 0)
    assert read_counts({"prompt_tokens": 5, "prompt_tokens_details": {"cached_tokens": 9}}) == TokenCounts(0, 5, 0, 0)
    responses = {"input_tokens": 10, "input_tokens_details": {"cached_tokens": 4}, "output_tokens": 2}
    assert read_counts(responses) == TokenCounts(6, 4, 0, 2)


@pytest.mark.parametrize(
    ("text", "separate", "visible", "hidden"),
    [
        ("Pixel.", "", "Pixel.", ""),
        ("Pixel.", "a cat", "Pixel.", "a cat"),
        ("<think>a cat</think>\nPixel.", "", "Pixel.", "a cat"),
        ("<THINK>a</THINK>b", "", "b", "a"),
        ("a cat</think>Pixel.", "", "Pixel.", "a cat"),
        ("<think>never closed", "", "", "never closed"),
        ("I typed <think> by hand.", "", "I typed <think> by hand.", ""),
        ("I typed <think>so</think> by hand.", "", "I typed <think>so</think> by hand.", ""),
    ],
)
def test_reasoning_is_split_off(text: str, separate: str, visible: str, hidden: str) -> None:
    assert split_hidden(text, separate) == (visible, hidden)


NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, None),
        ("2", 2.0),
        ("1.5", 1.5),
        ("-3", 0.0),
        ("soon", None),
        (format_datetime(NOW + timedelta(seconds=90), usegmt=True), 90.0),
        (format_datetime(NOW - timedelta(seconds=90), usegmt=True), 0.0),
    ],
)
def test_retry_after_is_seconds_or_a_date(value: str | None, seconds: float | None) -> None:
    assert retry_after_seconds(value, NOW) == seconds


@pytest.mark.parametrize(
    ("message", "parameter"),
    [
        ("extra_forbidden: max_completion_tokens", "max_completion_tokens"),
        ("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.", "max_tokens"),
        ("Unknown field: response_format", "response_format"),
        ("json_schema is not supported by this model", "response_format"),
        ("Unsupported value: 'temperature' does not support 0", "temperature"),
        ("Unrecognized request argument supplied: seed", "seed"),
        ("max_tokens is too large: 9000", None),
        ("This model's maximum context length is 2048 tokens", None),
    ],
)
def test_refusals_name_the_parameter(message: str, parameter: str | None) -> None:
    assert unsupported_parameter(message) == parameter


SECRET = "sk-proj/with+odd=chars&1234"


@given(st.text(max_size=30), st.text(max_size=30))
def test_a_configured_secret_never_survives(before: str, after: str) -> None:
    from urllib.parse import quote

    redactor = Redactor([SECRET])
    for form in (SECRET, quote(SECRET, safe="")):
        assert SECRET not in redactor.exact(before + form + after)
        assert form not in redactor.message(before + form + after)


def test_other_text_is_left_as_it_is() -> None:
    said = "My old demo token was sk-user-said-this-000, and the password is ollama."
    assert Redactor([SECRET, "ollama"]).exact(said) == said


@pytest.mark.parametrize(
    "text",
    [
        "Authorization: Bearer abc.def-ghi",
        "{'authorization': 'Basic dXNlcjpwYXNz'}",
        "GET https://user:pass@host/v1?api_key=abcdef1234",
        "Incorrect API key provided: sk-te**ST",
    ],
)
def test_messages_lose_whatever_looks_like_a_secret(text: str) -> None:
    shown = Redactor([]).message(text)
    assert "[redacted]" in shown
    assert not any(part in shown for part in ("abc.def", "dXNlcjpwYXNz", "user:pass", "abcdef1234", "te**ST"))


def test_urls_and_keys_are_shown_bare() -> None:
    assert bare_url("https://u:p@[::1]:8000/v1/?k=v#f") == "https://[::1]:8000/v1"
    assert key_hint("short") == "set"
    assert key_hint("") == "not set"


class _Time:
    def __init__(self) -> None:
        self.now, self.waits = 0.0, []

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now += seconds

    def monotonic(self) -> float:
        return self.now


async def test_no_more_calls_start_in_a_minute_than_allowed() -> None:
    time = _Time()
    limiter = Limiter(8, 3, time.sleep, time.monotonic)
    starts = []
    for _ in range(7):
        async with limiter.slot():
            starts.append(time.now)
            time.now += 1.0
    assert starts == [0.0, 1.0, 2.0, 60.0, 61.0, 62.0, 120.0]
    assert time.waits == [57.0, 57.0]


async def test_calls_in_flight_halve_when_asked_too_often_and_grow_back() -> None:
    time = _Time()
    limiter = Limiter(8, None, time.sleep, time.monotonic)
    limiter.slow_down()
    limiter.slow_down()
    assert limiter.allowed == 2
    for _ in range(25):
        limiter.answered()
    assert limiter.allowed == 4
    for _ in range(5):
        limiter.slow_down()
    assert limiter.allowed == 1
    limiter.tighten(1, None)
    for _ in range(50):
        limiter.answered()
    assert limiter.allowed == 1


async def test_a_waiting_call_can_be_given_up() -> None:
    time = _Time()
    limiter = Limiter(1, None, time.sleep, time.monotonic)
    async with limiter.slot():
        waiting = asyncio.create_task(limiter.slot().__aenter__())
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
    async with asyncio.timeout(1), limiter.slot():
        pass


WANTED = {
    "type": "object",
    "properties": {"ok": {"type": "boolean"}, "n": {"type": "integer"}},
    "required": ["ok"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("text", "value", "repairs"),
    [
        ('{"ok": true, "n": 2}', {"ok": True, "n": 2}, ()),
        ('```json\n{"ok": true}\n```', {"ok": True}, ("fence",)),
        ('So: {"ok": true} - done', {"ok": True}, ("prose-around",)),
        ("{'ok': True}", {"ok": True}, ("python-literal",)),
        ('{"ok": "False", "n": "3"}', {"ok": False, "n": 3}, ("string-boolean", "string-number")),
        ('{"ok": true} and again {"ok": true}', {"ok": True}, ("prose-around",)),
    ],
)
def test_structured_replies_are_mended(text: str, value: object, repairs: tuple[str, ...]) -> None:
    read = read_structured(text, WANTED)
    assert (read.value, read.repairs, read.problem) == (value, repairs, None)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "the reply is empty"),
        ("yes", "no JSON object in the reply"),
        ('{"ok": tr', "no JSON object in the reply"),
        ("[true]", "no JSON object in the reply"),
        ('{"ok": "maybe"}', "ok: 'maybe' is not of type 'boolean'"),
        ('{"n": 1}', "the object: 'ok' is a required property"),
        ('{"ok": true} or {"ok": false}', "several different JSON objects in the reply"),
    ],
)
def test_structured_replies_that_do_not_fit_have_no_value(text: str, problem: str) -> None:
    read = read_structured(text, WANTED)
    assert (read.value, read.problem) == (None, problem)


@given(st.text(alphabet="{}[]\"'\\:, truefalsenullTF01ok\n`", max_size=60))
def test_reading_a_reply_never_fails(text: str) -> None:
    read = read_structured(text, WANTED)
    assert (read.value is None) == (read.problem is not None)


def test_the_clock_is_aware() -> None:
    assert SystemClock().now().utcoffset() == timedelta(0)


@given(st.lists(st.tuples(st.sampled_from(["turn", "fact"]), st.sampled_from(["a", "b", "a-2", ""])), max_size=20))
def test_ids_depend_on_content_and_order_alone(calls: list[tuple[str, str]]) -> None:
    one, two = ContentIds(), ContentIds()
    ids = [one.next(*call) for call in calls]
    assert ids == [two.next(*call) for call in calls]
    assert len(set(ids)) == len(ids)
    assert all(made.startswith(kind) for made, (kind, _) in zip(ids, calls, strict=True))
