"""The page that documents every metric, made from the docstrings: `python -m mnemoscope.evaluators.metrics.page`."""

from __future__ import annotations

import inspect
import re
import sys
from collections import defaultdict
from types import ModuleType

from mnemoscope.evaluators.metrics.metric import Metric, tasks_of
from mnemoscope.evaluators.metrics.registry import DEFAULT_METRICS, METRICS

__all__ = ["metrics_page"]

_HEAD = """# Metrics

Every metric by family: its formula, the paper and section that it implements, where it deviates, and what trivial
policies score. A value is a share from 0 to 1 in JSON and a percentage in tables. Names carry parameters and
read back as written: `recall@10`, `smc(of=plan)`. *Judged* metrics ask a judge; the column names what it must be able
to do (`mnemoscope judge list`). Every figure comes with its counts and its interval: see [results](results.md).

This page is made from the docstrings (`make docs`).
"""


def metrics_page() -> str:
    """The page as Markdown; the same metrics give the same text."""
    by_module: defaultdict[str, list[str]] = defaultdict(list)
    for name in METRICS:
        by_module[METRICS.factory(name).__module__].append(name)
    parts = [_section(sys.modules[module], sorted(names)) for module, names in by_module.items()]
    return "\n".join([_HEAD, *sorted(parts)])


def _section(module: ModuleType, names: list[str]) -> str:
    title, _, body = inspect.cleandoc(module.__doc__ or "").partition("\n")
    rows = [_row(name) for name in names]
    head = "| metric | what it is | judged | better | runs by default |\n|---|---|---|---|---|"
    return "\n".join([f"## {_markdown(title).rstrip('.')}", "", head, *rows, "", _markdown(body.strip()), ""])


def _row(name: str) -> str:
    factory = METRICS.factory(name)
    first = inspect.cleandoc(factory.__doc__ or "").partition("\n")[0]
    what = re.sub(r"^`+[^`]+`+:\s*", "", first)
    default = [n for n in DEFAULT_METRICS if re.split(r"[@(]", n)[0] == name]
    metric = _example(default[0] if default else name)
    tasks = ", ".join(f"`{task}`" for task in sorted(tasks_of(metric))) if metric else ""
    lower = bool(getattr(metric, "lower_is_better", getattr(factory, "lower_is_better", False)))
    runs = ", ".join(f"`{n}`" for n in default) or "–"
    return f"| `{name}` | {what} | {tasks or 'no'} | {'lower' if lower else 'higher'} | {runs} |"


def _example(name: str) -> Metric | None:
    """The metric as it runs by default; None where it cannot be made without a parameter."""
    try:
        return METRICS.create(name)
    except Exception:
        return None


def _markdown(text: str) -> str:
    """Docstring text with its double backticks as code."""
    return re.sub(r"``([^`]+)``", r"`\1`", text)


if __name__ == "__main__":
    sys.stdout.write(metrics_page())
