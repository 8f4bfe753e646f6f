"""Configuration: names that round-trip, layers, errors that name file and key, and what the hash leaves out."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemoscope.config import DEFAULT_ARCHITECTURES, RunConfig, SystemSpec, load_config
from mnemoscope.core.errors import ConfigError, UnknownNameError

values = st.one_of(st.integers(-9, 99), st.sampled_from(["x", "3.5", "true"]))
names = st.from_regex(r"[a-z][a-z0-9-]{0,6}", fullmatch=True)
specs = st.builds(
    lambda name, args: f"{name}({','.join(f'{k}={v}' for k, v in args.items())})" if args else name,
    names,
    st.dictionaries(names, values, max_size=2),
)


@given(specs, specs)
def test_a_system_name_round_trips(architecture: str, profile: str) -> None:
    spec = SystemSpec.parse(f"{architecture}@{profile}")
    assert SystemSpec.parse(str(spec)) == spec
    assert spec.architecture.partition("(")[0] == architecture.partition("(")[0]


def test_the_last_at_outside_parentheses_divides() -> None:
    assert SystemSpec.parse("my.py:Mine(note=a@b)@top-k(2)") == SystemSpec("my.py:Mine(note=a@b)", "top-k(2)")


@pytest.mark.parametrize("text", ["bm25", "@baseline", "bm25@", "dense(x=a@b)"])
def test_half_a_system_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="bm25@baseline"):
        SystemSpec.parse(text)


def test_the_command_line_wins_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / "run.toml"
    file.write_text('scenarios = ["demo"]\nk = 3\nseed = 7\nsystems = ["bm25@baseline"]\n', encoding="utf-8")
    config = load_config(file, {"k": 5, "seed": None, "architectures": ("recent",), "systems": ()})
    assert (config.k, config.seed, config.scenarios) == (5, 7, ("demo",))
    assert [str(s) for s in config.system_specs()] == ["recent@baseline"]


def test_without_systems_the_floor_and_the_ceiling_are_compared() -> None:
    assert [s.architecture for s in load_config(None, {}).system_specs()] == list(DEFAULT_ARCHITECTURES)


def test_systems_are_added_to_the_cross_product_once() -> None:
    config = load_config(
        None, {"systems": ("bm25@baseline",), "architectures": ("bm25", "none"), "profiles": ("baseline",)}
    )
    assert [str(s) for s in config.system_specs()] == ["bm25@baseline", "none@baseline"]


def test_an_unknown_key_names_the_file_the_key_and_the_nearest(tmp_path: Path) -> None:
    file = tmp_path / "run.toml"
    file.write_text("replicate = 2\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"run\.toml: key 'replicate' is unknown; nearest: replicates"):
        load_config(file, {})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('k = "ten"\n', r"key 'k': .*seen: 'ten'"),
        ("k = 0\n", "key 'k'"),
        ("= 3\n", "is not TOML"),
        ('probes = ["qustion"]\n', "key 'probes'"),
        ('mode = "strict"\n', "key 'mode'"),
    ],
)
def test_a_bad_value_names_the_key_and_the_value(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "run.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=message):
        load_config(file, {})


def test_a_missing_file_is_said_to_be_missing(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="does not exist"):
        load_config(tmp_path / "none.toml", {})


def test_an_unknown_judge_lists_those_that_exist() -> None:
    with pytest.raises(UnknownNameError, match="offline"):
        load_config(None, {"judge": "gpt"})


@pytest.mark.parametrize(
    "change",
    [
        {"workers": 8},
        {"concurrency": 2},
        {"cache": "none"},
        {"out": Path("x.db")},
        {"max_failed": 0.5},
        {"max_judge_failed": 0.5},
    ],
)
def test_what_cannot_change_content_is_outside_the_hash(change: dict[str, object]) -> None:
    assert load_config(None, change).content_hash() == RunConfig().content_hash()


@pytest.mark.parametrize(
    "change", [{"k": 4}, {"seed": 1}, {"embedder": "hash"}, {"captions": False}, {"replicates": 2}]
)
def test_what_can_change_content_is_inside_the_hash(change: dict[str, object]) -> None:
    assert load_config(None, change).content_hash() != RunConfig().content_hash()


def test_the_hash_knows_files_by_name_not_by_folder() -> None:
    here = load_config(None, {"scenarios": ("locomo:/a/locomo10.json",)})
    there = load_config(None, {"scenarios": ("locomo:../b/locomo10.json",)})
    other = load_config(None, {"scenarios": ("locomo:/a/other.json",)})
    assert here.content_hash() == there.content_hash() != other.content_hash()


def test_the_public_form_holds_no_secret() -> None:
    config = load_config(
        None,
        {
            "model": "openai(model=tiny,base_url=http://me:sk-NOTREAL-77@127.0.0.1:8000/v1?key=sk-NOTREAL-78)",
            "vector_store": "qdrant:http://u:sk-NOTREAL-79@127.0.0.1:6333",
        },
    )
    kept = config.public()
    assert "NOTREAL" not in kept.model_dump_json()
    assert kept.model == "openai(model=tiny,base_url=http://127.0.0.1:8000/v1)"
