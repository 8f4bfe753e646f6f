"""The embedding cache: nothing computed twice, nothing wrong ever returned, nothing fatal."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

from mnemoscope.core.errors import ConfigError, EmbedderMismatchError, UnknownNameError
from mnemoscope.core.ports import Embedder, Vectors
from mnemoscope.memory_backends.embedders import EMBEDDERS, open_embedder
from mnemoscope.memory_backends.embedders.cache import CachedEmbedder, default_cache_dir
from mnemoscope.memory_backends.embedders.hashing import HashEmbedder
from mnemoscope.memory_backends.embedders.minilm import MiniLmEmbedder

Purpose = Literal["document", "query"]


class Counting(HashEmbedder):
    """A hash embedder that remembers what it was asked to compute."""

    def __init__(self, dim: int = 16) -> None:
        super().__init__(dim)
        self.asked: list[str] = []

    @property
    def id(self) -> str:
        return "counting"

    async def embed(self, texts: Sequence[str], purpose: Purpose) -> Vectors:
        self.asked.extend(texts)
        await asyncio.sleep(0)
        return await super().embed(texts, purpose)


def cached(folder: Path, dim: int = 16) -> tuple[CachedEmbedder, Counting]:
    inner = Counting(dim)
    return CachedEmbedder(inner, folder / "embeddings-1.db"), inner


async def plain(texts: Sequence[str], dim: int = 16) -> Vectors:
    return await HashEmbedder(dim).embed(texts, "document")


async def test_every_text_is_computed_once_and_found_by_the_next_process(tmp_path: Path) -> None:
    texts = ["tea", "", "tea", "蛋糕 🍰", "   ", "lone \ud83d surrogate"]
    first, inner = cached(tmp_path)
    rows = await first.embed(texts, "document")
    assert np.array_equal(rows, await plain(texts))
    assert not rows[[1, 4]].any()
    assert inner.asked == ["tea", "蛋糕 🍰", "lone \ud83d surrogate"]
    await first.embed(texts, "document")
    first.close()
    second, other = cached(tmp_path)
    assert np.array_equal(await second.embed(texts, "document"), rows)
    assert (other.asked, second.counts) == ([], (3, 0))
    await second.embed(["tea"], "query")
    assert other.asked == ["tea"]
    assert (second.dim, second.id) == (16, "counting")
    assert (await second.embed([], "document")).shape == (0, 16)
    second.close()


async def test_concurrent_calls_agree(tmp_path: Path) -> None:
    embedder, _ = cached(tmp_path)
    texts = [f"text {n}" for n in range(40)]
    results = await asyncio.gather(*(embedder.embed(texts[n : n + 20], "document") for n in range(20)))
    for n, rows in enumerate(results):
        assert np.array_equal(rows, await plain(texts[n : n + 20]))
    embedder.close()


WRITER = """
import asyncio, sys
from pathlib import Path
from mnemoscope.memory_backends.embedders.cache import CachedEmbedder
from mnemoscope.memory_backends.embedders.hashing import HashEmbedder
async def main():
    embedder = CachedEmbedder(HashEmbedder(16), Path(sys.argv[1]))
    for n in range(int(sys.argv[2]), int(sys.argv[3])):
        await embedder.embed([f"text {n}"], "document")
    print("done", flush=True)
    if sys.argv[4:]:
        sys.stdin.read()
asyncio.run(main())
"""


def test_two_processes_write_at_once_and_a_killed_one_loses_nothing_committed(tmp_path: Path) -> None:
    path = tmp_path / "embeddings-1.db"
    start = [sys.executable, "-c", WRITER, str(path)]
    pipe = subprocess.PIPE
    with (
        subprocess.Popen([*start, "0", "150"], stderr=pipe, text=True) as one,
        subprocess.Popen([*start, "100", "250", "stay"], stdin=pipe, stdout=pipe, text=True) as two,
    ):
        assert one.stderr is not None
        assert two.stdout is not None
        assert one.wait() == 0, one.stderr.read()
        assert one.stderr.read() == ""
        assert two.stdout.readline() == "done\n"
        two.kill()
    embedder = CachedEmbedder(HashEmbedder(16), path)
    texts = [f"text {n}" for n in range(250)]
    rows = asyncio.run(embedder.embed(texts, "document"))
    assert np.array_equal(rows, asyncio.run(plain(texts)))
    assert embedder.counts == (250, 0)
    embedder.close()


@pytest.mark.parametrize("damage", ["garbage", "cut", "pages"])
async def test_a_damaged_database_is_moved_aside_and_built_again(
    tmp_path: Path, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    texts = [f"text {n}" for n in range(300)]
    embedder, _ = cached(tmp_path)
    await embedder.embed(texts, "document")
    embedder.close()
    path = tmp_path / "embeddings-1.db"
    data = path.read_bytes()
    assert len(data) > 20_000
    spoilt = {
        "garbage": b"no database at all" * 100,
        "cut": data[: len(data) // 2],
        "pages": data[:4096] + b"\xff" * (len(data) - 4096),
    }[damage]
    path.write_bytes(spoilt)
    again, inner = cached(tmp_path)
    with caplog.at_level(logging.WARNING):
        assert np.array_equal(await again.embed(texts, "document"), await plain(texts))
    assert len(inner.asked) == 300
    assert "moved to" in caplog.text
    assert (tmp_path / "embeddings-1.db.damaged-1").read_bytes() == spoilt
    again.close()
    third, other = cached(tmp_path)
    await third.embed(texts, "document")
    assert other.asked == []
    third.close()


async def test_a_row_that_does_not_match_its_checksum_is_computed_again(tmp_path: Path) -> None:
    embedder, _ = cached(tmp_path)
    await embedder.embed(["tea", "cake", "milk"], "document")
    embedder.close()
    with sqlite3.connect(tmp_path / "embeddings-1.db") as db:
        keys = [key for (key,) in db.execute("SELECT key FROM vectors ORDER BY key")]
        blob, crc = db.execute("SELECT vector, crc FROM vectors WHERE key = ?", (keys[0],)).fetchone()
        db.execute("UPDATE vectors SET vector = ? WHERE key = ?", (blob[:-1] + bytes([blob[-1] ^ 1]), keys[0]))
        db.execute("UPDATE vectors SET vector = ?, crc = ? WHERE key = ?", (blob, crc, keys[1]))
    db.close()
    again, inner = cached(tmp_path)
    texts = ["tea", "cake", "milk"]
    assert np.array_equal(await again.embed(texts, "document"), await plain(texts))
    assert len(inner.asked) == 2
    again.close()
    third, other = cached(tmp_path)
    await third.embed(texts, "document")
    assert other.asked == []
    third.close()


async def test_a_place_that_cannot_be_written_is_logged_once_and_memory_serves(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    embedder, inner = cached(tmp_path / "file" / "cache")
    for _ in range(3):
        assert np.array_equal(await embedder.embed(["tea", "cake"], "document"), await plain(["tea", "cake"]))
    assert inner.asked == ["tea", "cake"]
    assert caplog.text.count("cannot be used") == 1
    assert embedder.dim == 16


async def test_a_read_only_database_is_logged_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = Path("/proc/mnemoscope-test/embeddings-1.db")
    embedder = CachedEmbedder(HashEmbedder(8), path)
    assert (await embedder.embed(["tea"], "document")).shape == (1, 8)
    await embedder.embed(["cake"], "document")
    assert caplog.text.count("cannot be used") == 1


async def test_an_embedder_that_changes_its_dimension_is_an_error(tmp_path: Path) -> None:
    first, _ = cached(tmp_path, 16)
    await first.embed(["tea"], "document")
    first.close()
    second, _ = cached(tmp_path, 32)
    assert second.dim == 16
    with pytest.raises(EmbedderMismatchError, match="16 dimensions"):
        await second.embed(["cake"], "document")
    second.close()


async def test_six_thousand_warm_texts_take_well_under_two_seconds(tmp_path: Path) -> None:
    texts = [f"the text number {n}" for n in range(6000)]
    embedder, _ = cached(tmp_path)
    await embedder.embed(texts, "document")
    embedder.close()
    warm, inner = cached(tmp_path)
    start = time.process_time()
    await warm.embed(texts, "document")
    assert time.process_time() - start < 20.0
    assert inner.asked == []
    warm.close()


def test_embedders_are_opened_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert EMBEDDERS.names() == ("hash", "minilm", "openai")
    hashed: Embedder = open_embedder("hash(dim=64)", cache=tmp_path)
    assert (hashed.id, hashed.dim) == ("hash-1@64", 64)
    assert isinstance(hashed, HashEmbedder)
    mini = open_embedder("minilm(threads=2)", cache=tmp_path)
    assert isinstance(mini, CachedEmbedder)
    assert isinstance(mini.inner, MiniLmEmbedder)
    assert mini.id == "minilm-l6-v2-int8@256"
    assert not list(tmp_path.iterdir())
    with pytest.raises(UnknownNameError, match="minilm"):
        open_embedder("minilmm", cache=tmp_path)
    for bad in (
        "hash(dim=0)",
        "hash(dim=x)",
        "minilm(threads=0)",
        "minilm(size=3)",
        "openai",
        "openai(model=m,base_url=x)",
    ):
        with pytest.raises(ConfigError):
            open_embedder(bad, cache=tmp_path)
    monkeypatch.setenv("MNEMOSCOPE_CACHE", str(tmp_path / "here"))
    assert default_cache_dir() == tmp_path / "here"
    monkeypatch.delenv("MNEMOSCOPE_CACHE")
    assert default_cache_dir().name == "mnemoscope"
