"""Who writes the reply: the offline writer, or a model behind the gateway."""

from typing import TYPE_CHECKING

from mnemoscope.core.lazy import lazy_names

if __name__ != "mnemoscope.agents.writers":
    raise ImportError("import mnemoscope.agents.writers, not agents.writers: a bare import loads a second copy")

if TYPE_CHECKING:
    from mnemoscope.agents.writers.extractive import ExtractiveWriter
    from mnemoscope.agents.writers.model import ModelWriter
    from mnemoscope.agents.writers.opening import open_writer

__all__ = ["ExtractiveWriter", "ModelWriter", "open_writer"]

__getattr__ = lazy_names(__name__, {"ExtractiveWriter": "extractive", "ModelWriter": "model", "open_writer": "opening"})
