"""What a judge is, for people who choose one: what it does, its parameters, how its name is written, what it needs."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from mnemoscope.core.errors import UserError
from mnemoscope.core.ports import Completion, LanguageModel, Message
from mnemoscope.core.usage import Phase
from mnemoscope.evaluators.judges.judge import Judge
from mnemoscope.evaluators.judges.question import TASKS, Task
from mnemoscope.evaluators.judges.registry import JUDGES, JudgePorts, open_judge

__all__ = ["JudgeSheet", "Parameter", "describe_judge"]

_EXAMPLES: Mapping[str, str] = MappingProxyType(
    {
        "llm": "llm(votes=3)",
        "offline": "offline",
        "panel": "panel(offline+llm(votes=3))",
        "recorded": "recorded(file=said.jsonl)",
        "recording": "recording(llm(votes=3),file=said.jsonl)",
    }
)
_ARGUMENT = re.compile(r"(\w+): (.*)", re.DOTALL)


class Parameter(NamedTuple):
    """One parameter of a judge."""

    name: str
    default: str | None
    """As Python writes it; None: it must be given."""
    meaning: str
    """From the docstring; empty where it says nothing."""


@dataclass(frozen=True, slots=True)
class JudgeSheet:
    """One judge, described without asking it anything."""

    name: str
    does: str
    """The first sentence of its docstring."""
    parameters: tuple[Parameter, ...]
    example: str
    """How it may be written after `--judge`; `…` stands for values that must be filled in."""
    needs_model: bool | None
    """Whether the example opens a language model; None where the example has values to fill in."""
    tasks: Mapping[Task, str | None]
    """What the example judges, and the key of these answers; None: the key needs a model that is not configured."""
    problem: str
    """Why the example cannot be opened here, though all that it needs is given; else empty."""


def describe_judge(name: str, ports: JudgePorts) -> JudgeSheet:
    """Describe a judge by its name without parameters.

    Args:
        name: A registered name, or a reference.
        ports: Where models come from; a judge that needs one is described where none is configured, too.

    Raises:
        UnknownNameError: No such judge.
        ConfigError: A reference that cannot be imported.

    Example:
        >>> sheet = describe_judge("panel", JudgePorts())
        >>> sheet.example, sheet.needs_model, [parameter.name for parameter in sheet.parameters]
        ('panel(offline+llm(votes=3))', True, ['members'])
    """
    factory = JUDGES.factory(name)
    parameters = _parameters(factory)
    required = [parameter.name for parameter in parameters if parameter.default is None]
    shown = (name, _first_sentence(factory), parameters)
    if name not in _EXAMPLES and required:
        return JudgeSheet(*shown, f"{name}({','.join(f'{one}=…' for one in required)})", None, {}, "")
    example = _EXAMPLES.get(name, name)
    opening = _Opening(ports)
    try:
        judge = open_judge(example, JudgePorts(ports.embedder, opening.model))
    except UserError as error:
        return JudgeSheet(*shown, example, opening.asked, {}, "" if required else str(error))
    return JudgeSheet(*shown, example, opening.asked, _tasks(judge, opening.stood_in), "")


class _Opening:
    """Opens models and notes it; where none is configured, something stands in that has no answers."""

    def __init__(self, ports: JudgePorts) -> None:
        self._ports = ports
        self.asked = self.stood_in = False

    def model(self, text: str | None) -> LanguageModel:
        self.asked = True
        if (found := self._ports.model(text)) is not None:
            return found
        self.stood_in = True
        return _NoModel()


class _NoModel:
    """In a model's place while a judge is described; a description asks nothing."""

    key = ""

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        phase: Phase,
        schema: Mapping[str, object] | None = None,
        max_tokens: int | None = None,
        replicate: int = 0,
    ) -> Completion:
        """Never called."""
        raise AssertionError("a judge that is only described was asked")


def _tasks(judge: Judge, stood_in: bool) -> dict[Task, str | None]:
    keys = {task: key for task in TASKS if (key := judge.key(task))}
    return {task: None if stood_in else key for task, key in keys.items()}


def _first_sentence(factory: Callable[..., object]) -> str:
    paragraph = inspect.cleandoc(factory.__doc__ or "").partition("\n\n")[0]
    return " ".join(paragraph.split()) or "a judge of your own, without a docstring"


def _parameters(factory: Callable[..., object]) -> tuple[Parameter, ...]:
    try:
        signature = inspect.signature(factory)
    except (TypeError, ValueError):  # a callable that does not tell
        return ()
    meanings = _meanings(factory)
    return tuple(
        Parameter(one.name, None if one.default is one.empty else repr(one.default), meanings.get(one.name, ""))
        for one in signature.parameters.values()
        if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
    )


def _meanings(factory: Callable[..., object]) -> dict[str, str]:
    """Parameter to its line in the `Args:` of a Google-style docstring."""
    _, _, after = inspect.cleandoc(factory.__doc__ or "").partition("\nArgs:\n")
    block = re.split(r"\n(?=\S)", after)[0]
    entries = re.split(r"\n {4}(?=\w)", "\n" + block)
    found = (_ARGUMENT.fullmatch(entry.strip()) for entry in entries)
    return {match[1]: " ".join(match[2].split()) for match in found if match}
