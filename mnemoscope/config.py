"""What a run is asked to do: one frozen tree from a TOML file and the command line, and its hash."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from mnemoscope.core.errors import ConfigError, shown
from mnemoscope.core.identity import canonical_json, sha256_of
from mnemoscope.core.spec import parse_spec
from mnemoscope.evaluators.judges.registry import JUDGES
from mnemoscope.evaluators.statistics.config import DEFAULT_STATISTICS, StatisticsConfig
from mnemoscope.scenarios.opening import parse_source_spec
from mnemoscope.scenarios.records import Style
from mnemoscope.scenarios.source import LoadMode
from mnemoscope.scenarios.speakers import SpeakerMapping

__all__ = ["DEFAULT_ARCHITECTURES", "UNKNOWN", "RunConfig", "SystemSpec", "load_config"]

UNKNOWN = "unknown"
"""A setting that an imported run does not tell."""
DEFAULT_ARCHITECTURES = ("none", "recent", "full-context", "bm25", "dense", "hybrid", "oracle")
"""What a run compares when it is not told: a memory score means little without its floor and its ceiling."""
DEFAULT_PROFILES = ("baseline",)
_OUTSIDE_CONTENT = frozenset({"workers", "concurrency", "cache", "out", "max_failed", "max_judge_failed", "statistics"})
_RESOLVED_AS_SYSTEMS = frozenset({"architectures", "profiles"})
_URL = re.compile(r"https?://[^\s,()]+")


@dataclass(frozen=True, slots=True)
class SystemSpec:
    """One system by name: an architecture and a profile, both with their parameters."""

    architecture: str
    profile: str

    def __str__(self) -> str:
        return f"{self.architecture}@{self.profile}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `A@P`; the name is cut at the last `@` outside parentheses.

        Raises:
            ConfigError: There is no such `@`, or one of the parts is no name.

        Example:
            >>> str(SystemSpec.parse("dense(window=3, overlap=1)@top-k(2)"))
            'dense(window=3,overlap=1)@top-k(2)'
        """
        depth, at = 0, -1
        for position, character in enumerate(text):
            depth += (character == "(") - (character == ")")
            if character == "@" and depth == 0:
                at = position
        if at < 1 or at == len(text.strip()) - 1:
            raise ConfigError(f"system {text!r} is not ARCHITECTURE@PROFILE; write it as bm25@baseline")
        return cls(str(parse_spec(text[:at])), str(parse_spec(text[at + 1 :])))


class RunConfig(BaseModel):
    """Everything that decides what a run does. Unknown keys are errors; the command line wins over the file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    scenarios: tuple[str, ...] = ()
    """What to replay: `kind:path[,role=path…]` or `demo`; paths are relative to the working folder."""
    systems: tuple[str, ...] = ()
    """Systems by name, `A@P`; added to `architectures` × `profiles`."""
    architectures: tuple[str, ...] = ()
    profiles: tuple[str, ...] = ()
    model: str | None = None
    """The model that replies; None: the extractive writer, offline."""
    memory_model: str | None = None
    """The model that memories are written with; None: the same as `model`."""
    judge: str = "offline"
    """Who judges the replies: a judge's name with its parameters."""
    judge_model: str | None = None
    """The model that judges; None: the same as `model`."""
    embedder: str = "minilm"
    vector_store: str = "exact"
    k: Annotated[int, Field(ge=1)] | None = 10
    """Memories that an assistant is given at most; None: no such limit."""
    memory_tokens: Annotated[int, Field(ge=1)] | None = None
    """Estimated tokens of memory that an assistant is given at most."""
    replicates: Annotated[int, Field(ge=1, le=1000)] = 1
    limit: Annotated[int, Field(ge=1)] | None = None
    """Probes per scenario set, drawn by seed over strata and clusters; None: all."""
    probes: tuple[Style, ...] = ()
    """Probe styles to ask; empty: all."""
    clusters: tuple[str, ...] = ()
    """Conversations to take in and ask about, by the name of their cluster or scenario; empty: all."""
    seed: int = 0
    mode: LoadMode = "robust"
    encoding: str = "utf-8"
    lenient: bool = False
    captions: bool = True
    speakers: SpeakerMapping = "speaker-b-as-assistant"
    """How memories that work on a user and an assistant are shown people among themselves; others see them as is."""
    write_probes: bool = False
    """Write each probe and the reply to the memory of the system that was asked; False: probes leave no trace."""
    workers: Annotated[int, Field(ge=1, le=256)] | None = None
    """Processes; None: one per core."""
    concurrency: Annotated[int, Field(ge=1, le=4096)] = 8
    """Model calls in flight, over all processes."""
    cache: str | None = None
    """Folder of the caches; None: the user's cache folder; `none`: keep nothing."""
    max_failed: Annotated[float, Field(ge=0, le=1)] = 0.0
    """Share of failed cells above which a finished run counts as failed, 0–1."""
    max_judge_failed: Annotated[float, Field(ge=0, le=1)] = 0.05
    """Share of judgements that errors and unreadable answers may take before a finished run counts as failed, 0–1."""
    statistics: StatisticsConfig = DEFAULT_STATISTICS
    """The rules of tests, such as the margin within which two systems count as equivalent: `[statistics]`."""
    out: Path | None = None

    @field_validator("scenarios", "systems", "architectures", "profiles", "clusters")
    @classmethod
    def _no_blank_and_no_repeat(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        if any(not name.strip() for name in names):
            raise ValueError("a name is blank")
        return tuple(dict.fromkeys(name.strip() for name in names))

    @model_validator(mode="after")
    def _known_judge(self) -> Self:
        JUDGES.factory(parse_spec(self.judge).name)
        return self

    def system_specs(self) -> tuple[SystemSpec, ...]:
        """The systems to compare, in the order asked for and without repeats."""
        named = [SystemSpec.parse(text) for text in self.systems]
        if self.architectures or self.profiles or not named:
            named += [
                SystemSpec(str(parse_spec(architecture)), str(parse_spec(profile)))
                for architecture in self.architectures or DEFAULT_ARCHITECTURES
                for profile in self.profiles or DEFAULT_PROFILES
            ]
        return tuple(dict.fromkeys(named))

    def content_fields(self) -> dict[str, object]:
        """The settings that can change what a run finds, in JSON form; files are named without their folders."""
        fields: dict[str, object] = self.model_dump(mode="json", exclude=set(_OUTSIDE_CONTENT | _RESOLVED_AS_SYSTEMS))
        fields["systems"] = [str(system) for system in self.system_specs()]
        fields["scenarios"] = [_without_folders(spec) for spec in self.scenarios]
        if not self.clusters:  # runs from before there was a choice have no such field
            del fields["clusters"]
        return fields

    def public(self) -> Self:
        """The same without anything secret: URLs lose their user, password and query. This is what a run file keeps."""
        hidden = {
            "model": self.model,
            "memory_model": self.memory_model,
            "judge_model": self.judge_model,
            "judge": self.judge,
            "embedder": self.embedder,
        }
        changes = {name: _without_secrets(text) for name, text in hidden.items() if text is not None}
        return self.model_copy(update={**changes, "vector_store": _without_secrets(self.vector_store)})

    def told(self) -> Self:
        """The same with what an imported run does not tell as this program has it by default."""
        fields = type(self).model_fields
        return self.model_copy(update={k: fields[k].default for k, value in self if value == UNKNOWN})

    def content_hash(self) -> str:
        """A hash of `content_fields`: two runs with one hash must find the same."""
        return sha256_of(canonical_json(self.content_fields()))


def _without_secrets(text: str) -> str:
    from mnemoscope.agents.gateway.redaction import bare_url

    return _URL.sub(lambda match: bare_url(match[0]), text)


def _without_folders(spec: str) -> str:
    kind, path, roles = parse_source_spec(spec)
    names = [path.name] if path else []
    return f"{kind}:" + ",".join(names + [f"{role}={other.name}" for role, other in roles.items()]) if names else kind


def load_config(file: Path | None, overrides: Mapping[str, object]) -> RunConfig:
    """Read a TOML file, if given, and lay the command line's values over it.

    Args:
        file: A file of top-level keys named like the fields of `RunConfig`.
        overrides: Field to value; None and empty sequences mean "not given".

    Raises:
        ConfigError: The file cannot be read, a key is unknown, or a value has another type or range.
    """
    from_file = _read_toml(file) if file else {}
    given = {key: value for key, value in overrides.items() if value is not None and value != () and value != []}
    if "systems" in given or "architectures" in given or "profiles" in given:
        # Naming systems on the command line replaces the file's choice instead of adding to it.
        from_file = {k: v for k, v in from_file.items() if k not in ("systems", "architectures", "profiles")}
    try:
        return RunConfig.model_validate({**from_file, **given})
    except ValidationError as error:
        raise ConfigError(_explain(error, file, from_file, given)) from None


def _read_toml(file: Path) -> dict[str, object]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"configuration file {file} does not exist") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"configuration file {file} cannot be read: {error}") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"configuration file {file} is not TOML: {error}") from None


def _explain(
    error: ValidationError, file: Path | None, from_file: Mapping[str, object], given: Mapping[str, object]
) -> str:
    first = error.errors(include_url=False)[0]
    key, *inner = [str(part) for part in first["loc"]] or ["?"]
    value, known = given.get(key, from_file.get(key)), list(RunConfig.model_fields)
    where = f"option --{key.replace('_', '-')}" if key in given or file is None else f"{file}: key {key!r}"
    if key == "statistics" and inner and isinstance(value, Mapping):
        table, key = key, inner[0]
        value, known = value.get(key), list(StatisticsConfig.model_fields)
        where = f"{file}: [{table}], key {key!r}"
    if first["type"] == "extra_forbidden":
        nearest = difflib.get_close_matches(key, known, n=3, cutoff=0.5)
        hint = f"; nearest: {', '.join(nearest)}" if nearest else ""
        return f"{where} is unknown{hint}"
    return f"{where}: {first['msg']} (seen: {shown(value)})"
