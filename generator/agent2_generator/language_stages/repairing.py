"""A refused design goes back with all findings; a repair costs no training."""

import json

from agent2_generator.designer import Facts, Rejection
from agent2_generator.language import rules
from agent2_generator.language.answers import AnswerRejected, TrainingRepair, read_json
from agent2_generator.language.asking import MAX_REPAIRS, form
from agent2_generator.language_stages.parts import changed, read_part
from agent2_generator.language_stages.workplace import FUNCTIONS_OF, Workplace, may_design, repairs_of, with_repairs
from agent2_generator.recipe import Recipe


async def repaired(place: Workplace, facts: Facts, recipe: Recipe, rejection: Rejection) -> Recipe | None:
    """Ask for a mended recipe.

    Args:
        place: the project.
        facts: what is known before any training.
        recipe: what was refused; its key counts the repairs so far.
        rejection: why.

    Returns:
        The mended recipe, or None where the repairs are used up or the model gives the design up.
    """
    left = MAX_REPAIRS - repairs_of(recipe.key)
    if left <= 0:
        return None
    if rejection.stage == "mdp":
        return await _mdp(place, facts, recipe, rejection, left)
    return await _training(place, recipe, rejection, left)


async def _mdp(place: Workplace, facts: Facts, recipe: Recipe, rejection: Rejection, left: int) -> Recipe | None:
    allowed = frozenset[str]().union(*(names for part, names in FUNCTIONS_OF.items() if may_design(facts, part)))

    async def prompt() -> str:
        asked = await place.prompt("mdp", "repair_code", candidate=rejection.candidate_id)
        return f"{asked}\n{form('repair_answer')}"

    asked = await place.asker.ask(
        f"{recipe.key}.repair",
        prompt,
        lambda text: read_part(text, facts, recipe, allowed),
        instead="The design is dropped.",
        repairs=left - 1,
    )
    if asked.value is None or asked.value[0].decision == "keep":
        return None
    answer, code = asked.value
    key = with_repairs(recipe.key, repairs_of(recipe.key) + 1 + asked.repairs)
    return changed(recipe, answer, code, key=key, title=recipe.title)


async def _training(place: Workplace, recipe: Recipe, rejection: Rejection, left: int) -> Recipe | None:
    errors = [f"- {each.code}: {each.message} {each.advice}" for each in rejection.findings if each.severity == "error"]
    present = {"algorithm": recipe.algorithm, "network": recipe.network, "hyperparameters": recipe.hyperparameters}

    async def prompt() -> str:
        return form("training_repair", findings="\n".join(errors), present=json.dumps(present, indent=1))

    def read(text: str) -> TrainingRepair:
        answer = read_json(text, TrainingRepair)
        faults = rules.check_network(recipe.network | answer.network)
        faults += rules.check_hyperparameters(recipe.algorithm, recipe.hyperparameters | answer.hyperparameters)
        if not answer.network and not answer.hyperparameters:
            faults.append("Nothing changes.")
        if faults:
            raise AnswerRejected(*faults)
        return answer

    asked = await place.asker.ask(
        f"{recipe.key}.repair", prompt, read, instead="The design is dropped.", repairs=left - 1
    )
    if asked.value is None:
        return None
    return recipe.model_copy(
        update={
            "key": with_repairs(recipe.key, repairs_of(recipe.key) + 1 + asked.repairs),
            "network": recipe.network | asked.value.network,
            "hyperparameters": recipe.hyperparameters | asked.value.hyperparameters,
        }
    )
