"""`mnemoscope doctor`: what works here, and the remedy for what does not."""

from __future__ import annotations

import typer

from mnemoscope.cli.output import JsonFlag, emit_json, show

__all__ = ["doctor"]


def doctor(as_json: JsonFlag = False) -> None:
    """Examine this installation: packages, model, caches, isolation, stores, endpoint, architectures.

    Nothing leaves the machine. Exit code 1 where something is broken.
    """
    from mnemoscope.doctor import run_checks, worst

    checks = list(run_checks())
    status = worst(checks)
    if as_json:
        emit_json({"status": status, "checks": [check.to_json() for check in checks]})
    else:
        from mnemoscope.cli.tables import plain_table

        table = plain_table(caption=f"{len(checks)} checks: {status}")
        table.add_column("", no_wrap=True)
        table.add_column("check", max_width=20, overflow="fold")
        table.add_column("found", max_width=52, overflow="fold")
        styles = {"warn": "yellow", "fail": "bold red"}
        for check in checks:
            remedy = f"\n→ {check.remedy}" if check.remedy else ""
            table.add_row(f"[{check.status}]", check.name, check.detail + remedy, style=styles.get(check.status))
        show(table)
    if status == "fail":
        raise typer.Exit(1)
