"""Names to things: built-ins are listed and imported on first use; others come by entry point or reference."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import inspect
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

from mnemoscope.core.errors import ConfigError, MnemoscopeError, UnknownNameError
from mnemoscope.core.spec import Spec, parse_spec

__all__ = ["Registry"]

T = TypeVar("T")


class Registry(Generic[T]):
    """Lazy names for one kind of thing; what a name gives is a factory of `T` called with the name's parameters.

    Args:
        kind: The singular used in messages ("architecture").
        builtin: Name to `module:attribute`; listing the names imports nothing.
        group: Entry-point group of third parties, read on first use unless `MNEMOSCOPE_NO_PLUGINS` is set.
    """

    def __init__(self, kind: str, builtin: Mapping[str, str], *, group: str | None = None) -> None:
        self.kind = kind
        self._targets: dict[str, str | Callable[..., T]] = dict(builtin)
        self._group = group

    def names(self) -> tuple[str, ...]:
        """Every known name, sorted."""
        self._load_plugins()
        return tuple(sorted(self._targets))

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def __contains__(self, name: str) -> bool:
        self._load_plugins()
        return name in self._targets

    def register(self, name: str, factory: Callable[..., T]) -> None:
        """Add a factory under a new name.

        Raises:
            ConfigError: The name is taken.
        """
        if name in self._targets:
            raise ConfigError(f"{self.kind} {name!r} is already registered")
        self._targets[name] = factory

    def factory(self, name: str) -> Callable[..., T]:
        """The factory behind a name, `path.py:Name` or `package.module:Name`.

        Raises:
            UnknownNameError: No such name; the nearest are listed.
            ConfigError: A reference that cannot be imported.
        """
        if ":" in name:
            return cast("Callable[..., T]", _resolve(name))
        self._load_plugins()
        target = self._targets.get(name)
        if target is None:
            nearest = difflib.get_close_matches(name, self._targets, n=3, cutoff=0.3) or sorted(self._targets)[:3]
            raise UnknownNameError(self.kind, name, nearest)
        return cast("Callable[..., T]", _resolve(target)) if isinstance(target, str) else target

    def create(self, text: str | Spec) -> T:
        """Make the thing that a written name describes, parameters included.

        Raises:
            UnknownNameError: No such name.
            ConfigError: Parameters that the factory does not take.
        """
        spec = parse_spec(text) if isinstance(text, str) else text
        factory = self.factory(spec.name)
        try:
            return factory(*spec.args, **spec.kwargs)
        except (TypeError, ValueError) as error:
            raise ConfigError(f"{self.kind} {spec}: {error}{_parameters(factory, error)}") from error
        except MnemoscopeError:
            raise
        except (Exception, SystemExit) as error:  # whatever the code of others raises while it is made
            raise ConfigError(f"{self.kind} {spec} cannot be made: {type(error).__name__}: {error}") from error

    def _load_plugins(self) -> None:
        group, self._group = self._group, None
        if group is None or os.environ.get("MNEMOSCOPE_NO_PLUGINS"):
            return
        for point in entry_points(group=group):
            self._targets.setdefault(point.name, point.value)


def _parameters(factory: Callable[..., object], error: Exception) -> str:
    """What the factory takes, where the error is about that."""
    try:
        names = [] if isinstance(error, ValueError) else list(inspect.signature(factory).parameters)
    except (TypeError, ValueError):
        return ""
    return f"; parameters are: {', '.join(names)}" if names else ""


def _resolve(reference: str) -> Any:
    module_name, _, attribute = reference.rpartition(":")
    try:
        is_file = module_name.endswith(".py")
        module = _load_file(Path(module_name)) if is_file else importlib.import_module(module_name)
        return getattr(module, attribute)
    except (ImportError, AttributeError, OSError) as error:
        raise ConfigError(f"cannot load {reference!r}: {error}") from error
    except (Exception, SystemExit) as error:  # whatever the code of others raises while it is imported
        raise ConfigError(f"cannot load {reference!r}: {type(error).__name__}: {error}") from error


def _load_file(path: Path) -> Any:
    name = f"mnemoscope_user_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path.resolve())
    if spec is None or spec.loader is None or not path.is_file():
        raise FileNotFoundError(f"no Python file at {path}")
    if (loaded := sys.modules.get(name)) is not None and loaded.__file__ == str(path.resolve()):
        return loaded
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]  # a half-loaded module would be taken for whole the next time
        raise
    return module
