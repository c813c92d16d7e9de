"""Writing the report into the project and into the delivered agent."""

import contextlib
from pathlib import Path

import agent2_targets
from agent2_metrics import children
from agent2_metrics.diagnosing import diagnose_source
from agent2_metrics.reporting.facts import gather
from agent2_metrics.sources import find_source
from agent2_schemas import Agent2Error
from agent2_workspace import ProjectFolder, write_whole

CURVES_AT_MOST = 60


async def write_report(project: ProjectFolder) -> Path:
    """Write `report.html`; the delivered agent, where there is one, gets the same file.

    Returns:
        The project's report.
    """
    data = gather(project)
    if data.diagnosis is None and data.diagnosis_run:
        with contextlib.suppress(Agent2Error):  # a run without curves has no diagnosis: the report says so
            found = await diagnose_source(find_source(project.name, data.diagnosis_run, ""))
            data = data.model_copy(update={"diagnosis": found})
    runs = [project.run(each.run_id) for each in data.runs[-CURVES_AT_MOST:]]
    readable = [run for run in runs if run.tensorboard.is_dir()]
    payload: dict[str, object] = {
        "data": data.model_dump(mode="json"),
        "runs": [
            {
                "run": run.id,
                "candidate": run.read_specification().candidate_id,
                "purpose": data.purposes[run.id],
                "folder": str(run.tensorboard),
            }
            for run in readable
        ],
    }
    value = await children.ask("reporting.render_child", payload, read_only=tuple(run.tensorboard for run in readable))
    html = str(value["html"])
    write_whole(project.report_html, html)
    if (project.target / "manifest.json").exists():
        agent2_targets.add_file(project.target, "report.html", html)
    project.journal.append("metrics", "report", project.name, {"file": str(project.report_html)})
    return project.report_html
