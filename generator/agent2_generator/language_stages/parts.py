"""Answers that hold an mdp.py: what they may define and declare, and the recipe they give."""

import json
from typing import get_args

from agent2_generator.designer import Facts
from agent2_generator.language.answers import (
    DECLARED,
    AnswerRejected,
    Declarations,
    MdpAnswer,
    functions_of,
    read_code,
    read_json,
)
from agent2_generator.language_stages.workplace import FUNCTIONS_OF, may_design
from agent2_generator.options import DesignPart
from agent2_generator.recipe import Recipe
from agent2_schemas import MdpPart

CONTRACT: frozenset[str] = frozenset(get_args(MdpPart))
_OBSERVATION: DesignPart = "observation"
PART_OF_DECLARATION: dict[str, DesignPart] = {
    **dict.fromkeys(DECLARED, _OBSERVATION),
    "action_repeat": "action",
    "info_keys": "reward",
    "reward_scale": "reward",
}


def read_part(text: str, facts: Facts, recipe: Recipe, allowed: frozenset[str]) -> tuple[MdpAnswer, str]:
    """Read the answer of one part, or of a repair.

    Raises:
        AnswerRejected: all faults of its form.
    """
    answer = read_json(text, MdpAnswer)
    code = read_code(text)
    faults = declaration_faults(facts, answer) + code_faults(code, recipe.code, allowed)
    if answer.decision == "design" and not code and not answer.changes():
        faults.append('"design" needs a ```python block or a declaration; answer "keep" where nothing changes.')
    if answer.decision == "keep" and code:
        faults.append('"keep" goes without code.')
    if faults:
        raise AnswerRejected(*faults)
    return answer, code


def declaration_faults(facts: Facts, answer: Declarations) -> list[str]:
    """The faults of declarations that touch what may not be designed."""
    parts: dict[str, DesignPart] = {name: PART_OF_DECLARATION[name] for name in answer.changes()}
    return [
        f"{name} belongs to the {part}, which the person keeps fixed."
        for name, part in parts.items()
        if not may_design(facts, part) and part in FUNCTIONS_OF
    ]


def code_faults(code: str, earlier: str, allowed: frozenset[str]) -> list[str]:
    """The faults of a file that defines too much, or drops an earlier part."""
    if not code:
        return []
    names, before = functions_of(code) & CONTRACT, functions_of(earlier) & CONTRACT
    faults = [f"{name}() is not asked for here; leave it out." for name in sorted(names - before - allowed)]
    faults += [f"{name}() of the earlier parts is missing; keep it." for name in sorted(before - names - allowed)]
    return faults if names else [*faults, "The code defines none of the functions of the contract."]


def changed(recipe: Recipe, answer: Declarations, code: str, *, key: str, title: str) -> Recipe:
    """A recipe with an answer's code and declarations."""
    changes = answer.changes()
    return recipe.model_copy(
        update={
            "key": key,
            "title": title[:120],
            "code": code or recipe.code,
            "stateful": answer.stateful(recipe.stateful),
            "info_keys": changes.get("info_keys", recipe.info_keys),
            "reward_scale": changes.get("reward_scale", recipe.reward_scale),
            "patches": (),
        }
    )


def declared_text(recipe: Recipe) -> str:
    """The present declarations as JSON."""
    stateful = recipe.stateful.model_dump(mode="json", exclude={"observation_clip", "agent_identity"})
    return json.dumps(stateful | {"info_keys": list(recipe.info_keys), "reward_scale": recipe.reward_scale})
