"""No type that could hold gold is reachable from what an unprivileged node is given."""

from __future__ import annotations

import dataclasses
import typing
from typing import Any, get_args, get_type_hints

import pytest
from pydantic import BaseModel

from mnemoscope.core.ports import WritingTask
from mnemoscope.graphs.backend import GoldView
from mnemoscope.graphs.nodes.ports import GenerationTask, PlanningTask, VerificationTask
from mnemoscope.graphs.state import AssistantState, ReadState, WriteState
from mnemoscope.memory_backends.record import Query
from mnemoscope.scenarios.records import FalsePremise, Gold, GoldFact, Probe, Scenario, Window

HIDDEN = {Gold, GoldFact, FalsePremise, Window, Scenario, GoldView}


def reachable(start: Any) -> set[Any]:
    """Every class that an annotation of `start` leads to."""
    seen: set[Any] = set()
    todo = [start]
    while todo:
        kind = todo.pop()
        todo += [arg for arg in get_args(kind) if arg is not Ellipsis]
        origin = typing.get_origin(kind) or kind
        if origin in seen or not isinstance(origin, type):
            continue
        seen.add(origin)
        is_record = dataclasses.is_dataclass(origin) or issubclass(origin, BaseModel) or typing.is_typeddict(origin)
        if is_record:
            todo += get_type_hints(origin).values()
    return seen


@pytest.mark.parametrize(
    "given", [AssistantState, ReadState, WriteState, PlanningTask, GenerationTask, VerificationTask, WritingTask, Query]
)
def test_gold_has_no_place(given: Any) -> None:
    assert reachable(given) & HIDDEN == set()
    assert Any not in get_type_hints(given).values() and object not in reachable(given)


def test_the_search_would_find_it() -> None:
    class Leaky(AssistantState):
        answer: dict[str, tuple[Gold, ...]]

    assert Gold in reachable(Leaky)
    assert Probe in reachable(AssistantState)
