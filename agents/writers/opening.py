"""Which writer replies: a model where there is one, otherwise the offline writer."""

from __future__ import annotations

from mnemoscope.agents.writers.extractive import ExtractiveWriter
from mnemoscope.agents.writers.model import ModelWriter
from mnemoscope.core.ports import LanguageModel, Writer

__all__ = ["open_writer"]


def open_writer(model: LanguageModel | None) -> Writer:
    """The writer for a reply model; None: the deterministic offline writer."""
    return ModelWriter(model) if model is not None else ExtractiveWriter()
