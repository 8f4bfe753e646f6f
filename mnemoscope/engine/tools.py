"""What a process needs to run lanes, opened once from the configuration: models, embedder, writer, evaluators."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from types import TracebackType
from typing import Self

from mnemoscope.agents.gateway.model import GatewayModel
from mnemoscope.agents.gateway.opening import open_model
from mnemoscope.agents.pairing import refuse_unpaired
from mnemoscope.agents.profiles import Profile, open_profile
from mnemoscope.agents.realisation import RealisationDetector
from mnemoscope.agents.writers import open_writer
from mnemoscope.config import RunConfig, SystemSpec
from mnemoscope.core.errors import ConfigError
from mnemoscope.core.ports import Embedder, LanguageModel, UseDetector, Writer
from mnemoscope.evaluators.detectors.offline import OfflineUseDetector
from mnemoscope.evaluators.graph import Evaluator
from mnemoscope.evaluators.judges.judge import Judge
from mnemoscope.evaluators.judges.registry import JudgePorts, open_judge
from mnemoscope.evaluators.metrics.registry import default_metrics
from mnemoscope.graphs.architecture import Architecture, create_architecture
from mnemoscope.graphs.assistant import Assistant
from mnemoscope.memory_backends.embedders import open_embedder
from mnemoscope.memory_backends.embedders.cache import CachedEmbedder, default_cache_dir
from mnemoscope.memory_backends.record import Budget
from mnemoscope.memory_backends.store import VectorIndex
from mnemoscope.memory_backends.vector_stores import open_vector_store
from mnemoscope.runfile.rows import LaneKey, SystemRow

__all__ = ["Tools", "architecture_of", "cache_folder", "profile_of", "system_rows"]


@lru_cache(maxsize=256)
def architecture_of(name: str) -> Architecture:
    """An architecture, compiled once per process."""
    return create_architecture(name)


@lru_cache(maxsize=256)
def profile_of(name: str) -> Profile:
    """A profile, opened once per process."""
    return open_profile(name)


def system_rows(specs: tuple[SystemSpec, ...]) -> tuple[SystemRow, ...]:
    """The systems to compare, by their names with all defaults left out; equal ones are listed once.

    Raises:
        ConfigError: An architecture or profile that does not exist, parameters that it does not take, or the two do not
            pair.
    """
    rows: dict[str, SystemRow] = {}
    opened = [(architecture_of(spec.architecture), profile_of(spec.profile)) for spec in specs]
    refuse_unpaired(opened)
    for architecture, profile in opened:
        name = str(SystemSpec(architecture.name, profile.name))
        rows.setdefault(
            name,
            SystemRow(
                name=name,
                position=len(rows),
                memory=architecture.name,
                profile=profile.name,
                evidence_class=architecture.evidence_class,
                mode=architecture.mode or "",
                privileged=architecture.capabilities.privileged or profile.privileged,
                capabilities=architecture.capabilities,
                summary=architecture.summary,
                profile_summary=profile.summary,
            ),
        )
    return tuple(rows.values())


def cache_folder(config: RunConfig) -> Path | None:
    """Where caches live: as configured, else the user's cache folder if it can be written; None: nowhere.

    Raises:
        ConfigError: A configured folder cannot be made or written.
    """
    if config.cache == "none":
        return None
    folder = Path(config.cache).expanduser() if config.cache else default_cache_dir()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        writable = os.access(folder, os.W_OK)
    except OSError:
        writable = False
    if writable:
        return folder
    if config.cache:
        raise ConfigError(f"cache folder {folder} cannot be written; give another --cache, or --cache none")
    return None


@dataclass(frozen=True)
class Tools:
    """Opened parts of one process; each is made on first use."""

    config: RunConfig
    run: str = ""
    """Tells this run from all others on a shared vector store, today and when it is resumed."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Release what was opened: connections of caches, and folders that only this process used."""
        opened = vars(self)
        if isinstance(embedder := opened.get("embedder"), CachedEmbedder):
            embedder.close()
        if isinstance(scratch := opened.get("_scratch"), tempfile.TemporaryDirectory):
            scratch.cleanup()
        if isinstance(folder := opened.get("_folder"), Path):
            shutil.rmtree(folder, ignore_errors=True)

    async def aclose(self) -> None:
        """As `close`, and the connections of models, which belong to the event loop."""
        for model in self._models.values():
            await model.close()
        self.close()

    @cached_property
    def cache(self) -> Path | None:
        """See `cache_folder`."""
        return cache_folder(self.config)

    @cached_property
    def model(self) -> LanguageModel | None:
        """The model that replies; None: no model is configured."""
        return self.open_model(self.config.model)

    @cached_property
    def memory_model(self) -> LanguageModel | None:
        """The model that memories are written with."""
        return self.open_model(self.config.memory_model or self.config.model)

    @cached_property
    def embedder(self) -> Embedder:
        """The one embedder of the run; without a cache folder, its vectors are kept until the process ends."""
        return open_embedder(self.config.embedder, cache=self.cache or Path(self._scratch.name))

    def vector_index(self, lane: LaneKey) -> Callable[[int], VectorIndex]:
        """Makes empty vector indexes for a lane, which finds and clears what it left there when it was killed.

        An embedded store gets a folder per process, because it locks its folder.
        """
        kind, _, place = self.config.vector_store.partition(":")
        if place and place != ":memory:" and not place.startswith(("http://", "https://")):
            place = str(self._own_folder(place))
        scope = f"{self.run}/{lane.scenario_id}/{lane.memory}"
        if lane.system:
            scope += f"/{lane.system}/{lane.replicate}"
        return open_vector_store(f"{kind}:{place}" if place else kind, scope=scope)

    @cached_property
    def writer(self) -> Writer:
        """Writes the replies."""
        return open_writer(self.model)

    @cached_property
    def verifier(self) -> UseDetector:
        """Checks drafts inside the assistant; another rule than the one that scores."""
        return RealisationDetector()

    @cached_property
    def detector(self) -> UseDetector:
        """Tells whether a reply uses a fact, for loss attribution."""
        return OfflineUseDetector()

    @cached_property
    def judge(self) -> Judge:
        """Answers what metrics need to know of replies."""
        return open_judge(self.config.judge, self.judge_ports(lambda model: model))

    def judge_ports(self, through: Callable[[LanguageModel], LanguageModel]) -> JudgePorts:
        """What a judge of this run reaches models and embeddings through; a model is opened when it is asked for.

        Args:
            through: What is put before each model that is opened.
        """

        def opened(text: str | None) -> LanguageModel | None:
            model = self.open_model(text or self.config.judge_model or self.config.model)
            return None if model is None else through(model)

        return JudgePorts(self.embedder, opened)

    @cached_property
    def evaluator(self) -> Evaluator:
        """Gives the verdicts."""
        return Evaluator(default_metrics(), self.judge)

    @cached_property
    def budget(self) -> Budget:
        """The same for every system."""
        return Budget(k=self.config.k, max_tokens=self.config.memory_tokens)

    @cached_property
    def _scratch(self) -> tempfile.TemporaryDirectory[str]:
        return tempfile.TemporaryDirectory(prefix="mnemoscope-", ignore_cleanup_errors=True)

    def assistant(self, profile: str) -> Assistant:
        """The assistant graph of a profile, compiled once per process."""
        return _assistant(profile)

    def keys(self) -> dict[str, str]:
        """What content is bound to, for the manifest."""
        return {
            "writer": self.writer.key,
            "verifier": self.verifier.key,
            "detector": self.detector.key,
            "judge": self.judge.name,
            "embedder": self.embedder.id,
            "vector_store": self.config.vector_store,
        }

    def _own_folder(self, place: str) -> Path:
        folder = Path(place).expanduser() / f"process-{os.getpid()}"
        vars(self)["_folder"] = folder
        return folder

    def open_model(self, text: str | None) -> LanguageModel | None:
        """A model by its text form, opened once per process on its cache; None for None."""
        if text is None:
            return None
        if text not in self._models:
            self._models[text] = open_model(text, cache=self.cache)
        return self._models[text]

    @cached_property
    def _models(self) -> dict[str, GatewayModel]:
        return {}


@lru_cache(maxsize=256)
def _assistant(profile: str) -> Assistant:
    return Assistant(profile_of(profile).nodes)
