"""`scenario build`: every kind, its options, what it prints, and that nothing is written over unasked."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mnemoscope.cli import main
from mnemoscope.scenarios.opening import open_source
from tests.agents.endpoint_stub import Answer, EndpointStub, chat

TEXTS = (
    "I planted a quince tree behind the old stable in Ghent.",
    "Congratulations on the new kiln, Mira!",
    "My grandfather's red accordion is being repaired in Bruges.",
    "The goats ate my quince tree behind the stable.",
)
ASIDES = (
    "Electricity prices doubled during winter, our landlord shrugged politely.",
    "Yesterday evening somebody stole twenty bicycles downtown, police shrugged.",
    "Chess club members argue loudly about opening theory every Friday.",
    "Summer holidays begin early because schools need urgent roof repairs.",
)


@pytest.fixture
def build(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, Any, str]]:
    """Run `scenario build …`; gives the exit code, what was printed (JSON read), and standard error."""

    def run(*args: object) -> tuple[int, Any, str]:
        capsys.readouterr()
        code = main(["scenario", "build", *map(str, args)])
        out, err = capsys.readouterr()
        return code, json.loads(out) if "--json" in args and code == 0 else out, err

    return run


def talk(write_json: Callable[[str, object], Path]) -> Path:
    """Two conversations of four sessions, whose topics return."""
    samples = []
    for number in range(1, 3):
        conversation: dict[str, object] = {"speaker_a": "Mira", "speaker_b": "Tomasz"}
        for session, text in enumerate(TEXTS, start=1):
            conversation[f"session_{session}_date_time"] = f"9:00 am on {session} March, 2022"
            conversation[f"session_{session}"] = [
                {"speaker": "Mira", "dia_id": f"D{session}:1", "text": f"{text} It is story {number} of mine."},
                {"speaker": "Tomasz", "dia_id": f"D{session}:2", "text": f"That is quite a tale {session}, go on."},
                {"speaker": "Mira", "dia_id": f"D{session}:3", "text": ASIDES[session - 1]},
            ]
        questions = [
            {
                "question": "What did Mira plant behind the stable in Ghent?",
                "answer": "a quince tree",
                "evidence": ["D1:1"],
                "category": 4,
            },
            {
                "question": "What of Mira's grandfather is repaired in Bruges?",
                "answer": "red accordion",
                "evidence": ["D3:1"],
                "category": 4,
            },
            {
                "question": "What happened to the quince tree that Mira planted?",
                "answer": "goats ate it",
                "evidence": ["D1:1", "D4:1"],
                "category": 1,
            },
        ]
        samples.append({"sample_id": f"conv-{number}", "conversation": conversation, "qa": questions})
    return write_json("talk.json", samples)


def test_composed_in_all_modes_and_never_over_a_file(
    build: Callable[..., tuple[int, Any, str]], write_json: Callable[[str, object], Path], tmp_path: Path
) -> None:
    source, out = talk(write_json), tmp_path / "composed.json"
    code, made, _ = build("composed", f"locomo:{source}", "--out", out, "--json")
    assert (code, made["clusters"], made["by_conversation"]) == (0, 2, {"S0": 1, "S1": 1})
    before = out.read_bytes()
    code, _, err = build("composed", f"locomo:{source}", "--mode", "raw", "--out", out)
    assert code == 2 and "--force" in err and out.read_bytes() == before
    assert build("composed", f"locomo:{source}", "--mode", "repaired", "--out", out, "--force")[0] == 0
    assert build("composed", f"locomo:{source}", "--mode", "guessed", "--out", tmp_path / "x.json")[0] == 2
    code, _, err = build("composed", f"stratmem:{source}", "--out", tmp_path / "x.json")
    assert code == 2 and "locomo:PATH" in err


@pytest.mark.data
@pytest.mark.parametrize(("mode", "clusters"), [("release", 1069), ("raw", 1065), ("repaired", 1081)])
def test_composed_of_the_published_file(
    mode: str, clusters: int, build: Callable[..., tuple[int, Any, str]], benchmark_data: Path, tmp_path: Path
) -> None:
    source = f"locomo:{benchmark_data / 'locomo10.json'}"
    code, made, _ = build("composed", source, "--mode", mode, "--out", tmp_path / "c.json", "--json")
    assert (code, made["clusters"]) == (0, clusters)


def test_trajectory_is_a_folder_that_pragma_reads(build: Callable[..., tuple[int, Any, str]], tmp_path: Path) -> None:
    out = tmp_path / "users"
    code, made, _ = build("trajectory", "--users", 2, "--seed", 7, "--lang", "zh", "--out", out, "--json")
    assert code == 0 and (made["users"], made["probes"]) == (2, 8)
    assert made["shortcuts"]["probes"] == {"evidence": 8} and made["shortcuts"]["solved"].keys() == {"recent", "bm25"}
    assert sum(len(s.probes) for s in open_source(f"pragma:{out}")) == 8
    again = tmp_path / "again"
    assert (
        build("trajectory", "--users", 2, "--seed", 7, "--lang", "zh", "--out", again, "--json")[1]["sha256"]
        == (made["sha256"])
    )
    code, _, err = build("trajectory", "--users", 2, "--out", out)
    assert code == 2 and "not empty" in err
    assert build("trajectory", "--users", 0, "--out", tmp_path / "none")[0] == 2
    (tmp_path / "file").write_text("x", encoding="utf-8")
    assert build("trajectory", "--out", tmp_path / "file")[0] == 2


@pytest.mark.parametrize("kind", ["pool", "windows", "negatives", "moments"])
def test_builders_write_native_scenarios_and_print_what_shortcuts_solve(
    kind: str, build: Callable[..., tuple[int, Any, str]], write_json: Callable[[str, object], Path], tmp_path: Path
) -> None:
    source, out = f"locomo:{talk(write_json)}", tmp_path / f"{kind}.json"
    code, made, err = build(kind, source, "--out", out, "--json")
    assert code == 0, err
    assert made["scenarios"] == sum(1 for _ in open_source(f"native:{out}")) > 0
    assert set(made["shortcuts"]["solved"]) == {"recent", "bm25"} and made["probes"] > 0
    provenance = json.loads(Path(made["provenance"]).read_text(encoding="utf-8"))
    assert provenance["builder"] == kind and provenance["checks"] == made["shortcuts"]
    assert not list(tmp_path.glob("*.journal.jsonl")), "a finished build leaves no journal"
    first = out.read_bytes()
    code, said, _ = build(kind, source, "--out", out, "--force")
    assert code == 0 and out.read_bytes() == first
    assert "it fails by" in said and "\nshortcut: " in said and f"native:{out}" in said
    assert build(kind, source, "--out", out)[0] == 2


def test_moments_are_measured_on_labels_and_by_an_embedder(
    build: Callable[..., tuple[int, Any, str]], write_json: Callable[[str, object], Path], tmp_path: Path
) -> None:
    source = f"locomo:{talk(write_json)}"
    options = ("--embedder", "hash(dim=64)", "--labels", source, "--json")
    code, made, _ = build("moments", source, "--out", tmp_path / "m.json", *options)
    assert code == 0 and made["detection"] == {"precision": None, "recall": None, "counts": {}}


def test_chain_of_stratmem_items(
    build: Callable[..., tuple[int, Any, str]], write_json: Callable[[str, object], Path], tmp_path: Path
) -> None:
    from tests.scenarios.test_builders_chain import BREAD, MOVED, item

    late = item("late", "9:00 am on 2 June, 2022", must=[MOVED], irr=[BREAD])
    early = item("early", "1:14 pm on 25 May, 2022", must=[BREAD], irr=[MOVED])
    source = write_json("items.json", [late, early])
    code, made, _ = build("chain", f"stratmem:{source}", "--out", tmp_path / "chain.json", "--json")
    assert (code, made["scenarios"], made["probes"]) == (0, 1, 2)
    code, _, err = build("chain", f"locomo:{talk(write_json)}", "--out", tmp_path / "no.json")
    assert code == 2 and "not a StratMem-Bench item" in err and not (tmp_path / "no.json").exists()


def test_bad_kinds_places_and_sources(
    build: Callable[..., tuple[int, Any, str]], write_json: Callable[[str, object], Path], tmp_path: Path
) -> None:
    source = f"locomo:{talk(write_json)}"
    code, _, err = build("negatives", source, "--kind", "near-mis", "--out", tmp_path / "n.json")
    assert code == 2 and "near-miss" in err
    code, _, err = build("pool", source, "--out", tmp_path / "no" / "p.json")
    assert code == 2 and "no folder" in err
    assert build("pool", source, "--out", tmp_path)[0] == 2
    assert build("windows", "locomo:/nowhere.json", "--out", tmp_path / "w.json")[0] == 2
    assert build("sonnets", source)[0] == 2


def rewriter(body: dict[str, Any], number: int) -> Answer:
    system = body["messages"][0]["content"]
    reply: dict[str, str] = {"speaker": "speaker_a", "reason": "It concerns Mira."}
    if "asserted_wrong" in system:
        reply |= {"query": "Where do I best keep my green trombone from now on?", "asserted_wrong": "green trombone"}
    elif "expected_memory_use" in system:
        reply |= {"query": "I am sitting in the garden and miss something.", "expected_memory_use": "Names it."}
    else:
        reply |= {"query": "Do you remember what it was that I told you?", "naturalness": "medium"}
    return chat(json.dumps(reply))


def test_conv_rewrite_over_an_endpoint_goes_on_after_a_failure(
    build: Callable[..., tuple[int, Any, str]],
    write_json: Callable[[str, object], Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    source, out = f"locomo:{talk(write_json)}", tmp_path / "dialog.json"
    journal = tmp_path / "dialog.journal.jsonl"

    def breaks(body: dict[str, Any], number: int) -> Answer:
        return rewriter(body, number) if number <= 4 else Answer(401, {"error": {"message": "no"}})

    with EndpointStub(breaks).running() as stub:
        model = f"openai(model=stub-1,base_url={stub.url},retries=0)"
        options = ("--model", model, "--limit", 2, "--concurrency", 1, "--out", out, "--json")
        assert build("conv-rewrite", source, *options)[0] == 1
        assert not out.exists() and len(journal.read_text(encoding="utf-8").splitlines()) == 4
        stub.behaviour = rewriter
        code, made, err = build("conv-rewrite", source, *options)
    assert code == 0, err
    assert made["counts"] == {
        "counterfactual passed": 2, "dialog passed": 2, "from the journal": 4, "implicit passed": 2,
    }  # fmt: skip
    assert made["calls"] == 2 and not journal.exists()
    probes = [probe for s in open_source(f"locomo-conv:{out}") for probe in s.probes]
    assert sorted(probe.style for probe in probes) == ["counterfactual"] * 2 + ["dialog"] * 2 + ["implicit"] * 2
    assert build("conv-rewrite", source, "--model", model, "--out", out)[0] == 2


def test_help_loads_no_builder(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    names = [name for name in sys.modules if name.startswith("mnemoscope.scenarios.builders.trajectory")]
    for name in names:
        monkeypatch.delitem(sys.modules, name)
    assert main(["scenario", "build", "--help"]) == 0
    shown = capsys.readouterr().out
    for kind in ("composed", "trajectory", "pool", "moments", "windows", "negatives", "chain", "conv-rewrite"):
        assert kind in shown
    assert "mnemoscope.scenarios.builders.trajectory" not in sys.modules


def test_every_kind_of_scenario_is_described(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scenario", "list", "--json"]) == 0
    kinds = {row["kind"]: row["summary"] for row in json.loads(capsys.readouterr().out)["kinds"]}
    assert set(kinds) >= {
        "chatlog", "demo", "locomo", "locomo-conv", "longmemeval", "memuse", "native", "pragma", "stratmem",
    }  # fmt: skip
    assert "from a plug-in" not in kinds.values()
