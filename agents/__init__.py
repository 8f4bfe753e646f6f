"""Who talks: the gateway to language models, the writers, assistant profiles."""

from typing import TYPE_CHECKING

if __name__ != "mnemoscope.agents":
    raise ImportError("import mnemoscope.agents, not agents: a bare import loads a second copy")

from mnemoscope.core.lazy import lazy_names

if TYPE_CHECKING:
    from mnemoscope.agents.clock import SystemClock
    from mnemoscope.agents.gateway.model import GatewayModel
    from mnemoscope.agents.gateway.opening import open_model
    from mnemoscope.agents.ids import ContentIds
    from mnemoscope.agents.profiles import PROFILES, Profile, open_profile, profile_names
    from mnemoscope.agents.realisation import RealisationDetector
    from mnemoscope.agents.writers.extractive import ExtractiveWriter
    from mnemoscope.agents.writers.model import ModelWriter
    from mnemoscope.agents.writers.opening import open_writer

__all__ = [
    "PROFILES",
    "ContentIds",
    "ExtractiveWriter",
    "GatewayModel",
    "ModelWriter",
    "Profile",
    "RealisationDetector",
    "SystemClock",
    "open_model",
    "open_profile",
    "open_writer",
    "profile_names",
]

__getattr__ = lazy_names(
    __name__,
    {
        **dict.fromkeys(("PROFILES", "Profile", "open_profile", "profile_names"), "profiles"),
        "ContentIds": "ids",
        "ExtractiveWriter": "writers.extractive",
        "GatewayModel": "gateway.model",
        "ModelWriter": "writers.model",
        "RealisationDetector": "realisation",
        "SystemClock": "clock",
        "open_model": "gateway.opening",
        "open_writer": "writers.opening",
    },
)
