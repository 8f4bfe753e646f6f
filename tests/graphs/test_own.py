"""A memory that answers by itself: its loop's answer is the reply, and its failures stay what they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from mnemoscope.agents import open_profile
from mnemoscope.core.errors import BudgetStop, ConfigError, EndpointError
from mnemoscope.core.ports import Completion, Message
from mnemoscope.core.usage import Usage
from mnemoscope.graphs.architecture import create_architecture
from mnemoscope.graphs.assistant import Assistant, AssistantContext, AssistantNodes
from mnemoscope.graphs.backend import MemoryBackend, UnfinishedReadError
from mnemoscope.graphs.conformance.twin_model import TwinModel
from mnemoscope.graphs.drawing import draw_mermaid
from mnemoscope.graphs.reply import Reply
from mnemoscope.graphs.traces import ListTrace
from mnemoscope.memory_backends.record import Budget, Query
from tests.graphs.graph_tools import FlakyEmbedder, ScriptedWriter, fed, opened, ports, probe, turn
from tests.graphs.replayed_model import ScriptedModel
from tests.graphs.test_memgpt import SILENT, call, step

OWN = open_profile("own").nodes
TWIN, LLM = "memgpt-style(read=agentic)", "memgpt-style(mode=llm,read=agentic)"
TURNS = [turn(0, "I live in Oslo."), turn(1, "The boat is blue."), turn(2, "The boat is called Freya.")]
SEARCH = step(call("conversation_search", query="boat"), heartbeat=True)
ANSWER = step(call("send_message", text="It is blue."))


async def replied(backend: MemoryBackend, text: str = "Which colour has the boat?", **context: object) -> Reply:
    given = AssistantContext(backend, Budget(k=1), ScriptedWriter([RuntimeError("nobody else writes")]))
    return await Assistant(OWN).respond(probe(text), replace(given, **context))


async def agent(lines: Sequence[str | Exception]) -> tuple[MemoryBackend, ScriptedModel]:
    """A memory whose agent wrote nothing down, and which now does as the lines say."""
    model = ScriptedModel([SILENT])
    backend = await opened(LLM, replace(ports(), model=model))
    for one in TURNS:
        await backend.write(one)
    model.prompts.clear()
    model.lines = list(lines)
    return backend, model


async def test_the_loop_s_answer_is_the_reply_and_what_it_saw_is_given() -> None:
    backend, _ = await agent([SEARCH, ANSWER])
    reply = await replied(backend)
    assert (reply.status, reply.visible_text, reply.error) == ("ok", "It is blue.", None)
    assert [item.id for item in reply.retrieval.given_items] == ["message-t2", "message-t1"], "not cut to k = 1"
    assert (reply.plan.planner, [slot.role for slot in reply.plan.slots]) == ("own", ["nice", "nice"])
    assert reply.hidden_trace.drafts == ("It is blue.",)
    assert reply.hidden_trace.reasoning.splitlines() == [
        "step 1: conversation_search(query='boat'): 1 to 2 of 2, page 1",
        "step 2: send_message(text='It is blue.'): sent",
    ]
    assert [query.text for query in reply.hidden_trace.queries] == ["Which colour has the boat?"]


async def test_what_it_cost_and_how_long_it_took_is_counted() -> None:
    trace = ListTrace()
    backend = await fed(LLM, TURNS, replace(ports(), model=TwinModel()))
    reply = await replied(backend, trace=trace)
    assert reply.usage.calls_by_phase == {"policy": 3} and reply.usage.prompt_tokens > 0
    spans = {span.name: span for span in trace.spans}
    assert {"plan_query", "retrieve", "answer", "read/agent", "read/tools", "first-token"} == spans.keys() - {
        "read/context",
        "read/assemble",
    }
    assert spans["first-token"].ms <= spans["retrieve"].ms
    inside = [span.usage for span in trace.spans if span.name.startswith("read/")]
    assert sum(inside, Usage()) == reply.usage == spans["retrieve"].usage


async def test_an_answer_by_rules_is_a_sentence_of_what_was_found() -> None:
    backend = await fed(TWIN, [*TURNS, turn(3, "我的猫叫团子。它很胖。")])
    assert (await replied(backend, "Is the boat blue?")).visible_text == "The boat is blue."
    assert (await replied(backend, "猫叫什么名字?")).visible_text == "我的猫叫团子。"
    assert (await replied(await fed(TWIN, TURNS[:1]), "Quick?")).visible_text == "I found nothing about that."


@pytest.mark.parametrize("lines", [[SEARCH], [SILENT], ["no idea"], [step(call("send_message", text=" "))]])
async def test_a_loop_that_ends_without_an_answer_is_a_system_that_did_not_answer(lines: list[str]) -> None:
    backend, _ = await agent(lines)
    reply = await replied(backend)
    assert (reply.status, reply.visible_text, reply.hidden_trace.drafts, reply.error) == ("ok", "", (), None)
    assert reply.retrieval is not None and reply.plan is not None


async def test_the_trace_says_why_there_is_no_answer() -> None:
    backend, model = await agent([SEARCH])
    assert len((await replied(backend)).hidden_trace.reasoning.splitlines()) == 10 == len(model.prompts)
    backend, _ = await agent([SEARCH, "no idea"])
    reply = await replied(backend)
    assert reply.hidden_trace.reasoning.splitlines()[1].startswith("step 2: the reply cannot be read: ")
    assert reply.retrieval.parse_failures == 1 and reply.retrieval.given == 2
    backend, _ = await agent([SEARCH, SILENT])
    assert (await replied(backend)).hidden_trace.reasoning.endswith("step 2: no call")


async def test_an_endpoint_that_fails_in_the_middle_leaves_what_was_reached() -> None:
    backend, _ = await agent([SEARCH, EndpointError("too slow", cause="timeout", retryable=True)])
    reply = await replied(backend)
    assert (reply.status, reply.error, reply.visible_text, reply.plan) == ("error", "timeout: too slow", "", None)
    assert [item.id for item in reply.retrieval.items] == ["message-t2", "message-t1"]
    assert "conversation_search" in reply.hidden_trace.reasoning and reply.usage.calls_by_phase == {"policy": 1}
    with pytest.raises(UnfinishedReadError) as raised:
        await backend.retrieve(Query("boat"), Budget(), None)
    assert raised.value.retryable and raised.value.cause == "timeout"


async def test_an_embedder_that_fails_in_the_middle_leaves_what_was_reached() -> None:
    embedder = FlakyEmbedder()
    backend = await fed(TWIN, TURNS, ports(embedder))
    embedder.fails = (embedder.calls + 1,)
    reply = await replied(backend)
    assert (reply.status, reply.error) == ("error", "timeout: down")
    kinds = [item.kind for item in reply.retrieval.items]
    assert kinds == ["message", "message", "core_block"], "messages were searched; core memory is always there"


async def test_a_message_sent_before_an_outage_is_a_draft_and_no_reply() -> None:
    early = step(call("send_message", text="Let me see."), heartbeat=True)
    backend, _ = await agent([early, EndpointError("gone", cause="connection")])
    reply = await replied(backend)
    assert (reply.status, reply.visible_text, reply.hidden_trace.drafts) == ("error", "", ("Let me see.",))


async def test_a_spent_budget_is_raised() -> None:
    backend, _ = await agent([SEARCH, BudgetStop("spent")])
    with pytest.raises(BudgetStop):
        await replied(backend)


class Thoughtful(ScriptedModel):
    """Thinks before each reply."""

    async def complete(self, messages: Sequence[Message], **given: object) -> Completion:
        return replace(await super().complete(messages, **given), hidden="Blue, or green?")


async def test_thoughts_stay_hidden() -> None:
    model = Thoughtful([SILENT])
    backend = await fed(LLM, TURNS, replace(ports(), model=model))
    model.lines = [step(call("send_message", text="<think>Freya's.</think>It is blue."))]
    reply = await replied(backend)
    assert reply.visible_text == "It is blue."
    assert "step 1, thought: Blue, or green?" in reply.hidden_trace.reasoning
    assert reply.hidden_trace.reasoning.endswith("Freya's.")


async def test_the_loop_knows_which_part_it_plays_and_which_replicate_it_is() -> None:
    seen: list[object] = []

    class Noting(ScriptedModel):
        async def complete(self, messages: Sequence[Message], **given: object) -> Completion:
            seen.append(given["replicate"])
            return await super().complete(messages, **given)

    model = Noting([SILENT])
    backend = await fed(LLM, TURNS, replace(ports(), model=model))
    seen.clear()
    model.prompts.clear()
    model.lines = [ANSWER]
    asked = probe("Which colour?").model_copy(update={"persona": "A calm sailor.", "speaks_as": "Nils"})
    context = AssistantContext(backend, Budget(), ScriptedWriter([""]), replicate=2)
    await Assistant(OWN).respond(asked, context)
    assert "System:\nYou speak as Nils.\nA calm sailor.\nQuestion:\nWhich colour?" in model.prompts[0]
    await backend.retrieve(Query("Which colour?"), Budget(), None)
    assert "System:" not in model.prompts[1] and seen == [2, 0]


async def test_asking_leaves_no_trace_and_no_order() -> None:
    backend = await fed(TWIN, TURNS)
    before = (await backend.snapshot()).sha256
    texts = ["Which colour has the boat?", "Where does Amy live?", "What is it called?"]
    forwards = [await replied(backend, text) for text in texts]
    backwards = [await replied(backend, text) for text in reversed(texts)]
    assert forwards == backwards[::-1] and (await backend.snapshot()).sha256 == before


async def test_a_blank_question_has_no_answer() -> None:
    reply = await replied(await fed(TWIN, TURNS), "\u200b")
    assert (reply.status, reply.visible_text, reply.retrieval.blank_query) == ("ok", "", True)


async def test_a_memory_that_does_not_answer_gives_an_error_reply() -> None:
    reply = await replied(await fed("bm25", TURNS))
    assert reply.status == "error" and reply.error.startswith("ConfigError: the memory does not answer by itself")


@pytest.mark.parametrize(
    "nodes",
    [
        AssistantNodes(plan_response=None),
        AssistantNodes(generate=None),
        AssistantNodes(plan_response=None, generate=None, verify="slots"),
    ],
)
def test_nodes_beside_a_loop_of_the_memory_s_own_are_refused(nodes: AssistantNodes) -> None:
    with pytest.raises(ConfigError, match="takes no plan_response, generate or verify"):
        Assistant(nodes)


def test_the_machine_is_drawn_as_it_is() -> None:
    golden = Path(__file__).parent / "golden" / "memgpt_own.mmd"
    assert draw_mermaid(create_architecture(TWIN), OWN) == golden.read_text(encoding="utf-8")


def test_only_the_reading_by_the_agent_answers() -> None:
    assert create_architecture(TWIN).capabilities.answers and create_architecture(LLM).capabilities.answers
    assert not create_architecture("memgpt-style").capabilities.answers
