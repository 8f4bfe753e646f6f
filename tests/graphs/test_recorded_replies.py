"""What a real small model replied to each contract goes through each memory: read or counted, and no turn is lost.

The replies are of SmolLM2-135M and lie in `golden/replies`; `recording.py` makes them anew. They are given again in
turn, whatever is asked of the contract, so that they fit no better than an absent-minded model's would.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from mnemoscope.agents.gateway.local import PULLABLE
from mnemoscope.core.errors import EndpointError
from mnemoscope.graphs.architecture import create_architecture
from mnemoscope.graphs.conformance.kit import Kit
from mnemoscope.graphs.contracts.asking import Answer, ask
from mnemoscope.graphs.contracts.contract import Contract, Reading
from mnemoscope.graphs.contracts.extract_facts import EXTRACT_FACTS, Extraction
from tests.graphs.graph_tools import ports
from tests.graphs.recording import CONTRACTS, QUESTION, TURNS
from tests.graphs.replayed_model import RecitingModel, ScriptedModel, recordings

REPLIES = Path(__file__).parent / "golden" / "replies" / "contracts-smollm2.jsonl"


SCORE: Contract[None, object] = Contract(
    name="score",
    version=1,
    phase="decide",
    instruction="Give a score.",
    schema={
        "type": "object",
        "properties": {"score": {"type": "integer", "minimum": 1, "maximum": 5}},
        "required": ["score"],
    },
    show=lambda given: "",
    rule=lambda given: {"score": 3},
    read=lambda value, given: Reading(value["score"]),
)


async def read(contract: Contract, given: object, reply: str | None) -> Answer:
    line = EndpointError("cut off", cause="truncated") if reply is None else reply
    return await ask(contract, given, "llm", ScriptedModel([line]))


def test_the_file_says_which_weights_replied_and_to_what() -> None:
    about, recorded = recordings(REPLIES)
    assert about["sha256"] == PULLABLE["smollm2"].sha256 and about["bound"] is True
    assert all(len(one.prompt) == len(one.request) == 64 and "@" in one.contract for one in recorded)
    assert all((one.reply is None) == (one.failure == "truncated") for one in recorded)
    assert {one.failure for one in recorded} == {None, "truncated"}


@pytest.mark.parametrize("name", CONTRACTS)
async def test_every_reply_is_read_or_counted_and_every_turn_accounted_for(name: str) -> None:
    model = RecitingModel(REPLIES)
    given = replace(ports(), model=model)
    kit = Kit(create_architecture(name).backend, lambda: given)
    memory, fates = await kit.fed(TURNS)
    await kit.covered(memory, fates)
    found = await kit.ask(memory, QUESTION)
    answers = [await read(contract, inputs, one.reply) for contract, inputs, one in model.asked]
    counted = (await memory.stats()).parse_failures + found.parse_failures
    assert answers and counted == sum(answer.parse_failures for answer in answers)
    assert all(answer.value is not None or answer.problem for answer in answers)


async def test_a_placeholder_of_the_prompt_is_no_fact() -> None:
    copied = [one for one in recordings(REPLIES)[1] if one.name == EXTRACT_FACTS.name and "…" in (one.reply or "")]
    assert copied, "the model copies the example of the prompt"
    answer = await read(EXTRACT_FACTS, Extraction(TURNS[:2]), copied[0].reply)
    assert (answer.value, answer.parse_failures) == ((), 1)


async def test_contracts_mend_what_judges_mend_and_no_more(case_dir: Callable[[str], Path]) -> None:
    lines = (case_dir("JD-04") / "judge_outputs.jsonl").read_text(encoding="utf-8").splitlines()
    wanted = json.loads((case_dir("JD-04") / "expected.json").read_text(encoding="utf-8"))["parsed"]
    answers = {row["id"]: await read(SCORE, None, row["raw"]) for row in map(json.loads, lines)}
    assert {name: one.value if one.problem is None else "error" for name, one in answers.items()} == wanted
    assert all(one.parse_failures == (one.problem is not None) for one in answers.values())


async def test_prose_and_broken_replies_are_no_answers(case_dir: Callable[[str], Path]) -> None:
    lines = (case_dir("JD-03") / "judge_outputs.jsonl").read_text(encoding="utf-8").splitlines()
    for row in map(json.loads, lines):
        answer = await read(SCORE, None, row["content"])
        assert (answer.value, answer.parse_failures) == (None, 1), row
