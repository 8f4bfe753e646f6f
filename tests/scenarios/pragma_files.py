"""A small PRAGMA folder of one's own: two users by the release's schema, with fillers on a day of evidence."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

Files = dict[str, list[dict[str, Any]]]


def talk(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}, {"role": "assistant", "content": f"I see: {text[:12]}…"}]


def _user(user_id: str, word: str) -> Files:
    """Sorted by day, ties in the order events, states, fillers: e s f f e s f."""
    days = ["2025-06-01", "2025-06-01", "2025-06-01", "2025-08-01", "2025-09-10", "2025-11-05", "2026-01-01"]
    kinds = ["event", "trajectory", "filler", "filler", "event", "trajectory", "filler"]
    events = [f"The user burnt a {word}.", f"The user sold a {word}."]
    states = [f"The user packed {word}s alone.", f"The user packed {word}s with nine people."]
    texts = [f"Today I burnt a {word}.", f"I packed {word}s alone.", "Which kettle?", "Which lamp?"]
    texts += [f"Today I sold a {word}.", f"Nine people and I packed {word}s.", "Which chair?"]
    topics = [None, None, "Kettles", "Lamps", None, None, "Chairs"]
    persona = f"The user is a baker of {word}s."
    queries = {
        "type1": (f"What next with my {word}s?", [0, 4], events),
        "type2": (f"When I burnt a {word}, it sold at once. What now?", [4, 0], [events[1], events[0]]),
        "type3": (f"Write my {word} profile.", [1, 5], states),
        "type4": (f"I'll pack {word}s alone from now on. Help me plan.", [5, 1], [states[1], states[0]]),
    }
    who = {"user_id": user_id, "persona": persona}
    return {
        "full_sessions.json": [
            {
                **who,
                "timestamps": days,
                "session_types": kinds,
                "sessions": [talk(text) for text in texts],
                "topics": topics,
            }
        ],
        "metadata.json": [
            {
                **who,
                "query_type": kind,
                "query": query,
                "query_timestamp": "2026-05-01",
                "evidence_session_timestamps": [days[n] for n in places],
                "evidence_session_index": places,
                "summarized_evidence": summaries,
            }
            for kind, (query, places, summaries) in queries.items()
        ],
        "response_metrics.json": [
            {
                "user_id": user_id,
                "query_type": kind,
                "query": query,
                "evidence": summaries,
                "alignment_metric": f"Aligned with {kind}? 1 or 0.",
                "grounding_metric": f"Grounded in {kind}? 0 to 1.",
            }
            for kind, (query, _, summaries) in queries.items()
        ],
        "query_data.json": [
            {
                **who,
                "topic": f"{word} trade",
                "axes": ["Alone <-> Together", "Small <-> Large"],
                "rewritten axes": ["alone or together", "small or large"],
                "events": events,
                "event_timestamps": [days[0], days[4]],
                "type1": queries["type1"][0],
                "type2": queries["type2"][0],
                "type2_evid": [1, 0],
                "trajectory": states,
                "trajectory_timestamps": [days[1], days[5]],
                "type3": queries["type3"][0],
                "type4": queries["type4"][0],
                "type4_evid": [1, 0],
            }
        ],
    }


def small_files() -> Files:
    """Two users."""
    first, second = _user("u-1", "café loaf"), _user("u-2", "bun")
    return {name: [*copy.deepcopy(first[name]), *copy.deepcopy(second[name])] for name in first}


def write_files(folder: Path, files: Files) -> Path:
    """Write the files and give back the folder."""
    for name, rows in files.items():
        (folder / name).write_text(json.dumps(rows, ensure_ascii=False, indent=1), encoding="utf-8")
    return folder
