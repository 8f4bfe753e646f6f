"""Calls of memory tools as a structured answer: which tools there are, and how calls are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from mnemoscope.graphs.contracts.contract import Reading
from mnemoscope.graphs.contracts.listing import cited_numbers

__all__ = [
    "APPEND",
    "BY_DATE",
    "CALLS",
    "INSERT",
    "REPLACE",
    "SEARCH_ARCHIVAL",
    "SEARCH_RECALL",
    "SEND",
    "Call",
    "Step",
    "Tool",
    "calls_read",
    "described",
]


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that an agent may call."""

    name: str
    texts: tuple[str, ...]
    """Arguments that are texts; all of them are needed."""
    purpose: str
    paged: bool = False
    """It takes a `page`, from 1."""
    cites: bool = False
    """It takes `messages`, the numbers of what its words were made from."""
    blank: tuple[str, ...] = ()
    """Arguments that may be blank."""


APPEND = Tool("core_memory_append", ("label", "content"), "add a line to a block of core memory", cites=True)
REPLACE = Tool(
    "core_memory_replace",
    ("label", "old", "new"),
    "put new words in the place of old ones, which must stand in the block exactly so; a blank new takes them away",
    cites=True,
    blank=("new",),
)
INSERT = Tool("archival_memory_insert", ("content",), "store a passage that can be understood alone", cites=True)
SEARCH_ARCHIVAL = Tool("archival_memory_search", ("query",), "find passages by their meaning", paged=True)
SEARCH_RECALL = Tool("conversation_search", ("query",), "find messages that have these words as they stand", paged=True)
BY_DATE = Tool("conversation_search_date", ("start", "end"), "find messages of days, as YYYY-MM-DD", paged=True)
SEND = Tool("send_message", ("text",), "answer")

CALLS: Mapping[str, object] = {
    "type": "object",
    "properties": {
        "calls": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"tool": {"type": "string"}, "args": {"type": "object"}},
                "required": ["tool"],
            },
        },
        "heartbeat": {"type": "boolean"},
    },
    "required": ["calls"],
}
"""Schema of a step."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call."""

    tool: str
    texts: Mapping[str, str] = field(default_factory=dict)
    page: int = 1
    cited: tuple[int, ...] = ()
    """Numbers of what its words were made from; none where the call names none."""
    problem: str = ""
    """Why it cannot be run, as the agent is told; empty for one that can."""


@dataclass(frozen=True, slots=True)
class Step:
    """What an agent does next."""

    calls: tuple[Call, ...] = ()
    heartbeat: bool = False
    """It wants to see what the calls return, and go on."""


def described(tools: Sequence[Tool]) -> str:
    """The tools as an instruction lists them, one a line."""
    return "\n".join(f"- {tool.name}({', '.join(_arguments(tool))}): {tool.purpose}" for tool in tools)


def calls_read(value: Mapping[str, object], tools: Sequence[Tool], offered: int) -> Reading[Step]:
    """The step of a reply. A call that cannot be run stays in it with the reason, so that the agent learns of it.

    Args:
        value: Fits `CALLS`.
        tools: Those that may be called.
        offered: Numbers from 1 to this may be cited; others are left out and counted.
    """
    by_name = {tool.name: tool for tool in tools}
    entries = value["calls"] if isinstance(value["calls"], list) else []
    read = [_call(entry, by_name, offered) for entry in entries]
    rejected = sum(wrong for _, wrong in read)
    return Reading(Step(tuple(call for call, _ in read), value.get("heartbeat") is True), rejected)


def _call(entry: Mapping[str, object], tools: Mapping[str, Tool], offered: int) -> tuple[Call, int]:
    name, given = str(entry["tool"]).strip(), entry.get("args")
    args: Mapping[str, object] = given if isinstance(given, dict) else {}
    tool = tools.get(name)
    if tool is None:
        return Call(name, problem=f"there is no such tool; there are {', '.join(tools)}"), 1
    texts = {key: text for key in tool.texts if isinstance(text := args.get(key), str)}
    lacking = [key for key in tool.texts if not texts.get(key, "").strip() and not (key in tool.blank and key in texts)]
    if lacking:
        return Call(name, problem=f"{' and '.join(lacking)} must be a text"), 1
    page = 1 if args.get("page") is None else args["page"]
    if not isinstance(page, int) or isinstance(page, bool) or page < 1:
        return Call(name, problem=f"page is {page!r}; pages are counted from 1"), 1
    numbers, wrong = cited_numbers(args.get("messages"), offered)
    if wrong and not numbers:
        return Call(name, problem=f"messages names nothing that is shown; numbers go from 1 to {offered}"), wrong
    return Call(name, texts, page, numbers), wrong


def _arguments(tool: Tool) -> tuple[str, ...]:
    return (*tool.texts, *(["page"] if tool.paged else []), *(["messages"] if tool.cites else []))
