"""The LoCoMo-Conv loader on small files of our own: styles, speakers, clusters, joins, secondary gold, and leakage."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from mnemoscope.core.errors import ConfigError, DataError
from mnemoscope.scenarios.answer_leak import answer_leak
from mnemoscope.scenarios.opening import open_source
from mnemoscope.scenarios.records import Gold, Probe, Scenario
from mnemoscope.scenarios.source import ScenarioSource
from tests.scenarios.locomo_conv_files import cluster, dialog, locomo, rows, without_conversations, written


def load(spec: str, **settings: Any) -> tuple[list[Scenario], ScenarioSource]:
    source = open_source(f"locomo-conv:{spec}", **settings)
    return list(source), source


def details(source: ScenarioSource, kind: str) -> list[str]:
    return [f"{n.where}: {n.detail}" for n in source.report.notices if n.kind == kind]


def by_name(scenario: Scenario) -> dict[str, tuple[Probe, Gold]]:
    return {probe.probe_id: (probe, scenario.gold_by_probe[probe.probe_id]) for probe in scenario.probes}


@pytest.fixture
def full(tmp_path: Path) -> str:
    """A spec of all files: 2 conversations of 4 questions, one of them adversarial, and 3 clusters."""
    main = written(tmp_path, "locomo10_dialog.json", dialog())
    clusters = [cluster(0, 0), cluster(1, 0), cluster(0, 30)]
    return f"{main},composed={written(tmp_path, 'composed.json', clusters)}"


def test_every_style_is_a_probe_in_its_own_voice(full: str) -> None:
    (first, _), source = load(full)
    counts = source.report.counts
    assert [counts[f"{s} probes"] for s in ("dialog", "implicit", "counterfactual", "composed")] == [8, 8, 6, 3]
    assert (counts["questions"], counts["conversations"], counts["turns"], counts["composed clusters"]) == (8, 2, 8, 3)
    probes = by_name(first)
    assert list(probes)[:4] == [
        "talk-1/q0/dialog",
        "talk-1/q0/implicit",
        "talk-1/q0/counterfactual",
        "talk-1/q1/dialog",
    ]
    assert list(probes)[-2:] == ["talk-1/S0_C0", "talk-1/S0_C30"]
    assert "talk-1/q2/counterfactual" not in probes
    seen = [(p.style, p.speaker) for p, _ in probes.values()][:3]
    assert seen == [("dialog", "Mira"), ("implicit", "Tomasz"), ("counterfactual", "Mira")]
    probe = probes["talk-1/S0_C0"][0]
    assert (probe.style, probe.speaker, probe.cut.seq) == ("composed", "Tomasz", 4)
    assert [p.role for p in first.participants] == ["peer", "peer"]
    assert (first.benchmark, first.cluster) == ("locomo-conv", "talk-1")


def test_the_gold_of_each_style(full: str) -> None:
    (first, _), source = load(full)
    probes = by_name(first)
    plain, implicit, wrong = (probes[f"talk-1/q0/{style}"][1] for style in ("dialog", "implicit", "counterfactual"))
    assert plain.answers == implicit.answers == wrong.answers == ("watercolour",)
    assert plain.evidence == ("D2:1",)
    assert plain.strata == ("dialog", "single-hop", "non-adversarial", "no-leak", "naturalness-high")
    assert (plain.expected, implicit.expected, wrong.expected) == (None, "hidden expectation", None)
    assert (plain.supportive, wrong.supportive) == ({}, {})
    assert implicit.supportive == {"D1:2": ("A-mem", "BM25")}
    assert (plain.false_premise, implicit.false_premise) == (None, None)
    assert wrong.false_premise is not None
    assert wrong.false_premise.model_dump() == {
        "asserted": "throws pots every day",
        "truth": "watercolour",
        "sources": ("D2:1",),
    }
    assert [(f.fact_id, f.text) for f in wrong.facts] == [("talk-1/q0/counterfactual/answer", "watercolour")]
    adversarial = probes["talk-1/q2/implicit"][1]
    assert adversarial.strata == ("implicit", "adversarial")
    assert (adversarial.trap, adversarial.unanswerable, adversarial.facts) == ("hidden trap", True, ())
    assert adversarial.expected == "hidden expectation"
    number = probes["talk-1/q3/dialog"][1]
    assert (number.answers, number.unresolvable) == (("2021",), ("D9:9",))
    assert source.report.counts["unresolvable evidence ids"] == 2


def test_a_cluster_has_one_fact_per_question(full: str) -> None:
    (first, _), _ = load(full)
    probes = by_name(first)
    gold = probes["talk-1/S0_C0"][1]
    assert [(f.fact_id, f.text, f.sources) for f in gold.facts] == [
        ("talk-1/S0_C0/q0", "What does Mira paint with now: watercolour", ("D2:1",)),
        ("talk-1/S0_C0/q1", "What did Mira do about the kiln: she paints", ("D1:1", "D2:1")),
    ]
    assert gold.answers == ("watercolour; she paints",)
    assert gold.evidence == ("D1:1", "D2:1")
    assert gold.expected == "hidden composed expectation"
    assert gold.strata == ("composed", "non-adversarial", "composed-original", "nested", "union-2", "no-leak")
    assert probes["talk-1/S0_C30"][1].strata[2] == "composed-extension"


def test_evidence_of_clusters_follows_the_mode(tmp_path: Path) -> None:
    main = written(tmp_path, "dialog.json", dialog())
    members = cluster(0, 0)["member_facts"]
    members[1]["evidence"] = ["D1:1 D1:02", "D2:1"]
    packed = cluster(0, 0, member_facts=members, gold_dia_ids=["D1:1 D1:02", "D2:1"])
    spec = f"{main},composed={written(tmp_path, 'composed.json', [packed])}"
    (first, _), source = load(spec)
    gold = first.gold_by_probe["talk-1/S0_C0"]
    assert (gold.evidence, gold.unresolvable, gold.strata[4]) == (("D1:1", "D1:2", "D2:1"), (), "union-3")
    assert source.report.notice_counts["zero-padded-evidence"] == 1
    (first, _), _ = load(spec, mode="strict-release")
    gold = first.gold_by_probe["talk-1/S0_C0"]
    assert (gold.evidence, gold.unresolvable, gold.strata[4]) == (("D2:1",), ("D1:1 D1:02",), "union-2")


def test_a_cluster_whose_list_differs_from_its_members_is_noted(tmp_path: Path) -> None:
    main = written(tmp_path, "dialog.json", dialog())
    odd = written(tmp_path, "composed.json", [cluster(0, 0, gold_dia_ids=["D1:1"])])
    (first, _), source = load(f"{main},composed={odd}")
    assert first.gold_by_probe["talk-1/S0_C0"].evidence == ("D1:1",)
    assert details(source, "cluster-evidence-differs") == ["S0_C0: gold_dia_ids and its members differ in D2:1"]


@pytest.mark.parametrize(
    ("style", "query", "stratum"),
    [
        ("dialog", "Which watercolour?", "leaks-answer"),
        ("dialog", "Which paint?", "no-leak"),
        ("implicit", "Some WATERCOLOUR day", "leaks-answer"),
        ("counterfactual", "No watercolours", "leaks-answer"),
    ],
)
def test_an_utterance_that_gives_the_answer_away_is_in_a_stratum(
    tmp_path: Path, style: str, query: str, stratum: str
) -> None:
    samples = dialog()
    samples[0]["qa"][0][f"{style}_query"] = query
    (first, _), _ = load(str(written(tmp_path, "dialog.json", samples)))
    assert stratum in first.gold_by_probe[f"talk-1/q0/{style}"].strata


def test_the_leak_of_a_short_answer_cannot_be_computed() -> None:
    assert answer_leak("In May?", ["May", "2"]) is None
    assert answer_leak("A horse and a sunset", ["horse, sunset, sunrise"]) == 0
    assert answer_leak("A horse and a sunset", ["horse sunset sunrise"]) == pytest.approx(2 / 3)


def test_the_conversation_comes_from_the_file_or_from_locomo(tmp_path: Path, full: str) -> None:
    main = written(tmp_path, "bare.json", without_conversations(dialog()))
    with pytest.raises(DataError, match="come without their conversation") as caught:
        open_source(f"locomo-conv:{main}")
    assert f"locomo-conv:{main},locomo=locomo10.json" in str(caught.value)
    other = written(tmp_path, "locomo10.json", locomo())
    joined, source = load(f"{main},locomo={other},composed={tmp_path / 'composed.json'}")
    assert [s.model_dump(exclude={"card"}) for s in joined] == [s.model_dump(exclude={"card"}) for s in load(full)[0]]
    assert source.card.settings["locomo"].startswith("locomo10.json sha256 ")


def test_rows_of_a_part_keep_locomos_numbers(tmp_path: Path) -> None:
    """Texts repeat in LoCoMo, so rows are matched by question, category, evidence, and each number is given once."""
    known = locomo()
    twin = {**known[1]["qa"][0], "evidence": ["D1:2"]}
    known[1]["qa"].append(twin)
    part = [{"sample_id": "talk-2", "qa": [{**rows()[0], "evidence": ["D1:2"]}, rows()[2], rows()[0]]}]
    del part[0]["qa"][1]["adversarial_answer"]
    other, main = written(tmp_path, "locomo.json", known), written(tmp_path, "part.json", part)
    clusters = written(tmp_path, "composed.json", [cluster(1, 3), cluster(0, 0)])
    (only,), source = load(f"{main},locomo={other},composed={clusters}")
    dialogs = [p.probe_id for p in only.probes if p.style == "dialog"]
    assert dialogs == ["talk-2/q4/dialog", "talk-2/q2/dialog", "talk-2/q0/dialog"]
    assert only.gold_by_probe["talk-2/q4/dialog"].evidence == ("D1:2",)
    assert only.gold_by_probe["talk-2/q2/dialog"].trap == "hidden trap"
    assert "talk-2/S1_C3" in only.gold_by_probe
    kinds = source.report.notice_counts
    assert (kinds["trap-from-locomo"], kinds["conversation-not-loaded"]) == (1, 1)
    part[0]["qa"].append(rows()[0])
    with pytest.raises(DataError, match="not one of LoCoMo's, or is given more often") as caught:
        load(f"{written(tmp_path, 'part.json', part)},locomo={other}")
    assert (caught.value.record, caught.value.field) == ("talk-2 qa 3", "question")


def test_what_differs_from_locomo_is_noted(tmp_path: Path) -> None:
    known = locomo()
    known[0]["qa"][0]["answer"] = "oil"
    known[1]["qa"][0]["evidence"] = ["D1:2"]
    spec = f"{written(tmp_path, 'd.json', dialog())},locomo={written(tmp_path, 'l.json', known)}"
    assert details(load(spec)[1], "differs-from-locomo") == [
        "talk-1 qa 0: answer 'watercolour' is used, LoCoMo has 'oil'",
        "talk-2 qa 0: evidence ['D2:1'] is used, LoCoMo has ['D1:2']",
    ]


def test_the_list_of_jobs_loads_too(tmp_path: Path) -> None:
    def job(style: str, conversation: int, number: int) -> dict[str, Any]:
        row = rows()[number]
        query = {"dialog": "dialog_query", "implicit": "implicit_query"}[style]
        base = {key: row.get(key) for key in ("category", "question", "answer", "evidence", "adversarial_answer")}
        who = "speaker_b" if style == "implicit" else "speaker_a"
        place = {"sample_idx": conversation, "q_idx": number}
        return {**place, **base, "query_field": query, "query": row[query], "subject_speaker": who}

    jobs = {
        "meta": {"mode": "full"},
        "samples": {
            "dialog": [job("dialog", 1, 0), job("dialog", 1, 2)],
            "implicit": [job("implicit", 1, 0), job("implicit", 0, 1)],
            "composed": [cluster(1, 0)],
        },
    }
    other = written(tmp_path, "locomo10.json", locomo())
    loaded, source = load(f"{written(tmp_path, 'jobs.json', jobs)},locomo={other}")
    seen = {p.probe_id: (p.text, p.speaker) for s in loaded for p in s.probes}
    assert list(seen) == [
        "talk-1/q1/implicit",
        "talk-2/q0/dialog",
        "talk-2/q0/implicit",
        "talk-2/q2/dialog",
        "talk-2/S1_C0",
    ]
    assert seen["talk-2/q0/implicit"] == (rows()[0]["implicit_query"], "Tomasz")
    assert loaded[1].gold_by_probe["talk-2/q2/dialog"].trap == "hidden trap"
    assert source.report.notice_counts["missing-dialog"] == source.report.notice_counts["missing-implicit"] == 1
    jobs["samples"]["dialog"].append(job("dialog", 1, 0))  # type: ignore[index]
    with pytest.raises(DataError, match="two jobs of one style"):
        load(f"{written(tmp_path, 'jobs.json', jobs)},locomo={other}")


def test_mined_clusters_are_listed_and_give_no_probe(tmp_path: Path) -> None:
    main = written(tmp_path, "dialog.json", dialog())
    for mode, mined in (("release", 2), ("raw", 0), ("repaired", 2)):
        loaded, source = load(f"{main},composed=mined:{mode}")
        assert source.report.counts["composed clusters"] == source.report.counts["clusters without utterance"] == mined
        assert not any(p.style == "composed" for s in loaded for p in s.probes)
        assert details(source, "clusters-without-utterance") == [
            f"talk-{n}: 1 of 1 clusters have no utterance; they give no probe" for n in (1, 2) if mined
        ]
        assert source.card.settings["composed"] == f"mined from LoCoMo ({mode})"
    with pytest.raises(ConfigError, match="write composed=mined:release, mined:raw, mined:repaired"):
        open_source(f"locomo-conv:{main},composed=mined:exact")


def test_supportive_memories_by_file(tmp_path: Path) -> None:
    samples = dialog()
    for sample in samples:
        for row in sample["qa"]:
            row.pop("supportive_memory", None)
    samples[1]["qa"][1]["supportive_memory"] = [{"dia_id": "D2:2"}]
    main = written(tmp_path, "dialog.json", samples)
    entries = {
        "0:0": [
            {"dia_id": "D1:2", "n_systems": 2, "source_systems": ["Dense", "A-mem"]},
            {"dia_id": "D1:2", "n_systems": 1, "source_systems": ["BM25"]},
            {"dia_id": "D2:1", "n_systems": 1, "source_systems": ["BM25"]},
            {"dia_id": "D7:7", "n_systems": 3, "source_systems": ["BM25"]},
        ],
        "1:1": [{"dia_id": "D1:2", "n_systems": 1, "source_systems": ["BM25"]}],
    }
    spec = f"{main},supportive={written(tmp_path, 'supportive.json', entries)}"
    (first, second), source = load(spec)
    assert first.gold_by_probe["talk-1/q0/implicit"].supportive == {"D1:2": ("A-mem", "Dense")}
    assert first.gold_by_probe["talk-1/q1/implicit"].supportive == {}
    assert second.gold_by_probe["talk-2/q1/implicit"].supportive == {"D1:2": ("BM25",)}
    kinds = source.report.notice_counts
    for kind in ("supportive-is-gold", "repeated-supportive", "unresolvable-supportive", "supportive-count-differs"):
        assert kinds[kind] == 1
    assert kinds["supportive-differs"] == 1
    for key in ("2:0", "0:9", "x", "0:00"):
        bad = written(tmp_path, "supportive.json", {"0:0": [], key: []})
        with pytest.raises(DataError) as caught:
            open_source(f"locomo-conv:{main},supportive={bad}")
        assert (caught.value.record, caught.value.file) == (key, str(bad))


def test_filled_in_fields_are_noted(tmp_path: Path) -> None:
    samples = dialog()
    for sample in samples:
        sample["qa"] = [
            {**row, "question": f"{row['question']} {n}", "implicit_subject_speaker": "speaker_a"}
            for n in range(3)
            for row in sample["qa"]
        ]
    for row in samples[0]["qa"]:
        row["supportive_memory"] = [{"dia_id": "D1:2"}]
    _, source = load(str(written(tmp_path, "dialog.json", samples)))
    assert details(source, "one-speaker-for-all-styles") == [
        "dialog.json: all 24 rows have one speaker for every style, as where the field was filled in"
    ]
    (noted,) = details(source, "supportive-without-systems")
    assert noted.endswith("12 of 21 entries do not say which systems named them")
    assert details(source, "speaker-name-differs")[0].endswith("is 'Tomasz', speaker_a is Mira")


def test_missing_utterances_are_noted(tmp_path: Path) -> None:
    samples = dialog()
    qa = samples[0]["qa"]
    qa[0].update(dialog_query=None, rewrite_error="timeout", asserted_wrong=None)
    qa[1].update(implicit_query=" ", naturalness="superb")
    del qa[3]["counterfactual_query"]
    qa[2].update(counterfactual_query="x", counterfactual_subject_speaker="speaker_a")
    (first, _), source = load(str(written(tmp_path, "dialog.json", samples)))
    assert details(source, "missing-dialog") == [
        "talk-1 qa 0: no dialog_query: the generator reported 'timeout'; no probe"
    ]
    for kind in ("missing-implicit", "missing-counterfactual", "counterfactual-of-adversarial", "no-asserted-premise"):
        assert source.report.notice_counts[kind] == 1
    assert source.report.notice_counts["naturalness-unknown"] == 1
    assert first.gold_by_probe["talk-1/q0/counterfactual"].false_premise is None
    assert "talk-1/q0/dialog" not in first.gold_by_probe


def test_a_folder_is_searched_for_the_official_names(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"expected locomo10_dialog\.json"):
        open_source(f"locomo-conv:{tmp_path}")
    data = tmp_path / "data"
    data.mkdir()
    written(data, "locomo10_dialog.json", without_conversations(dialog()))
    written(data, "locomo10.json", locomo())
    written(data, "locomo10_multimem.json", [cluster(0, 0)])
    assert load(str(tmp_path))[1].report.counts["composed probes"] == 1
    written(data, "locomo10_multimem_full.json", [cluster(0, 0), cluster(1, 0)])
    written(data, "supportive_memory.json", {"0:1": [{"dia_id": "D2:2"}]})
    _, source = load(str(tmp_path))
    assert source.report.counts["composed probes"] == 2
    assert source.card.settings["supportive"].startswith("supportive_memory.json sha256 ")


@pytest.mark.parametrize(
    ("composed", "field"),
    [
        ([cluster(2, 0)], "sample_idx"),
        ([cluster(0, 0, sample_idx=1)], "cluster_id"),
        ([cluster(0, 0, cluster_id="first")], "cluster_id"),
        ([cluster(0, 0), cluster(0, 0)], "cluster_id"),
        ([cluster(0, 0, member_q_idxs=[1, 0])], "member_q_idxs"),
        ([cluster(0, 0, member_facts=cluster(0, 0)["member_facts"][:1], member_q_idxs=[0])], "member_q_idxs"),
        ([cluster(0, 0, subject_speaker="Mira")], "subject_speaker"),
        ([cluster(0, 0, gold_dia_ids="D1:1")], "gold_dia_ids"),
        ([cluster(0, 0, member_facts=[{"q_idx": 9, "question": "x"}])], "q_idx"),
        ([cluster(0, 0, member_facts=[{"q_idx": 0, "question": "another?"}])], "question"),
    ],
)
def test_malformed_clusters_are_refused(tmp_path: Path, composed: list[Any], field: str) -> None:
    main, other = written(tmp_path, "dialog.json", dialog()), written(tmp_path, "composed.json", composed)
    with pytest.raises(DataError) as caught:
        load(f"{main},composed={other}")
    assert (caught.value.field, caught.value.file) == (field, str(other))


def test_files_in_the_wrong_place_are_told_apart(tmp_path: Path) -> None:
    main, clusters = written(tmp_path, "d.json", dialog()), written(tmp_path, "c.json", [cluster(0, 0)])
    other = written(tmp_path, "l.json", locomo())
    for spec, message in (
        (f"{clusters}", r"give the file as composed=PATH"),
        (f"{other}", r"expected LoCoMo-Conv's rewritten questions \(locomo10_dialog\.json\)"),
        (f"{main},composed={written(tmp_path, 'x.json', {})}", "expected a list of clusters"),
        (f"{main},supportive={clusters}", "expected an object of lists"),
        (f"{written(tmp_path, 'e.json', [])}", "holds no conversation"),
        (f"{written(tmp_path, 't.json', dialog()[:1] * 2)}", "a sample id occurs twice"),
        (f"{main},locomo={written(tmp_path, 'm.json', locomo()[:1])}", "the LoCoMo file has no such conversation"),
    ):
        with pytest.raises(DataError, match=message):
            load(spec)
    with pytest.raises(ConfigError, match="locomo-conv has no role 'multimem'; it has locomo, composed, supportive"):
        open_source(f"locomo-conv:{main},multimem={clusters}")
    with pytest.raises(ConfigError, match="locomo-conv needs a path"):
        open_source("locomo-conv")


def test_nothing_hidden_is_in_what_a_system_may_see(full: str, tmp_path: Path) -> None:
    """Every hidden field is a canary of its own; then all are changed, and what may be seen stays the same."""
    samples, clusters = dialog(), [cluster(0, 0), cluster(1, 0)]
    hidden = ("expected_memory_use", "asserted_wrong", "rewrite_reason", "implicit_reason", "counterfactual_reason")

    def marked(mark: str) -> list[Scenario]:
        number = 0
        own, others = copy.deepcopy(samples), copy.deepcopy(clusters)
        for row in [row for sample in own for row in sample["qa"]] + others:
            for key in (*hidden, "adversarial_answer", "answer"):
                if key in row:
                    number += 1
                    row[key] = f"{mark}{number}"
            for fact in row.get("member_facts", ()):
                number += 1
                fact["answer"] = f"{mark}{number}"
            for entry in row.get("supportive_memory", ()):
                entry["source_systems"] = [f"{mark}system"]
                entry["n_systems"] = 1
        folder = tmp_path / mark
        folder.mkdir()
        main = written(folder, "dialog.json", own)
        return load(f"{main},composed={written(folder, 'composed.json', others)}")[0]

    first, second = marked("canary"), marked("heron")
    seen = [
        "".join(p.model_dump_json() for p in s.probes) + "".join(t.model_dump_json() for t in s.turns) for s in first
    ]
    again = [
        "".join(p.model_dump_json() for p in s.probes) + "".join(t.model_dump_json() for t in s.turns) for s in second
    ]
    assert seen == again
    known = "".join(g.model_dump_json() for s in first for g in s.gold_by_probe.values())
    for text in seen:
        assert "canary" not in text
        for word in ("hidden", "D9:9", "nested", "category", "cluster", "What does Mira paint with now: "):
            assert word not in text
    assert known.count("canary") > 40


def test_reading_twice_gives_the_same(full: str) -> None:
    source = open_source(f"locomo-conv:{full}")
    first, notices = list(source), list(source.report.notices)
    counts = dict(source.report.counts)
    assert list(source) == first
    assert (source.report.notices, dict(source.report.counts)) == (notices, counts)
    assert json.loads(source.card.model_dump_json())["benchmark"] == "locomo-conv"
