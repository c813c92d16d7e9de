"""The built-in designer: published priors, diagnosis patches, then Optuna; needs no key."""

from collections.abc import Iterator

from agent2_generator.designer import Archive, Candidate, Facts, Rejection
from agent2_generator.optimiser import propose_patches
from agent2_generator.options import DesignPart
from agent2_generator.recipe import Recipe, from_suggestions, patched
from agent2_schemas import DesignInvalid, DesignPatch, MdpSuggestion, RunFailed, TrainingSuggestion

_PARTS_OF: dict[str, DesignPart] = {
    "observe": "observation", "observe_state": "observation", "act": "action", "action_mask": "action",
    "reward": "reward", "potential": "reward",
}  # fmt: skip


class BuiltInDesigner:
    """Tries what was published for such environments, mends what the rules find, then searches numbers."""

    name = "built-in"

    async def analyse(self, facts: Facts) -> str:
        """Describe the problem from measured facts."""
        report = facts.report
        lines = [f"Task: {facts.options.task or 'maximise the original return'}."]
        limit = report.max_episode_steps
        lines.append(
            f"{report.reference.name}: {report.observation_space.kind} observations, {report.action_space.kind} actions, "
            f"{'no time limit' if limit is None else f'at most {limit} steps an episode'}, "
            f"{'deterministic' if report.is_deterministic else 'not shown to be deterministic'} under a seed."
        )
        for episodes in report.episodes:
            if episodes.mean_original_return is not None:
                lines.append(f"The {episodes.policy} policy returns {episodes.mean_original_return:.4g} on average.")
        sparse = [
            e for e in report.episodes if e.nonzero_reward_fraction is not None and e.nonzero_reward_fraction < 0.01
        ]
        if sparse:
            lines.append("Rewards are rare: fewer than one step in a hundred has one.")
        lines += [f"{finding.severity}: {finding.message}" for finding in report.findings if finding.severity != "note"]
        return "\n".join(lines)

    async def baselines(self, facts: Facts) -> tuple[Recipe, Recipe]:
        """Take the two named presets of the best fitting algorithm."""
        return _baselines(facts)

    async def propose(self, facts: Facts, archive: Archive, count: int) -> tuple[Recipe, ...]:
        """Take the first untried recipes: priors, then mends of the champion, then Optuna's proposals."""
        untried: list[Recipe] = []
        for recipe in self._all(facts, archive):
            if len(untried) == count:
                break
            if not archive.has(recipe.key) and recipe.key not in {r.key for r in untried}:
                untried.append(recipe)
        return tuple(untried)

    async def repair(self, facts: Facts, recipe: Recipe, rejection: Rejection) -> Recipe | None:
        """Nothing: a published prior that does not fit is dropped."""
        del facts, recipe, rejection

    def _all(self, facts: Facts, archive: Archive) -> Iterator[Recipe]:
        champion = archive.champion
        if champion is None:
            return
        yield from _mends(facts, champion)
        yield from _training_priors(facts, champion)
        yield from _mdp_priors(facts, champion)
        if {"hyperparameters", "network"} & set(facts.options.design_parts):
            yield from propose_optimised(facts, archive, champion)


def _baselines(facts: Facts) -> tuple[Recipe, Recipe]:
    suggestions = facts.training_suggestions
    if not suggestions:
        raise RunFailed(
            f"No algorithm of the catalogue acts in a {facts.report.action_space.kind} space.",
            "See `list_algorithms`, or wrap the environment.",
        )
    tuned = next((s for s in suggestions if s.name == "tuned preset"), suggestions[0])
    default = next(
        (s for s in suggestions if s.name == "library default" and s.algorithm == tuned.algorithm), suggestions[-1]
    )
    return (
        from_suggestions("tuned-preset", tuned, None, parent=None),
        from_suggestions("library-default", default, None, parent=None),
    )


def _training_priors(facts: Facts, champion: Candidate) -> Iterator[Recipe]:
    """Other published settings on the unchanged MDP, while algorithm and hyperparameters may be designed."""
    parts = facts.options.design_parts
    if "hyperparameters" not in parts:
        return
    tuned, default = _baselines(facts)
    yield default
    for suggestion in facts.training_suggestions:
        if "algorithm" not in parts and suggestion.algorithm != tuned.algorithm:
            continue
        key = f"{suggestion.name}-{suggestion.algorithm}".lower().replace(" ", "-")
        recipe = from_suggestions(key, suggestion, None, parent=champion.id)
        if recipe.hyperparameters not in (tuned.hyperparameters, default.hyperparameters):
            yield recipe


def _mdp_priors(facts: Facts, champion: Candidate) -> Iterator[Recipe]:
    """Each MDP prior with the champion's algorithm, network and hyperparameters."""
    for suggestion in facts.mdp_suggestions:
        if suggestion.name == "unchanged" or not _may_use(suggestion, facts):
            continue
        recipe = champion.recipe
        training = TrainingSuggestion.model_validate(
            {
                "name": "champion", "algorithm": recipe.algorithm, "network": recipe.network,
                "hyperparameters": recipe.hyperparameters, "suggested_env_steps": 1, "reason": recipe.reason,
                "normalise_observation": recipe.stateful.normalise_observation, "reward_scale": recipe.reward_scale,
                "source": "; ".join(recipe.sources),
            }
        )  # fmt: skip
        yield from_suggestions(f"{suggestion.name}-on-{champion.id}", training, suggestion, parent=champion.id)


def _may_use(suggestion: MdpSuggestion, facts: Facts) -> bool:
    touched: set[DesignPart] = {_PARTS_OF[part] for part in suggestion.parts}
    declared = suggestion.stateful
    if (
        declared.history > 1
        or declared.time_left
        or declared.previous_action
        or declared.normalise_observation != "none"
    ):
        touched.add("observation")
    if declared.action_repeat > 1:
        touched.add("action")
    if suggestion.reward_scale != 1.0:
        touched.add("reward")
    return touched <= set(facts.options.design_parts)


def _mends(facts: Facts, champion: Candidate) -> Iterator[Recipe]:
    """One recipe for the first applicable fix of each warning or error of the champion's diagnosis."""
    if champion.diagnosis is None or "hyperparameters" not in facts.options.design_parts:
        return
    for finding in champion.diagnosis.findings:
        if finding.severity == "note":
            continue
        for fix in finding.fixes:
            recipe = _try_patch(
                champion, (fix,), f"{finding.rule}-on-{champion.id}", f"{finding.symptom} {finding.cause}"
            )
            if recipe is not None:
                yield recipe
                break


def propose_optimised(facts: Facts, archive: Archive, champion: Candidate) -> Iterator[Recipe]:
    """Give Optuna's proposals around the champion, without end."""
    number = sum(1 for c in archive.candidates.values() if c.recipe.key.startswith("optuna-"))
    while True:
        patches = propose_patches(archive, champion, seed=facts.options.seed, number=number)
        recipe = _try_patch(champion, patches, f"optuna-{number}", "Optuna's next proposal around the champion.")
        number += 1
        if recipe is not None:
            yield recipe


def _try_patch(champion: Candidate, patches: tuple[DesignPatch, ...], key: str, reason: str) -> Recipe | None:
    try:
        return patched(champion.recipe, patches, key=key, parent=champion.id, reason=reason)
    except DesignInvalid:
        return None
