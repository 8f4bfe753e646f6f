"""The one exception tree: what went wrong, where, the value seen, and what to do next.

::

    MnemoscopeError                 anything this project raises on purpose
    ├── UserError                   the user can mend it; the command line exits with 2
    │   ├── DataError               a file, record or field is not as its format says
    │   ├── ConfigError             an argument or setting is unusable
    │   │   └── UnknownNameError    a name that no registry holds (lists the nearest)
    │   └── RunFileError            a run file is missing, foreign, damaged or newer than this version
    │       └── OtherRunError       a run file was made with other settings, data or code
    ├── BackendError                a memory could not write, read or restore (phase, turns)
    │   └── EmbedderMismatchError   stored vectors and the embedder do not fit
    ├── EndpointError               a model endpoint failed; `retryable` was decided by the gateway
    └── BudgetStop                  a budget or deadline ended the run cleanly; the command line exits with 3
"""

from __future__ import annotations

from collections.abc import Sequence

from mnemoscope.core.usage import Usage

__all__ = [
    "BackendError",
    "BudgetStop",
    "ConfigError",
    "DataError",
    "EmbedderMismatchError",
    "EndpointError",
    "MnemoscopeError",
    "OtherRunError",
    "RunFileError",
    "UnknownNameError",
    "UserError",
]

SEEN_LIMIT = 120


def shown(value: object) -> str:
    """The `repr` of a value, cut so that a message stays one readable line."""
    text = repr(value)
    return text if len(text) <= SEEN_LIMIT else f"{text[:SEEN_LIMIT]}… ({len(text):,} characters)"


class MnemoscopeError(Exception):
    """Base of every error that this project raises on purpose."""


class UserError(MnemoscopeError):
    """An error that the user can mend; the message says how."""


class DataError(UserError):
    """A file, record or field is not as its format says.

    Args:
        what: What is wrong, as a short sentence without a full stop.
        file: The file that was read.
        record: Where in the file (an id, an index, a line number).
        field: Which field of the record.
        seen: The value found; omit it where there is none.
        fix: What to do, or what was expected.
    """

    _UNSEEN = object()

    def __init__(
        self,
        what: str,
        *,
        file: object,
        record: object = None,
        field: str | None = None,
        seen: object = _UNSEEN,
        fix: str | None = None,
    ) -> None:
        self.what, self.file, self.record, self.field, self.fix = what, str(file), record, field, fix
        place = [f"file {self.file}"]
        if record is not None:
            place.append(f"record {record}")
        if field is not None:
            place.append(f"field {field}")
        message = f"{what} ({', '.join(place)}"
        if seen is not self._UNSEEN:
            message += f"; seen: {shown(seen)}"
        message += ")"
        super().__init__(f"{message}: {fix}" if fix else message)


class ConfigError(UserError):
    """An argument, a setting or a combination of them is unusable."""


class UnknownNameError(ConfigError):
    """A name that no registry holds.

    Args:
        kind: What was looked up, in the singular ("architecture", "metric").
        name: The name asked for.
        nearest: The closest known names, best first.
    """

    def __init__(self, kind: str, name: str, nearest: Sequence[str]) -> None:
        hint = f"; nearest: {', '.join(nearest)}" if nearest else ""
        super().__init__(f"unknown {kind} {name!r}{hint}")
        self.kind, self.name, self.nearest = kind, name, tuple(nearest)


class RunFileError(UserError):
    """A run file is missing, foreign, damaged, locked or newer than this version."""


class OtherRunError(RunFileError):
    """A run file was made with other settings, data or code, so that going on would mix two runs."""


class BackendError(MnemoscopeError):
    """A memory could not do what was asked of it.

    Args:
        message: What failed.
        phase: `write`, `flush`, `fork`, `retrieve`, `snapshot`, `restore` or `open`.
        turn_ids: The turns in hand, so that none is lost without a trace.
    """

    def __init__(self, message: str, *, phase: str, turn_ids: Sequence[str] = ()) -> None:
        turns = f" (turns {', '.join(turn_ids)})" if turn_ids else ""
        super().__init__(f"{phase}: {message}{turns}")
        self.phase, self.turn_ids = phase, tuple(turn_ids)


class EmbedderMismatchError(BackendError, UserError):
    """Stored vectors were made by another embedder, or have another dimension."""

    def __init__(self, *, stored_id: str, stored_dim: int, given_id: str, given_dim: int) -> None:
        super().__init__(
            f"the stored vectors are {stored_id} with {stored_dim} dimensions, the embedder is {given_id} with "
            f"{given_dim}; use the embedder that wrote them, or write to a new output",
            phase="restore",
        )


class EndpointError(MnemoscopeError):
    """A model endpoint failed.

    Args:
        message: What happened, without any key or header.
        cause: One of `timeout, rate_limit, server, refused, filtered, malformed, truncated` (the model wrote on until
            it was cut off), `auth, connection, context` (the prompt, or prompt and reply, do not fit into the model's
            context).
        retryable: Whether another try may help; decided once, by the gateway.
        retry_after: Seconds that the server asked to wait, if it did.
    """

    usage: Usage = Usage()
    """What was spent before it failed for good; the gateway notes it."""

    def __init__(self, message: str, *, cause: str, retryable: bool = False, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.cause, self.retryable, self.retry_after = cause, retryable, retry_after


class BudgetStop(MnemoscopeError):  # noqa: N818 - a clean end, not a fault
    """A budget of money, calls or time ended the run cleanly; `--resume` goes on."""
