"""Keeps third-party packages quiet: no telemetry, no tracing, no model hub. Call before they are imported."""

from __future__ import annotations

import os

__all__ = ["QUIET", "stay_offline"]

QUIET = {
    "ANONYMIZED_TELEMETRY": "false",
    "DISABLE_TELEMETRY": "true",
    "DO_NOT_TRACK": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_OFFLINE": "1",
    "LANGCHAIN_TRACING_V2": "false",
    "LANGGRAPH_CLI_NO_ANALYTICS": "1",
    "LANGSMITH_TRACING": "false",
    "MEM0_TELEMETRY": "false",
    "POSTHOG_DISABLED": "true",
    "TOKENIZERS_PARALLELISM": "false",
    "TRANSFORMERS_OFFLINE": "1",
}
"""Settings that stop a package from calling home; they hold for this process and its workers."""


def stay_offline() -> None:
    """Set `QUIET` in this process's environment, over whatever was there: a run sends nothing unasked."""
    os.environ.update(QUIET)
