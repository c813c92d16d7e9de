"""`agent2 build` and `agent2 resume`: read the options, hold the project, run the pipeline, say what came of it."""

import asyncio
import os
import re
import shutil
from pathlib import Path
from typing import Any

import anyio
import click
from pydantic import ValidationError
from rich.console import Console

from agent2_generator.budget import Clock, parse_budget
from agent2_generator.cli import EXIT_FAILED, EXIT_FINDINGS, EXIT_INTERRUPTED, EXIT_OK
from agent2_generator.deliver import explain_interruption, explain_no_beginning
from agent2_generator.display import Display
from agent2_generator.dry_run import show_dry_run
from agent2_generator.findings import print_findings
from agent2_generator.interruption import Interruption
from agent2_generator.language.choosing import FORMS, NO_MODEL, default_choice, parse_choice
from agent2_generator.language_choice import (
    closing,
    describe_designer,
    make_designer,
    open_ledger,
    with_costs,
)
from agent2_generator.options import BuildOptions, parse_addresses, parse_parts, parse_run_length
from agent2_generator.pipeline import build as run_pipeline
from agent2_generator.places import open_folder, resolve_environment
from agent2_generator.results import print_failure, print_result
from agent2_generator.running import pause_all
from agent2_generator.servers import SERVER_NAMES, connect_servers
from agent2_generator.session import ACTOR, Session, used_before
from agent2_generator.typed_files import read_baseline, read_task, read_text
from agent2_generator.understand import EnvironmentUnfit
from agent2_schemas import NAME_PATTERN, Agent2Error, BuildResult, CorrectableError, NotFound
from agent2_workspace import Journal, Workspace, build_lock, find_workspace, read_configuration

PAUSE_SECONDS = 8.0
"""Longest time that pausing runs may take after Ctrl-C; closing the servers takes up to six more."""


@click.command()
@click.argument("environment")
@click.option("--task", default="", help="What the agent shall do, in words.")
@click.option("--task-file", type=click.Path(path_type=Path), help="File with the task.")
@click.option(
    "--context", "context_file", type=click.Path(path_type=Path), help="File with constraints and prior knowledge."
)
@click.option("--budget", default="5m", show_default=True, help="Total budget: 90s, 5m, 2h, or 200k-steps.")
@click.option("--run-length", default="", help="Length of one training, e.g. 20k-steps; as published where missing.")
@click.option("--name", default="", help="Name of the project; made from the environment where missing.")
@click.option("--workspace", type=click.Path(path_type=Path), help="Folder of all projects.")
@click.option("--seed", default=0, show_default=True, type=click.IntRange(min=0), help="Root of all seeds.")
@click.option("--target-return", type=float, help="Return at which the search may stop.")
@click.option(
    "--algorithm",
    type=click.Choice(["PPO", "A2C", "SAC", "TD3", "DQN"], case_sensitive=False),
    help="Fix the algorithm.",
)
@click.option(
    "--design",
    "parts",
    default="",
    help="Parts that may be designed, e.g. reward,network; the rest stays as published.",
)
@click.option("--baseline", type=click.Path(path_type=Path), help="Your own baseline (YAML as in design.yaml).")
@click.option(
    "--server", "servers", multiple=True, help="NAME=URL of a server that runs already (HTTP, or SSE ending in /sse)."
)
@click.option(
    "--env-arg", "arguments", multiple=True, help="KEY=VALUE for the environment's constructor (VALUE as JSON)."
)
@click.option("--max-episode-steps", type=click.IntRange(min=1), help="Time limit of an episode, environment steps.")
@click.option("--llm", default="", help=f"Language model that designs. {FORMS} Default: anthropic where a key is set.")
@click.option("--max-usd", type=click.FloatRange(min=0, min_open=True), help="Cap on the price of its calls.")
@click.option("--max-tokens", type=click.IntRange(min=1), help="Cap on its tokens, prompts and answers.")
@click.option(
    "--send-source", type=click.Choice(["yes", "no"]), default="yes", help="Send the environment's source to it?"
)
@click.option("--dry-run", is_flag=True, help="Show what would be sent to it and what that would cost; train nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object at the end.")
def build(as_json: bool, dry_run: bool, workspace: Path | None, **given: Any) -> int:
    """Build a Target Agent for ENVIRONMENT: a Gymnasium id, module:Class, or FILE.py[:Class]."""
    place = Workspace(workspace.expanduser().resolve()) if workspace else find_workspace(for_server=False)
    try:
        options = read_options(**given)
        if dry_run:
            return show_dry_run(options)
        if not given["name"]:
            options = options.model_copy(update={"project": _free_name(place, options.project)})
        _refuse_known(place, options.project)
    except Agent2Error as error:
        print_failure(error, given["name"] or "project", as_json=as_json)
        raise
    return drive(options, place, as_json=as_json)


@click.command()
@click.argument("name")
@click.option("--workspace", type=click.Path(path_type=Path), help="Folder of all projects.")
@click.option("--budget", default="", help="New total budget, time used before included.")
@click.option("--max-usd", type=click.FloatRange(min=0, min_open=True), help="New cap on the language model's price.")
@click.option("--max-tokens", type=click.IntRange(min=1), help="New cap on its tokens, those used before included.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object at the end.")
def resume(
    name: str, workspace: Path | None, budget: str, max_usd: float | None, max_tokens: int | None, as_json: bool
) -> int:
    """Go on with an interrupted build; finished runs and answers are not repeated."""
    place = Workspace(workspace.expanduser().resolve()) if workspace else find_workspace(for_server=False)
    options = _known_options(place, name)
    if budget:
        options = options.model_copy(update={"budget": parse_budget(budget)})
    caps = {"max_usd": max_usd, "max_tokens": max_tokens}
    options = options.model_copy(update={name: value for name, value in caps.items() if value is not None})
    return drive(options, place, as_json=as_json)


@click.command()
@click.argument("name")
@click.option("--as", "copy", default="", help="Name of the new project; NAME-replay where missing.")
@click.option("--workspace", type=click.Path(path_type=Path), help="Folder of all projects.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object at the end.")
def replay(name: str, copy: str, workspace: Path | None, as_json: bool) -> int:
    """Build project NAME anew from its recorded answers: same options, no key, no call to a language model."""
    place = Workspace(workspace.expanduser().resolve()) if workspace else find_workspace(for_server=False)
    options = _known_options(place, name)
    given = options.model_dump() | {"project": copy or f"{name}-replay"}
    if parse_choice(options.llm).provider != NO_MODEL:
        given["llm"] = f"replay:{(place.root / 'projects' / name / 'journal.sqlite').resolve()}"
    options = BuildOptions.model_validate(given)
    _refuse_known(place, options.project)
    return drive(options, place, as_json=as_json)


def _known_options(place: Workspace, name: str) -> BuildOptions:
    """Options of an earlier build.

    Raises:
        NotFound: there is no such build.
    """
    if not re.fullmatch(NAME_PATTERN, name) or not _is_known(place, name):
        known = ", ".join(path.parent.name for path in place.root.glob("projects/*/journal.sqlite")) or "none"
        raise NotFound(
            f"There is no build {name!r} in {place.root}; builds: {known}.", "Begin one with `agent2 build`."
        )
    events = Journal(place.root / "projects" / name / "journal.sqlite").events(kind="options")
    if not events:
        raise NotFound(f"Project {name!r} was not opened by `agent2 build`.", "Begin a build under another --name.")
    return BuildOptions.model_validate(events[-1].payload)


def read_options(**given: Any) -> BuildOptions:
    """Check everything a person typed, before anything is started or written.

    Raises:
        CorrectableError: an option cannot be used.
        PrerequisiteError: a file cannot be read.
    """
    environment, _, keyword_arguments = resolve_environment(given["environment"], given["arguments"])
    try:
        return BuildOptions(
            project=given["name"] or _default_name(environment),
            environment=environment,
            keyword_arguments=keyword_arguments,
            max_episode_steps=given["max_episode_steps"],
            task=read_task(given["task"], given["task_file"]),
            context=read_text(given["context_file"], "--context"),
            budget=parse_budget(given["budget"]),
            run_env_steps=parse_run_length(given["run_length"]) if given["run_length"] else None,
            seed=given["seed"],
            target_return=given["target_return"],
            algorithm=given["algorithm"],
            design_parts=parse_parts(given["parts"])
            if given["parts"]
            else BuildOptions.model_fields["design_parts"].default,
            baseline=read_baseline(given["baseline"]),
            parallel_runs=read_configuration().parallel_runs or len(os.sched_getaffinity(0)),
            addresses=parse_addresses(given["servers"], SERVER_NAMES),
            llm=(parse_choice(given["llm"]) if given["llm"] else default_choice()[0]).text,
            max_usd=given["max_usd"],
            max_tokens=given["max_tokens"],
            is_source_sent=given["send_source"] == "yes",
        )
    except ValidationError as error:
        faults = "; ".join(f"{_option(str(e['loc'][0]))}: {e['msg']}" for e in error.errors())
        raise CorrectableError(faults, "See `agent2 build --help`.") from error


def drive(options: BuildOptions, place: Workspace, *, as_json: bool) -> int:
    """Hold the project, run the build, print the result; see the exit codes of `cli`."""
    folder = place.root / "projects" / options.project
    is_new = not folder.exists()
    open_folder(place, folder)
    console = Console(stderr=True)
    try:
        with build_lock(folder), Display(console) as display:
            result = asyncio.run(_build(options, place, display))
    except EnvironmentUnfit as unfit:
        print_findings(console, unfit.report)
        if is_new:
            shutil.rmtree(folder, ignore_errors=True)  # the mended environment may take the same name
        print_failure(unfit, options.project, as_json=as_json)
        return EXIT_FINDINGS
    except BaseException as error:
        _remove_if_nothing_began(folder, is_new=is_new)
        print_failure(error, options.project, as_json=as_json)
        raise
    if result.state == "stopped" and not Journal(folder / "journal.sqlite").events(kind="options"):
        _remove_if_nothing_began(folder, is_new=is_new)
    print_result(result, as_json=as_json)
    return {"delivered": EXIT_OK, "stopped": EXIT_INTERRUPTED}.get(result.state, EXIT_FAILED)


async def _build(options: BuildOptions, place: Workspace, display: Display) -> BuildResult:
    """Connect the servers and run the pipeline; the first Ctrl-C pauses runs and ends with advice."""
    folder = place.root / "projects" / options.project
    before = used_before(folder)
    ledger = open_ledger(options, Journal(folder / "journal.sqlite"))
    display.note(describe_designer(options))
    display.stage("start the four servers")
    roots = () if (folder / "environment").is_dir() else resolve_environment(options.environment, ())[1]
    interruption = Interruption(display.note)
    with interruption.listening(), interruption.starting:
        async with (
            connect_servers(workspace=place.root, roots=roots, addresses=options.addresses) as servers,
            closing(ledger),
        ):
            interruption.has_begun = True
            clock = Clock(options.budget, used_before_seconds=before)
            display.watch(clock)
            designer = make_designer(options, servers, ledger, display.note)
            session = Session(options, place, servers, display, designer, clock)
            return with_costs(await _until_asked(session, interruption), ledger)
    return explain_no_beginning(options.project, Journal(folder / "journal.sqlite"))


async def _until_asked(session: Session, interruption: Interruption) -> BuildResult:
    """Run the pipeline to its end, or to the first signal: then its runs are paused."""
    work = asyncio.create_task(_opened(session))
    waiter = asyncio.create_task(interruption.is_asked.wait())
    await asyncio.wait({work, waiter}, return_when=asyncio.FIRST_COMPLETED)
    waiter.cancel()
    if work.done():
        return work.result()
    work.cancel()
    with interruption.pausing, anyio.move_on_after(PAUSE_SECONDS):
        await asyncio.wait({work})
        await pause_all(session)
    if work.done() and not work.cancelled() and work.exception() is None:
        return work.result()  # it was delivered in that very moment
    return explain_interruption(session)


async def _opened(session: Session) -> BuildResult:
    """Run the pipeline once the options are in the journal."""
    known = session.journal.events(kind="options")
    if not known or BuildOptions.model_validate(known[-1].payload) != session.options:
        session.journal.append(ACTOR, "options", session.name, session.options)
    return await run_pipeline(session)


def _default_name(environment: str) -> str:
    """`CartPole-v1` stays; `/folder/warehouse.py:Warehouse` becomes `warehouse`."""
    stem = Path(environment.rpartition(".py")[0]).stem if ".py" in environment else environment
    return re.sub(r"[^A-Za-z0-9._-]+", "-", stem).strip("-._")[:64] or "project"


def _free_name(place: Workspace, name: str) -> str:
    """Number a name that was not typed, where earlier builds have it."""
    number, free = 1, name
    while _is_known(place, free):
        number += 1
        free = f"{name}-{number}"
    return free


def _option(field: str) -> str:
    """Name the option that a field of the options comes from."""
    return {"project": "--name", "environment": "ENVIRONMENT"}.get(field, f"--{field.replace('_', '-')}")


def _is_known(place: Workspace, name: str) -> bool:
    return (place.root / "projects" / name / "journal.sqlite").exists()


def _refuse_known(place: Workspace, name: str) -> None:
    """A build never goes on in a project of an earlier one: that is what resume is for.

    Raises:
        ProjectBusy: the earlier build runs right now.
        CorrectableError: it has ended.
    """
    if _is_known(place, name):
        with build_lock(place.root / "projects" / name):
            pass
        raise CorrectableError(
            f"Project {name!r} exists already in {place.root}.",
            f"Go on with `agent2 resume {name}`, choose another --name, or remove it with `agent2 clean {name} --all`.",
        )


def _remove_if_nothing_began(folder: Path, *, is_new: bool) -> None:
    """A build that failed before any training leaves no trace, so that the corrected command may take the name."""
    if is_new and not any(folder.glob("runs/*")):
        shutil.rmtree(folder, ignore_errors=True)
