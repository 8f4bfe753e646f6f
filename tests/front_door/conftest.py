"""Small benchmark-like files and a way to run them in process."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mnemoscope.config import RunConfig, load_config
from mnemoscope.engine import NoProgress, RunOutcome, Stop
from mnemoscope.engine import run as run_engine
from mnemoscope.offline import QUIET

_TOPICS = (
    ("kiln", "The studio got a new kiln from Ghent."),
    ("cat", "My cat Pixel sleeps on the pottery wheel."),
    ("street", "I rent a flat on Kanal street since March."),
    ("tea", "These days I drink green tea instead of coffee."),
)


def locomo_like(*, hidden: str = "gold", conversations: int = 2) -> list[dict[str, Any]]:
    """Conversations in LoCoMo's shape; `hidden` marks every string that no assistant may see."""
    samples = []
    for number in range(1, conversations + 1):
        first = [
            {"speaker": ("Mira", "Tomasz")[i % 2], "dia_id": f"D1:{i + 1}", "text": f"{text} ({name} {number})"}
            for i, (name, text) in enumerate(_TOPICS)
        ]
        second = [
            {"speaker": "Tomasz", "dia_id": "D2:1", "text": f"How is the {name} {number} going?"}
            for name, _ in _TOPICS[:1]
        ] + [{"speaker": "Mira", "dia_id": "D2:2", "text": "Fine, thanks. Let us talk about the market."}]
        questions: list[dict[str, Any]] = [
            {
                "question": f"What about the {name}?",
                "answer": f"{hidden} answer {number}-{i}",
                "evidence": [f"D1:{i + 1}"],
                "category": (4, 2, 1, 3)[i],
            }
            for i, (name, _) in enumerate(_TOPICS)
        ]
        questions.append(
            {
                "question": "What did Mira buy in Lima?",
                "evidence": ["D1:1"],
                "category": 5,
                "adversarial_answer": f"{hidden} trap {number}",
            }
        )
        samples.append(
            {
                "sample_id": f"conv-{number}",
                "conversation": {
                    "speaker_a": "Mira",
                    "speaker_b": "Tomasz",
                    "session_1_date_time": "9:00 am on 8 March, 2022",
                    "session_1": first,
                    "session_2_date_time": "10:30 am on 2 April, 2022",
                    "session_2": second,
                },
                "qa": questions,
                "observation": {"session_1_observation": {"Mira": [[f"{hidden} observation", "D1:1"]]}},
                "session_summary": {"session_1_summary": f"{hidden} summary"},
                "event_summary": {"events_session_1": {"Mira": [f"{hidden} event"], "date": "8 March, 2022"}},
            }
        )
    return samples


def stratmem_like(*, swapped: bool = False) -> list[dict[str, Any]]:
    """Items in StratMem-Bench's shape; `swapped` turns every label round and leaves all facts as they are."""
    persona = {
        "virtual_person_name": "Bruno",
        "summary": "Calm baker.",
        "traits": ["calm"],
        "style": ["short"],
        "domains": ["bread"],
        "values": ["honesty"],
    }
    items = []
    for number in range(1, 4):
        facts = [
            [f"Bruno moved to Ghent in May for job {number}.", f"Bruno has a flatmate called Jonas {number}."],
            [f"Ana likes sourdough number {number}."],
            [f"Bruno once broke mixer {number}.", f"Bruno collects stamps of {number} countries."],
        ]
        must, nice, irr = reversed(facts) if swapped else facts
        items.append(
            {
                "id": f"s{number}",
                "given_type": "C",
                "inferred_type": "C",
                "query": f"How are you settling in with job {number}?",
                "query_time": "1:14 pm on 25 May, 2022",
                "history": "",
                "roles": {"human": "Ana", "virtual_person": "Bruno"},
                "memory": {
                    "must": [{"fact": fact} for fact in must],
                    "nice": [{"fact": fact} for fact in nice],
                    "irr": [{"fact": fact} for fact in irr],
                },
                "virtual_person_persona": persona,
            }
        )
    return items


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, value in QUIET.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("MNEMOSCOPE_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def write_json(tmp_path: Path) -> Callable[[str, object], Path]:
    def write(name: str, value: object) -> Path:
        path = tmp_path / name
        path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
        return path

    return write


@pytest.fixture
def make_locomo(write_json: Callable[[str, object], Path]) -> Callable[..., Path]:
    return lambda name="locomo.json", **choices: write_json(name, locomo_like(**choices))


@pytest.fixture
def make_stratmem(write_json: Callable[[str, object], Path]) -> Callable[..., Path]:
    return lambda name="stratmem.json", **choices: write_json(name, stratmem_like(**choices))


@pytest.fixture
def config(tmp_path: Path) -> Callable[..., RunConfig]:
    """A small run with the hash embedder in this process; keywords are settings."""

    def make(**settings: Any) -> RunConfig:
        defaults = {"embedder": "hash(dim=64)", "workers": 1, "out": tmp_path / "run.db"}
        return load_config(None, {**defaults, **settings})

    return make


@pytest.fixture
def do_run() -> Callable[..., RunOutcome]:
    """Run to the end; `resume` and `stop` as for the engine."""

    def do(settings: RunConfig, *, resume: bool = False, stop: Stop | None = None) -> RunOutcome:
        return run_engine(settings, resume=resume, progress=NoProgress(), stop=Stop() if stop is None else stop)

    return do
