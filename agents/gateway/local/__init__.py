"""Models that run on this machine: their weights, and a server on loopback that lives as long as its users."""

from typing import TYPE_CHECKING

from mnemoscope.core.lazy import lazy_names

if __name__ != "mnemoscope.agents.gateway.local":
    raise ImportError("import mnemoscope.agents.gateway.local: a bare import loads a second copy")

if TYPE_CHECKING:
    from mnemoscope.agents.gateway.local.pulling import Pulled, pull
    from mnemoscope.agents.gateway.local.server import LocalServer, shared_servers
    from mnemoscope.agents.gateway.local.settings import LocalSettings, read_local
    from mnemoscope.agents.gateway.local.weights import PULLABLE, Pullable, Weights, find_weights

__all__ = [
    "PULLABLE",
    "LocalServer",
    "LocalSettings",
    "Pullable",
    "Pulled",
    "Weights",
    "find_weights",
    "pull",
    "read_local",
    "shared_servers",
]

__getattr__ = lazy_names(
    __name__,
    {
        **dict.fromkeys(("PULLABLE", "Pullable", "Weights", "find_weights"), "weights"),
        **dict.fromkeys(("Pulled", "pull"), "pulling"),
        **dict.fromkeys(("LocalServer", "shared_servers"), "server"),
        **dict.fromkeys(("LocalSettings", "read_local"), "settings"),
    },
)
