"""How far the offline judge agrees with labels: our own development rows, and the released verdicts of MemUse.

Cohen's kappa with a 95 % interval by bootstrap over clusters (situations; instances), confusion and specificity. Rows
of our own are predicted by rules that were fitted without their cluster. MemUse is predicted twice: by the shipped
rule, which was fitted on no row of it, and by a rule fitted on the other instances' direct answers and the development
rows. What counts as a feature was chosen with these rows in view: only the sealed halves, never opened here, are new.

For `use` there are also negatives that nobody need label: a reply that states some memories of a StratMem-Bench pool is
no use of the others, unless they are nearly contained in them.

Run: python benchmarks/judge_agreement.py [--memuse FILE] [--pools FILE] [--embedder minilm|none]
     python benchmarks/judge_agreement.py --fit WEIGHTS.json --date YYYY-MM-DD
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

import numpy as np
import regex
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import cohen_kappa_score, confusion_matrix

from mnemoscope.core.ports import Embedder
from mnemoscope.evaluators.detectors.offline import OfflineUseDetector
from mnemoscope.evaluators.detectors.reading import clean, subject_of
from mnemoscope.evaluators.judges.judge import use_question
from mnemoscope.evaluators.judges.offline.answering import Said, answered, fact_said
from mnemoscope.evaluators.judges.offline.heard import hear
from mnemoscope.evaluators.judges.offline.judge import OfflineJudge
from mnemoscope.evaluators.judges.offline.rules import Features, Rule, Rules, Weights, open_rules
from mnemoscope.evaluators.judges.offline.using import Look, look, nearer, rule_of
from mnemoscope.evaluators.judges.question import Fact, Question, Task
from mnemoscope.memory_backends.embedders import open_embedder

EMBEDDER, STRENGTH, RESAMPLES = "minilm-l6-v2-int8@256", 10.0, 2_000
RULES: Mapping[str, tuple[str, frozenset[str]]] = {
    "answer": ("answer", frozenset({"right"})),
    "any": ("fact-use", frozenset({"full", "partial"})),
    "full": ("fact-use", frozenset({"full"})),
}
"""Rule to the rows that it is fitted on, and the labels that count as yes."""
USE_FILES = ("use", "fact-use")
"""What the rules of `use` are fitted on: of `fact-use`, `full` is use and `none` is not; `partial` is left out."""
USED = frozenset({"used", "full"})


class Row(NamedTuple):
    """One labelled reply."""

    cluster: str
    reply: str
    asked: str
    expected: str
    premise: str
    label: str


class Measured(NamedTuple):
    """One reply's features and label."""

    cluster: str
    said: Said
    label: str


class Looked(NamedTuple):
    """One reply's looks at a fact, and whether it is used."""

    cluster: str
    file: str
    fact: str
    look: Look
    used: bool


def development(task: str) -> tuple[bytes, list[Row]]:
    """The bytes and rows of a development half."""
    data = files("mnemoscope.evaluators.calibration").joinpath(f"rows/{task}.development.jsonl").read_bytes()
    rows = []
    for line in data.decode().splitlines():
        row = json.loads(line)
        asked = row.get("question") or row.get("utterance") or ""
        expected = row.get("gold") or row.get("fact") or ""
        rows.append(Row(row["cluster"], row["reply"], asked, expected, row.get("premise", ""), row["label"]))
    return data, rows


def memuse(path: Path, reply: str, verdict: str) -> list[Row]:
    """The released replies of one kind with their released verdicts."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [
        Row(r["instance_id"], r[reply], r["question"], r["gold_answer"], "", "right" if r[verdict] else "wrong")
        for r in rows
    ]


async def measured(rows: Sequence[Row], task: str, embedder: Embedder | None) -> list[Measured]:
    """Features of rows, as the judge reads them."""
    found = []
    for row in rows:
        heard = hear(row.reply).text
        if task == "answer":
            said = await answered(heard, row.asked, row.expected, embedder)
        else:
            said = await fact_said(heard, row.expected, row.asked, embedder)
        found.append(Measured(row.cluster, said, row.label))
    return found


def fitted(rows: Sequence[Measured], yes: frozenset[str]) -> Rule:
    """A rule fitted on rows that no veto decides."""
    free = [row for row in rows if not row.said.veto]

    def weights(some: Sequence[Measured], columns: Callable[[Features], list[float]]) -> Weights:
        model = LogisticRegression(C=STRENGTH, max_iter=1_000)
        model.fit(np.array([columns(r.said.features) for r in some]), np.array([r.label in yes for r in some]))
        bias, (coverage, *similarity) = float(model.intercept_[0]), model.coef_[0].tolist()
        return Weights(
            bias=round(bias, 3), coverage=round(coverage, 3), similarity=round(similarity[0], 3) if similarity else 0.0
        )

    tokens = weights(free, lambda f: [f.coverage])
    seen = [row for row in free if row.said.features.similarity is not None]
    return Rule(vectors=weights(seen, lambda f: [f.coverage, f.similarity or 0.0]) if seen else tokens, tokens=tokens)


async def looked(embedder: Embedder | None) -> list[Looked]:
    """Both looks at the facts of all rows that tell of use."""
    found = []
    for file in USE_FILES:
        for row in development(file)[1]:
            if row.label == "partial":
                continue
            heard = hear(row.reply).text
            seen = look(heard, row.expected)
            if embedder is not None and not seen.finding.used and not seen.said.veto:
                seen = await nearer(seen, row.expected, embedder)
            found.append(Looked(row.cluster, file, row.expected, seen, row.label in USED))
    return found


def use_rules(rows: Sequence[Looked]) -> dict[str, Rule]:
    """The rules of the second look, fitted on rows that the detector does not decide."""
    undecided = [row for row in rows if not row.look.finding.used]
    return {
        rule: fitted(
            [Measured(r.cluster, r.look.said, "used" if r.used else "") for r in undecided if rule_of(r.fact) == rule],
            frozenset({"used"}),
        )
        for rule in ("use", "use-unspaced")
    }


def use_held_out(rows: Sequence[Looked]) -> list[bool]:
    """Each row decided by rules that were fitted on the other clusters."""
    shipped = open_rules()
    others: dict[str, Rules] = {}
    for cluster in {row.cluster for row in rows}:
        rest = use_rules([row for row in rows if row.cluster != cluster])
        others[cluster] = shipped.model_copy(update={"rules": dict(shipped.rules) | rest})
    return [row.look.holds(others[row.cluster], row.fact) for row in rows]


def predicted(rule: Rule, rows: Sequence[Measured]) -> list[bool]:
    """Yes where the probability is above one half and nothing vetoes it."""
    return [not row.said.veto and rule.probability(row.said.features) > 0.5 for row in rows]


def held_out(rows: Sequence[Measured], yes: frozenset[str], others: Sequence[Measured] = ()) -> list[bool]:
    """Each row predicted by a rule that was fitted on the other clusters, and on `others`."""
    rules = {
        cluster: fitted([*others, *(r for r in rows if r.cluster != cluster)], yes)
        for cluster in {r.cluster for r in rows}
    }
    return [predicted(rules[row.cluster], [row])[0] for row in rows]


def report(name: str, clusters: Sequence[str], labels: Sequence[str], said: Sequence[str]) -> None:
    """One line of figures, and the confusion."""
    kappa = float(cohen_kappa_score(labels, said))
    names = sorted(set(clusters))
    members = {c: [i for i, other in enumerate(clusters) if other == c] for c in names}
    rng = np.random.default_rng(0)
    drawn = []
    for _ in range(RESAMPLES):
        picked = [i for c in rng.choice(len(names), len(names)) for i in members[names[c]]]
        some, others = [labels[i] for i in picked], [said[i] for i in picked]
        if len(set(some)) > 1:
            drawn.append(cohen_kappa_score(some, others))
    low, high = np.nanpercentile(drawn, [2.5, 97.5])
    classes = sorted(set(labels) | set(said))
    share = np.mean([a == b for a, b in zip(labels, said, strict=True)])
    figures = f"kappa {kappa:5.2f} [{low:5.2f}, {high:5.2f}]  agree {share:.2f}"
    print(f"{name:<52} n {len(labels):>3}  clusters {len(names):>2}  {figures}")
    for label, row in zip(classes, confusion_matrix(labels, said, labels=classes), strict=True):
        print(f"    {label:<18} " + "  ".join(f"{c}: {n}" for c, n in zip(classes, row.tolist(), strict=True)))


def siblings(path: Path, *, spoken: bool) -> list[tuple[str, str, str]]:
    """Pool id, reply and fact of memories that a reply must not count as use of.

    The reply states all needed and nice memories of a StratMem-Bench pool, the facts are its irrelevant ones. Spoken:
    the person whom each statement is about becomes `you`, so that the statements of both people of a pool do.
    """
    found = []
    for pool in json.loads(path.read_text(encoding="utf-8")):
        texts = [entry["fact"] for role in ("must", "nice") for entry in pool["memory"].get(role, [])]
        reply = " ".join(map(said_to_you, texts) if spoken else texts)
        found += [(pool["id"], reply, entry["fact"]) for entry in pool["memory"].get("irr", [])]
    return found


def said_to_you(statement: str) -> str:
    """A statement about somebody, roughly as it would be said to them."""
    subject = subject_of(clean(statement))
    if subject is None:
        return statement
    name = regex.escape(subject.title())
    text = regex.sub(rf"\b{name}\b", "you", regex.sub(rf"\b{name}'s\b", "your", statement))
    for third, second in (("You is", "You are"), ("You has", "You have"), ("You was", "You were")):
        text = (text[0].upper() + text[1:]).replace(third, second)
    return text


async def sibling_rows(path: Path, embedder: Embedder | None) -> None:
    """How often a memory counts as used where only others of its pool are stated."""
    for name, spoken in (("as they stand", False), ("said to `you`", True)):
        rows = siblings(path, spoken=spoken)
        judge, detector = OfflineJudge(embedder), OfflineUseDetector()
        used = [r for r in rows if (await judge.judge(use_question(r[1], r[2])))[0].label == "used"]
        by_detector = sum(detector.detect(reply, fact).used for _, reply, fact in rows)
        pools = len({pool for pool, _, _ in used})
        found = f"{len(used)}/{len(rows)} in {pools} pools; detector alone {by_detector}"
        print(f"use of siblings, statements {name}: {found}")


def words(yes: Sequence[bool]) -> list[str]:
    """Booleans as labels of `answer`."""
    return ["right" if one else "wrong" for one in yes]


async def judged(task: Task, rows: Sequence[Row], judge: OfflineJudge) -> list[str]:
    """The labels that the judge as shipped gives."""
    labels = []
    for row in rows:
        facts = (Fact("fact", row.expected),)
        question = Question(task, row.reply, row.asked, facts=facts, expected=row.expected, premise=row.premise)
        labels.append((await judge.judge(question))[0].label)
    return labels


async def own_rows(embedder: Embedder | None) -> None:
    """Agreement on development rows: fitted rules by held-out cluster, fixed rules as they are."""
    answers = await measured(development("answer")[1], "answer", embedder)
    said = words(held_out(answers, frozenset({"right"})))
    report("answer (held out by cluster)", [r.cluster for r in answers], [r.label for r in answers], said)
    facts = await measured(development("fact-use")[1], "fact-use", embedder)
    some, whole = (held_out(facts, RULES[rule][1]) for rule in ("any", "full"))
    said = ["full" if w else "partial" if s else "none" for s, w in zip(some, whole, strict=True)]
    report("fact-use (held out by cluster)", [r.cluster for r in facts], [r.label for r in facts], said)
    uses = await looked(embedder)
    for file in USE_FILES:
        pairs = [(row, yes) for row, yes in zip(uses, use_held_out(uses), strict=True) if row.file == file]
        said = ["used" if yes else "not used" for _, yes in pairs]
        labels = ["used" if row.used else "not used" for row, _ in pairs]
        report(f"use on {file} rows (held out by cluster)", [row.cluster for row, _ in pairs], labels, said)
    tasks: tuple[Task, ...] = ("correction", "refusal")
    for task in tasks:
        rows = development(task)[1]
        labels = await judged(task, rows, OfflineJudge(embedder))
        report(f"{task} (fixed rule, rows were read)", [r.cluster for r in rows], [r.label for r in rows], labels)


async def released_rows(path: Path, embedder: Embedder | None) -> None:
    """Agreement with MemUse's released verdicts."""
    yes = frozenset({"right"})
    own = await measured(development("answer")[1], "answer", embedder)
    direct = await measured(memuse(path, "direct_answer", "verdict_direct"), "answer", embedder)
    natural = await measured(memuse(path, "natural_reply", "verdict_reference"), "answer", embedder)
    rules = {c: fitted([*own, *(r for r in direct if r.cluster != c)], yes) for c in {r.cluster for r in direct}}
    shipped = open_rules().rules["answer"]
    for name, rows in (("direct answers", direct), ("reference, natural replies", natural)):
        clusters, labels = [r.cluster for r in rows], [r.label for r in rows]
        for how, said in (
            ("shipped", predicted(shipped, rows)),
            ("held out by instance", [predicted(rules[r.cluster], [r])[0] for r in rows]),
        ):
            report(f"MemUse {name} ({how})", clusters, labels, words(said))
            wrong = [s for s, label in zip(said, labels, strict=True) if label == "wrong"]
            print(f"    specificity {1 - sum(wrong) / len(wrong):.3f} ({len(wrong) - sum(wrong)}/{len(wrong)})")


async def fit(date: str, embedder: Embedder) -> str:
    """The rules as they ship, in JSON."""
    rules, sources = {}, {}
    for rule, (task, yes) in RULES.items():
        rules[rule] = fitted(await measured(development(task)[1], task, embedder), yes).model_dump()
        sources[rule] = [source(task)]
    for rule, weights in use_rules(await looked(embedder)).items():
        rules[rule] = weights.model_dump()
        sources[rule] = [source(file) for file in USE_FILES]
    shipped = {
        "embedder": EMBEDDER,
        "fitted": "development rows only",
        "method": f"logistic regression, L2, C = {STRENGTH:g}, rows under a veto left out, weights rounded to 0.001",
        "date": date,
        "folds": "none: all development rows; agreement is estimated with each cluster held out in turn",
        "on": sources,
        "rules": rules,
    }
    return json.dumps(shipped, indent=2) + "\n"


def source(task: str) -> dict[str, str | int]:
    """Which file the rows of a task are, as it is now."""
    data, rows = development(task)
    return {
        "file": f"{task}.development.jsonl",
        "sha256": hashlib.sha256(data).hexdigest(),
        "rows": len(rows),
        "clusters": len({row.cluster for row in rows}),
    }


def main() -> None:
    """Print all figures, or fit."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    data = os.environ.get("MNEMOSCOPE_DATA")
    default = Path(data) / "memuse_judged_sample.jsonl" if data else None
    parser.add_argument("--memuse", type=Path, default=default)
    pools = Path(data) / "StratMemBench_testset.json" if data else None
    parser.add_argument("--pools", type=Path, default=pools)
    parser.add_argument("--embedder", default="minilm")
    parser.add_argument("--fit", type=Path)
    parser.add_argument("--date", default="")
    options = parser.parse_args()
    embedder = None if options.embedder == "none" else open_embedder(options.embedder, cache=None)
    if options.fit is not None:
        if embedder is None or embedder.id != EMBEDDER or not options.date:
            parser.error(f"--fit needs --date and the embedder {EMBEDDER}")
        options.fit.write_text(asyncio.run(fit(options.date, embedder)), encoding="utf-8")
        print(f"wrote {options.fit}")
        return
    asyncio.run(own_rows(embedder))
    if options.memuse is not None:
        asyncio.run(released_rows(options.memuse, embedder))
    else:
        print("MemUse: set MNEMOSCOPE_DATA or --memuse")
    if options.pools is not None:
        asyncio.run(sibling_rows(options.pools, embedder))


if __name__ == "__main__":
    main()
