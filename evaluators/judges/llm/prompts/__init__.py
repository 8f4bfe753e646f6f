"""The prompts of the model judge, one module per group of tasks. They are our own words, not those of any release."""

from __future__ import annotations

from collections.abc import Mapping

if __name__ != "mnemoscope.evaluators.judges.llm.prompts":
    raise ImportError("import mnemoscope.evaluators.judges.llm.prompts: a bare import loads a second copy")

from mnemoscope.evaluators.judges.llm.prompts import answers, facts, merit, premises, recall
from mnemoscope.evaluators.judges.llm.prompts.prompt import TaskPrompt
from mnemoscope.evaluators.judges.question import Task

__all__ = ["PROMPTS"]

PROMPTS: Mapping[Task, TaskPrompt] = {
    prompt.task: prompt
    for module in (facts, answers, premises, recall, merit)
    for prompt in module.PROMPTS
}  # fmt: skip
"""Every task's prompt."""
