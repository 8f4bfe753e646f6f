"""Strict reading: encodings, repeated keys, broken JSON, files of another benchmark."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemoscope.core.errors import ConfigError, DataError
from mnemoscope.scenarios.reading import Fields, decode_text, official_file, read_json, refuse_foreign

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda children: st.lists(children, max_size=4) | st.dictionaries(st.text(), children, max_size=4),
    max_leaves=15,
)


@pytest.fixture
def write(tmp_path: Path) -> Callable[[bytes], Path]:
    def _write(raw: bytes) -> Path:
        path = tmp_path / "data.json"
        path.write_bytes(raw)
        return path

    return _write


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_marks_decide_the_encoding(write: Callable[[bytes], Path], encoding: str) -> None:
    assert read_json(write('["café 🎂 猫"]'.encode(encoding))).value == ["café 🎂 猫"]


def test_dt_12_variants_load_alike_and_gb18030_needs_the_option(case_dir: Callable[[str], Path]) -> None:
    folder = case_dir("DS-12")
    plain = read_json(folder / "utf8_bom.json").value
    assert read_json(folder / "utf16le_bom.json").value == plain
    with pytest.raises(DataError, match="not UTF-8") as caught:
        read_json(folder / "gb18030.json")
    assert "gb18030.json" in str(caught.value)
    assert "use --encoding gb18030" in str(caught.value)
    assert read_json(folder / "gb18030.json", encoding="gb18030").value == plain


def test_unmarked_utf16_and_cp1252_are_refused_with_advice(write: Callable[[bytes], Path]) -> None:
    with pytest.raises(DataError, match="--encoding utf-16-le"):
        read_json(write('["a"]'.encode("utf-16-le")))
    with pytest.raises(DataError, match="--encoding cp1252"):
        read_json(write(b'["caf\xe9"]'))
    assert read_json(write(b'["caf\xe9"]'), encoding="cp1252").value == ["café"]
    with pytest.raises(DataError, match="not ascii"):
        read_json(write(b'["caf\xe9"]'), encoding="ascii")
    with pytest.raises(ConfigError, match="unknown encoding 'klingon'"):
        read_json(write(b"[]"), encoding="klingon")


def test_ds_24_a_repeated_key_is_an_error_and_lenient_says_what_was_used(case_dir: Callable[[str], Path]) -> None:
    path = case_dir("DS-24") / "dupkey.json"
    with pytest.raises(DataError) as caught:
        read_json(path)
    assert 'the key "answer" is given 2 times' in str(caught.value)
    assert "[0].qa[0]" in str(caught.value)
    assert "['Lyon', 'Nantes']" in str(caught.value)
    (repeated,) = read_json(path, lenient=True).repeated
    assert (repeated.path, repeated.key, repeated.used, repeated.dropped) == (
        "[0].qa[0]",
        "answer",
        "Nantes",
        ("Lyon",),
    )


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "the file is empty"),
        (b" \n", "the file is empty"),
        (b'[{"a": 1}, {"b"', "line 1 column 16"),
        (b'{\n "a": "unfinished', "seems to be cut short"),
        (b"[1,]", "line 1 column"),
        (b"{'a': 1}", "not valid JSON"),
        (b'{"a": [1, NaN]}', "NaN is no JSON number"),
        (b'{"a": -Infinity}', "record a"),
        (b'{"a": 1e999}', "1e999 is no JSON number"),
        (b'["\\ud83d"]', "surrogate"),
        (b"[" * 100_000, "nested too deeply"),
        (b"[" + b"9" * 5_000 + b"]", "not usable JSON"),
    ],
)
def test_broken_json_is_one_error_with_a_place(write: Callable[[bytes], Path], raw: bytes, message: str) -> None:
    with pytest.raises(DataError) as caught:
        read_json(write(raw))
    assert message in str(caught.value)
    assert "data.json" in str(caught.value)


def test_paired_surrogate_escapes_are_fine(write: Callable[[bytes], Path]) -> None:
    assert read_json(write(b'["\\ud83d\\ude00"]')).value == ["😀"]


def test_missing_files_folders_and_forbidden_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DataError, match="no such file"):
        read_json(tmp_path / "absent.json")
    with pytest.raises(DataError, match="a folder, not a file"):
        read_json(tmp_path)

    def forbidden(self: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", forbidden)
    with pytest.raises(DataError, match="permission denied"):
        read_json(tmp_path / "any.json")


def test_a_folder_is_searched_for_official_names(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"expected b\.json or a\.json"):
        official_file(tmp_path, ("b.json", "a.json"), kind="stratmem")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.json").write_text("[]", encoding="utf-8")
    assert official_file(tmp_path, ("b.json", "a.json"), kind="stratmem") == tmp_path / "data" / "a.json"
    assert official_file(tmp_path / "other.json", ("b.json",), kind="stratmem") == tmp_path / "other.json"
    with pytest.raises(ConfigError, match=r"write stratmem:PATH"):
        official_file(None, ("b.json",), kind="stratmem")


@pytest.mark.parametrize(
    ("value", "kind", "message"),
    [
        ([{"memory": {}, "virtual_person_persona": {}}], "locomo", "looks like a StratMem-Bench file"),
        ([{"memory": {}, "virtual_person_persona": {}}], "locomo", "use stratmem:x.json"),
        ([{"conversation": {}, "qa": []}], "stratmem", "use locomo:x.json"),
        ({"speaker_a": "A", "speaker_b": "B"}, "stratmem", "looks like a LoCoMo file"),
        ([{"haystack_sessions": [], "question_id": "q"}], "locomo", "looks like a LongMemEval file"),
        ({"participants": [], "sessions": [], "probes": []}, "locomo", "use native:x.json"),
    ],
)
def test_a_file_of_another_benchmark_is_named(value: object, kind: str, message: str) -> None:
    with pytest.raises(DataError, match="looks like a") as caught:
        refuse_foreign(value, kind=kind, path=Path("x.json"))
    assert message in str(caught.value)


def test_its_own_and_unknown_shapes_pass() -> None:
    own: list[object] = [[{"conversation": {}, "qa": []}], [], {}, "text", [1]]
    refused: dict[str, list[object]] = {"locomo": [], "stratmem": []}
    for kind, values in refused.items():
        for value in own:
            try:
                refuse_foreign(value, kind=kind, path=Path("x.json"))
            except DataError:
                values.append(value)
    assert refused == {"locomo": [], "stratmem": own[:1]}


def test_fields_name_record_field_and_value_seen() -> None:
    fields = Fields.of({"a": 1, "b": "x", "c": [1, "y"], "d": True, "e": None}, file="f.json", record="r7")
    assert fields.integer("a") == 1
    assert fields.text("b") == "x"
    assert fields.sequence("c") == [1, "y"]
    assert fields.optional_text("e") is None
    for read, name, message in (
        (fields.text, "a", "expected a text"),
        (fields.integer, "d", "expected a whole number"),
        (fields.texts, "c", "expected a list of texts"),
        (fields.fields, "b", "expected an object"),
        (fields.sequence, "b", "expected a list"),
        (fields.text, "zzz", "a field is missing"),
    ):
        with pytest.raises(DataError, match=message) as caught:
            read(name)
        assert f"file f.json, record r7, field {name}" in str(caught.value)
    with pytest.raises(DataError, match="expected an object"):
        Fields.of([1], file="f.json", record="r8")


@given(json_values)
def test_strict_json_reads_as_written(value: object) -> None:
    text, _ = decode_text(json.dumps(value, ensure_ascii=False).encode(), file="x")
    assert json.loads(text) == value


@given(st.binary(max_size=60))
def test_no_bytes_end_in_anything_but_a_value_or_a_data_error(
    tmp_path_factory: pytest.TempPathFactory, raw: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / "fuzz.json"
    path.write_bytes(raw)
    try:
        assert len(read_json(path).sha256) == 64
    except DataError as error:
        assert "fuzz.json" in str(error)
