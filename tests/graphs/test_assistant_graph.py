"""The assistant graph: the way of a probe, the bounded way back, failures that stay inside a reply."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from mnemoscope.core.errors import BudgetStop, ConfigError, EndpointError, UnknownNameError
from mnemoscope.core.ports import Draft
from mnemoscope.core.usage import Usage
from mnemoscope.graphs.assistant import Assistant, AssistantContext, AssistantNodes
from mnemoscope.graphs.metering import MeteredModel, metering
from mnemoscope.graphs.reply import Reply
from mnemoscope.graphs.traces import ListTrace
from mnemoscope.memory_backends.embedders.hashing import HashEmbedder
from mnemoscope.memory_backends.record import Budget
from mnemoscope.scenarios.records import Gold
from tests.graphs.graph_tools import Contains, FlakyEmbedder, Golds, ScriptedWriter, fed, ports, probe, turn

TURNS = [turn(0, "The boat is in Bergen."), turn(1, "The boat is blue.", speaker="Bo"), turn(2, "We had soup.")]
CHECKED = AssistantNodes(plan_response="all", verify="slots")


async def answered(nodes: AssistantNodes, writer: ScriptedWriter, memory: str = "bm25", **context: object) -> Reply:
    backend = await fed(memory, TURNS)
    given = AssistantContext(backend, Budget(k=2), writer, verifier=Contains(), embedder=HashEmbedder(64))
    return await Assistant(nodes).respond(probe("Where is the boat?"), replace(given, **context))


async def test_the_baseline_offers_everything_and_does_not_check() -> None:
    writer = ScriptedWriter(["It is in Bergen."])
    reply = await answered(AssistantNodes(), writer)
    assert (reply.status, reply.visible_text, reply.realised) == ("ok", "It is in Bergen.", {})
    assert reply.hidden_trace.drafts == ("It is in Bergen.",) and reply.hidden_trace.reasoning == "thought"
    assert reply.hidden_trace.queries[0].text == "Where is the boat?"
    (task,) = writer.tasks
    assert [(p.slot_id, p.required, p.speaker) for p in task.points] == [
        ("slot-1", False, "Bo"),
        ("slot-2", False, "Amy"),
    ]
    assert task.memory_block == reply.retrieval.rendered and not task.hold


async def test_verify_sends_back_what_is_missing_until_it_is_said() -> None:
    writer = ScriptedWriter(["Hello.", "The boat is in Bergen.", "The boat is in Bergen. The boat is blue."])
    reply = await answered(CHECKED, writer)
    assert [task.unmet for task in writer.tasks] == [(), ("slot-1", "slot-2"), ("slot-1",)]
    assert reply.realised == {"slot-1": True, "slot-2": True}
    assert reply.visible_text == reply.hidden_trace.drafts[-1] and not reply.hidden_trace.fallback


async def test_after_the_last_loop_a_plain_sentence_says_what_is_missing() -> None:
    writer = ScriptedWriter(["Hello", "Hi", "Hey there"])
    reply = await answered(CHECKED, writer)
    assert len(writer.tasks) == 3 and reply.hidden_trace.drafts == ("Hello", "Hi", "Hey there")
    assert reply.visible_text == "Hey there Bo: The boat is blue. Amy: The boat is in Bergen."
    assert reply.hidden_trace.fallback and reply.realised == {"slot-1": True, "slot-2": True}


async def test_no_loop_is_spent_on_a_writer_that_repeats_itself() -> None:
    writer = ScriptedWriter(["Hello."])
    reply = await answered(replace(CHECKED, max_loops=10), writer)
    assert len(writer.tasks) == 2 and reply.hidden_trace.fallback


async def test_without_loops_the_first_draft_is_mended() -> None:
    writer = ScriptedWriter(["Hello."])
    reply = await answered(replace(CHECKED, max_loops=0), writer)
    assert len(writer.tasks) == 1 and reply.hidden_trace.fallback


async def test_a_leak_is_sent_back_and_stays_visible_where_it_cannot_be_mended() -> None:
    nodes = AssistantNodes(plan_response="top-k(1)", verify="slots")
    writer = ScriptedWriter(["The boat is blue. The boat is in Bergen.", "The boat is blue."])
    reply = await answered(nodes, writer)
    assert writer.tasks[1].avoid == ("[8 May 2023, 13:56] Amy: The boat is in Bergen.",)
    assert "Bergen" not in writer.tasks[0].memory_block
    assert reply.realised == {"slot-1": True, "slot-2": False}
    stubborn = await answered(nodes, ScriptedWriter(["The boat is blue. The boat is in Bergen."]))
    assert stubborn.realised == {"slot-1": True, "slot-2": True} and not stubborn.hidden_trace.fallback


async def test_using_nothing_holds_memory_back() -> None:
    writer = ScriptedWriter(["Go on."])
    reply = await answered(AssistantNodes(plan_response="none"), writer)
    assert writer.tasks[0].hold and writer.tasks[0].points == () and writer.tasks[0].memory_block == ""
    assert reply.retrieval.given == 2 and reply.plan.slots == ()


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (EndpointError("too slow", cause="timeout"), "timeout: too slow"),
        (RuntimeError("odd"), "RuntimeError: odd"),
    ],
)
async def test_a_failing_writer_gives_an_error_reply_that_keeps_what_was_reached(error: Exception, said: str) -> None:
    reply = await answered(CHECKED, ScriptedWriter([error]))
    assert (reply.status, reply.error, reply.visible_text) == ("error", said, "")
    assert reply.retrieval.given == 2 and len(reply.plan.slots) == 2 and reply.realised == {}


async def test_a_failing_memory_gives_an_error_reply() -> None:
    backend = await fed("dense", TURNS, ports(FlakyEmbedder(4)))
    writer = ScriptedWriter(["unused"])
    reply = await Assistant(AssistantNodes()).respond(probe(), AssistantContext(backend, Budget(), writer))
    assert (reply.status, reply.error, reply.retrieval, writer.tasks) == ("error", "timeout: down", None, [])


async def test_a_failure_in_a_later_loop_is_no_reply_either() -> None:
    writer = ScriptedWriter(["Hello.", EndpointError("gone", cause="connection")])
    reply = await answered(CHECKED, writer)
    assert (reply.status, reply.error, reply.hidden_trace.drafts) == ("error", "connection: gone", ("Hello.",))


async def test_a_spent_budget_and_cancellation_are_raised() -> None:
    with pytest.raises(BudgetStop):
        await answered(AssistantNodes(), ScriptedWriter([BudgetStop("spent")]))

    class Slow(ScriptedWriter):
        async def write(self, task: object) -> Draft:
            started.set()
            await asyncio.sleep(60)
            return Draft("late")

    started = asyncio.Event()
    under_way = asyncio.create_task(answered(AssistantNodes(), Slow([])))
    await started.wait()
    under_way.cancel()
    with pytest.raises(asyncio.CancelledError):
        await under_way


async def test_what_is_missing_is_said_in_the_reply() -> None:
    unchecked = await answered(CHECKED, ScriptedWriter(["Hello."]), verifier=None)
    assert unchecked.error == "ConfigError: verify slots needs a detector"
    blind = await answered(AssistantNodes(plan_response="oracle"), ScriptedWriter(["Hello."]))
    assert blind.error == "ConfigError: planner oracle reads gold and was given none"


async def test_only_a_privileged_planner_reads_gold() -> None:
    assert Assistant(AssistantNodes(plan_response="oracle")).privileged
    assert not Assistant(CHECKED).privileged

    class Tripwire(Golds):
        def gold(self, probe_id: str) -> Gold:
            raise AssertionError("gold was read")

    assert (await answered(CHECKED, ScriptedWriter(["Hello."]), gold=Tripwire())).status == "ok"
    evidence = Golds(p1=Gold(evidence=("t0",)))
    reply = await answered(AssistantNodes(plan_response="oracle"), ScriptedWriter(["Hi."]), gold=evidence)
    assert {slot.memory_id: slot.role for slot in reply.plan.slots} == {"t0": "must", "t1": "suppress"}


async def test_spans_of_memory_and_assistant_go_to_the_reply_s_trace() -> None:
    trace = ListTrace()
    await answered(CHECKED, ScriptedWriter(["Hello.", "Hi."]), trace=trace)
    assert [span.name for span in trace.spans] == [
        "plan_query", "read/search_words", "read/cut", "retrieve", "plan_response",
        "generate", "verify", "generate", "verify", "generate", "verify",
    ]  # fmt: skip
    assert all(span.ms >= 0 and span.input_size > 0 and span.output and span.error is None for span in trace.spans)
    failed = ListTrace()
    await answered(CHECKED, ScriptedWriter([RuntimeError("odd")]), trace=failed)
    assert (failed.spans[-1].name, failed.spans[-1].error) == ("generate", "RuntimeError: odd")


async def test_usage_adds_up_over_nodes() -> None:
    class Paid(ScriptedWriter):
        async def write(self, task: object) -> Draft:
            return Draft("Hello.", Usage({"respond": 1}, prompt_tokens=10))

    nodes = AssistantNodes(plan_response="top-k(1)", verify="slots")
    reply = await answered(nodes, Paid([]), memory="full-context")
    assert reply.usage == Usage({"respond": 2}, prompt_tokens=20, embedded_texts=4)
    trace = ListTrace()
    await answered(nodes, Paid([]), memory="dense", trace=trace)
    assert {s.name: s.usage.embedded_texts for s in trace.spans if s.usage.embedded_texts} == {
        "read/search_vector": 1, "retrieve": 1,
    }  # fmt: skip


async def test_probes_are_answered_side_by_side_from_one_compiled_graph() -> None:
    backend = await fed("bm25", TURNS)
    assistant = Assistant(CHECKED)
    writer = ScriptedWriter(["The boat is in Bergen. The boat is blue. We had soup."])
    context = AssistantContext(backend, Budget(), writer, Contains())
    before = (await backend.snapshot()).sha256
    texts = ["boat", "soup", "Bergen", "blue"]
    together = await asyncio.gather(*(assistant.respond(probe(text), context) for text in texts))
    in_a_row = [await assistant.respond(probe(text), context) for text in reversed(texts)]
    assert list(together) == in_a_row[::-1]
    assert (await backend.snapshot()).sha256 == before


@pytest.mark.parametrize(
    ("nodes", "error", "said"),
    [
        (AssistantNodes(plan_response="topk(2)"), UnknownNameError, "nearest: top-k"),
        (AssistantNodes(plan_response="top-k(0)"), ConfigError, "k is 0"),
        (AssistantNodes(verify="slot"), UnknownNameError, "unknown verify 'slot'; nearest: slots"),
        (AssistantNodes(max_loops=11), ConfigError, "max_loops is 11"),
        (AssistantNodes(plan_response="mnemoscope.graphs.plan:ResponsePlan(x)"), ConfigError, "is no planner"),
        (AssistantNodes(generate="mnemoscope.graphs.plan:ResponsePlan(x)"), ConfigError, "is not a node for generate"),
    ],
)
def test_bad_nodes_are_refused_before_anything_runs(nodes: AssistantNodes, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said.replace("(", r"\(")):
        Assistant(nodes)


async def test_what_a_failing_node_spent_is_in_the_reply() -> None:
    failure = EndpointError("held back", cause="filtered")
    failure.usage = Usage({"respond": 2}, 30, 4)
    reply = await answered(AssistantNodes(), ScriptedWriter([failure]), "dense")
    assert (reply.status, reply.error) == ("error", "filtered: held back")
    assert reply.usage == Usage({"respond": 2}, 30, 4, embedded_texts=1)


class Costly:
    """A model that takes tokens and fails."""

    key = "costly"

    async def complete(self, messages: object, **choices: object) -> None:
        failure = EndpointError("down", cause="timeout", retryable=True)
        failure.usage = Usage({"plan": 1}, 7)
        raise failure


async def test_what_a_failing_model_took_is_counted_to_whoever_asked_it() -> None:
    with metering() as spent, pytest.raises(EndpointError):
        await MeteredModel(Costly()).complete([], phase="plan")
    assert spent.usage == Usage({"plan": 1}, 7)
