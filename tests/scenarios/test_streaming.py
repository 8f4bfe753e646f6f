"""Streaming of one large array: the same items and the same refusals as reading it whole, in bounded memory."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemoscope.core.errors import ConfigError, DataError
from mnemoscope.core.identity import sha256_of
from mnemoscope.scenarios import streaming
from mnemoscope.scenarios.reading import read_json
from mnemoscope.scenarios.source import ReadProgress
from mnemoscope.scenarios.streaming import hash_file, stream_encoding, stream_items

Write = Callable[[str | bytes], Path]

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def _write(data: str | bytes) -> Path:
        path = tmp_path / "items.json"
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return path

    return _write


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "CHUNK", 7)


def items(path: Path, **choices: Any) -> list[object]:
    return [item.value for item in stream_items(path, **choices)]


@settings(deadline=None, max_examples=150)
@given(
    st.lists(values, max_size=6),
    st.integers(1, 40),
    st.sampled_from([None, 1, "\t"]),
    st.booleans(),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32"]),
    st.sampled_from(["\n", "\r\n"]),
)
def test_streaming_gives_what_reading_whole_gives(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[Any],
    chunk: int,
    indent: int | str | None,
    ascii_only: bool,
    encoding: str,
    line_end: str,
) -> None:
    text = json.dumps(rows, indent=indent, ensure_ascii=ascii_only).replace("\n", line_end)
    path = tmp_path_factory.getbasetemp() / "streamed.json"
    path.write_bytes(text.encode(encoding))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streaming, "CHUNK", chunk)
        assert items(path) == rows == read_json(path).value


@settings(deadline=None, max_examples=150)
@given(st.binary(max_size=10), st.integers(0, 60), st.integers(1, 30))
def test_damage_is_refused_by_both_or_by_neither(
    tmp_path_factory: pytest.TempPathFactory, junk: bytes, position: int, chunk: int
) -> None:
    raw = json.dumps([{"id": "a", "n": [1, 2.5]}, {"id": "猫", "n": None}, "x"], ensure_ascii=False).encode()
    path = tmp_path_factory.getbasetemp() / "damaged.json"
    path.write_bytes(raw[:position] + junk + raw[position + len(junk) // 2 :])
    whole: object
    try:
        whole = read_json(path).value
    except DataError:
        whole = None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streaming, "CHUNK", chunk)
        if isinstance(whole, list):
            assert items(path) == whole
        else:
            with pytest.raises(DataError) as caught:
                items(path)
            assert str(path) in str(caught.value)


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize(
    ("text", "what", "record"),
    [
        ("", "the file is empty", None),
        (" \n ", "the file is empty", None),
        ('{"a": 1}', "expected one list", "line 1 column 1"),
        ("[1, 2", "expected a comma or the end of the list", "line 1 column 6"),
        ("[1, 2,", "not valid JSON: Expecting value", "[2], line 1 column 7"),
        ("[1 2]", "expected a comma or the end of the list", "line 1 column 4"),
        ("[1, 2] 3", "text after the list", "line 1 column 8"),
        ("[1,\n {},\n nope]", "not valid JSON: Expecting value", "[2], line 3 column 2"),
        ('[1,\n {"aaaaaaaa": "bbbbbbbbbbbbbbbbbb', "not valid JSON: Unterminated string", "[1], line 2 column 15"),
        ('[{"a": NaN}]', "NaN is no JSON number", "[0].a"),
        ("[[1e999]]", "1e999 is no JSON number", "[0][0]"),
        ('["ok", "\\ud800"]', "half of a surrogate pair", "[1]"),
        ('[{"b": {"a": 1, "a": 2}}]', 'the key "a" is given 2 times', "[0].b"),
        ("[" * 60_000 + "]" * 60_000, "not usable JSON: nested too deeply", "[0]"),
    ],
)
def test_refusals_name_item_line_and_column(write: Write, text: str, what: str, record: str | None) -> None:
    path = write(text)
    with pytest.raises(DataError) as caught:
        items(path)
    assert caught.value.what.startswith(what)
    assert caught.value.record == record
    assert caught.value.file == str(path)


def test_what_is_cut_short_says_so(write: Write) -> None:
    for text in ('[{"a": "b', '[{"a": 1}', "[1,"):
        with pytest.raises(DataError, match="seems to be cut short"):
            items(write(text))


@pytest.mark.usefixtures("small_chunks")
def test_bytes_of_another_encoding_are_refused_with_their_place(write: Write) -> None:
    raw = '["aaaaaaaaaaaaaaaa", "é"]'.encode("cp1252")
    with pytest.raises(DataError) as caught:
        items(write(raw))
    assert (caught.value.what, caught.value.record) == ("not UTF-8", f"byte {raw.index(0xE9)}")
    assert items(write(raw), encoding="cp1252")[1] == "é"
    with pytest.raises(DataError, match="seems to be UTF-16 without a mark"):
        items(write('["a"]'.encode("utf-16-le")))
    with pytest.raises(DataError, match="not gb18030"):
        items(write(b'["\xff\xff"]'), encoding="gb18030")
    with pytest.raises(ConfigError, match="unknown encoding"):
        items(write("[]"), encoding="latin-99")


def test_repeated_keys_pass_a_lenient_reading_and_are_listed(write: Write) -> None:
    (item,) = stream_items(write('[{"a": 1, "a": 2}]'), lenient=True)
    assert item.value == {"a": 2}
    assert [(key.path, key.key, key.used, key.dropped) for key in item.repeated] == [("[0]", "a", 2, (1,))]


@pytest.mark.usefixtures("small_chunks")
def test_places_and_progress(write: Write) -> None:
    seen: list[ReadProgress] = []
    text = '[\n "first one",\n  {"b": "second"}\n]\n'
    path = write(text)
    found = list(stream_items(path, progress=seen.append))
    assert [(item.index, item.place) for item in found] == [(0, "line 2 column 2"), (1, "line 3 column 3")]
    assert [(p.file, p.items, p.bytes_total) for p in seen] == [("items.json", n, len(text)) for n in (1, 2)]
    assert seen[0].bytes_read == text.index(",")
    assert seen[1].bytes_read == text.rindex("}") + 1


def test_whoever_stops_early_reads_no_further(write: Write) -> None:
    path = write("[1, 2, " + "3, " * 300_000 + "!")
    stream = stream_items(path)
    assert [next(stream).value for _ in range(3)] == [1, 2, 3]
    stream.close()


def test_missing_files_and_folders(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        items(tmp_path / "none.json")
    with pytest.raises(DataError, match="a folder, not a file"):
        hash_file(tmp_path)


def test_hash_and_encoding_without_reading_items(write: Write) -> None:
    path = write(b"\xef\xbb\xbf[")
    assert hash_file(path) == sha256_of(b"\xef\xbb\xbf[")
    assert stream_encoding(path) == "utf-8-sig"
    assert stream_encoding(path, encoding="GB18030") == "gb18030"


ON_LINUX = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from /proc")
MEASURE = """
import re, sys, time
from pathlib import Path
from mnemoscope.scenarios.opening import open_source

def peak_mb():  # getrusage would count the process that started this one
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) // 1024

limit = int(sys.argv[2])
began = time.perf_counter()
source = open_source(f"longmemeval:{sys.argv[1]}")
peaks, first = [], None
for number, scenario in enumerate(source, 1):
    first = first or time.perf_counter() - began
    assert scenario.gold_by_probe[scenario.probes[0].probe_id].answers == (f"K{number - 1:04d}",)
    peaks.append(peak_mb())
    if number == limit:
        break
print(number, first, peaks[min(50, len(peaks)) - 1], peaks[-1])
"""


def generated(case: Path, out: Path, count: int) -> Path:
    """The case's generator, with fewer items where a test asks for fewer."""
    script = (case / "gen.py").read_text(encoding="utf-8").replace("range(400)", f"range({count})")
    subprocess.run([sys.executable, "-c", script, str(out)], check=True)
    return out


def measured(path: Path, limit: int) -> tuple[int, float, int, int]:
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, str(path), str(limit)], check=True, capture_output=True, text=True
    )
    count, first, early, late = done.stdout.split()
    return int(count), float(first), int(early), int(late)


@ON_LINUX
def test_ds_25_three_items_of_a_large_array(case_dir: Callable[[str], Path], tmp_path: Path) -> None:
    path = generated(case_dir("DS-25"), tmp_path / "big.json", 40)
    with path.open("r+b") as stream:  # whatever is wrong behind the third item is not looked at
        stream.seek(-1, 2)
        stream.write(b"!")
    count, first, _, peak = measured(path, 3)
    assert count == 3
    assert first < 5
    assert peak < 400


@ON_LINUX
@pytest.mark.slow
def test_ds_25_in_full(case_dir: Callable[[str], Path], tmp_path: Path) -> None:
    path = generated(case_dir("DS-25"), tmp_path / "big.json", 400)
    assert path.stat().st_size > 190_000_000
    count, first, _, peak = measured(path, 3)
    assert (count, first < 5, peak < 400) == (3, True, True)
    count, _, early, late = measured(path, 400)
    assert count == 400
    assert late < 400
    assert late - early < 20
