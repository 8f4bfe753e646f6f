"""A stored value that cannot be read back is damage of the file, not a fault of the program, and said as that."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from mnemoscope.core.errors import RunFileError

__all__ = ["decoding", "decoding_of"]

P = ParamSpec("P")
R = TypeVar("R")


class _OfFile(Protocol):
    path: Path


Reader = TypeVar("Reader", bound=_OfFile)


@contextmanager
def decoding_of(path: Path) -> Iterator[None]:
    """What stored text and bytes are decoded in.

    Raises:
        RunFileError: Something in them is not as it was written.
    """
    try:
        yield
    except (KeyError, IndexError, TypeError, ValueError, zlib.error) as error:
        first = str(error).partition("\n")[0]
        raise RunFileError(
            f"run file {path} is damaged: a stored value cannot be read ({type(error).__name__}: {first}); "
            "nothing was changed"
        ) from error


def decoding(method: Callable[Concatenate[Reader, P], R]) -> Callable[Concatenate[Reader, P], R]:
    """A method of a reader, whole in `decoding_of` its file."""

    @wraps(method)
    def guarded(self: Reader, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with decoding_of(self.path):
            return method(self, *args, **kwargs)

    return guarded
