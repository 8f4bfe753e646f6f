"""Policies need a judge that costs nothing: a run that a model judged has one as soon as it is scored offline, too."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable

from mnemoscope.comparison.comparing import compare_runs
from mnemoscope.config import RunConfig
from mnemoscope.engine import NoProgress, RunOutcome, Stop
from mnemoscope.engine.scoring import score
from tests.agents.endpoint_stub import EndpointStub, always, chat

REPLY = json.dumps({"reason": "it is there", "quote": "kiln", "verdict": "yes"})


def test_a_run_that_a_model_judged_can_be_scored_offline_for_policies(
    config: Callable[..., RunConfig], do_run: Callable[[RunConfig], RunOutcome]
) -> None:
    stub = EndpointStub(always(chat(REPLY)))
    with stub.running():
        model = f"openai(model=tiny,base_url={stub.url},retries=0)"
        judged = config(
            scenarios=("demo",),
            architectures=("none",),
            profiles=("baseline",),
            limit=2,
            judge="llm",
            judge_model=model,
            cache="none",
        )
        path = do_run(judged).path
    asked = len(stub.bodies)
    assert asked
    (before,) = compare_runs([path], analyses=["policies"]).analyses
    assert before.rows == () and "offline" in (before.missing or "")
    asyncio.run(score(path, "offline", progress=NoProgress(), stop=Stop()))
    (after,) = compare_runs([path], analyses=["policies"]).analyses
    assert after.missing is None and after.rows
    assert len(stub.bodies) == asked, "no model is asked for policies"
