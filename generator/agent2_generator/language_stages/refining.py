"""Feedback: the champion's scores, curves and diagnosis, with the optimiser's proposal, lead to the next attempt."""

import json
from typing import Any

from agent2_generator.designer import Archive, Candidate, Facts
from agent2_generator.language import rules
from agent2_generator.language.answers import (
    AnswerRejected,
    RefineAnswer,
    functions_of,
    read_code,
    read_json,
)
from agent2_generator.language.asking import form
from agent2_generator.language_stages.configuring import applicable, with_algorithm
from agent2_generator.language_stages.parts import (
    CONTRACT,
    PART_OF_DECLARATION,
    changed,
    code_faults,
    declaration_faults,
)
from agent2_generator.language_stages.workplace import FUNCTIONS_OF, Workplace, may_design, with_repairs
from agent2_generator.optimiser import propose_patches
from agent2_generator.options import DesignPart
from agent2_generator.recipe import Recipe, patched
from agent2_schemas import DesignInvalid, DesignPatch


async def refine(place: Workplace, facts: Facts, archive: Archive, champion: Candidate, key: str) -> Recipe | None:
    """Ask for the next attempt from the champion.

    Args:
        place: the project.
        facts: what is known before any training.
        archive: all candidates so far.
        champion: the best one; it has at least one run.
        key: key of the recipe in the making.

    Returns:
        The recipe; None where the model has nothing to try, or gave no usable answer.
    """
    number = sum(1 for each in archive.candidates.values() if each.recipe.key.startswith("model-"))
    proposal = propose_patches(archive, champion, seed=facts.options.seed, number=number)

    async def prompt() -> str:
        asked = await place.prompt("metrics", "refine_from_feedback", run=champion.run_ids[0])
        return f"{asked}\n{_form(facts, champion, proposal)}"

    def read(text: str) -> Recipe | str:
        return read_refinement(text, facts, archive, champion, proposal, key)

    asked = await place.asker.ask(key, prompt, read, instead="The built-in designer proposes instead.")
    if asked.value is None:
        return None
    if isinstance(asked.value, str):
        place.asker.note(f"language model: nothing to try. {asked.value}")
        return None
    return asked.value.model_copy(update={"key": with_repairs(key, asked.repairs)})


def read_refinement(
    text: str, facts: Facts, archive: Archive, champion: Candidate, proposal: tuple[DesignPatch, ...], key: str
) -> Recipe | str:
    """Read the next attempt.

    Returns:
        The recipe, or the model's words where it wants to stop.

    Raises:
        AnswerRejected: all faults at once: form, guard rails, parts that are fixed, a design that was tried.
    """
    answer, code = read_json(text, RefineAnswer), read_code(text)
    if answer.action == "stop":
        return answer.reason
    if answer.action == "code":
        recipe = _from_code(answer, code, facts, champion, key)
    elif answer.action == "algorithm":
        recipe = _from_algorithm(answer, facts, champion, key)
    else:
        recipe = _from_patches(answer, facts, champion, proposal, key)
    known = next((each.id for each in archive.candidates.values() if _design(each.recipe) == _design(recipe)), None)
    if known is not None:
        raise AnswerRejected(f"This design was tried as {known}.")
    finding = f"{answer.finding} " if answer.finding else ""
    return recipe.model_copy(update={"reason": f"{finding}{answer.reason}".strip()})


def _from_code(answer: RefineAnswer, code: str, facts: Facts, champion: Candidate, key: str) -> Recipe:
    allowed = frozenset[str]().union(*(names for part, names in FUNCTIONS_OF.items() if may_design(facts, part)))
    faults = declaration_faults(facts, answer) + code_faults(code, champion.recipe.code, allowed)
    if not code and not answer.changes():
        faults.append('"code" needs a ```python block or a declaration.')
    if answer.patches:
        faults.append("One change at a time: patches do not go with code.")
    if faults:
        raise AnswerRejected(*faults)
    recipe = changed(champion.recipe, answer, code, key=key, title=answer.reason)
    return recipe.model_copy(update={"parent": champion.id, "change": f"new mdp.py: {answer.reason}"})


def _from_algorithm(answer: RefineAnswer, facts: Facts, champion: Candidate, key: str) -> Recipe:
    names = applicable(facts)
    if answer.algorithm not in names or not may_design(facts, "algorithm") or facts.options.algorithm:
        raise AnswerRejected(f"The algorithm {answer.algorithm} cannot be chosen; possible: {', '.join(names)}.")
    change = f"{answer.algorithm} with its published settings"
    recipe = with_algorithm(facts, champion.recipe, answer.algorithm)
    updates = {"key": key, "parent": champion.id, "change": change, "title": change, "patches": ()}
    return recipe.model_copy(update=updates)


def _from_patches(
    answer: RefineAnswer, facts: Facts, champion: Candidate, proposal: tuple[DesignPatch, ...], key: str
) -> Recipe:
    patches = proposal if answer.action == "optimiser" else answer.patches
    if not patches:
        raise AnswerRejected('"patch" needs at least one patch.')
    faults = [
        f"{patch.path} belongs to the {_part_of(patch)}, which the person keeps fixed."
        for patch in patches
        if not may_design(facts, _part_of(patch))
    ]
    try:
        recipe = patched(champion.recipe, patches, key=key, parent=champion.id, reason=answer.reason)
    except DesignInvalid as error:
        raise AnswerRejected(*faults, str(error)) from None
    faults += rules.check_network(recipe.network) + rules.check_hyperparameters(
        recipe.algorithm, recipe.hyperparameters
    )
    if answer.action == "patch":
        faults += rules.too_many(len(patches))
        if answer.mends not in _faulty_rules(champion):
            faults += rules.too_large(_numbers(champion.recipe), _numbers(recipe))
    if faults:
        raise AnswerRejected(*faults)
    return recipe


def _form(facts: Facts, champion: Candidate, proposal: tuple[DesignPatch, ...]) -> str:
    recipe = champion.recipe
    stateful = recipe.stateful.model_dump(mode="json", exclude={"observation_clip", "agent_identity"})
    present = {
        "algorithm": recipe.algorithm, "network": recipe.network, "hyperparameters": recipe.hyperparameters,
        "mdp": {"stateful": stateful, "info_keys": list(recipe.info_keys), "reward_scale": recipe.reward_scale},
    }  # fmt: skip
    free = [names for part, names in FUNCTIONS_OF.items() if may_design(facts, part)]
    functions = frozenset[str]().union(functions_of(recipe.code) & CONTRACT, *free)
    return form(
        "refine_answer",
        candidate=champion.id,
        present=json.dumps(present, indent=1),
        code=recipe.code or "# unchanged MDP: no mdp.py",
        proposal=", ".join(f"{patch.path} = {patch.value}" for patch in proposal) or "nothing",
        rules=", ".join(sorted(_faulty_rules(champion))) or "none fired: no larger change is taken",
        functions=", ".join(sorted(functions)) or "none",
        algorithms=", ".join(applicable(facts)),
        parts=", ".join(facts.options.design_parts),
    )


def _faulty_rules(champion: Candidate) -> frozenset[str]:
    """Rules of the diagnosis that fired as warning or error."""
    findings = champion.diagnosis.findings if champion.diagnosis else ()
    return frozenset(finding.rule for finding in findings if finding.severity != "note")


def _part_of(patch: DesignPatch) -> DesignPart:
    root, leaf = patch.path.partition(".")[0], patch.path.rpartition(".")[2]
    if root == "network":
        return "network"
    return PART_OF_DECLARATION.get(leaf, "hyperparameters") if root == "mdp" else "hyperparameters"


def _numbers(recipe: Recipe) -> dict[str, Any]:
    stateful = recipe.stateful.model_dump(mode="json")
    return {**recipe.network, **recipe.hyperparameters, **stateful, "reward_scale": recipe.reward_scale}


def _design(recipe: Recipe) -> dict[str, Any]:
    """What makes two recipes the same design."""
    return recipe.model_dump(
        include={
            "code",
            "info_keys",
            "stateful",
            "reward_scale",
            "algorithm",
            "network",
            "hyperparameters",
        }
    )
