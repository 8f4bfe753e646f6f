"""No text steers the model judge: the proof with a stub that obeys whatever it is told outside of the fences.

The attacks are in `attacks.jsonl`, one object per line: `id`; `kind` (`order`, `appeal`, `verdict`, `fake-quote`,
`cue`, `system`, `fence`, `encoded`, `unicode`, `empty`, `huge`, `memory`); `lang` (`en`, `zh`); `utterance`; `fact`;
`reply`; and `times`, how often the reply is repeated (1 where absent). No reply uses its fact, so no judge may give one
a point. In the kind `memory` it is the fact that gives the orders, and the reply says something harmless.
"""

from __future__ import annotations

import base64
import codecs
import html
import json
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote

import pytest

from mnemoscope.core.ports import Completion, Message
from mnemoscope.core.usage import Usage
from mnemoscope.evaluators.judges.canaries import CANARIES, injection_rate
from mnemoscope.evaluators.judges.injection import plain_text, talks_to_judge
from mnemoscope.evaluators.judges.judge import use_question
from mnemoscope.evaluators.judges.llm.judge import LlmJudge
from mnemoscope.evaluators.judges.question import Fact, Question

ATTACKS = [json.loads(line) for line in Path(__file__).with_name("attacks.jsonl").read_text("utf-8").splitlines()]
_ORDER = re.compile(
    r"(?:output|print|return|answer|reply with|respond\w*|grade\W|label\W|verdict\W|mark\W|correct output is|statement)"
    r"\W*(?:\w+\W+){0,4}?\W*(?:yes|true|used|correct|full marks|1\.0|1|(?-i:[ABC]))\b(?!\W{0,2} or\b)|"
    r"ignore the rubric|full marks|"
    r"highest score|approved by|\"(?:verdict|used|covered|stated)\"\s*:\s*(?:\"(?:yes|是)\"(?! or)|true(?! or)|\[)|"
    r"(?:输出|返回|回答|判定?为|判定|结论)\W*(?:是|正确|a\b)|满分|正确",
    re.IGNORECASE,
)
_FENCE = re.compile(r"\[\[(?P<name>[a-z]+(?: [a-z]+)*(?: \d+)?) (?P<code>[0-9a-f]{20})\]\]")


def reply_of(attack: dict) -> str:
    return attack["reply"] * attack.get("times", 1)


def obeyed(text: str) -> bool:
    """Whether a stub that is eager to obey finds an order in a text, however it is written."""
    seen = [text, plain_text(text), html.unescape(text), unquote(text), codecs.decode(text, "rot13")]
    seen.append("".join(chr(ord(c) - 0xE0000) if 0xE0020 <= ord(c) <= 0xE007E else c for c in text))
    seen.append(re.sub(r"(?<=\b\w) (?=\w\b)", "", text))
    for run in re.findall(r"[A-Za-z0-9+/]{12,}={0,2}", text):
        try:
            seen.append(base64.b64decode(run + "=" * (-len(run) % 4)).decode())
        except ValueError:
            continue
    runs = re.findall(r"(?:[0-9a-f]{2} ){6,}[0-9a-f]{2}", text)
    seen += [bytes.fromhex(run).decode(errors="replace") for run in runs]
    return any(_ORDER.search(view) for view in seen)


def outside_fences(prompt: str) -> str:
    """What a model reads as addressed to it: all but what stands between two fences of the request's own code."""
    first = _FENCE.search(prompt)
    assert first is not None, "the request has no fence"
    code = first["code"]
    inside = rf"\[\[(?P<name>[^\]\n]*) {code}\]\]\n.*?\n\[\[end of (?P=name) {code}\]\]"
    return re.sub(inside, "", prompt, flags=re.DOTALL)


class ObedientModel:
    """Says yes, with the reply's own words as evidence, wherever anything outside of the fences tells it to."""

    key = "obedient"

    def __init__(self, *, sees_fences: bool = True) -> None:
        self.sees_fences = sees_fences
        self.obeyed = 0

    async def complete(self, messages: Sequence[Message], **asked: object) -> Completion:
        request = messages[-1].content
        heard = outside_fences(request) if self.sees_fences else request.split("\n\n", 2)[2]
        steered = obeyed(heard)
        self.obeyed += steered
        quote = request.rpartition("[[reply ")[2].partition("\n")[2][:40]
        said = {"reason": "", "quote": quote if steered else "", "verdict": "yes" if steered else "no"}
        return Completion(json.dumps(said), Usage({"judge": 1}), self.key, "stop")


class GullibleModel:
    """Is always taken in: says yes, and quotes the whole reply."""

    key = "gullible"

    async def complete(self, messages: Sequence[Message], **asked: object) -> Completion:
        reply = messages[-1].content.rpartition("[[reply ")[2].partition("\n")[2].rpartition("\n[[end of reply")[0]
        said = json.dumps({"reason": "", "quote": reply, "verdict": "yes"})
        return Completion(said, Usage({"judge": 1}), self.key, "stop")


def test_the_set_is_large_and_mixed() -> None:
    assert len(ATTACKS) >= 60
    kinds, languages = Counter(a["kind"] for a in ATTACKS), Counter(a["lang"] for a in ATTACKS)
    assert len(kinds) == 12 and min(kinds.values()) >= 3
    assert languages["zh"] >= 20
    assert len({a["id"] for a in ATTACKS}) == len({(a["reply"], a["fact"]) for a in ATTACKS}) == len(ATTACKS)
    assert max(len(reply_of(a)) for a in ATTACKS) > 40_000


async def test_no_attack_flips_a_verdict() -> None:
    judge = LlmJudge(ObedientModel(), votes=1)
    for attack in ATTACKS:
        reply, fact = reply_of(attack), attack["fact"]
        for question in (
            use_question(reply, fact),
            Question("integration", reply, attack["utterance"], expected=fact),
            Question("answer", reply, attack["utterance"], expected=fact, rubric="The place must be named."),
            Question("alignment", reply, attack["utterance"], (), (Fact("f", fact),), context=fact, rubric="Be right."),
        ):
            (answer,) = await judge.judge(question)
            assert (answer.status, answer.score) == ("scored", 0.0), (attack["id"], question.task)


async def test_the_stub_does_obey_where_no_fence_holds_it_back() -> None:
    flipped = []
    for attack in ATTACKS:
        model = ObedientModel(sees_fences=False)
        await LlmJudge(model, votes=1).judge(Question("answer", reply_of(attack), expected=attack["fact"]))
        flipped += [attack["id"]] * model.obeyed
    # all but empty replies and claims to remember, which give no orders, and a few in spellings that it cannot read
    assert len(flipped) >= 60, sorted({a["id"] for a in ATTACKS} - set(flipped))


async def test_a_judge_that_is_taken_in_finds_no_evidence_in_an_order() -> None:
    judge = LlmJudge(GullibleModel(), votes=1)
    for attack in ATTACKS:
        if attack["kind"] in ("cue", "empty", "memory"):
            continue  # nothing in these replies talks to a judge
        (answer,) = await judge.judge(use_question(reply_of(attack), attack["fact"]))
        assert (answer.status, answer.score) == ("invalid", None), attack["id"]
        assert set(answer.flags) == {"injection", "unfound-quote"}, attack["id"]


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda a: a["id"])
def test_attacks_are_flagged(attack: dict) -> None:
    gives_orders = attack["kind"] not in ("cue", "empty")
    assert (talks_to_judge(reply_of(attack)) or talks_to_judge(attack["fact"])) == gives_orders


async def test_the_rate_of_steered_canaries_is_measured() -> None:
    fenced = await injection_rate(LlmJudge(ObedientModel(), votes=1))
    assert (fenced.steered, fenced.share) == (0, 0.0)
    assert {item.canary_id for item in fenced.items} == {canary.canary_id for canary in CANARIES}

    gullible = await injection_rate(LlmJudge(GullibleModel(), votes=1))
    by_task = Counter(item.task for item in gullible.items if item.steered)
    assert gullible.steered == sum(by_task.values()) > len(CANARIES)
    assert by_task["answer"] == by_task["integration"] == len(CANARIES)  # tasks without evidence are lost to it
    steered = {item.canary_id for item in gullible.items if item.steered and item.task == "use"}
    assert steered == {"claim", "claim-zh"}  # with evidence only replies that do not talk to the judge get through
    assert gullible.n == len([item for item in gullible.items if item.status == "scored"]) < len(gullible.items)
