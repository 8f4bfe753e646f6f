"""Public names of a package, imported on first use, so that `mnemoscope --help` loads no framework."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping

__all__ = ["lazy_names"]


def lazy_names(package: str, targets: Mapping[str, str]) -> Callable[[str], object]:
    """A module-level `__getattr__` (PEP 562) for `name -> submodule`.

    Args:
        package: The package's `__name__`.
        targets: Public name to the module that defines it, relative to the package.
    """

    def __getattr__(name: str) -> object:  # noqa: N807 - PEP 562 prescribes the name
        if name not in targets:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(f"{package}.{targets[name]}"), name)

    return __getattr__
