"""Who is who in a chat log: roles as given, by names that the user declares, or by names that only assistants have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mnemoscope.core.errors import ConfigError, DataError
from mnemoscope.scenarios.loaders.chatlog_reading import LogFile
from mnemoscope.scenarios.records import Participant, Role
from mnemoscope.scenarios.source import DataReport

__all__ = ["Cast", "cast_of"]

_GIVEN: dict[str, Role] = {
    **dict.fromkeys(("user", "human", "customer", "me", "用户"), "user"),
    **dict.fromkeys(("assistant", "ai", "bot", "model", "agent", "chatbot", "助手"), "assistant"),
    "peer": "peer",
}
_ASSISTANT_NAMES = frozenset(
    (
        *("assistant", "ai", "bot", "chatbot", "chatgpt", "gpt", "claude", "gemini", "copilot", "model", "llama"),
        *("deepseek", "qwen", "kimi", "siri", "alexa", "助手", "机器人", "智能助手", "小助手"),
    )
)
_USER_NAMES = frozenset(("user", "human", "me", "you", "用户", "我"))
_TITLES: dict[Role, str] = {"user": "User", "assistant": "Assistant", "peer": "Peer"}


@dataclass(frozen=True, slots=True)
class Cast:
    """The people of a log."""

    participants: tuple[Participant, ...]
    """In the order in which they first speak."""
    speakers: tuple[str, ...]
    """Who says each message of the log."""
    how: str
    """How roles were found, for the card."""

    def role(self, name: str) -> Role:
        """The role of a participant."""
        return next(p.role for p in self.participants if p.name == name)


def cast_of(log: LogFile, report: DataReport, *, user: str | None = None, assistant: str | None = None) -> Cast:
    """Find who the user and the assistant are.

    Roles that the file gives count first, then the names declared, then names that only assistants have. Of the others,
    one person is the user; several are peers, whom the assistant observes.

    Args:
        log: The log.
        report: Where notices go.
        user: The user's name, if declared.
        assistant: The assistant's name, if declared.

    Raises:
        DataError: A speaker has two roles.
        ConfigError: A declared name does not speak.
    """
    speakers: list[str] = []
    roles: dict[str, Role] = {}
    first: dict[str, str] = {}
    for message in log.messages:
        given = _GIVEN.get(message.role or "")
        if message.role is not None and given is None:
            report.note("unknown-role", message.where, f"role {message.role!r} tells nothing; the name decides")
        name = message.speaker or (_TITLES[given] if given else str(message.role))
        first.setdefault(name, message.where)
        if given is not None and roles.setdefault(name, given) != given:
            raise DataError(
                f"{name!r} is {roles[name]} in {first[name]} and {given} here",
                file=log.path,
                record=message.where,
                field="role",
                seen=message.role,
            )
        speakers.append(name)
    names = tuple(dict.fromkeys(speakers))
    for declared, what in ((user, "user"), (assistant, "assistant")):
        if declared is not None and declared not in names:
            known = ", ".join(repr(name) for name in names[:8])
            raise ConfigError(f"{what}={declared}: nobody of that name speaks in {log.path.name}; there are {known}")
    declared_roles: dict[str, Role] = {}
    if user is not None:
        declared_roles[user] = "user"
    if assistant is not None:
        declared_roles[assistant] = "assistant"
    found, how = _roles(names, roles, declared_roles)
    if how != "given":
        report.note("roles-inferred", log.path.name, ", ".join(f"{name!r} = {found[name]}" for name in names))
    return Cast(tuple(Participant(name=name, role=found[name]) for name in names), tuple(speakers), how)


def _roles(names: Sequence[str], given: dict[str, Role], declared: dict[str, Role]) -> tuple[dict[str, Role], str]:
    found: dict[str, Role] = {**given, **declared}
    if all(name in found for name in names):
        return found, "declared" if declared else "given"
    for name in names:
        if name not in found and name.strip().lower() in _ASSISTANT_NAMES:
            found[name] = "assistant"
    for name in names:
        if name not in found and name.strip().lower() in _USER_NAMES:
            found[name] = "user"
    others = [name for name in names if name not in found]
    has_assistant = "assistant" in found.values()
    alone = has_assistant and len(others) == 1 and "user" not in found.values()
    found.update(dict.fromkeys(others, "user" if alone else "peer"))
    return found, "inferred from names"
