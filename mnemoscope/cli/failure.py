"""Errors to one readable message and an exit code; nothing secret, no local variables, no traceback unasked."""

from __future__ import annotations

import os
import sys
import traceback

from mnemoscope.core.errors import BudgetStop, MnemoscopeError, UserError

__all__ = ["exit_code", "report_failure"]

_SECRETS = ("OPENAI_API_KEY", "QDRANT_API_KEY")
_URLS = ("OPENAI_BASE_URL",)


def exit_code(error: BaseException) -> int:
    """What a script is told: 2 the user can mend it, 3 a budget ended it, 130 interrupted, 1 anything else."""
    if isinstance(error, KeyboardInterrupt):
        return 130
    if isinstance(error, BudgetStop):
        return 3
    return 2 if isinstance(error, UserError) else 1


def report_failure(error: BaseException, *, debug: bool) -> int:
    """Print what went wrong on standard error.

    Args:
        error: What ended the command.
        debug: Print the traceback too, without local variables.

    Returns:
        The exit code.
    """
    if debug:
        sys.stderr.write(_redacted("".join(traceback.format_exception(error))))
    elif isinstance(error, MnemoscopeError):
        sys.stderr.write(_redacted(f"error: {error}\n"))
    else:
        text = str(error).strip().splitlines()
        sys.stderr.write(_redacted(f"error: {type(error).__name__}: {text[0] if text else 'no message'}\n"))
        sys.stderr.write("this is a fault of mnemoscope or of a plug-in; run again with --debug to see where\n")
    return exit_code(error)


def _redacted(text: str) -> str:
    from mnemoscope.agents.gateway.redaction import Redactor, url_secrets

    secrets = [os.environ[name] for name in _SECRETS if os.environ.get(name)]
    for name in _URLS:
        try:
            secrets += url_secrets(os.environ.get(name, ""))
        except ValueError:
            continue
    return Redactor(secrets).message(text)
