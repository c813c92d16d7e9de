"""Ranking candidates and judging arms, from the folders of a project."""

from collections.abc import Mapping, Sequence
from typing import Any

from agent2_metrics import children
from agent2_metrics.comparing.ranking import Shrunken, shrink
from agent2_metrics.comparing.run_scores import read_run_score, shared_mode
from agent2_metrics.comparing.scored_run import RunScore
from agent2_metrics.run_status import read_all_statuses
from agent2_schemas import CorrectableError, Purpose, RankedCandidate, RunComparison, Verdict
from agent2_workspace import ProjectFolder

LOOKS_AT_MOST = 3


def rank(project: ProjectFolder, candidates: Sequence[str], purpose: Purpose) -> RunComparison:
    """Rank candidates by shrunken means; no candidates: all that were trained.

    Raises:
        CorrectableError: none of them has an evaluated run.
    """
    for candidate_id in candidates:
        project.candidate(candidate_id)
    runs_by_candidate: dict[str, list[str]] = {candidate_id: [] for candidate_id in candidates}
    wanted_run = "verdict" if purpose == "verdict" else "search"
    purposes = {run_id: project.run(run_id).read_specification().purpose for run_id in _started(project)}
    for status in read_all_statuses(project):
        if purposes.get(status.run_id) == wanted_run and (not candidates or status.candidate_id in runs_by_candidate):
            runs_by_candidate.setdefault(status.candidate_id, []).append(status.run_id)
    mode = shared_mode(project, [run for runs in runs_by_candidate.values() for run in runs], purpose)
    scores = {
        name: [read_run_score(project, run_id, purpose, mode) for run_id in runs]
        for name, runs in runs_by_candidate.items()
    }
    scores = {name: [run for run in runs if run.score is not None or run.is_failure] for name, runs in scores.items()}
    known = [run.score for runs in scores.values() for run in runs if run.score is not None and not run.is_failure]
    if not known:
        raise CorrectableError(
            f"No run of these candidates has a score on {purpose} seeds.", "Call evaluate_run on finished runs first."
        )
    filled = {
        name: [min(known) if run.is_failure or run.score is None else run.score for run in runs]
        for name, runs in scores.items()
        if runs
    }
    return _ranking(shrink(filled), scores)


def _ranking(found: Shrunken, scores: Mapping[str, Sequence[RunScore]]) -> RunComparison:
    ranking = tuple(
        RankedCandidate(
            candidate_id=name,
            run_ids=tuple(run.run_id for run in scores[name]),
            scores=tuple(None if run.is_failure else run.score for run in scores[name]),
            mean=found.means[name],
            shrunken_mean=found.shrunken[name],
        )
        for name in found.order
    )
    return RunComparison(
        ranking=ranking,
        pooled_noise=found.noise,
        message=_remarks(found, scores),
        next_step="start_training with another seed_index for the leaders, or with purpose verdict for a re-test",
    )


def _remarks(found: Shrunken, scores: Mapping[str, Sequence[RunScore]]) -> str:
    """Say what the order cannot be trusted for."""
    remarks: list[str] = ["A ranking on selection seeds tests nothing: the verdict alone does."]
    if found.noise is None:
        remarks.append("No candidate has two scored runs, so the noise is unknown and nothing is shrunken.")
    single = [name for name in found.order if len(scores[name]) == 1]
    if single:
        remarks.append(f"One run only: {', '.join(single)}.")
    unscored = [name for name, runs in scores.items() if not runs]
    if unscored:
        remarks.append(f"No score yet: {', '.join(unscored)}.")
    failed = [run.run_id for runs in scores.values() for run in runs if run.is_failure]
    if failed:
        remarks.append(f"Failed and counted as the worst score: {', '.join(failed)}.")
    steps = [run.checkpoint_env_steps for runs in scores.values() for run in runs if run.score is not None]
    if steps and min(steps) < 0.8 * max(steps):
        remarks.append(f"Checkpoints differ in age: {min(steps)} to {max(steps)} env steps.")
    return " ".join(remarks)


async def give_verdict(project: ProjectFolder, arms: Mapping[str, Sequence[str]], purpose: Purpose) -> Verdict:
    """Judge the first arm against the others.

    Args:
        project: the project.
        arms: run ids by name; the first arm is the design in question.
        purpose: which evaluations count; other than verdict seeds give no verdict.

    Raises:
        CorrectableError: fewer than two arms, an empty one, or a run named twice.
    """
    _check(arms)
    every = [run_id for runs in arms.values() for run_id in runs]
    mode = shared_mode(project, every, purpose)
    scored = [
        (name, [read_run_score(project, run_id, purpose, mode) for run_id in runs]) for name, runs in arms.items()
    ]
    candidates = sorted({run.candidate_id for run in scored[0][1]})
    blockers = [] if purpose == "verdict" else ["selection seeds chose the design, so they cannot test it"]
    looks = _earlier_looks(project, {name: sorted(runs) for name, runs in arms.items()})
    warnings: list[str] = []
    if looks >= LOOKS_AT_MOST:
        blockers.append(
            f"these arms were judged {looks} times before with other runs; looking again and again invents gains"
        )
    elif looks:
        warnings.append(f"look {looks + 1} at these arms: more looks raise the rate of false improvements above 2.5 %")
    payload: dict[str, Any] = {
        "arms": [[name, [run.model_dump(mode="json") for run in runs]] for name, runs in scored],
        "search_score": _search_score(project, candidates[0]) if len(candidates) == 1 else None,
        "blockers": blockers,
        "warnings": warnings,
    }
    verdict = Verdict.model_validate(await children.ask("comparing.judge_child", payload))
    project.journal.append("metrics", "verdict", candidates[0] if candidates else project.name, verdict)
    return verdict


def _check(arms: Mapping[str, Sequence[str]]) -> None:
    every = [run_id for runs in arms.values() for run_id in runs]
    if len(arms) < 2 or not all(arms.values()):
        raise CorrectableError(
            "A verdict needs the design in question and at least one baseline, each with runs.",
            'Give arms such as {"winner": ["r7", …], "library default": ["r8", …], "tuned preset": ["r9", …]}.',
        )
    twice = sorted({run_id for run_id in every if every.count(run_id) > 1})
    if twice:
        raise CorrectableError(f"Named more than once: {', '.join(twice)}.", "Each run belongs to one arm.")


def _started(project: ProjectFolder) -> list[str]:
    return [run_id for run_id in project.run_ids() if project.run(run_id).specification_file.exists()]


def _search_score(project: ProjectFolder, candidate_id: str) -> float | None:
    """Mean of the candidate's search runs on selection seeds."""
    runs = [
        run_id
        for run_id in _started(project)
        if (specification := project.run(run_id).read_specification()).candidate_id == candidate_id
        and specification.purpose == "search"
    ]
    mode = shared_mode(project, runs, "selection")
    scores = [
        score for run_id in runs if (score := read_run_score(project, run_id, "selection", mode).score) is not None
    ]
    return sum(scores) / len(scores) if scores else None


def _earlier_looks(project: ProjectFolder, arms: Mapping[str, list[str]]) -> int:
    """Count earlier verdicts on fewer of these very runs: adding runs until one likes the answer is no test."""
    looks: set[tuple[tuple[str, ...], ...]] = set()
    for event in project.journal.events(kind="verdict"):
        if event.payload.get("resamples", 0) == 0 or event.payload.get("word") == "not tested":
            continue
        earlier = {arm["name"]: sorted(arm["run_ids"]) for arm in event.payload["arms"]}
        if (
            earlier.keys() == arms.keys()
            and earlier != dict(arms)
            and all(set(earlier[n]) <= set(arms[n]) for n in arms)
        ):
            looks.add(tuple(tuple(earlier[name]) for name in sorted(earlier)))
    return len(looks)
