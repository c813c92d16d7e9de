"""The prompt `refine_from_feedback`, filled from scores, curves, diagnosis and attempts."""

from importlib.resources import files

from agent2_metrics import answers_text, children
from agent2_metrics.diagnosing import diagnose_source
from agent2_metrics.run_status import read_evaluations
from agent2_metrics.sources import find_source
from agent2_schemas import Diagnosis, RunCurves
from agent2_workspace import ProjectFolder, RunFolder

CURVE_POINTS = 6
ATTEMPTS_SHOWN = 12


async def refine_from_feedback(project_name: str, run_id: str) -> str:
    """Fill the prompt.

    Raises:
        NotFound: there is no such project or run.
        CorrectableError: the run has written no curves yet.
    """
    source = find_source(project_name, run_id, "")
    assert source.project is not None
    assert source.run is not None
    diagnosis = await diagnose_source(source)
    value = await children.ask(
        "curves.read_child",
        {"folder": str(source.folder), "names": [], "max_points": CURVE_POINTS, "total_points": 200},
        read_only=(source.folder,),
    )
    curves = RunCurves.model_validate(
        {"source": run_id, **{key: value[key] for key in ("library", "curves", "other_tags")}}
    )
    text = files("agent2_metrics.prompts").joinpath("refine_from_feedback.md").read_text("utf-8")
    return text.format(
        project=project_name,
        run=run_id,
        candidate=source.run.read_specification().candidate_id,
        task=source.project.read().task or "not given in words",
        scores=_scores(source.run),
        curves=_curves(curves),
        diagnosis=_diagnosis(diagnosis),
        attempts=_attempts(source.project),
    )


def _scores(run: RunFolder) -> str:
    lines = [
        f"- {each.purpose}, {each.mode}, at {each.checkpoint_env_steps} env steps: mean {answers_text.number(each.mean_original_return)}, "
        f"std {answers_text.number(each.std_original_return)}, min {answers_text.number(each.min_original_return)}, {each.episodes} episodes"
        for each in read_evaluations(run, "selection")
        if each.state == "finished"
    ]
    return "\n".join(lines) or "No evaluation yet: call evaluate_run before you change anything."


def _curves(found: RunCurves) -> str:
    lines = [
        f"- {curve.name} ({curve.x_unit} {curve.x[0]:.0f} to {curve.x[-1]:.0f}): "
        + ", ".join("NaN" if value is None else f"{value:.3g}" for value in curve.values)
        for curve in found.curves
        if curve.x
    ]
    return "\n".join(lines)


def _diagnosis(found: Diagnosis) -> str:
    lines: list[str] = []
    for each in found.findings:
        lines.append(f"- **{each.rule}** ({each.severity}): {each.symptom} Cause: {each.cause} {each.advice}".rstrip())
        lines += [f"  - {fix.operation} `{fix.path}` {fix.value}: {fix.reason}".rstrip(": ") for fix in each.fixes]
    lines = lines or ["No rule fired."]
    if found.not_checked:
        lines.append(f"- Not checked: {', '.join(found.not_checked)}.")
    return "\n".join(lines)


def _attempts(project: ProjectFolder) -> str:
    newest = {event.subject: event.payload for event in project.journal.events(kind="attempt")}
    lines = [
        f"- {name} (from {attempt.get('parent_id') or 'scratch'}): {attempt.get('change')} Reason: {attempt.get('reason')} "
        f"Scores: {attempt.get('scores')}, decision: {attempt.get('decision')}"
        for name, attempt in list(newest.items())[-ATTEMPTS_SHOWN:]
    ]
    return "\n".join(lines) or "None recorded."
