"""Texts to unit vectors: the built-in model, hashing, OpenAI-compatible endpoints, and the cache before them."""

from __future__ import annotations

from pathlib import Path

from mnemoscope.core.lazy import lazy_names
from mnemoscope.core.ports import Embedder
from mnemoscope.core.registry import Registry

__all__ = ["EMBEDDERS", "CachedEmbedder", "HashEmbedder", "MiniLmEmbedder", "OpenAIEmbedder", "open_embedder"]

__getattr__ = lazy_names(
    __name__,
    {"CachedEmbedder": "cache", "HashEmbedder": "hashing", "MiniLmEmbedder": "minilm", "OpenAIEmbedder": "openai"},
)

EMBEDDERS: Registry[Embedder] = Registry(
    "embedder",
    {
        "hash": f"{__name__}.hashing:HashEmbedder",
        "minilm": f"{__name__}.minilm:MiniLmEmbedder",
        "openai": f"{__name__}.openai:OpenAIEmbedder",
    },
)


def open_embedder(text: str, *, cache: Path | None) -> Embedder:
    """An embedder by its written name, with the on-disk cache before it.

    Args:
        text: `minilm`, `minilm(threads=2)`, `hash`, `hash(dim=64)`, `openai(model=…,base_url=…,dim=…)`, or a
            reference such as `my_file.py:MyEmbedder`.
        cache: Folder of the cache; None: `MNEMOSCOPE_CACHE`, or the user's cache folder. Where it cannot be written,
            vectors are kept in memory only.

    Returns:
        The embedder. One that is faster than a cache (`cacheable = False`, as `hash`) is returned as it is.

    Raises:
        UnknownNameError: No such embedder.
        ConfigError: Parameters that it does not take.
    """
    from mnemoscope.memory_backends.embedders.cache import CachedEmbedder, default_cache_dir

    inner = EMBEDDERS.create(text)
    if not getattr(inner, "cacheable", True):
        return inner
    return CachedEmbedder(inner, (cache or default_cache_dir()) / "embeddings-1.db")
