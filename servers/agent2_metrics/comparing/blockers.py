"""What forbids a verdict: evidence that is incomplete, chosen, unequal or not comparable."""

from collections.abc import Mapping, Sequence

from agent2_metrics.comparing.scored_run import RunScore

Arms = Mapping[str, Sequence[RunScore]]
EPISODES_WANTED = 20


def find_blockers(arms: Arms) -> tuple[list[str], list[str]]:
    """Look for what makes arms incomparable.

    Args:
        arms: by name, the first is the design in question.

    Returns:
        Reasons for which no verdict may be given, and warnings that only limit it.
    """
    blockers = [*_unequal(arms), *_incomparable(arms), *_incomplete(arms), *_not_independent(arms)]
    return blockers, _warnings(arms)


def _unequal(arms: Arms) -> list[str]:
    budgets = {name: sorted({run.budget_env_steps for run in runs}) for name, runs in arms.items()}
    if len({budget for each in budgets.values() for budget in each}) <= 1:
        return []
    said = ", ".join(f"{name} {' and '.join(map(str, each))}" for name, each in budgets.items())
    return [f"the runs had unequal budgets of env steps ({said})"]


def _incomparable(arms: Arms) -> list[str]:
    every = [run for runs in arms.values() for run in runs if run.score is not None]
    odd = [run.run_id for run in every if not run.is_comparable]
    found = [f"runs {', '.join(odd)} were evaluated on a changed environment"] if odd else []
    if len({run.environment_sha256 for run in every}) > 1:
        found.append("the runs were evaluated on different versions of the environment")
    if len({run.seeds_sha256 for run in every if run.seeds_sha256}) > 1:
        found.append("the runs were evaluated on different episode seeds")
    return found


def _incomplete(arms: Arms) -> list[str]:
    found: list[str] = []
    for name, runs in arms.items():
        going = [run.run_id for run in runs if run.is_pending and run.state in ("queued", "running", "paused")]
        cut = [run.run_id for run in runs if run.is_pending and run.state in ("stopped", "lost")]
        unscored = [run.run_id for run in runs if run.is_pending and run.state == "finished"]
        if going:
            found.append(f"{name}: {', '.join(going)} still under way")
        if cut:
            found.append(f"{name}: {', '.join(cut)} ended before its budget; resume it")
        if unscored:
            found.append(f"{name}: {', '.join(unscored)} not evaluated; call evaluate_run with purpose verdict")
    if not any(run.score is not None for runs in arms.values() for run in runs):
        found.append("no run has a score")
    return found


def _not_independent(arms: Arms) -> list[str]:
    found: list[str] = []
    for name, runs in arms.items():
        seeds = [run.training_seed for run in runs]
        if len(set(seeds)) < len(seeds):
            found.append(f"{name}: several runs share a training seed, so they are not independent")
        if len({run.design_sha256 for run in runs}) > 1:
            found.append(f"{name}: its runs trained different designs")
    first = next(iter(arms.values()))
    searched = [run.run_id for run in first if run.run_purpose != "verdict"]
    if searched:
        found.append(
            f"{', '.join(searched)} of the design in question took part in the search, whose scores are chosen; "
            "start_training with purpose verdict trains it afresh"
        )
    return found


def _warnings(arms: Arms) -> list[str]:
    found: list[str] = []
    every = [(name, run) for name, runs in arms.items() for run in runs]
    few = sorted({run.episodes for _, run in every if run.score is not None and run.episodes < EPISODES_WANTED})
    if few:
        found.append(f"only {few[0]} episodes a run, {EPISODES_WANTED} are wanted")
    failed = [f"{run.run_id} ({name})" for name, run in every if run.is_failure]
    if failed:
        found.append(f"failed and counted as the worst score: {', '.join(failed)}")
    several = [run.run_id for _, run in every if run.evaluations > 1]
    if several:
        found.append(f"{', '.join(several)} has several such evaluations; that of the newest checkpoint counts")
    searched = [run.run_id for name, run in every if name != next(iter(arms)) and run.run_purpose != "verdict"]
    if searched:
        found.append(f"{', '.join(searched)} of a baseline was no verdict run")
    counts = [len(runs) for runs in arms.values()]
    if 5 <= min(counts) < 10:
        found.append(
            f"{min(counts)} seeds an arm show only gains of about two standard deviations; 10 show smaller ones"
        )
    return found
