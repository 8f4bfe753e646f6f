"""The native format: its schema, its documentation, and that schema and models accept the same files."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import ValidationError

from mnemoscope.scenarios.loaders.native import open_native, validate_native
from mnemoscope.scenarios.loaders.native_format import SCHEMA_PATH, ScenarioEntry, native_schema, schema_text
from mnemoscope.scenarios.loaders.native_yaml import read_yaml
from mnemoscope.scenarios.source import LoadRequest

DOCS = Path(__file__).parents[2] / "docs" / "scenario-format.md"


def documented_example() -> str:
    """The complete example of the documentation."""
    (example,) = re.findall(r"```yaml\n(.*?)```", DOCS.read_text(encoding="utf-8"), flags=re.DOTALL)
    return str(example)


def test_committed_schema_is_up_to_date() -> None:
    assert SCHEMA_PATH.read_text(encoding="utf-8") == schema_text(), (
        "run: python -m mnemoscope.scenarios.loaders.native_format"
    )


def test_schema_is_a_schema_with_a_description_for_every_key_of_a_probe() -> None:
    schema = native_schema()
    Draft202012Validator.check_schema(schema)
    probe = json.loads(json.dumps(schema))["$defs"]["ProbeEntry"]
    assert probe["required"] == ["id", "style", "gold"]
    undescribed = [key for key, value in probe["properties"].items() if "description" not in value]
    assert undescribed in ([], ["id"], ["id", "gold"])


def test_documented_example_loads_as_it_says(tmp_path: Path) -> None:
    file = tmp_path / "allotment.yaml"
    file.write_text(documented_example(), encoding="utf-8")
    assert validate_native(file) == []
    (scenario,) = open_native(LoadRequest("native", file))
    assert [turn.turn_id for turn in scenario.turns] == ["s1t1", "s1t2", "s1t3", "s2t1", "s2t2", "s2t3"]
    question, plan, moment = scenario.probes
    assert (question.text, question.cut.seq, question.recent_turns) == (
        "What did I want to sow along the fence?",
        6,
        (),
    )
    assert scenario.gold_by_probe[plan.probe_id].false_premise is not None
    assert (moment.text, moment.cut.seq, [turn.turn_id for turn in moment.recent_turns]) == (
        "Ask me on Thursday, they work nights.",
        5,
        ["s2t1", "s2t2"],
    )


def test_every_key_of_the_format_is_documented() -> None:
    text = DOCS.read_text(encoding="utf-8")
    definitions = json.loads(json.dumps(native_schema()))["$defs"]
    keys = {key for block in definitions.values() for key in block["properties"]}
    assert {key for key in keys if not re.search(rf"\b{key}\b", text)} == set()


PLAIN = st.recursive(
    st.none() | st.booleans() | st.sampled_from(["", " ", "a b", "s1", "user", "question", "2024-05-08"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["id", "name", "text", "at", "gold"]), inner, max_size=3)
    ),
    max_leaves=5,
)


def places(value: object, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    found = [path]
    if isinstance(value, dict):
        found += [place for key, child in value.items() for place in places(child, (*path, key))]
    elif isinstance(value, list):
        found += [place for key, child in enumerate(value) for place in places(child, (*path, key))]
    return found


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_schema_and_models_accept_the_same_files(data: st.DataObject) -> None:
    value = read_yaml(documented_example(), "example").value
    assert isinstance(value, dict)
    path = data.draw(st.sampled_from([place for place in places(value) if place]))
    at: object = value
    for key in path[:-1]:
        at = at[key]  # type: ignore[index]
    at[path[-1]] = data.draw(PLAIN)  # type: ignore[index]
    try:
        ScenarioEntry.model_validate(value)
        accepted = True
    except ValidationError:
        accepted = False
    assert Draft202012Validator(native_schema()).is_valid(value) is accepted


@pytest.mark.parametrize("several", [False, True])
def test_schema_describes_one_scenario_and_several(several: bool) -> None:
    value = read_yaml(documented_example(), "example").value
    document = {"scenarios": [value]} if several else value
    assert Draft202012Validator(native_schema()).is_valid(document)
    assert not Draft202012Validator(native_schema()).is_valid({"scenarios": []})
