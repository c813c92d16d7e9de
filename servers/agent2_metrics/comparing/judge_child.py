"""Child process: the verdict from the scores of runs."""

from typing import Any, cast

from agent2_metrics.comparing.scored_run import RunScore
from agent2_metrics.comparing.verdict import judge
from agent2_sandbox.child import serve_call


def main(payload: dict[str, object]) -> dict[str, object]:
    """Judge.

    Args:
        payload: `arms`: pairs of name and runs (`RunScore` as JSON); `search_score`, `blockers`, `warnings`.

    Returns:
        The verdict as JSON.
    """
    known = cast("dict[str, Any]", payload)
    verdict = judge(
        {name: [RunScore.model_validate(run) for run in runs] for name, runs in known["arms"]},
        search_score=known.get("search_score"),
        blockers=known.get("blockers", []),
        warnings=known.get("warnings", []),
    )
    return verdict.model_dump(mode="json")


if __name__ == "__main__":
    serve_call(main)
