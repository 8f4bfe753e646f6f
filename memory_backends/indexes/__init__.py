"""Indexes over stored items: exact and served vectors, BM25."""

from mnemoscope.core.lazy import lazy_names

__all__ = ["Bm25Index", "ExactVectorIndex", "QdrantVectorIndex"]

__getattr__ = lazy_names(__name__, {"Bm25Index": "lexical", "ExactVectorIndex": "exact", "QdrantVectorIndex": "qdrant"})
