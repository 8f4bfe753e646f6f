"""One writer per run file: a lock that the operating system drops when its holder dies."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mnemoscope.core.errors import RunFileError

__all__ = ["exclusive"]


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Hold the right to write a run file; the lock lives in a file beside it that is removed at the end.

    Raises:
        RunFileError: Another run holds it, or the folder cannot be written.
    """
    beside = path.with_name(path.name + ".lock")
    descriptor = _acquire(beside, path)
    try:
        yield
    finally:
        beside.unlink(missing_ok=True)
        os.close(descriptor)


def _acquire(beside: Path, path: Path) -> int:
    while True:
        try:
            descriptor = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise RunFileError(f"output {path} cannot be written: {error.strerror} ({beside.parent})") from None
        try:
            _lock(descriptor)
        except OSError:
            os.close(descriptor)
            raise RunFileError(f"run file {path} is being written by another run; wait for it, or stop it") from None
        # The holder before us may have removed the file between our open and our lock; then ours names nothing.
        try:
            if beside.stat().st_ino == os.fstat(descriptor).st_ino:
                return descriptor
        except FileNotFoundError:
            pass
        os.close(descriptor)


def _lock(descriptor: int) -> None:
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt

        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
    else:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
