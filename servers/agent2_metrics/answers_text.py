"""The short text of each answer: enough for a reader who never sees the data."""

from agent2_schemas import Curve, Diagnosis, RunComparison, RunCurves, RunList, Verdict


def number(value: float | None) -> str:
    """A number as a person writes it; a question mark where it is missing."""
    return "?" if value is None else f"{value:.4g}"


def runs(found: RunList) -> str:
    """Text of `list_runs`."""
    if not found.runs:
        return "No runs yet. Next: start_training."
    scores = {each.run_id: each for each in sorted(found.evaluations, key=lambda each: each.purpose != "card")}
    lines: list[str] = []
    for status in found.runs[-10:]:
        steps = status.progress.env_steps if status.progress else 0
        score = scores.get(status.run_id)
        said = f", score {number(score.mean_original_return)} ({score.purpose})" if score else ""
        lines.append(
            f"{status.run_id} ({status.candidate_id}) {status.state} at {steps}/{status.budget_env_steps}{said}"
        )
    return f"{len(found.runs)} runs, newest last:\n" + "\n".join(lines)


def curves(found: RunCurves, missing: list[str]) -> str:
    """Text of `read_curves`."""
    lacking = f"; not in the log: {', '.join(missing)}" if missing else ""
    lines = [_curve(curve) for curve in found.curves[:8]]
    return f"{len(found.curves)} curves of {found.source} ({found.library}){lacking}.\n" + "\n".join(lines)


def diagnosis(found: Diagnosis) -> str:
    """Text of `diagnose_run`."""
    checked = f"{len(found.healthy)} rules healthy, {len(found.not_checked)} not checked for want of data"
    if not found.findings:
        return f"{found.source}: no finding; {checked}."
    lines = [f"{each.severity} {each.rule}: {each.symptom}" for each in found.findings[:5]]
    return f"{found.source}: {len(found.findings)} findings; {checked}.\n" + "\n".join(lines)


def comparison(found: RunComparison) -> str:
    """Text of `compare_runs`."""
    if found.verdict is not None:
        return verdict(found.verdict)
    lines = [
        f"{place}. {each.candidate_id}: {number(each.shrunken_mean)} (mean {number(each.mean)} of {len(each.scores)} runs)"
        for place, each in enumerate(found.ranking[:6], start=1)
    ]
    return f"Noise of one run: {number(found.pooled_noise)}. {found.message}\n" + "\n".join(lines)


def verdict(found: Verdict) -> str:
    """Text of a verdict."""
    arms = ", ".join(f"{arm.name} {number(arm.interquartile_mean or arm.mean)}" for arm in found.arms)
    return f"Verdict: {found.word}. {found.reason} Arms: {arms}."


def _curve(curve: Curve) -> str:
    values = [value for value in curve.values if value is not None]
    bad = f", {curve.nonfinite_count} not finite" if curve.nonfinite_count else ""
    holes = f", {curve.hole_count} holes" if curve.hole_count else ""
    if not values:
        return f"{curve.name}: no finite value{bad}{holes}"
    return (
        f"{curve.name}: {number(values[0])} to {number(values[-1])}, "
        f"{number(min(values))} to {number(max(values))} over {curve.points} points{bad}{holes}"
    )
