"""Child process: read a log and diagnose it."""

from pathlib import Path
from typing import Any, cast

from agent2_metrics.curves.reading import LogUnreadable, read_log
from agent2_metrics.diagnosis.diagnose import diagnose
from agent2_metrics.diagnosis.facts import Facts
from agent2_sandbox.child import serve_call
from agent2_schemas import Design, EnvironmentReport, Evaluation, VerificationReport


def main(payload: dict[str, object]) -> dict[str, object]:
    """Diagnose.

    Args:
        payload: `folder`, `source`, and what is known besides, as JSON of the schemas: `design`, `report`,
            `verification`, `evaluations`, `sibling_scores`, `budget_env_steps`, `target_return`.

    Returns:
        The diagnosis as JSON.
    """
    known = cast("dict[str, Any]", payload)
    runs = read_log(Path(known["folder"]))
    if len(runs) != 1:
        names = ", ".join(run.folder or "." for run in runs[:10])
        raise LogUnreadable(f"{known['folder']} holds {len(runs)} runs, one is diagnosed at a time: {names}.")
    facts = Facts(
        series=runs[0].named(),
        library=runs[0].library,
        design=Design.model_validate(known["design"]) if known.get("design") else None,
        report=EnvironmentReport.model_validate(known["report"]) if known.get("report") else None,
        verification=VerificationReport.model_validate(known["verification"]) if known.get("verification") else None,
        evaluations=tuple(
            Evaluation.model_validate(each) for each in cast("list[Any]", known.get("evaluations") or [])
        ),
        sibling_scores=tuple(cast("list[float]", known.get("sibling_scores") or [])),
        budget_env_steps=known.get("budget_env_steps"),
        target_return=known.get("target_return"),
    )
    return diagnose(facts, known["source"]).model_dump(mode="json")


if __name__ == "__main__":
    serve_call(main)
