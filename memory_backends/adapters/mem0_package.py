"""The `mem0ai` package, imported on first use in a way that keeps it on this machine.

Left alone it reports to its maker, makes a folder in the home directory, downloads a language model where spaCy is
installed, and tells its extractor that every conversation takes place today.
"""

from __future__ import annotations

import json
import os
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

__all__ = ["as_mem0_reads", "load_mem0", "observed_on"]

_OBSERVED: ContextVar[str | None] = ContextVar("mnemoscope_mem0_observed", default=None)
_LOCK = threading.Lock()
_LOADED: list[ModuleType] = []


def load_mem0() -> ModuleType:
    """The module `mem0.memory.main`; imported once per process, which takes seconds.

    Telemetry is off, also where somebody imported the package before; lemmas and entities, for which the package would
    have spaCy fetch a model, are off, so that a row does not depend on what else is installed. The environment is left
    as it was, and the folder that the import needs is gone afterwards.
    """
    with _LOCK:
        if not _LOADED:
            _LOADED.append(_imported())
        return _LOADED[0]


@contextmanager
def observed_on(day: str) -> Iterator[None]:
    """What the extractor is told of the date inside the block, by this thread or task, instead of today."""
    token = _OBSERVED.set(day)
    try:
        yield
    finally:
        _OBSERVED.reset(token)


def as_mem0_reads(reply: str) -> object:
    """The JSON value that the package finds in a model's reply; None where it finds none, which it does not report."""
    main = load_mem0()
    text = main.remove_code_blocks(reply)
    for candidate in (text, main.extract_json(text)):
        try:
            value: object = json.loads(candidate, strict=False)
        except (ValueError, RecursionError):
            continue
        return value
    return None


def _imported() -> ModuleType:
    with TemporaryDirectory(prefix="mnemoscope-mem0-") as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with _environment(MEM0_TELEMETRY="False", MEM0_DIR=folder):
            main = import_module("mem0.memory.main")
            telemetry, models = import_module("mem0.memory.telemetry"), import_module("mem0.utils.spacy_models")
    off: dict[ModuleType, tuple[tuple[str, bool], ...]] = {
        main: (("MEM0_TELEMETRY", False),),
        telemetry: (("MEM0_TELEMETRY", False),),
        models: (("_load_failed_full", True), ("_load_failed_lemma", True)),
    }
    for module, switches in off.items():
        for name, value in switches:
            setattr(module, name, value)
    main.generate_additive_extraction_prompt = _dated(main.generate_additive_extraction_prompt)  # type: ignore[attr-defined]
    return main


def _dated(build: Callable[..., str]) -> Callable[..., str]:
    def prompt(*args: Any, **kwargs: Any) -> str:
        day = _OBSERVED.get()
        return build(*args, **kwargs) if day is None else build(*args, **kwargs, current_date=day, timestamp=day)

    return prompt


@contextmanager
def _environment(**values: str) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
