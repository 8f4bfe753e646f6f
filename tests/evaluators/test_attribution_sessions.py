"""Loss attribution where gold is told by session: any turn of a source session names it."""

from __future__ import annotations

from collections.abc import Callable

from mnemoscope.evaluators.attribution import attribute
from mnemoscope.evaluators.case import EvaluationCase
from mnemoscope.evaluators.detectors.offline import OfflineUseDetector
from mnemoscope.memory_backends.record import MemoryItem
from mnemoscope.scenarios.records import Gold, GoldFact, Turn

DETECTOR = OfflineUseDetector()


def test_a_session_is_stored_and_retrieved_by_any_of_its_turns(
    make_case: Callable[..., EvaluationCase],
    make_item: Callable[..., MemoryItem],
    make_turn: Callable[..., Turn],
) -> None:
    history = [make_turn("t0", "Hello there.", 0), make_turn("t1", "I adopted a grey cat.", 1)]
    fact = GoldFact(fact_id="f", text="Tomasz adopted a grey cat.", sources=(history[1].session_id,))
    item = make_item("a", "Tomasz: I adopted a grey cat.", ["t1"])
    reply = "You adopted a grey cat."
    by_session = Gold(evidence=fact.sources, evidence_unit="session", facts=(fact,))
    (loss,) = attribute(make_case(gold=by_session, history=history, stored=[item], items=[item], reply=reply), DETECTOR)
    assert (loss.routes["stored_provenance"], loss.routes["retrieved_provenance"]) == (True, True)
    assert (loss.stage, loss.disagreement) == ("kept", False)
    (loss,) = attribute(make_case(gold=by_session, history=history, stored=[item], items=[], reply=reply), DETECTOR)
    assert loss.stage == "not-retrieved"
    by_turn = by_session.model_copy(update={"evidence_unit": "turn"})
    (loss,) = attribute(make_case(gold=by_turn, history=history, stored=[item], items=[item], reply=reply), DETECTOR)
    assert loss.routes["stored_provenance"] is False
