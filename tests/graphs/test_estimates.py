"""What an architecture says that it will ask a model is about what it does ask."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby

import pytest

from mnemoscope.core.identity import ScenarioId
from mnemoscope.core.ports import Completion, Message
from mnemoscope.core.usage import Phase, Usage
from mnemoscope.graphs.architecture import create_architecture
from mnemoscope.graphs.conformance.material import conformance_ports
from mnemoscope.graphs.conformance.twin_model import TwinModel
from mnemoscope.graphs.contracts.asking import in_hand
from mnemoscope.graphs.describing import sheet_of
from mnemoscope.graphs.handing_over import last_turns, mean_turns, memories, nothing, share_of_history, text_of
from mnemoscope.graphs.registry import ARCHITECTURES
from mnemoscope.memory_backends.record import Budget, Query, Scope
from mnemoscope.scenarios.opening import open_source
from mnemoscope.scenarios.records import Scenario

ASKING = [n for n in ARCHITECTURES.names() if "mode" in inspect.signature(ARCHITECTURES.factory(n)).parameters]


class Obliging(TwinModel):
    """Answers contracts by rule, and anything else with a summary."""

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        phase: Phase,
        schema: Mapping[str, object] | None = None,
        max_tokens: int | None = None,
        replicate: int = 0,
    ) -> Completion:
        if in_hand() is None:
            return Completion('{"summary": "They talked."}', Usage({phase: 1}), self.key)
        return await super().complete(messages, phase=phase, schema=schema, max_tokens=max_tokens, replicate=replicate)


def english() -> Iterator[Scenario]:
    return (scenario for scenario in open_source("demo") if scenario.turns[0].text.isascii())


@pytest.mark.parametrize("name", ASKING)
async def test_estimated_calls_are_within_twice_of_those_made(name: str) -> None:
    architecture = create_architecture(f"{name}(mode=llm)")
    scenario = next(english())
    memory = architecture.backend()
    await memory.open(Scope(ScenarioId("s")), replace(conformance_ports(), model=Obliging()))
    for session_id, turns in groupby(scenario.turns, key=lambda turn: turn.session_id):
        spoken = list(turns)
        for turn in spoken:
            await memory.write(turn)
        await memory.flush("session_end", session_id, spoken[-1].at)
    await memory.flush("history_end", None, scenario.turns[-1].at)
    written = (await memory.stats()).usage
    read = (await memory.retrieve(Query(scenario.turns[3].text), Budget(), scenario.turns[-1].at)).usage
    await memory.close()
    for expected, made in ((memory.estimate(scenario.turns), written), (architecture.asks_to_read, read)):
        calls, asked = (usage.calls - usage.calls_by_phase.get("embed", 0) for usage in (expected, made))
        assert asked / 2 <= calls <= 2 * asked, f"{calls} calls estimated, {asked} made: {made.calls_by_phase}"


@pytest.mark.parametrize("name", ASKING)
def test_only_the_mode_with_a_model_asks_one(name: str) -> None:
    rules, model = sheet_of(name).modes
    assert (rules.calls_per_turn, rules.calls_per_query) == (0, 0)
    assert model.calls_per_turn + model.calls_per_query > 0
    assert (rules.evidence, model.evidence) == ("twin", "model")


def test_what_is_handed_over_is_bounded_by_what_was_said() -> None:
    sizes = [10, 20, 30, 40]
    assert (nothing()(sizes, 10), share_of_history()(sizes, 1), share_of_history(25)(sizes, 1)) == (0, 100, 25)
    assert (last_turns(2)(sizes, None), mean_turns(2)(sizes, 1), text_of(60)(sizes, 1)) == (70, 50, 60)
    assert (memories()(sizes, 2), memories(2)(sizes, 1), memories()(sizes, 9), memories()(sizes, None)) == (
        50,
        50,
        100,
        100,
    )
    assert (memories(1, 3)(sizes, 10), memories(1, 3)(sizes, 1), memories(1, 3)(sizes, None)) == (75, 25, 75)
    assert {made(()[:], 5) for made in (nothing(), memories(), last_turns(3), mean_turns(3), text_of(9))} == {0}
