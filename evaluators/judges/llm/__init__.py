"""The model judge, and the factory behind its name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if __name__ != "mnemoscope.evaluators.judges.llm":
    raise ImportError("import mnemoscope.evaluators.judges.llm: a bare import loads a second copy")

from mnemoscope.core.errors import ConfigError

if TYPE_CHECKING:
    from mnemoscope.evaluators.judges.judge import Judge
    from mnemoscope.evaluators.judges.registry import JudgePorts

__all__ = ["llm"]


def llm(
    *,
    model: str | None = None,
    votes: int | None = None,
    parser: str = "strict",
    expected_cut: int | None = None,
    seed: int = 0,
) -> Callable[[JudgePorts], Judge]:
    """A language model answers: fenced data, structured answers, and quotes that must stand in the reply.

    Args:
        model: The text form of the model that judges; None: `--judge-model`, else `--model`.
        votes: How often each question is asked, 1 to 99; None: three times for `use`, once for all else.
        parser: `strict`, or a release's own reading: `locomo-conv`, `memuse`, `longmemeval`.
        expected_cut: Characters of the expected text that the judge sees; None: all, or the release's cut.
        seed: Of the fences.
    """

    def opened(ports: JudgePorts) -> Judge:
        from mnemoscope.evaluators.judges.llm.judge import LlmJudge

        if (found := ports.model(model)) is None:
            wanted = f"the model {model!r}" if model is not None else "a model"
            raise ConfigError(
                f"judge llm needs {wanted}: add --judge-model MODEL (or --model MODEL), or --judge offline"
            )
        return LlmJudge(found, votes=votes, parser=parser, expected_cut=expected_cut, seed=seed, model_text=model)

    return opened
