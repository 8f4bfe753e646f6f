"""Figures that benchmarks published: facts with their source, to stand beside a run's own figures, never among them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mnemoscope.core.lazy import lazy_names

if TYPE_CHECKING:
    from mnemoscope.evaluators.published.rows import EVIDENCE, PublishedRow, published_rows

__all__ = ["EVIDENCE", "PublishedRow", "published_rows"]

__getattr__ = lazy_names(__name__, {"EVIDENCE": "rows", "PublishedRow": "rows", "published_rows": "rows"})
