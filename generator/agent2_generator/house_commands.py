"""Commands about the installation: `doctor`, `clean`, `env list`, `serve`."""

import asyncio
import importlib.metadata
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NoReturn

import click
from rich.console import Console
from rich.table import Table

from agent2_generator.cli import EXIT_FAILED, EXIT_OK
from agent2_generator.places import workspace_option
from agent2_generator.servers import SERVER_NAMES, connect_servers
from agent2_sandbox import read_run_process
from agent2_schemas import NAME_PATTERN, CorrectableError, EnvironmentFamilies, NotFound, PrerequisiteError, RunStatus
from agent2_workspace import (
    ProjectFolder,
    Workspace,
    build_lock,
    configuration_file,
    describe_grants,
    find_workspace,
    read_configuration,
)

_EXTRAS = {
    "train": ("torch", "tianshou", "tensorboard", "optuna", "safetensors", "jinja2"),
    "metrics": ("tensorboard", "scipy", "matplotlib", "jinja2"),
    "mujoco": ("mujoco",),
    "box2d": ("Box2D",),
}


@click.command()
@workspace_option
def doctor(workspace: Workspace | None) -> int:
    """Check the installation: versions, extras, sandbox, workspace, servers; the exit code is 1 if something is missing."""
    place = workspace or find_workspace(for_server=False)
    table = Table(show_header=False, box=None, padding=(0, 1))
    faults: list[str] = []
    table.add_row("agent-squared", importlib.metadata.version("agent-squared"), f"Python {sys.version.split()[0]}")
    for extra, modules in _EXTRAS.items():
        missing = [name for name in modules if importlib.util.find_spec(name) is None]
        state = "installed" if not missing else f"missing {', '.join(missing)}: pip install 'agent-squared[{extra}]'"
        table.add_row(f"extra {extra}", state, "")
        if missing and extra in ("train", "metrics"):
            faults.append(extra)
    sandbox = subprocess.run([sys.executable, "-m", "agent2_sandbox"], capture_output=True, text=True, check=False)
    table.add_row("sandbox", sandbox.stdout.strip() or sandbox.stderr.strip()[-300:], "")
    configuration = read_configuration()
    table.add_row("configuration", str(configuration_file()), f"isolation: {configuration.isolation}")
    for grant in describe_grants(configuration.grants):
        table.add_row("granted", grant, "")
    table.add_row("workspace", str(place.root), _writable(place.root, faults))
    table.add_row("servers", _answers(place, faults), "")
    Console().print(table)
    return EXIT_FAILED if faults else EXIT_OK


@click.command()
@click.argument("name")
@workspace_option
@click.option("--all", "everything", is_flag=True, help="Remove the whole project, agent and report included.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def clean(name: str, workspace: Workspace | None, everything: bool, yes: bool) -> int:
    """Free the disk: remove the work folders of ended runs of project NAME; scores, journal, report and agent stay."""
    place = workspace or find_workspace(for_server=False)
    folder = _existing(place, name)
    with build_lock(folder.root):
        living = _living_runs(folder)
        if living and everything:
            raise CorrectableError(f"Runs {', '.join(living)} of {name!r} are still in progress.", "Stop them first.")
        ended = [run for run in folder.run_ids() if run not in living]
        doomed = [folder.root] if everything else [path for run in ended if (path := folder.run(run).work).exists()]
        size = sum(_size(path) for path in doomed)
        what = f"project {name}" if everything else f"the work folders of {len(doomed)} ended runs"
        if doomed and not yes:
            click.confirm(f"Remove {what}, {size / 2**20:,.0f} MiB?", abort=True)
        if not everything:
            _accept_checkpoints(place, name, ended)
        for path in doomed:
            shutil.rmtree(path)
    Console().print(f"freed {size / 2**20:,.0f} MiB", highlight=False)
    return EXIT_OK


def _existing(place: Workspace, name: str) -> ProjectFolder:
    """Find a project folder by a plain name: never a path that leads elsewhere.

    Raises:
        NotFound: there is none of that name.
    """
    folder = place.root / "projects" / name
    if not re.fullmatch(NAME_PATTERN, name) or not folder.is_dir() or folder.is_symlink():
        raise NotFound(f"There is no project {name!r} in {place.root}.", "See `agent2 runs`.")
    return ProjectFolder(folder)


def _living_runs(folder: ProjectFolder) -> list[str]:
    """Ids of the runs whose processes may still write."""
    living: list[str] = []
    for run_id in folder.run_ids():
        status_file = folder.run(run_id).status_file
        if status_file.exists() and read_run_process(status_file).state in ("queued", "running"):
            living.append(run_id)
    return living


def _accept_checkpoints(place: Workspace, name: str, run_ids: list[str]) -> None:
    """Let the training server take over the checkpoints of ended runs before their work folders go."""

    async def go() -> None:
        async with connect_servers(workspace=place.root, names=("training",)) as servers:
            for run_id in run_ids:
                await servers.call("training", "check_training", RunStatus, project=name, run=run_id)

    if run_ids:
        asyncio.run(go())


@click.group()
def env() -> None:
    """Environments that can be used here."""


@env.command("list")
@click.argument("family", default="")
@workspace_option
def env_list(family: str, workspace: Workspace | None) -> int:
    """List the families of environments, what is installed, and the line that installs the rest."""
    place = workspace or find_workspace(for_server=False)

    async def go() -> EnvironmentFamilies:
        async with connect_servers(workspace=place.root, names=("environment",)) as servers:
            return await servers.call("environment", "list_environments", EnvironmentFamilies, family=family)

    table = Table(box=None, padding=(0, 1))
    for heading in ("family", "installed", "environments", "install with"):
        table.add_column(heading)
    for each in asyncio.run(go()).families:
        shown = ", ".join(each.environments if family else each.environments[:6])
        more = f" … {each.count} in all" if not family and each.count > 6 else ""
        table.add_row(each.name, "yes" if each.is_installed else "no", shown + more, each.install)
    Console().print(table)
    return EXIT_OK


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("options", nargs=-1, type=click.UNPROCESSED)
def serve(options: tuple[str, ...]) -> NoReturn:
    """Serve all installed servers from one process over HTTP or SSE; OPTIONS as in `python -m agent2_serving --help`."""
    sys.stdout.flush()
    # In place of this process, so that whoever stops it stops the servers.
    os.execv(sys.executable, [sys.executable, "-m", "agent2_serving", *options])


def _writable(root: Path, faults: list[str]) -> str:
    nearest = next(path for path in (root, *root.parents) if path.exists())
    try:
        with tempfile.TemporaryFile(dir=nearest):
            return "writable"
    except OSError as error:  # tried, not asked: to root every folder looks writable
        faults.append("workspace")
        return f"not writable ({error.strerror}): set AGENT2_WORKSPACE or --workspace"


def _answers(place: Workspace, faults: list[str]) -> str:
    async def go() -> None:
        async with connect_servers(workspace=place.root):
            return

    try:
        asyncio.run(go())
    except (PrerequisiteError, BaseExceptionGroup) as error:
        faults.append("servers")
        return str(error)
    return f"{', '.join(SERVER_NAMES)} answer"


def _size(path: Path) -> int:
    return sum(file.lstat().st_size for file in path.rglob("*") if file.is_file() and not file.is_symlink())
