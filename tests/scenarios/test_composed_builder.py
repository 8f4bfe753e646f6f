"""Mining of composed clusters: the exact published numbers, the modes, and files that are the same twice."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from mnemoscope.core.errors import ConfigError, DataError
from mnemoscope.scenarios.builders import composed
from mnemoscope.scenarios.builders.composed import MODES, Cluster, mine_composed, write_composed
from tests.scenarios.locomo_conv_files import locomo, written

PER_CONVERSATION = [73, 36, 85, 144, 126, 95, 86, 140, 198, 86]


def sizes(clusters: list[Cluster]) -> list[int]:
    return list(Counter(cluster["sample_idx"] for cluster in clusters).values())


def nested(cluster: Cluster) -> bool:
    first, second = (set(fact["evidence"]) for fact in cluster["member_facts"])
    return first < second or second < first


@pytest.mark.data
def test_the_published_clusters_are_mined_exactly(benchmark_data: Path) -> None:
    clusters = mine_composed(benchmark_data, "release")
    assert sizes(clusters) == PER_CONVERSATION
    assert len(clusters) == 1069
    members = {cluster["cluster_id"]: cluster["member_q_idxs"] for cluster in clusters}
    assert [members[f"S0_C{n}"] for n in range(3)] == [[0, 32], [1, 15], [1, 51]]
    last = {c["sample_idx"]: c["member_q_idxs"] for c in clusters}
    assert (last[0], last[8], last[9]) == ([144, 146], [82, 131], [66, 136])
    assert sum(map(nested, clusters)) == 772
    unions = Counter(min(len(cluster["gold_dia_ids"]), 8) for cluster in clusters)
    assert [unions[n] for n in range(2, 9)] == [285, 211, 200, 136, 50, 48, 139]
    pairs = Counter(tuple(sorted(f["category"] for f in c["member_facts"])) for c in clusters)
    assert [pairs[p] for p in ((1, 4), (1, 2), (1, 1), (1, 3), (3, 4), (2, 4))] == [370, 221, 167, 89, 62, 50]
    assert [pairs[p] for p in ((4, 4), (2, 2), (2, 3), (3, 3))] == [37, 33, 29, 11]


@pytest.mark.data
def test_how_evidence_is_read_decides_the_number(benchmark_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    raw, repaired = (mine_composed(benchmark_data / "locomo10.json", mode) for mode in ("raw", "repaired"))
    assert (len(raw), sizes(raw)[0]) == (1065, 69)
    assert (len(repaired), sizes(repaired)[4], sizes(repaired)[8]) == (1081, 127, 209)

    def plain(texts: list[str]) -> list[str]:
        return [found for text in texts for found in re.findall(r"D\d+:\d+", text)]

    monkeypatch.setattr(composed, "_READERS", {**composed._READERS, "release": plain})
    by_regex = mine_composed(benchmark_data, "release")
    assert (len(by_regex), sizes(by_regex)[8]) == (1080, 209)


@pytest.mark.data
def test_mined_clusters_are_the_released_ones(benchmark_data: Path) -> None:
    mined = {cluster["cluster_id"]: cluster for cluster in mine_composed(benchmark_data, "release")}
    name = "locomo_conv_multimem_sample.json"
    released = json.loads((benchmark_data / name).read_text(encoding="utf-8"))
    assert len(released) == 48
    for cluster in released:
        mine: dict[str, Any] = dict(mined[cluster["cluster_id"]])
        assert list(mine) == list(cluster)
        for key in ("sample_idx", "member_q_idxs", "gold_dia_ids", "member_facts"):
            assert mine[key] == cluster[key]
        assert mine["composed_query"] is None


def test_the_rules_of_pairing(tmp_path: Path) -> None:
    rows = [
        {"question": "a?", "answer": 1, "evidence": ["D12:1", "D3:11"], "category": 4},
        {"question": "b?", "answer": "b", "evidence": ["D3:11; D12:1"], "category": 1},
        {"question": "c?", "answer": "c", "evidence": ["D3:11"], "category": 2},
        {"question": "d?", "answer": "d", "evidence": ["D5:1"], "category": 3},
        {"question": "e?", "answer": "e", "evidence": ["D3:11", "D5:1"], "category": 5},
        {"question": "f?", "answer": "f", "evidence": [], "category": 4},
        {"question": "g?", "answer": "g", "evidence": ["D3:011"], "category": 4},
    ]
    path = written(tmp_path, "locomo10.json", [{**locomo()[0], "qa": rows}])
    release = mine_composed(path)
    # equal sets are no pair; adversarial questions and those without evidence are no members
    assert [c["member_q_idxs"] for c in release] == [[0, 2], [1, 2]]
    assert [c["cluster_id"] for c in release] == ["S0_C0", "S0_C1"]
    assert release[0]["gold_dia_ids"] == ["D12:1", "D3:11"]
    assert release[1]["member_facts"][0]["evidence"] == ["D3:11", "D12:1"]
    assert release[0]["member_facts"][0]["answer"] == 1
    assert [c["member_q_idxs"] for c in mine_composed(tmp_path, "raw")] == [[0, 2]]
    assert [c["member_q_idxs"] for c in mine_composed(path, "repaired")] == [[0, 2], [0, 6], [1, 2], [1, 6]]


def test_two_writings_are_the_same_bytes(tmp_path: Path) -> None:
    path = written(tmp_path, "locomo10.json", locomo())
    for mode in MODES:
        first, second = tmp_path / f"a-{mode}.json", tmp_path / f"b-{mode}.json"
        assert write_composed(path, mode, first) == write_composed(path, mode, second)
        assert first.read_bytes() == second.read_bytes()
        assert json.loads(first.read_bytes()) == mine_composed(path, mode)
    assert write_composed(path, "release", tmp_path / "c.json") == {"S0": 1, "S1": 1}
    provenance = json.loads((tmp_path / "c.provenance.json").read_text(encoding="utf-8"))
    assert (provenance["mode"], provenance["clusters"], provenance["source"]) == ("release", 2, "locomo10.json")
    assert set(provenance["fields"]) == set(Cluster.__annotations__)


def test_bad_input_is_one_message_and_leaves_files_alone(tmp_path: Path) -> None:
    path = written(tmp_path, "locomo10.json", locomo())
    with pytest.raises(ConfigError, match="unknown mining mode 'exact'; it is release, raw, repaired"):
        mine_composed(path, "exact")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="cannot be written"):
        write_composed(path, "release", tmp_path / "absent" / "out.json")
    with pytest.raises(ConfigError, match="cannot be written"):
        write_composed(path, "release", path / "out.json")
    out = tmp_path / "out.json"
    out.write_text("mine", encoding="utf-8")
    samples = locomo()
    del samples[1]["qa"][0]["answer"]
    with pytest.raises(DataError, match=r"record talk-2 qa 0, field answer"):
        write_composed(written(tmp_path, "bad.json", samples), "release", out)
    assert out.read_text(encoding="utf-8") == "mine"
    assert not list(tmp_path.glob("*.part"))
