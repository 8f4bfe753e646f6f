"""`mnemoscope scenario build`: new scenarios from data that is there, from templates, or with a model."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from mnemoscope.cli.output import JsonFlag, emit_json, show
from mnemoscope.cli.scenario_build_parts import (
    counting,
    drawn,
    finish,
    journal_path,
    open_likeness,
    path_of,
    refuse_existing,
    resumable,
    scenarios,
    working,
)

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Build new scenarios; existing files stay.")

Spec = Annotated[str, typer.Argument(help="What to build from: kind:path[,role=path…].", show_default=False)]
Out = Annotated[Path, typer.Option("--out", help="The JSON file to write.", show_default=False)]
Force = Annotated[bool, typer.Option("--force", help="Replace what stands under the name.")]
Seed = Annotated[int, typer.Option("--seed", help="The same seed gives the same scenarios.")]
Encoding = Annotated[str, typer.Option("--encoding", help="What the source was saved in.")]


class MiningMode(StrEnum):
    """How evidence strings are read when clusters are mined."""

    RELEASE = "release"
    RAW = "raw"
    REPAIRED = "repaired"


class Language(StrEnum):
    """Languages of the templates."""

    EN = "en"
    ZH = "zh"


@app.command()
def composed(
    source: Spec,
    out: Out,
    mode: Annotated[MiningMode, typer.Option("--mode", help="How evidence is read.")] = MiningMode.RELEASE,
    encoding: Encoding = "utf-8",
    force: Force = False,
    as_json: JsonFlag = False,
) -> None:
    """Mine LoCoMo-Conv's composed clusters from LoCoMo (locomo:PATH), in the structure of the published file.

    `release` gives the published 1,069 clusters, `raw` 1,065, `repaired` 1,081. What needs a model stays null.
    """
    from mnemoscope.scenarios.builders.composed import write_composed

    path = path_of(source, "locomo")
    refuse_existing(out, force=force)
    with working(f"mining {path}"):
        found = write_composed(path, mode.value, out, encoding=encoding)
    total = sum(found.values())
    if as_json:
        emit_json({"out": str(out), "mode": mode.value, "clusters": total, "by_conversation": dict(found)})
        return
    show("\n".join(f"{name}: {count:,}" for name, count in found.items()))
    show(f"{total:,} clusters ({mode.value}) in {out}; load them with locomo-conv:DIALOG.json,composed={out}")


@app.command()
def trajectory(
    out: Annotated[Path, typer.Option("--out", help="The folder to write.", show_default=False)],
    users: Annotated[int, typer.Option("--users", help="Users; each has four probes.")] = 100,
    seed: Seed = 0,
    lang: Annotated[Language, typer.Option("--lang", help="Language of the templates.")] = Language.EN,
    tokens: Annotated[int | None, typer.Option("--tokens", help="Tokens that each history reaches.")] = None,
    force: Force = False,
    as_json: JsonFlag = False,
) -> None:
    """Users with a way along two axes, in the format of PRAGMA, from templates and a seed; no model is asked."""
    from mnemoscope.core.errors import ConfigError
    from mnemoscope.scenarios.builders.shortcut import check_shortcuts
    from mnemoscope.scenarios.builders.trajectory import build_trajectory
    from mnemoscope.scenarios.opening import open_source

    if out.exists() and not out.is_dir():
        raise ConfigError(f"{out} is a file; --out names a folder here")
    if out.is_dir() and any(out.iterdir()) and not force:
        raise ConfigError(f"{out} is not empty; add --force to replace an earlier build, or name another folder")
    with working(f"building {users:,} users"):
        made = build_trajectory(out, users=users, seed=seed, lang=lang.value, tokens=tokens)
    with working("checking shortcuts"):
        shortcuts = check_shortcuts(open_source(f"pragma:{out}"))
    if as_json:
        counts = {"users": made.users, "probes": made.probes, "sessions": made.sessions, "tokens": made.tokens}
        settings = {"out": str(out), "seed": seed, "lang": lang.value}
        emit_json({**settings, **counts, "sha256": dict(made.sha256), "shortcuts": shortcuts.to_json()})
        return
    show("\n".join(shortcuts.lines()))
    show(
        f"{made.users:,} users, {made.probes:,} probes, {made.sessions:,} sessions, about {made.tokens:,} tokens in "
        f"{out}; load them with pragma:{out}"
    )


@app.command()
def pool(
    source: Spec,
    out: Out,
    per_scenario: Annotated[int, typer.Option("--per-scenario", help="Pools per conversation at most.")] = 20,
    seed: Seed = 0,
    encoding: Encoding = "utf-8",
    force: Force = False,
    as_json: JsonFlag = False,
) -> None:
    """Pools of must, nice and irrelevant memories around questions, as in StratMem-Bench; labels are heuristics."""
    from mnemoscope.scenarios.builders.pool import build_pools

    with resumable(out, force=force) as journal:
        sources = scenarios(source, encoding)
        finish(build_pools(sources, per_scenario=per_scenario, seed=seed, journal=journal), out, as_json=as_json)


@app.command()
def windows(
    source: Spec,
    out: Out,
    per_scenario: Annotated[int, typer.Option("--per-scenario", help="Facts per conversation at most.")] = 10,
    seed: Seed = 0,
    encoding: Encoding = "utf-8",
    force: Force = False,
    as_json: JsonFlag = False,
) -> None:
    """Moments with windows in which bringing up a fact helps or hurts; windows are heuristics."""
    from mnemoscope.scenarios.builders.windows import build_windows

    with resumable(out, force=force) as journal:
        sources = scenarios(source, encoding)
        finish(build_windows(sources, per_scenario=per_scenario, seed=seed, journal=journal), out, as_json=as_json)


@app.command()
def negatives(
    source: Spec,
    out: Out,
    kind: Annotated[list[str] | None, typer.Option("--kind", help="Which kinds. Repeatable. Default: all.")] = None,
    per_kind: Annotated[int, typer.Option("--per-kind", help="Of each kind, per conversation at most.")] = 5,
    seed: Seed = 0,
    encoding: Encoding = "utf-8",
    force: Force = False,
    as_json: JsonFlag = False,
) -> None:
    """Hard negatives: another person or time, near-miss cues, "as I told you" about what was never told."""
    from mnemoscope.core.errors import UnknownNameError
    from mnemoscope.scenarios.builders.negatives import NEGATIVE_KINDS, build_negatives

    wanted = [one for one in NEGATIVE_KINDS if kind is None or one in kind]
    if unknown := [one for one in kind or () if one not in NEGATIVE_KINDS]:
        raise UnknownNameError("kind of negative", unknown[0], NEGATIVE_KINDS)
    with resumable(out, force=force) as journal:
        sources = scenarios(source, encoding)
        built = build_negatives(sources, kinds=wanted, per_kind=per_kind, seed=seed, journal=journal)
        finish(built, out, as_json=as_json)


@app.command()
def moments(
    source: Spec,
    out: Out,
    labels: Annotated[
        list[str] | None,
        typer.Option("--labels", help="Labelled scenarios (memuse:PATH) to measure the detection on. Repeatable."),
    ] = None,
    embedder: Annotated[
        str | None, typer.Option("--embedder", help="Likeness by this embedder, such as minilm. Default: by words.")
    ] = None,
    threshold: Annotated[
        float | None, typer.Option("--threshold", help="Likeness (0-1) from which a turn without cue counts.")
    ] = None,
    cache: Annotated[Path | None, typer.Option("--cache", help="Folder of the embedder's cache.")] = None,
    encoding: Encoding = "utf-8",
    force: Force = False,
    as_json: JsonFlag = False,
) -> None:
    """Find memory moments in histories such as a chat log: explicit cues in English and Chinese, and implicit ones."""
    import asyncio
    from itertools import chain

    from mnemoscope.scenarios.builders.moments import build_moments, score_moments

    with resumable(out, force=force) as journal, open_likeness(embedder, cache) as likeness:
        sources = scenarios(source, encoding)
        built = asyncio.run(build_moments(sources, embedder=likeness, threshold=threshold, journal=journal))
        extra: dict[str, object] = {}
        said: list[str] = []
        if labels:
            labelled = chain.from_iterable(scenarios(spec, encoding) for spec in labels)
            scores = asyncio.run(score_moments(labelled, embedder=likeness, threshold=threshold))
            counts = dict(sorted(scores.found.items()))
            extra = {"detection": {"precision": scores.precision, "recall": scores.recall, "counts": counts}}
            said = [f"on {', '.join(labels)}:", *scores.lines()]
        finish(built, out, as_json=as_json, extra=extra, said=said)


@app.command()
def chain(
    source: Spec, out: Out, encoding: Encoding = "utf-8", force: Force = False, as_json: JsonFlag = False
) -> None:
    """Items of StratMem-Bench (stratmem:PATH) in time order as one scenario, in which a fact changes its role."""
    from mnemoscope.scenarios.builders.chain import build_chains

    refuse_existing(out, force=force)
    finish(build_chains(scenarios(source, encoding)), out, as_json=as_json)


@app.command("conv-rewrite")
def conv_rewrite(
    source: Spec,
    out: Out,
    model: Annotated[str, typer.Option("--model", help="The model that rewrites, as for run.", show_default=False)],
    style: Annotated[
        list[str] | None, typer.Option("--style", help="dialog, implicit, counterfactual. Repeatable. Default: all.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="Questions, drawn over categories and conversations.")
    ] = None,
    seed: Seed = 0,
    concurrency: Annotated[int, typer.Option("--concurrency", min=1, help="Calls in flight.")] = 8,
    cache: Annotated[Path | None, typer.Option("--cache", help="Folder of the reply cache. Default: none.")] = None,
    encoding: Encoding = "utf-8",
    force: Force = False,
    as_json: JsonFlag = False,
) -> None:
    """Rewrite LoCoMo's questions (locomo:PATH) with a model, as LoCoMo-Conv does; every utterance is checked.

    Finished rewritings are kept in NAME.journal.jsonl beside --out: after a failure or Ctrl-C the same command goes on.
    """
    import asyncio

    from mnemoscope.agents.gateway.opening import open_model
    from mnemoscope.scenarios.builders.rewrite import STYLES, RewriteOutcome, build_rewrites

    path = path_of(source, "locomo")
    refuse_existing(out, force=force)
    journal = journal_path(out)
    only = None if limit is None else drawn(source, limit, seed, encoding)

    async def build(told: Callable[[int, int], None]) -> RewriteOutcome:
        opened = open_model(model, cache=cache)
        try:
            return await build_rewrites(
                path,
                out,
                opened,
                journal=journal,
                styles=tuple(style or STYLES),
                only=only,
                concurrency=concurrency,
                encoding=encoding,
                told=told,
            )
        finally:
            await opened.close()

    with counting("rewritings") as told:
        outcome = asyncio.run(build(told))
    journal.unlink(missing_ok=True)
    counts = dict(sorted(outcome.counts.items()))
    usage = outcome.usage
    if as_json:
        tokens = {"prompt": usage.prompt_tokens, "completion": usage.completion_tokens}
        emit_json({"out": str(out), "counts": counts, "calls": usage.calls, "tokens": tokens})
        return
    show("\n".join(f"{name}: {count:,}" for name, count in counts.items()))
    show(f"{usage.calls:,} calls, {usage.prompt_tokens:,} + {usage.completion_tokens:,} tokens; written to {out}")
