"""Every bundled architecture passes the whole conformance kit; only rows that cannot concern it are left out."""

from __future__ import annotations

import pytest

from mnemoscope.graphs.architecture import create_architecture
from mnemoscope.graphs.conformance import run_conformance
from mnemoscope.graphs.conformance.pytest_adapter import assert_row, conformance_rows

NO_MODEL, NO_EMBEDDER = {"C10"}, {"C10", "C11", "C15"}
DROPS = {"C01", "C02", "C03", "C04", "C05", "C06", "C24"}
EXPECTED = {
    "none": NO_EMBEDDER | DROPS,
    "pool": NO_EMBEDDER | DROPS,
    "oracle": NO_EMBEDDER,
    "recent": NO_EMBEDDER,
    "full-context": NO_EMBEDDER,
    "bm25": NO_EMBEDDER,
    "bm25(window=3,overlap=1)": NO_EMBEDDER,
    "dense": NO_MODEL,
    "dense(window=4,overlap=2)": NO_MODEL,
    "hybrid": NO_MODEL,
    "hybrid(window=3,overlap=1,depth=5)": NO_MODEL,
    "oracle(around=5)": NO_EMBEDDER,
    "full-context(last_chars=95000)": NO_EMBEDDER,
    "random": NO_EMBEDDER,
    "random(avoid=gold)": NO_EMBEDDER | {"C01", "C02", "C03", "C04", "C05", "C24"},
    "compressed": NO_MODEL,
    "compressed(by=bm25)": NO_EMBEDDER,
    "summary": NO_EMBEDDER | {"C24"},
    "lc": NO_EMBEDDER,
    "lc(share=25,summary=true)": NO_EMBEDDER | {"C24"},
    "rag": NO_MODEL,
    "rag(share=25,summary=true)": NO_MODEL | {"C24"},
    "summary(mode=llm)": {"C15", "C24"},
    "rag(share=25,summary=llm)": {"C24"},
    "comedy-style": NO_EMBEDDER | {"C06"},
    "comedy-style(recompress=incremental)": NO_EMBEDDER | {"C06"},
    "comedy-style(mode=llm)": {"C06", "C15"},
    "comedy-style(recompress=incremental,mode=llm)": {"C06", "C15"},
    "bm25(window=3,overlap=1,admit=salience(0))": NO_EMBEDDER | {"C02", "C06"},
    "dense(admit=salience)": NO_MODEL | {"C02", "C06"},
    "dense(admit=llm)": {"C02", "C06"},
    "comedy-style(admit=salience)": NO_EMBEDDER | {"C02", "C06"},
    "mem0-v1-style(mode=llm,admit=llm)": {"C02", "C06"},
    "a-mem-style": NO_MODEL,
    "a-mem-style(evolve=false)": NO_MODEL,
    "a-mem-style(mode=llm)": set(),
    "a-mem-style(evolve=false,mode=llm)": set(),
    "memoryos-style": NO_MODEL,
    "memoryos-style(stm=1)": NO_MODEL,
    "memoryos-style(stm=3,batch=3,compat=true)": NO_MODEL,
    "memoryos-style(mode=llm)": NO_MODEL,  # so few turns stay in the queue, and no model is asked
    "memoryos-style(stm=1,mode=llm)": set(),
    "memora-style": NO_MODEL,
    "memora-style(mode=llm)": set(),
    "memora-style(read=policy)": NO_MODEL,
    "memora-style(read=policy,mode=llm)": set(),
    "memora-style(episodic=false)": NO_MODEL,
    "memora-style(episodic=false,mode=llm)": set(),
    "anchormem-style": NO_MODEL,
    "anchormem-style(mode=llm)": set(),
    "anchormem-style(threshold=0.85,neighbours=3)": NO_MODEL,
    "anchormem-style(compat=true,mode=llm)": set(),
    "mem0": NO_MODEL,
    "mem0(infer=true)": set(),
    "mem0(infer=true,add_per=turn)": set(),
    "mem0(infer=true,add_per=session)": set(),
    "mem0-v1-style": NO_MODEL,
    "mem0-v1-style(mode=llm)": set(),
    "mem0-v1-style(per_fact=true,mode=llm)": set(),
    "mem0-v2-style": NO_MODEL,
    "mem0-v2-style(mode=llm)": set(),
    "mem0-v2-style(add_per=turn,mode=llm)": set(),
    "mem0-v2-style(add_per=session,mode=llm)": set(),
    "memgpt-style": NO_MODEL,
    "memgpt-style(core=200,window=1024)": NO_MODEL,
    "memgpt-style(read=agentic)": NO_MODEL,
    "memgpt-style(mode=llm)": set(),
    "memgpt-style(mode=llm,read=agentic)": set(),
}


@pytest.mark.parametrize("name", EXPECTED)
def test_architecture_conforms(name: str) -> None:
    report = run_conformance(create_architecture(name).backend, size=80)
    assert report.passed, str(report)
    assert len(report.rows) == 26
    assert {row.id for row in report.rows if row.status == "not_applicable"} == EXPECTED[name]


def test_atire_finds_nothing_by_words_that_every_turn_has() -> None:
    report = run_conformance(create_architecture("bm25(method=atire)").backend, rows=["C01", "C02", "C05"])
    assert [row.status for row in report.rows] == ["failed", "failed", "passed"]
    assert "does not find 't0'" in report.rows[0].detail


@conformance_rows
def test_rows_run_one_by_one_under_pytest(row: str) -> None:
    assert_row(create_architecture("bm25(window=2)").backend, row, size=40)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["recent", "full-context", "bm25(window=3,overlap=1)", "hybrid"])
def test_five_thousand_turns(name: str) -> None:
    report = run_conformance(create_architecture(name).backend, size=5_000, rows=["C22"])
    assert report.passed, str(report)


async def test_the_kit_runs_inside_a_running_loop() -> None:
    assert run_conformance(create_architecture("none").backend, rows=["C18"]).passed
