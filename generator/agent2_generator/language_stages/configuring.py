"""Algorithm, then network, then hyperparameters, each asked with the earlier answers."""

import json
from typing import Any

from agent2_generator.designer import Facts
from agent2_generator.language import rules
from agent2_generator.language.answers import (
    AlgorithmAnswer,
    AnswerRejected,
    HyperparameterAnswer,
    NetworkAnswer,
    read_json,
)
from agent2_generator.language_stages.repairing import repaired
from agent2_generator.language_stages.workplace import Workplace, may_design, with_repairs
from agent2_generator.recipe import Recipe
from agent2_schemas import AlgorithmName, TrainingSuggestion


async def configure(place: Workplace, facts: Facts, recipe: Recipe, candidate_id: str, key: str) -> Recipe:
    """Design algorithm, network and hyperparameters for an MDP.

    Args:
        place: the project.
        facts: what is known before any training.
        recipe: the MDP, with the champion's training.
        candidate_id: candidate that holds the MDP.
        key: key of the recipe in the making.

    Returns:
        The recipe; a part without a usable answer stays as it was.
    """
    algorithms = applicable(facts)
    if may_design(facts, "algorithm") and facts.options.algorithm is None and len(algorithms) > 1:
        recipe = await _algorithm(place, facts, recipe, candidate_id, f"{key}.algorithm")
    if may_design(facts, "network"):
        recipe = await _network(place, facts, recipe, key)
    if may_design(facts, "hyperparameters"):
        recipe = await _hyperparameters(place, facts, recipe, key)
    return recipe


def applicable(facts: Facts) -> tuple[AlgorithmName, ...]:
    """Algorithms that act in this environment, best first."""
    return tuple(dict.fromkeys(suggestion.algorithm for suggestion in facts.training_suggestions))


def with_algorithm(facts: Facts, recipe: Recipe, algorithm: AlgorithmName) -> Recipe:
    """A recipe with another algorithm and what was published for it."""
    suggestion = _published(facts, algorithm)
    stateful = recipe.stateful.model_copy(update={"normalise_observation": suggestion.normalise_observation})
    return recipe.model_copy(
        update={
            "algorithm": algorithm,
            "network": suggestion.network.model_dump(mode="json"),
            "hyperparameters": suggestion.hyperparameters.model_dump(mode="json"),
            "stateful": stateful,
            "reward_scale": suggestion.reward_scale,
            "sources": (suggestion.source,),
        }
    )


def read_algorithm(text: str, facts: Facts) -> AlgorithmAnswer:
    """Read the choice of an algorithm.

    Raises:
        AnswerRejected: it cannot act here, or the form is broken.
    """
    answer = read_json(text, AlgorithmAnswer)
    if answer.algorithm not in applicable(facts):
        raise AnswerRejected(f"{answer.algorithm} cannot act here; choose one of {', '.join(applicable(facts))}.")
    return answer


def read_network(text: str, recipe: Recipe) -> NetworkAnswer:
    """Read changed values of the network.

    Raises:
        AnswerRejected: all faults at once.
    """
    answer = read_json(text, NetworkAnswer)
    faults = rules.check_network(recipe.network | answer.network) + rules.too_many(len(answer.network))
    if faults:
        raise AnswerRejected(*faults)
    return answer


def read_hyperparameters(text: str, recipe: Recipe) -> HyperparameterAnswer:
    """Read changed hyperparameters.

    Raises:
        AnswerRejected: all faults at once: names, ranges, too many or too large changes, changes without a reason.
    """
    answer = read_json(text, HyperparameterAnswer)
    present: dict[str, Any] = recipe.hyperparameters
    new = {name: value for name, value in answer.hyperparameters.items() if present.get(name) != value}
    faults = rules.unknown(new, present, recipe.algorithm) or rules.check_hyperparameters(
        recipe.algorithm, present | new
    )
    faults += rules.too_many(len(new)) + rules.too_large(present, new)
    explained = {change.name for change in answer.changes if change.why.strip()}
    faults += [f"{name}: `changes` gives no reason (`why`) for it." for name in new if name not in explained]
    if faults:
        raise AnswerRejected(*faults)
    return answer


async def training_draft(place: Workplace, facts: Facts, recipe: Recipe, key: str) -> tuple[Recipe, str] | None:
    """Write a recipe as a draft with its whole design, which the prompts on network and hyperparameters show."""
    draft = recipe.model_copy(update={"key": f"{key}.configure", "title": "draft"})
    draft_id, rejection = await place.draft_mdp(draft)
    if rejection is not None:
        return None  # its MDP was verified before; only a lost sandbox leads here
    while (rejection := await place.draft_training(draft, draft_id)) is not None:
        mended = await repaired(place, facts, draft, rejection)
        if mended is None:
            place.give_up(f"{draft.key}.verification", rejection, "The training stays as it was.")
            return None
        draft = mended
    return recipe.model_copy(update={"network": draft.network, "hyperparameters": draft.hyperparameters}), draft_id


async def _algorithm(place: Workplace, facts: Facts, recipe: Recipe, candidate_id: str, key: str) -> Recipe:
    asked = await place.asker.ask(
        key,
        lambda: place.prompt("training", "select_algorithm", candidate=candidate_id),
        lambda text: read_algorithm(text, facts),
        instead="The algorithm stays as it is.",
    )
    if asked.value is None:
        return recipe
    place.asker.note(f"algorithm: {asked.value.algorithm}. {asked.value.reason}")
    if asked.value.algorithm == recipe.algorithm:
        return recipe
    return _reasoned(with_algorithm(facts, recipe, asked.value.algorithm), f"algorithm: {asked.value.reason}")


async def _network(place: Workplace, facts: Facts, recipe: Recipe, key: str) -> Recipe:
    drafted = await training_draft(place, facts, recipe, f"{key}.network")
    if drafted is None:
        return recipe
    recipe, draft_id = drafted
    asked = await place.asker.ask(
        f"{key}.network",
        lambda: place.prompt("training", "design_network", candidate=draft_id),
        lambda text: read_network(text, recipe),
        instead="The network stays as it is.",
    )
    if asked.value is None or not asked.value.network:
        return recipe
    place.asker.note(f"network: {asked.value.network}. {asked.value.reason}")
    wider = recipe.model_copy(update={"network": recipe.network | asked.value.network})
    return _reasoned(wider, f"network: {asked.value.reason}")


async def _hyperparameters(place: Workplace, facts: Facts, recipe: Recipe, key: str) -> Recipe:
    drafted = await training_draft(place, facts, recipe, f"{key}.hyperparameters")
    if drafted is None:
        return recipe
    recipe, draft_id = drafted

    async def prompt() -> str:
        asked = await place.prompt("training", "tune_hyperparameters", candidate=draft_id)
        return f"{asked}\n## The network, as designed\n```json\n{json.dumps(recipe.network)}\n```\n"

    asked = await place.asker.ask(
        f"{key}.hyperparameters",
        prompt,
        lambda text: read_hyperparameters(text, recipe),
        instead="The hyperparameters stay as they are.",
    )
    if asked.value is None or not asked.value.hyperparameters:
        return recipe
    place.asker.note(f"hyperparameters: {asked.value.hyperparameters}")
    reasons = "; ".join(f"{change.name}: {change.why}" for change in asked.value.changes)
    tuned = recipe.model_copy(update={"hyperparameters": recipe.hyperparameters | asked.value.hyperparameters})
    return _reasoned(tuned, f"hyperparameters: {reasons}")


def _published(facts: Facts, algorithm: AlgorithmName) -> TrainingSuggestion:
    fitting = [each for each in facts.training_suggestions if each.algorithm == algorithm]
    return next((each for each in fitting if each.name == "tuned preset"), fitting[0])


def _reasoned(recipe: Recipe, words: str) -> Recipe:
    starts = ("observation:", "action:", "reward:", "algorithm:", "network:")
    joined = f"{recipe.reason} | {words}" if recipe.reason.startswith(starts) else words
    return recipe.model_copy(update={"reason": joined, "key": with_repairs(recipe.key, 0)})
