"""Memory moments: cues in two languages, likeness without cues, scores against labels, and what is built from them."""

from __future__ import annotations

from pathlib import Path

import pytest

from mnemoscope.core.errors import ConfigError
from mnemoscope.memory_backends.embedders import open_embedder
from mnemoscope.scenarios.builders.built import built_records
from mnemoscope.scenarios.builders.cues import find_cue, without_cue
from mnemoscope.scenarios.builders.journal import Journal
from mnemoscope.scenarios.builders.moments import build_moments, find_moments, score_moments
from mnemoscope.scenarios.opening import open_source
from tests.scenarios.builder_tools import made


@pytest.mark.parametrize(
    "text",
    [
        "As I wrote yesterday, I went to the seminar.",
        "I went there yesterday as I said before.",
        "I am off to that ceramics fair I told you about.",
        "Do you remember my cat?",
        "Remember when we got lost?",
        "You’ve mentioned a book.",
        "Last time you recommended tea.",
        "The bakery I mentioned has closed.",
        "What did I say about Ghent?",
        "I think I told you this earlier.",
        "我之前跟你说过那只猫。",
        "你还记得我的生日吗？",
        "上次我们聊过这个。",
        "就像我说的，天冷了。",
        "你上次建议我早睡。",
    ],
)
def test_explicit_cues(text: str) -> None:
    cue = find_cue(text)
    assert cue is not None
    assert cue in text
    assert find_cue(without_cue(text)) is None


@pytest.mark.parametrize(
    "text",
    [
        "I told my boss the truth.",
        "She remembered the milk.",
        "It was as good as before.",
        "You are kind.",
        "Remember to breathe.",
        "我今天说了很多话。",
        "记住，早点睡。",
        "",
    ],
)
def test_no_cue(text: str) -> None:
    assert find_cue(text) is None


async def test_implicit_moments_lie_in_later_sessions() -> None:
    moments = {m.turn_id: m for m in await find_moments(made())}
    assert moments["D3:1"].kind == "implicit"
    assert moments["D3:1"].sources[0] == "D1:1"
    assert moments["D4:1"].sources[0] == "D2:1"
    assert "D1:3" not in moments
    assert moments["D3:1"].cue is None
    assert len(await find_moments(made(), threshold=0.9)) < len(moments)
    with pytest.raises(ConfigError, match="the threshold is 2"):
        await find_moments(made(), threshold=2)


async def test_assistants_have_no_moments() -> None:
    assert await find_moments(made(role="assistant")) == ()


async def test_an_embedder_takes_the_place_of_words() -> None:
    moments = {m.turn_id for m in await find_moments(made(), embedder=open_embedder("hash", cache=None), threshold=0.4)}
    assert "D3:1" in moments


async def test_built_moments_are_native_scenarios(tmp_path: Path) -> None:
    journal = tmp_path / "j.jsonl"
    built = await build_moments([made()], journal=Journal(journal))
    (scenario,) = built_records(built)
    assert built.counts["implicit moments"] == len(scenario.probes)
    probe = next(p for p in scenario.probes if p.probe_id.endswith("/at-D3:1"))
    assert probe.text == "Guess what, the goats ate my quince tree behind the stable in Ghent."
    gold = scenario.gold_by_probe[probe.probe_id]
    assert gold.evidence[0] == "D1:1"
    assert gold.strata == ("moment", "implicit")
    origins = built.scenarios[0].origins
    assert origins["probes.at-D3:1"].startswith("heuristic: likeness")
    assert await build_moments([made()], journal=Journal(journal)) == built
    with pytest.raises(ConfigError, match="no scenarios"):
        await build_moments([])


@pytest.mark.data
async def test_memuse_labels(benchmark_data: Path) -> None:
    names = [benchmark_data / f"memuse_{kind}_sample.jsonl" for kind in ("instances", "negatives")]
    if not names[0].is_file():
        pytest.skip("the folder has no MemUse samples")
    scenarios = list(open_source(f"memuse:{names[0]},negatives={names[1]}"))
    scores = await score_moments(scenarios)
    assert (scores.precision, scores.recall) == (1.0, 1.0)
    assert scores.lines() == ["precision 1.000, recall 1.000", "negative missed: 1, positive explicit: 3"]
    explicit = [m.turn_id for m in await find_moments(scenarios[2]) if m.kind == "explicit"]
    assert explicit == ["s4t1", "s7t1"]
