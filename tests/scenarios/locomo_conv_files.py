"""Small LoCoMo-Conv files of our own: two conversations between invented people, every style, clusters, overlays."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def rewritten(question: str, evidence: list[str], category: int, **changes: Any) -> dict[str, Any]:
    """One row of the official file with all its keys; category 5 has a trap and no counterfactual."""
    row: dict[str, Any] = {
        "question": question,
        "answer": "watercolour",
        "evidence": evidence,
        "category": category,
        "dialog_query": f"Do you remember: {question}",
        "subject_speaker": "speaker_a",
        "subject_speaker_name": "Mira",
        "naturalness": "high",
        "rewrite_reason": "hidden reason d",
        "rewrite_error": None,
        "implicit_query": "I have a free evening and some paper 🎨.",
        "implicit_subject_speaker": "speaker_b",
        "implicit_subject_speaker_name": "Tomasz",
        "expected_memory_use": "hidden expectation",
        "implicit_reason": "hidden reason i",
        "implicit_error": None,
        "counterfactual_query": "So I still throw pots every day, right?",
        "counterfactual_subject_speaker": "speaker_a",
        "counterfactual_subject_speaker_name": "Mira",
        "asserted_wrong": "throws pots every day",
        "counterfactual_reason": "hidden reason c",
        "counterfactual_error": None,
        "supportive_memory": [{"dia_id": "D1:2", "n_systems": 2, "source_systems": ["BM25", "A-mem"]}],
    }
    if category == 5:
        left_out = ("answer", "asserted_wrong", "supportive_memory")
        row = {k: v for k, v in row.items() if k not in left_out and not k.startswith("counterfactual")}
        row["adversarial_answer"] = "hidden trap"
    return {**row, **changes}


def talk(number: int) -> dict[str, Any]:
    """One conversation of two sessions."""
    return {
        "speaker_a": "Mira",
        "speaker_b": "Tomasz",
        "session_1_date_time": "1:56 pm on 8 March, 2022",
        "session_1": [
            {"speaker": "Mira", "dia_id": "D1:1", "text": f"The kiln of studio {number} broke, so I paint now."},
            {"speaker": "Tomasz", "dia_id": "D1:2", "text": "Paint my cat Pixel!", "blip_caption": "a grey cat 猫"},
        ],
        "session_2_date_time": "12:09 am on 13 April, 2022",
        "session_2": [
            {"speaker": "Mira", "dia_id": "D2:1", "text": "Watercolour suits me."},
            {"speaker": "Tomasz", "dia_id": "D2:2", "text": "I moved to Kanal street in 2021."},
        ],
    }


def rows() -> list[dict[str, Any]]:
    """Questions of one conversation: single-hop, multi-hop, adversarial, temporal with a number."""
    return [
        rewritten("What does Mira paint with now?", ["D2:1"], 4),
        rewritten("What did Mira do about the kiln?", ["D1:1; D2:1"], 1, answer="she paints"),
        rewritten("What does Mira cook?", ["D2:2"], 5),
        rewritten("When did Tomasz move?", ["D2:2", "D9:9"], 2, answer=2021),
    ]


def dialog() -> list[dict[str, Any]]:
    """The rewritten file with its conversations, questions first as published."""
    return [{"qa": rows(), "conversation": talk(n), "sample_id": f"talk-{n}"} for n in (1, 2)]


def locomo() -> list[dict[str, Any]]:
    """The LoCoMo file that belongs to it."""
    kept = ("question", "answer", "evidence", "category", "adversarial_answer")

    def plain() -> list[dict[str, Any]]:
        return [{key: row[key] for key in kept if key in row} for row in rows()]

    return [{"sample_id": f"talk-{n}", "conversation": talk(n), "qa": plain()} for n in (1, 2)]


def without_conversations(samples: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rewritten file without its conversations."""
    return [{key: value for key, value in sample.items() if key != "conversation"} for sample in samples]


def cluster(conversation: int, running: int, **changes: Any) -> dict[str, Any]:
    """A composed cluster of questions 0 and 1."""
    members = [
        {"q_idx": n, "question": row["question"], "answer": row["answer"], "evidence": ids, "category": row["category"]}
        for n, (row, ids) in enumerate(zip(rows()[:2], (["D2:1"], ["D1:1", "D2:1"]), strict=True))
    ]
    return {
        "sample_idx": conversation,
        "cluster_id": f"S{conversation}_C{running}",
        "member_q_idxs": [0, 1],
        "gold_dia_ids": ["D1:1", "D2:1"],
        "member_facts": members,
        "composed_query": "What should I pack for a painting weekend, given all that happened? 🎒",
        "subject_speaker": "speaker_b",
        "subject_speaker_name": "Tomasz",
        "expected_memory_use": "hidden composed expectation",
        "rewrite_reason": "hidden composed reason",
        "rewrite_error": None,
        **changes,
    }


def written(folder: Path, name: str, value: object) -> Path:
    """Write a value as JSON."""
    path = folder / name
    path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
    return path
