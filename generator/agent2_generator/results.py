"""The one result of a build, as a person or a program reads it: always on stdout."""

import click
from rich.console import Console

from agent2_generator.cli import innermost
from agent2_generator.language_choice import describe_costs
from agent2_schemas import BuildResult


def print_failure(error: BaseException, project: str, *, as_json: bool) -> None:
    """With `--json`, a failed build prints its one object too."""
    if as_json:
        cause = innermost(error)
        print_result(BuildResult(project=project, state="failed", message=str(cause)), as_json=True)


def print_result(result: BuildResult, *, as_json: bool) -> None:
    """Print the result of a build: one JSON object, or rows for a person."""
    console = Console()
    if as_json:
        click.echo(result.model_dump_json())
        return
    if result.state != "delivered":
        console.print(result.message, markup=False, highlight=False, soft_wrap=True)
        return
    interval = ""
    if result.score_interval_low is not None and result.score_interval_high is not None:
        interval = f" (95 % interval {result.score_interval_low:,.4g} to {result.score_interval_high:,.4g})"
    score = (
        "none"
        if result.score is None
        else f"{result.score:,.5g} over {result.score_episodes} held-out episodes{interval}"
    )
    rows = [
        ("Target Agent", result.target),
        ("algorithm", result.algorithm),
        ("agent score", score),
        ("design verdict", f"{result.verdict}. {result.verdict_reason}"),
        ("report", result.report),
        ("spent", f"{result.env_steps:,} env steps, {result.seconds:,.0f} s, {result.candidates} candidates"),
        ("language model", describe_costs(result)),
        ("try it", f"python {result.target}/evaluate.py --episodes 20"),
    ]
    if result.target_return_reached is not None:
        rows.insert(3, ("target return", "reached" if result.target_return_reached else "not reached"))
    for name, text in rows:
        if not text:
            continue
        console.print(f"{name:<15} {text}", markup=False, highlight=False, soft_wrap=True)
