"""The metrics server: six tools, one prompt, one chart; its heavy work runs in child processes."""

from importlib.resources import files
from typing import Annotated, cast

from mcp.server.apps import Apps
from mcp.types import CallToolResult
from pydantic import Field

from agent2_metrics import answers_text, children, sources
from agent2_metrics.run_status import read_all_statuses, read_evaluations
from agent2_schemas import CorrectableError, ProjectName, RunCurves, RunList
from agent2_serving import READ, Server, reply

INSTRUCTIONS = (
    "Reads runs and any TensorBoard log, says what is wrong with a training (diagnose_run), ranks a search and gives "
    "the verdict (compare_runs), draws curves and writes the report. Curves are reported, evaluations are scores."
)
CHART_URI = "ui://metrics/curves.html"
DEFAULT_TOTAL_POINTS = 400
"""Over all curves, where none is named: an answer of about 2000 tokens."""


def build_server() -> Server:
    """Build the metrics server."""
    apps = Apps()
    apps.add_html_resource(CHART_URI, files("agent2_metrics").joinpath("chart.html").read_text("utf-8"), title="Curves")
    server = Server("metrics", instructions=INSTRUCTIONS, extensions=[apps])
    _add_reading(server)
    return server.sealed()


def _add_reading(server: Server) -> None:
    @server.tool(title="List runs and scores", annotations=READ)
    def list_runs(project: ProjectName) -> Annotated[CallToolResult, RunList]:
        """How every run of a project stands, and the scores of its evaluations."""
        folder = sources.find_project(project)
        statuses = read_all_statuses(folder)
        evaluations = tuple(
            each.model_copy(update={"original_returns": (), "lengths": ()})
            for status in statuses
            for each in read_evaluations(folder.run(status.run_id))
            if each.state == "finished"
        )
        found = RunList(
            runs=statuses, evaluations=evaluations, next_step="diagnose_run" if statuses else "start_training"
        )
        return reply(answers_text.runs(found), found)

    @server.tool(title="Read learning curves", annotations=READ, meta={"ui": {"resourceUri": CHART_URI}})
    async def read_curves(
        project: str = "",
        run: str = "",
        log_folder: Annotated[
            str, Field(description="Any TensorBoard log directory, instead of project and run.")
        ] = "",
        names: Annotated[
            tuple[str, ...],
            Field(description="Canonical names (episode_return, entropy, …) or tags; empty: all known."),
        ] = (),
        max_points: Annotated[int, Field(ge=2, le=1000, description="Points of each curve.")] = 50,
    ) -> Annotated[CallToolResult, RunCurves]:
        """Curves of a run of ours, or of any TensorBoard log, under canonical names; thinned so that spikes stay."""
        source = sources.find_source(project, run, log_folder)
        payload: dict[str, object] = {
            "folder": str(source.folder), "names": list(names), "max_points": max_points,
            "total_points": DEFAULT_TOTAL_POINTS,
        }  # fmt: skip
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
