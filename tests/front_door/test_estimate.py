"""`run --estimate`: calls, tokens, money and time by system, and nothing done."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mnemoscope.cli import main
from mnemoscope.config import RunConfig
from mnemoscope.core.errors import ConfigError
from mnemoscope.core.usage import Usage
from mnemoscope.engine import NoProgress, RunOutcome
from mnemoscope.engine.estimating import RunEstimate, estimate
from mnemoscope.engine.prices import Price, Prices, listed_prices, read_prices
from mnemoscope.engine.rates import MeasuredTimes, measured_times
from mnemoscope.runfile import open_run

Configure = Callable[..., RunConfig]
DoRun = Callable[..., RunOutcome]
ENDPOINT = "openai(model=tiny,base_url=http://127.0.0.1:9/v1)"


def projected(config: RunConfig, prices: Prices | None = None, times: MeasuredTimes | None = None) -> RunEstimate:
    return estimate(config, NoProgress(), prices or Prices(), times or MeasuredTimes())


def test_without_a_model_nothing_is_asked_and_the_counts_are_those_of_the_run(config: Configure, do_run: DoRun) -> None:
    settings = config(scenarios=("demo",), architectures=("dense", "bm25"), limit=6)
    found = projected(settings)
    assert settings.out is not None and not settings.out.exists()
    assert (found.total.usage.calls, found.total.usd) == (0, 0.0)
    do_run(settings)
    with open_run(settings.out) as run:
        lanes = run.lanes()
        for one in found.systems:
            mine = [lane for lane in lanes if lane.memory == one.memory]
            assert one.turns == sum(lane.written for lane in mine)
            assert one.ingest.usage.embedded_texts == sum(lane.usage.embedded_texts for lane in mine)
            cells = [cell for cell in run.cells() if cell.key.system == one.system]
            assert one.cells == len(cells)
            assert one.read.usage.embedded_texts == sum(cell.usage.embedded_texts for cell in cells)


def test_ingest_is_counted_once_for_systems_that_share_a_memory(config: Configure) -> None:
    settings = config(
        scenarios=("demo",),
        architectures=("summary(mode=llm)",),
        profiles=("baseline", "slots"),
        model=ENDPOINT,
        limit=6,
    )
    found = projected(settings)
    first, second = found.systems
    assert (first.shares_ingest_with, second.shares_ingest_with) == (None, first.system)
    assert first.ingest.usage == second.ingest.usage and first.ingest.usage.calls_by_phase.keys() == {"summarise"}
    assert found.total.usage.calls == first.ingest.usage.calls + 12
    assert (first.more_drafts, second.more_drafts) == (0, 2)
    alone = projected(settings.model_copy(update={"write_probes": True}))
    assert [one.shares_ingest_with for one in alone.systems] == [None, None]


def test_a_read_that_asks_a_model_is_counted_per_reply(config: Configure) -> None:
    settings = config(scenarios=("demo",), systems=("compressed(mode=llm)@baseline",), memory_model=ENDPOINT, limit=5)
    (one,) = projected(settings).systems
    assert one.read.usage.calls_by_phase == {"summarise": 5}
    assert one.reply.usage.calls == 0, "the offline writer replies"
    assert one.read.usd is None and one.reply.usd == 0.0


def test_more_memory_makes_a_longer_prompt_and_a_token_budget_bounds_it(config: Configure) -> None:
    architectures = ("none", "random", "dense", "full-context")
    sent = []
    for tokens in (None, 50):
        settings = config(
            scenarios=("demo",), architectures=architectures, model=ENDPOINT, limit=6, memory_tokens=tokens
        )
        sent.append([one.reply.usage.prompt_tokens for one in projected(settings).systems])
    free, bounded = sent
    assert free == sorted(free) and len(set(free)) == 4
    assert bounded[0] == free[0] and max(bounded) - bounded[0] == 6 * 2 * 50


def test_pools_are_what_their_probes_bring(config: Configure, make_stratmem: Callable[..., Path]) -> None:
    settings = config(scenarios=(f"stratmem:{make_stratmem()}",), architectures=("none", "pool"), model=ENDPOINT)
    nothing, pool = projected(settings).systems
    assert pool.reply.usage.prompt_tokens > nothing.reply.usage.prompt_tokens


def test_mirrored_memories_cost_twice(config: Configure, make_locomo: Callable[..., Path]) -> None:
    spec = f"locomo:{make_locomo()}"
    one, two = (
        projected(config(scenarios=(spec,), architectures=("rag",), speakers=how))
        .systems[0]
        .ingest.usage.embedded_texts
        for how in ("speaker-b-as-assistant", "mirrored")
    )
    assert two >= 1.5 * one


@pytest.mark.parametrize(
    ("model", "usd"),
    [
        ("tiny", 2.3),
        ("openai(model=tiny,base_url=http://127.0.0.1:9/v1)", 2.3),
        ("local:smollm2", 0.0),
        ("other", None),
        (None, None),
    ],
)
def test_an_unknown_price_is_unknown_and_never_nothing(model: str | None, usd: float | None) -> None:
    prices = read_prices(["tiny=0.5/9"])
    assert prices.by_model == {"tiny": Price(0.5, 9.0)}
    assert prices.usd(Usage({"respond": 3}, 1_000_000, 200_000), model) == (None if usd is None else pytest.approx(usd))
    assert prices.usd(Usage(embedded_texts=9), model) == 0.0


@pytest.mark.parametrize("text", ["tiny", "tiny=1", "tiny=1/x", "=1/2", "tiny=-1/2"])
def test_a_price_of_another_form_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="MODEL=PROMPT/REPLY"):
        read_prices([text])


@pytest.mark.parametrize(
    ("model", "usd"),
    [
        ("gpt-4o-mini", 0.15 + 0.6),
        ("openai(model=gpt-4o-mini,temperature=0)", 0.15 + 0.6),
        ("openai(model=gpt-4o-mini,base_url=http://127.0.0.1:9/v1)", None),
        ("openai(model=claude-haiku-4-5,base_url=https://api.anthropic.com/v1)", 6.0),
        ("claude-haiku-4-5", None),
        ("gpt-4o-mini-of-mine", None),
    ],
)
def test_the_dated_table_knows_a_hosted_model_at_its_providers_own_address_only(
    model: str, usd: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    used = Usage({"respond": 1}, 1_000_000, 1_000_000)
    assert read_prices([]).usd(used, model) == (None if usd is None else pytest.approx(usd))
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    assert read_prices([]).usd(used, "gpt-4o-mini") is None


def test_a_given_price_wins_over_the_table_and_embedding_has_one_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    prices = read_prices(["gpt-4o-mini=1/2", "mine=0.5/0"])
    assert prices.usd(Usage({"respond": 1}, 1_000_000, 1_000_000), "gpt-4o-mini") == pytest.approx(3.0)
    assert prices.listed("gpt-4o-mini") is None
    assert prices.embedding_usd(1_000_000, "openai(text-embedding-3-small)") == pytest.approx(0.02)
    assert prices.embedding_usd(1_000_000, "openai(mine)") == pytest.approx(0.5)
    assert prices.embedding_usd(1_000_000, "openai(other)") is None
    assert prices.embedding_usd(1_000_000, "minilm") == 0.0


def test_every_row_of_the_table_says_of_which_day_it_is() -> None:
    rows = listed_prices()
    assert len({(row.model, row.hosts) for row in rows}) == len(rows) > 30
    assert all(row.price.prompt > 0 and row.hosts and row.as_of.year >= 2026 for row in rows)


def test_judging_is_counted_question_by_question_and_vote_by_vote(config: Configure) -> None:
    def judge_part(judge: str, **more: object) -> Usage:
        settings = config(scenarios=("demo",), architectures=("bm25",), model=ENDPOINT, judge=judge, limit=8, **more)
        return projected(settings).systems[0].judge.usage

    once, thrice = judge_part("llm(votes=1)"), judge_part("llm(votes=3)")
    assert thrice.calls == 3 * once.calls > 0 and thrice.prompt_tokens == pytest.approx(
        3 * once.prompt_tokens, rel=0.01
    )
    assert judge_part("llm(votes=1)", replicates=2).calls == 2 * once.calls
    assert judge_part("panel(offline+llm(votes=1))").calls > 0, "a member that asks a model is counted"
    assert judge_part("offline") == Usage()


def test_judging_by_a_model_that_nobody_named_is_refused(config: Configure) -> None:
    with pytest.raises(ConfigError, match="judge llm needs a model"):
        projected(config(scenarios=("demo",), architectures=("bm25",), judge="llm", limit=4))


async def test_an_estimate_can_be_made_where_a_loop_runs(config: Configure) -> None:
    settings = config(scenarios=("demo",), architectures=("bm25",), model=ENDPOINT, judge="llm", limit=4)
    assert projected(settings).systems[0].judge.usage.calls > 0


def test_times_are_those_of_an_earlier_run_and_else_unknown(config: Configure, do_run: DoRun) -> None:
    small = config(scenarios=("demo",), architectures=("bm25", "recent"), limit=3)
    do_run(small)
    times = measured_times(small.out)
    whole = config(scenarios=("demo",), architectures=("bm25", "dense"))
    known, unknown = projected(whole, times=times).systems
    assert known.ingest.seconds == pytest.approx(known.turns * times.ms_per_turn["bm25"] / 1e3)
    assert known.reply.seconds == pytest.approx(known.cells * times.ms_per_cell["bm25@baseline"] / 1e3)
    assert (unknown.ingest.seconds, unknown.reply.seconds) == (None, None)
    assert projected(whole, times=times).total.seconds is None


def test_the_command_prints_a_table_or_json_and_writes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    asked: list[Any] = ["run", "--estimate", "--scenario", "demo", "--model", ENDPOINT, "--limit", "4"]
    asked += ["--system", "summary(mode=llm)@slots", "--price", "tiny=1/2", "--judge", "llm"]
    assert main([*asked, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    (one,) = document["systems"]
    assert one["reply"]["calls"] == 4 and one["ingest"]["calls"] > 0 and one["more_drafts_per_reply_at_most"] == 2
    sent, written = document["total"]["prompt_tokens"], document["total"]["completion_tokens"]
    assert document["total"]["usd"] == pytest.approx((sent + 2 * written) / 1e6)
    assert document["total"]["seconds"] is None and any("asks again" in text for text in document["notes"])
    assert one["judge"]["calls_by_phase"].keys() == {"judge"} and one["judge"]["prompt_tokens"] > 0
    assert main(asked) == 0
    said = capsys.readouterr()
    assert max(map(len, said.out.splitlines())) <= 80 and "total" in said.out and "not in the figures" in said.err
    assert "?" not in said.out and "--times RUN.db" in said.out
    assert list(tmp_path.iterdir()) == []


def test_options_of_an_estimate_belong_together(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(tmp_path / "run.db")
    assert main(["run", "--scenario", "demo", "--price", "tiny=1/2", "--out", out]) == 2
    assert "add --estimate" in capsys.readouterr().err
    assert main(["run", "--scenario", "demo", "--estimate", "--resume", "--out", out]) == 2
    assert "leave out --resume" in capsys.readouterr().err
    assert main(["run", "--scenario", "demo", "--estimate", "--times", out]) == 2
    assert "run.db" in capsys.readouterr().err
