"""`agent2 verify`: all findings on a stored candidate, or on a file that becomes one, as `write_mdp` reports them."""

import asyncio
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from agent2_generator.cli import EXIT_FINDINGS, EXIT_OK
from agent2_generator.findings import print_finding
from agent2_generator.places import workspace_option
from agent2_generator.servers import connect_servers
from agent2_schemas import CandidateText, CandidateWritten, CorrectableError, RunFailed, VerificationReport
from agent2_workspace import Workspace, find_workspace


@click.command()
@click.argument("name")
@click.argument("candidate", metavar="CANDIDATE|FILE.py")
@workspace_option
@click.option("--info-key", "info_keys", multiple=True, help="Numeric key of info that reward reads; may be repeated.")
@click.option("--history", default=1, show_default=True, type=click.IntRange(1, 64), help="Observations for observe.")
@click.option("--previous-action", is_flag=True, help="Append the previous action.")
@click.option("--time-left", is_flag=True, help="Append the share of time left.")
@click.option("--action-repeat", default=1, show_default=True, type=click.IntRange(1, 16), help="Steps of one action.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
def verify(name: str, candidate: str, workspace: Workspace | None, as_json: bool, **declared: Any) -> int:
    """Verify a candidate of project NAME, or a FILE.py, which becomes a new candidate.

    Nothing is trained. The exit code is 3 if a finding is an error. The options declare what a file needs; a stored
    candidate keeps its own.
    """
    place = workspace or find_workspace(for_server=False)
    place.project(name)
    is_file = candidate.endswith(".py")
    ask = _written(place, name, Path(candidate), declared) if is_file else _stored(place, name, candidate)
    report = asyncio.run(ask)
    if as_json:
        click.echo(report.model_dump_json())
    else:
        what = f"{Path(candidate).name}, now candidate {report.candidate_id}" if is_file else _of_stored(report)
        _print(Console(), report, what)
    return EXIT_OK if report.is_accepted else EXIT_FINDINGS


def _of_stored(report: VerificationReport) -> str:
    return f"stored code of candidate {report.candidate_id}, verified again (its own report stays as it is)"


async def _written(place: Workspace, name: str, file: Path, declared: dict[str, Any]) -> VerificationReport:
    try:
        code = file.expanduser().read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CorrectableError(f"{file} cannot be read: {error}.", "Name a file mdp.py.") from error
    async with connect_servers(workspace=place.root, names=("mdp",)) as servers:
        answer = await servers.call(
            "mdp", "write_mdp", CandidateWritten, project=name, code=code, title=file.name,
            info_keys=list(declared["info_keys"]), history=declared["history"], time_left=declared["time_left"],
            previous_action=declared["previous_action"], action_repeat=declared["action_repeat"],
        )  # fmt: skip
    return _report(answer.report)


async def _stored(place: Workspace, name: str, candidate: str) -> VerificationReport:
    async with connect_servers(workspace=place.root, names=("mdp",)) as servers:
        answer = await servers.call(
            "mdp", "read_candidate", CandidateText, project=name, candidate=candidate, verify_again=True
        )
    return _report(answer.verification)


def _report(report: VerificationReport | None) -> VerificationReport:
    if report is None:
        raise RunFailed("The MDP server answered without a report.", "Run `agent2 doctor`.")
    return report


def _print(console: Console, report: VerificationReport, what: str) -> None:
    counts = {severity: sum(f.severity == severity for f in report.findings) for severity in ("error", "warning")}
    word = "accepted" if report.is_accepted else "rejected"
    head = f"{what}: {word}, {counts['error']} errors, {counts['warning']} warnings"
    console.print(head, style="bold", markup=False, highlight=False, soft_wrap=True)
    for finding in report.findings:
        print_finding(console, finding)
    _print_components(console, report)
    tried = f"levels passed: {', '.join(report.levels_passed) or 'none'}; {report.recorded_transitions} recorded transitions"
    console.print(tried, markup=False, highlight=False, soft_wrap=True)
    if report.isolation is not None:
        gaps = "; ".join(report.isolation.not_enforced) or "nothing"
        console.print(
            f"run in sandbox tier {report.isolation.tier}; not enforced: {gaps}",
            markup=False,
            highlight=False,
            soft_wrap=True,
        )


def _print_components(console: Console, report: VerificationReport) -> None:
    if not report.reward_components:
        return
    table = Table(box=None, padding=(0, 1))
    for heading in ("reward component", "weight", "mean", "std", "min", "max", "share", "with original"):
        table.add_column(heading)
    for row in report.reward_components:
        numbers = (row.weight, row.mean, row.std, row.min, row.max, row.share, row.correlation_with_original)
        table.add_row(row.name, *("" if number is None else f"{number:.4g}" for number in numbers))
    console.print(table)
