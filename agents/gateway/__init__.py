"""The only way to a language model: cache, retries, rate limit, usage and redaction around one vendor client."""

from typing import TYPE_CHECKING

from mnemoscope.core.lazy import lazy_names

if __name__ != "mnemoscope.agents.gateway":
    raise ImportError("import mnemoscope.agents.gateway, not agents.gateway: a bare import loads a second copy")

if TYPE_CHECKING:
    from mnemoscope.agents.gateway.cache import ReplyCache
    from mnemoscope.agents.gateway.model import GatewayModel
    from mnemoscope.agents.gateway.opening import open_model
    from mnemoscope.agents.gateway.settings import EndpointSettings, read_endpoint
    from mnemoscope.agents.gateway.tracing import tracing_off

__all__ = ["EndpointSettings", "GatewayModel", "ReplyCache", "open_model", "read_endpoint", "tracing_off"]

__getattr__ = lazy_names(
    __name__,
    {
        "EndpointSettings": "settings",
        "GatewayModel": "model",
        "ReplyCache": "cache",
        "open_model": "opening",
        "read_endpoint": "settings",
        "tracing_off": "tracing",
    },
)
