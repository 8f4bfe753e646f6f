"""What an assistant graph returns: the visible reply, apart from everything that stays hidden."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from mnemoscope.core.usage import Usage
from mnemoscope.graphs.plan import ResponsePlan
from mnemoscope.memory_backends.record import Query, Retrieval

__all__ = ["HiddenTrace", "Reply"]


@dataclass(frozen=True, slots=True)
class HiddenTrace:
    """What led to the reply and is never judged: queries asked, drafts, reasoning."""

    queries: tuple[Query, ...] = ()
    drafts: tuple[str, ...] = ()
    """Every draft in order; the last one is the visible text unless a fallback sentence was added."""
    reasoning: str = ""
    fallback: bool = False
    """A plain sentence was appended for a must slot that no draft realised."""


@dataclass(frozen=True, slots=True)
class Reply:
    """One cell's outcome.

    `status` is `error` only where the infrastructure failed; that is never a wrong answer. It is `excluded` where the
    system was not asked, because what it is for cannot be done on this probe.
    """

    visible_text: str
    hidden_trace: HiddenTrace
    retrieval: Retrieval | None
    plan: ResponsePlan | None
    realised: Mapping[str, bool] = field(default_factory=dict)
    """Slot id to whether `verify` found it in the visible text; empty where the profile does not verify."""
    usage: Usage = Usage()
    status: Literal["ok", "error", "excluded"] = "ok"
    error: str | None = None
    """Why there is no reply; None where there is one."""
