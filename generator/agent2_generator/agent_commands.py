"""Commands about a delivered agent: `evaluate` by the trusted evaluator, `play` in front of a person's eyes."""

import asyncio
import subprocess
import sys
from pathlib import Path

import click
from rich.console import Console

from agent2_generator.cli import EXIT_FAILED, EXIT_OK
from agent2_generator.places import workspace_option
from agent2_generator.servers import connect_servers
from agent2_schemas import Evaluation, NotFound, TargetManifest
from agent2_workspace import ProjectFolder, Workspace, find_workspace, read_json


@click.command()
@click.argument("name")
@workspace_option
@click.option("--run", default="", help="Run to evaluate; the delivered one where missing.")
@click.option(
    "--episodes", default=100, show_default=True, type=click.IntRange(1, 1000), help="Episodes on fresh seeds."
)
@click.option("--stochastic", is_flag=True, help="Sample actions instead of taking the greedy one.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def evaluate(name: str, workspace: Workspace | None, run: str, episodes: int, stochastic: bool, as_json: bool) -> int:
    """Score the agent of project NAME by the trusted evaluator, on fresh seeds outside every list."""
    place = workspace or find_workspace(for_server=False)
    folder = place.project(name)
    run_id, checkpoint = (run, "latest") if run else _delivered(folder)

    async def go() -> Evaluation:
        async with connect_servers(workspace=place.root, names=("training",)) as servers:
            return await servers.call(
                "training", "evaluate_run", Evaluation, may_fail=True, project=name, run=run_id, purpose="fresh",
                checkpoint=checkpoint, episodes=episodes, mode="stochastic" if stochastic else "deterministic",
            )  # fmt: skip

    result = asyncio.run(go())
    if as_json:
        click.echo(result.model_dump_json())
    elif result.state == "finished":
        Console().print(
            f"{name}: mean original return {result.mean_original_return:,.5g} over {result.episodes} episodes "
            f"(95 % interval {_number(result.interval_low)} to {_number(result.interval_high)}, minimum {_number(result.min_original_return)})",
            highlight=False,
            soft_wrap=True,
        )
    else:
        Console(stderr=True).print(f"The evaluation failed: {result.message}", markup=False, highlight=False)
    return EXIT_OK if result.state == "finished" else EXIT_FAILED


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("name")
@click.argument("options", nargs=-1, type=click.UNPROCESSED)
@workspace_option
def play(name: str, options: tuple[str, ...], workspace: Workspace | None) -> int:
    """Watch the agent of project NAME act; OPTIONS go to its play.py (try --help, or --video FILE)."""
    folder = (workspace or find_workspace(for_server=False)).project(name)
    _delivered(folder)
    return subprocess.run([sys.executable, str(folder.target / "play.py"), *options], check=False).returncode


def _delivered(folder: ProjectFolder) -> tuple[str, str]:
    manifest = folder.target / "manifest.json"
    if not manifest.exists():
        raise NotFound(
            f"Project {folder.name!r} has no delivered agent yet.", f"Go on with `agent2 resume {folder.name}`."
        )
    read = read_json(Path(manifest), TargetManifest)
    return read.run_id, str(read.checkpoint_env_steps)


def _number(value: float | None) -> str:
    return "not measured" if value is None else f"{value:,.5g}"
