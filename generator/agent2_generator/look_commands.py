"""Commands that look: `runs`, `show`, `inspect`, `diagnose`, `compare`; each asks a server and prints."""

import asyncio
import json
from pathlib import Path
from typing import TypeVar

import click
from rich.console import Console
from rich.table import Table
from rich.tree import Tree

from agent2_generator.cli import EXIT_FINDINGS, EXIT_OK
from agent2_generator.findings import print_findings
from agent2_generator.places import resolve_environment, workspace_option
from agent2_generator.servers import connect_servers
from agent2_schemas import (
    Attempt,
    DiagnosisAnswer,
    EnvironmentReport,
    Frozen,
    Inspection,
    RunComparison,
    RunList,
    RunStatus,
)
from agent2_workspace import Workspace, find_workspace

Answer = TypeVar("Answer", bound=Frozen)


@click.command()
@click.argument("name", default="")
@workspace_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def runs(name: str, workspace: Workspace | None, as_json: bool) -> int:
    """List the projects, or the runs of project NAME."""
    place = workspace or find_workspace(for_server=False)
    if not name:
        return _list_projects(place, as_json=as_json)
    place.project(name)
    answer = _ask(place, "metrics", "list_runs", RunList, project=name)
    if as_json:
        click.echo(answer.model_dump_json())
        return EXIT_OK
    scores = {(e.run_id, e.purpose): e.mean_original_return for e in answer.evaluations}
    table = Table(box=None, padding=(0, 1))
    for heading in (
        "run",
        "candidate",
        "state",
        "env steps",
        "reported",
        "selection score",
        "verdict score",
        "message",
    ):
        table.add_column(heading)
    for run in answer.runs:
        table.add_row(run.run_id, run.candidate_id, run.state, *_numbers(run), _number(scores.get((run.run_id, "selection"))), _number(scores.get((run.run_id, "verdict"))), run.message)  # fmt: skip
    Console().print(table)
    return EXIT_OK


@click.command()
@click.argument("name")
@workspace_option
def show(name: str, workspace: Workspace | None) -> int:
    """Show what project NAME tried: the lineage of its candidates, the verdict, the agent."""
    place = workspace or find_workspace(for_server=False)
    folder = place.project(name)
    project = folder.read()
    console = Console()
    console.print(f"{name}: {project.environment.name}", style="bold", markup=False, highlight=False)
    if project.task:
        console.print(project.task, markup=False, highlight=False)
    attempts = {event.subject: Attempt.model_validate(event.payload) for event in folder.journal.events(kind="attempt")}
    console.print(_lineage(attempts))
    for kind in ("judgement", "result"):
        events = folder.journal.events(kind=kind)
        if events:
            payload = events[-1].payload
            text = (
                f"{payload['word']}. {payload['reason']}"
                if kind == "judgement"
                else f"score {_number(payload.get('score'))}, {payload['target']}"
            )
            console.print(f"{kind}: {text}", markup=False, highlight=False, soft_wrap=True)
    if folder.report_html.exists():
        console.print(f"report: {folder.report_html}", markup=False, highlight=False, soft_wrap=True)
    return EXIT_OK


@click.command()
@click.argument("environment")
@workspace_option
@click.option("--env-arg", "arguments", multiple=True, help="KEY=VALUE for the environment's constructor.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def inspect(environment: str, workspace: Workspace | None, arguments: tuple[str, ...], as_json: bool) -> int:
    """Inspect ENVIRONMENT; the exit code is 3 if a finding is an error."""
    place = workspace or find_workspace(for_server=False)
    name, roots, keyword_arguments = resolve_environment(environment, arguments)
    answer = _ask(
        place, "environment", "inspect_environment", Inspection, roots=roots, environment=name,
        keyword_arguments=keyword_arguments, detail="full",
    )  # fmt: skip
    if as_json:
        click.echo(answer.model_dump_json())
    else:
        _print_inspection(Console(), answer)
    findings = answer.report.findings if answer.report else ()
    return EXIT_FINDINGS if answer.state == "failed" or any(f.severity == "error" for f in findings) else EXIT_OK


@click.command()
@click.argument("name", default="")
@click.argument("run", default="")
@workspace_option
@click.option(
    "--logs", type=click.Path(path_type=Path, exists=True, file_okay=False), help="Any TensorBoard log folder."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def diagnose(name: str, run: str, workspace: Workspace | None, logs: Path | None, as_json: bool) -> int:
    """Say what the curves of a RUN of project NAME show (default: its newest), or of a TensorBoard folder."""
    place = workspace or find_workspace(for_server=False)
    if logs:
        folder = logs.resolve()
        answer = _ask(place, "metrics", "diagnose_run", DiagnosisAnswer, roots=(folder,), log_folder=str(folder))
    elif name:
        chosen = run or (place.project(name).run_ids() or ("r1",))[-1]
        answer = _ask(place, "metrics", "diagnose_run", DiagnosisAnswer, project=name, run=chosen)
    else:
        raise click.UsageError("Name a project, or a folder with --logs.")
    if as_json:
        click.echo(answer.model_dump_json())
        return EXIT_OK
    console = Console()
    diagnosis = answer.diagnosis
    if diagnosis is None:
        console.print(answer.message, markup=False)
        return EXIT_OK
    for finding in diagnosis.findings:
        console.print(
            f"{finding.severity} {finding.rule}: {finding.symptom}", style="bold", markup=False, highlight=False
        )
        console.print(f"    cause: {finding.cause}", markup=False, highlight=False)
        for fix in finding.fixes:
            console.print(
                f"    fix: {fix.path} {fix.operation} {fix.value}  {fix.reason}", markup=False, highlight=False
            )
    console.print(f"checked and healthy: {', '.join(diagnosis.healthy) or 'none'}", markup=False, highlight=False)
    console.print(f"not checked: {', '.join(diagnosis.not_checked) or 'none'}", markup=False, highlight=False)
    return EXIT_OK


@click.command()
@click.argument("name")
@click.argument("candidates", nargs=-1)
@workspace_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def compare(name: str, candidates: tuple[str, ...], workspace: Workspace | None, as_json: bool) -> int:
    """Rank CANDIDATES of project NAME by their selection scores (default: all that have one)."""
    place = workspace or find_workspace(for_server=False)
    chosen = list(candidates or place.project(name).candidate_ids())
    answer = _ask(place, "metrics", "compare_runs", RunComparison, project=name, candidates=chosen)
    if as_json:
        click.echo(answer.model_dump_json())
        return EXIT_OK
    table = Table(box=None, padding=(0, 1))
    for heading in ("candidate", "runs", "mean", "shrunken mean"):
        table.add_column(heading)
    for ranked in answer.ranking:
        table.add_row(
            ranked.candidate_id, ", ".join(ranked.run_ids), _number(ranked.mean), _number(ranked.shrunken_mean)
        )
    Console().print(table)
    Console().print(f"pooled noise over seeds: {_number(answer.pooled_noise)}", highlight=False)
    return EXIT_OK


def _ask(
    place: Workspace, server: str, tool: str, answer: type[Answer], *, roots: tuple[Path, ...] = (), **arguments: object
) -> Answer:
    """Start one server, ask once, stop it."""

    async def go() -> Answer:
        async with connect_servers(workspace=place.root, roots=roots, names=(server,)) as servers:
            return await servers.call(server, tool, answer, may_fail=True, **arguments)

    return asyncio.run(go())


def _list_projects(place: Workspace, *, as_json: bool) -> int:
    names = place.project_names()
    if as_json:
        click.echo(json.dumps(list(names)))
        return EXIT_OK
    console = Console()
    for name in names:
        folder = place.project(name)
        state = "delivered" if (folder.target / "manifest.json").exists() else f"{len(folder.run_ids())} runs"
        console.print(f"{name}: {folder.read().environment.name}, {state}", markup=False, highlight=False)
    if not names:
        console.print(f"no projects in {place.root}", markup=False, highlight=False)
    return EXIT_OK


def _lineage(attempts: dict[str, Attempt]) -> Tree:
    tree = Tree("candidates")
    nodes: dict[str, Tree] = {}
    for attempt in attempts.values():
        scores = ", ".join(_number(score) for score in attempt.scores) or "no score"
        label = f"{attempt.candidate_id} [{attempt.decision}] {attempt.change} (scores: {scores})"
        parent = nodes.get(attempt.parent_id or "", tree)
        nodes[attempt.candidate_id] = parent.add(label.replace("[", "\\["), highlight=False)
    return tree


def _print_inspection(console: Console, answer: Inspection) -> None:
    if answer.report is None:
        console.print(answer.message, markup=False, highlight=False)
        return
    _print_facts(console, answer.report)
    print_findings(console, answer.report)
    if not answer.report.findings:
        console.print("no findings", highlight=False)


def _print_facts(console: Console, report: EnvironmentReport) -> None:
    table = Table(show_header=False, box=None, padding=(0, 1))
    table.add_row("environment", report.reference.name)
    for group in report.groups:
        spaces = (
            f"observation {group.observation_space.model_dump_json()}, action {group.action_space.model_dump_json()}"
        )
        table.add_row(f"group {group.name}", f"{len(group.agents)} x {spaces}"[:240])
    if not report.groups:
        table.add_row("observation", report.observation_space.model_dump_json()[:160])
        table.add_row("action", report.action_space.model_dump_json()[:160])
    table.add_row("time limit", str(report.max_episode_steps or "none"))
    table.add_row("deterministic", {True: "yes", False: "no", None: "not measured"}[report.is_deterministic])
    if report.step_seconds:
        table.add_row("step cost", f"{report.step_seconds * 1e6:,.0f} µs")
    for episodes in report.episodes:
        value = f"mean return {_number(episodes.mean_original_return)} over {episodes.episodes} episodes of {_number(episodes.mean_length)} steps"
        table.add_row(f"{episodes.policy} policy", value + (", per agent" if report.groups else ""))
    if report.adaptations:
        table.add_row("adapted", "; ".join(report.adaptations))
    console.print(table)


def _numbers(run: RunStatus) -> tuple[str, str]:
    progress = run.progress
    return (f"{progress.env_steps:,}", _number(progress.reported_original_return)) if progress else ("0", "")


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:,.4g}"
