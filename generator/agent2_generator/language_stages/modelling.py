"""Observation, then action, then reward: each asked with the earlier parts, verified, and repaired before the next."""

from agent2_generator.designer import Facts
from agent2_generator.language.answers import functions_of
from agent2_generator.language.asking import form
from agent2_generator.language_stages.parts import CONTRACT, changed, declared_text, read_part
from agent2_generator.language_stages.repairing import repaired
from agent2_generator.language_stages.workplace import FUNCTIONS_OF, Workplace, may_design, with_repairs
from agent2_generator.options import DesignPart
from agent2_generator.recipe import Recipe
from agent2_generator.servers import Servers

_MDP_STAGES: tuple[DesignPart, ...] = ("observation", "action", "reward")


async def model_mdp(place: Workplace, facts: Facts, recipe: Recipe, key: str) -> tuple[Recipe, str]:
    """Design the MDP part by part.

    Args:
        place: the project.
        facts: what is known before any training.
        recipe: the champion's, with the champion as its parent.
        key: key of the recipe in the making.

    Returns:
        The recipe, and the candidate that holds its MDP: a draft, or the champion where nothing changed.
    """
    candidate_id = recipe.parent or ""
    for part in _MDP_STAGES:
        if may_design(facts, part):
            recipe, candidate_id = await _design(place, facts, recipe, candidate_id, f"{key}.{part}", part)
    return recipe, candidate_id


async def part_prompt(servers: Servers, project: str, recipe: Recipe, candidate_id: str, part: DesignPart) -> str:
    """The question of one part."""
    asked = await servers.get_prompt("mdp", f"design_{part}", project=project, candidate=candidate_id)
    functions = ", ".join(sorted(FUNCTIONS_OF[part] | (functions_of(recipe.code) & CONTRACT)))
    return f"{asked}\n{form('mdp_answer', functions=functions, declared=declared_text(recipe))}"


async def _design(
    place: Workplace, facts: Facts, recipe: Recipe, candidate_id: str, key: str, part: DesignPart
) -> tuple[Recipe, str]:
    instead = f"The {part} stays as it is."
    asked = await place.asker.ask(
        key,
        lambda: part_prompt(place.servers, place.project, recipe, candidate_id, part),
        lambda text: read_part(text, facts, recipe, FUNCTIONS_OF[part]),
        instead=instead,
    )
    if asked.value is None:
        return recipe, candidate_id
    answer, code = asked.value
    if answer.decision == "keep" and not answer.changes():
        place.asker.note(f"{part}: kept. {answer.reason}")
        return recipe, candidate_id
    words = f"{part}: {answer.reason}"
    draft = changed(recipe, answer, code, key=with_repairs(key, asked.repairs), title=words)
    verified = await _verified(place, facts, draft, instead)
    if verified is None:
        return recipe, candidate_id
    place.asker.note(words)
    draft, draft_id = verified
    return draft.model_copy(update={"reason": _joined(recipe, words)}), draft_id


async def _verified(place: Workplace, facts: Facts, draft: Recipe, instead: str) -> tuple[Recipe, str] | None:
    """Verify a draft and repair it until it passes or is given up."""
    while True:
        draft_id, rejection = await place.draft_mdp(draft)
        if rejection is None:
            return draft, draft_id
        await place.suspect(draft.key, rejection)
        mended = await repaired(place, facts, draft, rejection)
        if mended is None:
            place.give_up(f"{draft.key}.verification", rejection, instead)
            return None
        draft = mended


def _joined(recipe: Recipe, words: str) -> str:
    """The reasons of a recipe in the making; the champion's own reason is not one of them."""
    return f"{recipe.reason} | {words}" if recipe.reason.startswith(("observation:", "action:")) else words
