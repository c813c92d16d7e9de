"""The metrics server: six tools, one prompt, one chart; its heavy work runs in child processes."""

from importlib.resources import files
from typing import Annotated, Literal, cast

from mcp.server.apps import Apps
from mcp.server.mcpserver import Context
from mcp.types import CallToolResult, ImageContent
from pydantic import Field

from agent2_metrics import answers_text, children, feedback, sources
from agent2_metrics.comparing.compare import give_verdict, rank
from agent2_metrics.diagnosing import diagnose_source
from agent2_metrics.plotting.plot import encoded, plot
from agent2_metrics.reporting.write import write_report as write_project_report
from agent2_metrics.run_status import read_all_statuses, read_evaluations
from agent2_schemas import (
    CorrectableError,
    CurvesPlot,
    DiagnosisAnswer,
    Identifier,
    ProjectName,
    ReportWritten,
    RunComparison,
    RunCurves,
    RunList,
)
from agent2_serving import READ, WRITE, LongCalls, Server, reply

INSTRUCTIONS = (
    "Reads runs and any TensorBoard log, says what is wrong with a training (diagnose_run), ranks a search and gives "
    "the verdict (compare_runs), draws curves and writes the report. Curves are reported, evaluations are scores."
)
CHART_URI = "ui://metrics/curves.html"
DEFAULT_TOTAL_POINTS = 400
"""Over all curves, where none is named: an answer of about 2000 tokens."""
STILL_RUNNING = "Still at work; make the same call again."

LogFolder = Annotated[str, Field(description="Any TensorBoard log directory, instead of project and run.")]


def build_server() -> Server:
    """Build the metrics server."""
    apps = Apps()
    apps.add_html_resource(CHART_URI, files("agent2_metrics").joinpath("chart.html").read_text("utf-8"), title="Curves")
    server = Server("metrics", instructions=INSTRUCTIONS, extensions=[apps])
    calls = LongCalls()
    _add_reading(server)
    _add_diagnosis(server, calls)
    _add_comparison(server, calls)
    _add_pictures(server, calls)
    return server.sealed()


def _add_reading(server: Server) -> None:
    @server.tool(title="List runs and scores", annotations=READ)
    def list_runs(project: ProjectName) -> Annotated[CallToolResult, RunList]:
        """How every run of a project stands, and the scores of its evaluations."""
        folder = sources.find_project(project)
        statuses = tuple(each.model_copy(update={"isolation": None}) for each in read_all_statuses(folder))
        evaluations = tuple(
            each.model_copy(update={"original_returns": (), "lengths": (), "isolation": None})
            for status in statuses
            for each in read_evaluations(folder.run(status.run_id))
            if each.state == "finished"
        )
        next_step = "diagnose_run" if statuses else "start_training"
        found = RunList(runs=statuses, evaluations=evaluations, next_step=next_step)
        return reply(answers_text.runs(found), found)

    @server.tool(title="Read learning curves", annotations=READ, meta={"ui": {"resourceUri": CHART_URI}})
    async def read_curves(
        project: str = "",
        run: str = "",
        log_folder: LogFolder = "",
        names: Annotated[
            tuple[str, ...],
            Field(description="Canonical names (episode_return, entropy, …) or tags; empty: all known."),
        ] = (),
        max_points: Annotated[int, Field(ge=2, le=1000, description="Points of each curve.")] = 50,
    ) -> Annotated[CallToolResult, RunCurves]:
        """Curves of a run of ours, or of any TensorBoard log, under canonical names; thinned so that spikes stay."""
        source = sources.find_source(project, run, log_folder)
        payload: dict[str, object] = {
            "folder": str(source.folder),
            "names": list(names),
            "max_points": max_points,
            "total_points": DEFAULT_TOTAL_POINTS,
        }
        value = await children.ask(
            "curves.read_child", payload, read_only=(source.folder,), timeout_seconds=children.QUICK_SECONDS
        )
        missing = cast("list[str]", value.pop("missing"))
        value.pop("folders")
        curves = RunCurves.model_validate({"source": source.label, **value})
        if names and not curves.curves:
            known = ", ".join(curves.other_tags[:20])
            raise CorrectableError(f"The log holds none of {', '.join(missing)}.", f"It holds: {known}.")
        return reply(answers_text.curves(curves, missing), curves)


def _add_diagnosis(server: Server, calls: LongCalls) -> None:
    @server.tool(title="Diagnose a training", annotations=READ)
    async def diagnose_run(
        ctx: Context, project: str = "", run: str = "", log_folder: LogFolder = ""
    ) -> Annotated[CallToolResult, DiagnosisAnswer]:
        """What is wrong with a training, by rules that compute: symptom, numbers, cause, and patches in the order to try."""
        source = sources.find_source(project, run, log_folder)
        key = f"diagnose {project} {run} {source.folder}"
        found = await calls.result(key, lambda: diagnose_source(source), ctx=ctx)
        if found is None:
            running = DiagnosisAnswer(state="running", message=STILL_RUNNING, next_step="diagnose_run")
            return reply(STILL_RUNNING, running)
        next_step = "write_training with the first patch, or write_mdp" if found.findings else "evaluate_run"
        return reply(answers_text.diagnosis(found), DiagnosisAnswer(diagnosis=found, next_step=next_step))

    @server.prompt(title="Refine a design from its feedback")
    async def refine_from_feedback(project: str, run: str) -> str:
        """Scores, curves, diagnosis and earlier attempts of a run, and how to choose the next change."""
        return await feedback.refine_from_feedback(project, run)


def _add_comparison(server: Server, calls: LongCalls) -> None:
    @server.tool(title="Rank candidates, or give the verdict", annotations=READ)
    async def compare_runs(
        ctx: Context,
        project: ProjectName,
        candidates: Annotated[
            tuple[Identifier, ...], Field(description="To rank by shrunken means; empty: all that were trained.")
        ] = (),
        arms: Annotated[
            dict[str, tuple[Identifier, ...]] | None,
            Field(description="Run ids by name, the design in question first, then both baselines: gives the verdict."),
        ] = None,
        purpose: Annotated[
            Literal["selection", "verdict"] | None,
            Field(description="Which evaluations count; null: verdict for arms, selection for a ranking."),
        ] = None,
    ) -> Annotated[CallToolResult, RunComparison]:
        """Rank a search (tests nothing), or judge the first arm against baselines re-trained on fresh seeds.

        The verdict is improved only where the 95 % interval of the difference of interquartile means lies above zero
        for both baselines, with 5 runs an arm or more; failed runs count as the worst score.
        """
        folder = sources.find_project(project)
        if not arms:
            ranking = rank(folder, candidates, purpose or "selection")
            folder.journal.append("metrics", "comparison", project, ranking)
            return reply(answers_text.comparison(ranking), ranking)
        chosen = purpose or "verdict"
        key = f"compare {project} {chosen} {sorted(arms.items())} {next(iter(arms))}"
        verdict = await calls.result(key, lambda: give_verdict(folder, arms, chosen), ctx=ctx)
        if verdict is None:
            running = RunComparison(state="running", message=STILL_RUNNING, next_step="compare_runs")
            return reply(STILL_RUNNING, running)
        found = RunComparison(verdict=verdict, next_step="export_target, then write_report")
        return reply(answers_text.comparison(found), found)


def _add_pictures(server: Server, calls: LongCalls) -> None:
    @server.tool(title="Plot learning curves", annotations=WRITE)
    async def plot_curves(
        ctx: Context,
        project: ProjectName,
        runs: Annotated[tuple[Identifier, ...], Field(description="Run ids; empty: all.")] = (),
        names: Annotated[tuple[str, ...], Field(min_length=1, max_length=8, description="Canonical names.")] = (
            "episode_return",
        ),
        include_image: Annotated[bool, Field(description="Send the picture too, not only its path.")] = False,
    ) -> Annotated[CallToolResult, CurvesPlot]:
        """Draw curves into a PNG: a thin line a run, a thick mean a candidate."""
        folder = sources.find_project(project)
        key = f"plot {project} {runs} {names}"
        drawn = await calls.result(key, lambda: plot(folder, runs, names), ctx=ctx)
        if drawn is None:
            return reply(STILL_RUNNING, CurvesPlot(state="running", message=STILL_RUNNING, next_step="plot_curves"))
        file, missing = drawn
        message = f"No run has {', '.join(missing)}." if missing else ""
        found = CurvesPlot(file=str(file), message=message)
        picture = encoded(file) if include_image else None
        blocks = [ImageContent(type="image", data=picture, mime_type="image/png")] if picture else []
        return reply(f"{file}. {message}", found, *blocks)

    @server.tool(title="Write the report", annotations=WRITE)
    async def write_report(ctx: Context, project: ProjectName) -> Annotated[CallToolResult, ReportWritten]:
        """Write report.html from the journal and the folders; the delivered agent gets the same file."""
        folder = sources.find_project(project)
        file = await calls.result(f"report {project}", lambda: write_project_report(folder), ctx=ctx)
        if file is None:
            return reply(STILL_RUNNING, ReportWritten(state="running", message=STILL_RUNNING, next_step="write_report"))
        return reply(f"The report is {file}.", ReportWritten(file=str(file)))
