"""Hypothesis strategies that tests share."""

from __future__ import annotations

from hypothesis import strategies as st

texts = st.text(max_size=60)
"""Any text, surrogates excluded: emoji, CJK, right-to-left and control characters included."""
