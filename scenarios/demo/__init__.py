"""Six small scenarios of our own: four English, two Chinese, one for each thing that memory in dialogue is about."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from mnemoscope.core.errors import ConfigError
from mnemoscope.scenarios.loaders.native import NativeSource
from mnemoscope.scenarios.records import Card
from mnemoscope.scenarios.source import LoadRequest

__all__ = ["DEMO_FILES", "open_demo"]

_FOLDER = Path(__file__).resolve().parent

DEMO_FILES = tuple(
    _FOLDER / f"{name}.yaml"
    for name in ("preferences_zh", "trajectory_en", "recollection_en", "plan_zh", "pool_en", "moments_en")
)
"""The bundled files, in the order in which they are replayed."""


def open_demo(request: LoadRequest) -> NativeSource:
    """Open the bundled scenarios: changing preferences, a trajectory, a wrong recollection, a wrong plan, a pool of
    memories, and proactive moments.

    Args:
        request: Captions and the seed of pools count; there is no path to give.

    Raises:
        ConfigError: A path was given.

    Example:
        >>> [scenario.scenario_id for scenario in open_demo(LoadRequest("demo"))][:2]
        ['preferences-zh', 'trajectory-en']
    """
    if request.path is not None:
        raise ConfigError(f"demo takes no path; to load {request.path} write native:{request.path}")
    card = Card(
        benchmark="demo",
        source="bundled with mnemoscope",
        licence="Apache-2.0",
        annotation="by the authors of mnemoscope",
        strata_source="the scenario files",
    )
    return NativeSource(DEMO_FILES, card, replace(request, encoding="utf-8", lenient=False))
