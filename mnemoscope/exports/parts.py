"""What an export consists of: one or several files, each with its text, put in place at once and never over another."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from mnemoscope.core.errors import ConfigError
from mnemoscope.core.identity import sha256_of

__all__ = ["Part", "slug", "targets", "write_text"]

_SLUG_LENGTH = 60


@dataclass(frozen=True, slots=True)
class Part:
    """One file of an export."""

    label: str
    """What tells it from the others: a system, with its replicate where there are several."""
    system: str | None
    """The one system that it holds; None where it holds all that were asked for."""
    replicate: int | None
    text: Iterator[str]
    """Its text in pieces, from beginning to end."""


def slug(name: str) -> str:
    """A name as a part of a file name: lower-case letters, digits and hyphens of ASCII, whatever the name holds.

    Example:
        >>> slug("dense(window=3)@top-k(2)"), slug("../../etc")
        ('dense-window-3-top-k-2', 'etc')
    """
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:_SLUG_LENGTH].strip("-")
    return plain or sha256_of(name)[:12]


def targets(out: Path, labels: Sequence[str]) -> list[Path]:
    """The file of each part: `out` itself for one, else `out` with the part's slug before its ending.

    Args:
        out: As the user wrote it.
        labels: What tells the parts apart; two that give one slug get a piece of their hash too.
    """
    if len(labels) == 1:
        return [out]
    slugs = [slug(label) for label in labels]
    names = [
        name if slugs.count(name) == 1 else f"{name}-{sha256_of(label)[:8]}"
        for name, label in zip(slugs, labels, strict=True)
    ]
    return [out.with_name(f"{out.stem}.{name}{out.suffix}") for name in names]


def write_text(path: Path, pieces: Iterator[str]) -> int:
    """Write a file as UTF-8 with plain line feeds; it appears under its name only when it is whole.

    Returns:
        Its size in bytes.

    Raises:
        ConfigError: It cannot be written; nothing is left behind.
    """
    draft = path.with_name(f".{path.name}.new")
    try:
        with draft.open("w", encoding="utf-8", newline="\n") as file:
            for piece in pieces:
                file.write(piece)
        size = draft.stat().st_size
        draft.replace(path)
    except OSError as error:
        raise ConfigError(f"output {path} cannot be written: {error.strerror or error}") from None
    finally:
        draft.unlink(missing_ok=True)
    return size
