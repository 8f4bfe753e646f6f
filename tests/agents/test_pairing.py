"""Pairs of memories and profiles that make no system are refused, with the names of those that do."""

from __future__ import annotations

import pytest

from mnemoscope.agents.pairing import pairs, refuse_unpaired
from mnemoscope.agents.profiles import open_profile, profile_names
from mnemoscope.core.errors import ConfigError
from mnemoscope.graphs.architecture import create_architecture

LOOP = "memgpt-style(read=agentic)"


def refused(*systems: str) -> str:
    split = [system.split("@") for system in systems]
    with pytest.raises(ConfigError) as raised:
        refuse_unpaired([(create_architecture(memory), open_profile(profile)) for memory, profile in split])
    return str(raised.value)


@pytest.mark.parametrize("profile", profile_names())
def test_a_loop_pairs_with_own_alone_and_any_other_memory_with_all_else(profile: str) -> None:
    opened = open_profile(profile)
    assert pairs(create_architecture(LOOP), opened) == (profile == "own")
    for other in ("bm25", "memgpt-style", "memgpt-style(mode=llm)"):
        assert pairs(create_architecture(other), opened) == (profile != "own")


def test_what_is_refused_and_what_is_left_of_a_cross_product_is_named() -> None:
    said = refused("bm25@baseline", "bm25@own", f"{LOOP}@baseline", f"{LOOP}@own")
    assert said.startswith(f"what does not pair: bm25@own, {LOOP}@baseline (")
    assert said.endswith(f"name the systems one by one: --system 'bm25@baseline' --system '{LOOP}@own'")


def test_a_loop_with_another_profile_is_told_its_own() -> None:
    assert refused(f"{LOOP}@slots", f"{LOOP}@all").endswith(f": --system '{LOOP}@own'")


def test_where_nothing_is_left_an_example_is_given() -> None:
    assert refused("bm25@own").endswith(f"choose another profile, or a memory such as {LOOP}")


def test_a_gate_in_front_leaves_a_loop_a_loop() -> None:
    gated = create_architecture("memgpt-style(admit=salience,read=agentic)")
    assert pairs(gated, open_profile("own")) and not pairs(gated, open_profile("baseline"))
