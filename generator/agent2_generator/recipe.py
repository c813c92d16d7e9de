"""A recipe: what makes a candidate, before its folder exists."""

from typing import Any, Literal

from pydantic import Field, ValidationError

from agent2_schemas import (
    AlgorithmName,
    Design,
    DesignInvalid,
    DesignPatch,
    Frozen,
    Identifier,
    MdpSuggestion,
    StatefulSteps,
    TrainingSuggestion,
)


class Recipe(Frozen):
    """Arguments of `write_mdp` and `write_training`, and why this candidate is tried."""

    key: str = Field(description="Names the recipe within its project, so that a resume finds its candidate again.")
    title: str = Field(description="What is particular about it, in a few words.")
    change: str = Field(description="What differs from the parent, in one sentence.")
    reason: str = Field(description="Why it is tried.")
    parent: Identifier | None = Field(default=None, description="Candidate it is derived from.")
    code: str = Field(default="", description="Text of mdp.py; empty: unchanged.")
    info_keys: tuple[str, ...] = Field(default=(), description="Keys of info that its reward reads.")
    stateful: StatefulSteps = Field(default_factory=StatefulSteps, description="Declared steps.")
    reward_scale: float = Field(default=1.0, gt=0, description="Constant that multiplies the learning reward.")
    algorithm: AlgorithmName = Field(description="The algorithm.")
    network: dict[str, Any] = Field(default_factory=dict, description="NetworkDesign as JSON; missing: the preset's.")
    hyperparameters: dict[str, Any] = Field(default_factory=dict, description="Hyperparameters as JSON, likewise.")
    patches: tuple[DesignPatch, ...] = Field(default=(), description="The change as data, where it is one.")
    sources: tuple[str, ...] = Field(default=(), description="Where its priors were published.")

    def mdp_arguments(self) -> dict[str, Any]:
        """Arguments of `write_mdp`; the key makes the same recipe the same candidate."""
        return {
            "code": self.code, "parent": self.parent or "", "title": self.title, "info_keys": list(self.info_keys),
            "reward_scale": self.reward_scale, "idempotency_key": f"recipe-{self.key}",
            **self.stateful.model_dump(mode="json", exclude={"observation_clip"}),
        }  # fmt: skip

    def training_arguments(self) -> dict[str, Any]:
        """Arguments of `write_training`, without the candidate."""
        return {
            "algorithm": self.algorithm, "network": self.network, "hyperparameters": self.hyperparameters,
            "title": self.title, "sources": list(self.sources),
        }  # fmt: skip


def from_suggestions(
    key: str, training: TrainingSuggestion, mdp: MdpSuggestion | None, *, parent: str | None
) -> Recipe:
    """Join a training prior and an MDP prior into one recipe.

    Args:
        key: name of the recipe within the project.
        training: algorithm, network, hyperparameters.
        mdp: observation, action, reward; None leaves the MDP unchanged.
        parent: candidate it is compared with.

    Returns:
        The recipe; normalisation comes from the MDP prior where that asks for one, else from the training prior.
    """
    stateful = mdp.stateful if mdp else StatefulSteps()
    if stateful.normalise_observation == "none":
        stateful = stateful.model_copy(update={"normalise_observation": training.normalise_observation})
    name = f"{training.name} {training.algorithm}"
    return Recipe(
        key=key,
        title=f"{name}, {mdp.name}" if mdp else name,
        change=f"{mdp.name}: {mdp.reason}" if mdp else f"{name} on the unchanged MDP",
        reason=f"{mdp.reason} ({mdp.source})" if mdp else f"{training.reason} ({training.source})",
        parent=parent,
        code=mdp.code if mdp else "",
        info_keys=mdp.info_keys if mdp else (),
        stateful=stateful,
        reward_scale=mdp.reward_scale if mdp and mdp.reward_scale != 1.0 else training.reward_scale,
        algorithm=training.algorithm,
        network=training.network.model_dump(mode="json"),
        hyperparameters=training.hyperparameters.model_dump(mode="json"),
        sources=tuple(s for s in (training.source, mdp.source if mdp else "") if s),
    )


def patched(recipe: Recipe, patches: tuple[DesignPatch, ...], *, key: str, parent: str, reason: str) -> Recipe:
    """Apply a diagnosis' or an optimiser's changes to a recipe.

    Args:
        recipe: the recipe of the parent; its network and hyperparameters are complete.
        patches: changes with paths of design.yaml.
        key: name of the new recipe.
        parent: id of the parent candidate.
        reason: why.

    Returns:
        The new recipe.

    Raises:
        DesignInvalid: a path is unknown, or no change is left; all faults at once.
    """
    data = recipe.model_dump(mode="json")
    faults = [fault for patch in patches if (fault := _apply(data, patch))]
    if faults:
        raise DesignInvalid("; ".join(faults), "Use paths of design.yaml.")
    change = ", ".join(_in_words(patch) for patch in patches)
    data.update(
        key=key, parent=parent, change=change, title=f"{recipe.algorithm}, {change}"[:120], reason=reason,
        patches=[patch.model_dump(mode="json") for patch in patches],
    )  # fmt: skip
    try:
        return Recipe.model_validate(data)
    except ValidationError as error:
        raise DesignInvalid(f"{change} gives no valid design: {error}") from error


def from_design(design: Design, code: str, *, key: str, title: str) -> Recipe:
    """Make the recipe that leads to a design again."""
    return Recipe(
        key=key, title=title, change=title, reason=title, code=code if design.mdp.parts else "",
        info_keys=design.mdp.info_keys, stateful=design.mdp.stateful, reward_scale=design.mdp.reward_scale,
        algorithm=design.algorithm, network=design.network.model_dump(mode="json"),
        hyperparameters=design.hyperparameters.model_dump(mode="json"), sources=design.sources,
    )  # fmt: skip


_ROOTS: dict[str, Literal["network", "hyperparameters", "stateful"]] = {
    "network": "network",
    "hyperparameters": "hyperparameters",
    "mdp.stateful": "stateful",
}


def _apply(data: dict[str, Any], patch: DesignPatch) -> str:
    """Change `data` in place; return a fault in words, or nothing."""
    prefix, _, leaf = patch.path.rpartition(".")
    holder: dict[str, Any] = data if patch.path == "mdp.reward_scale" else data.get(_ROOTS.get(prefix, ""), {})
    if leaf not in holder:
        return f"design.yaml has no {patch.path!r}"
    old = holder[leaf]
    if patch.operation == "set":
        holder[leaf] = patch.value
        return "" if old != patch.value else f"{patch.path} is {old!r} already"
    if not isinstance(old, int | float) or not isinstance(patch.value, int | float):
        return f"{patch.path} is {old!r}, no number to multiply"
    holder[leaf] = max(1, round(old * patch.value)) if isinstance(old, int) else old * patch.value
    return "" if holder[leaf] != old else f"{patch.path} stays {old!r}"


def _in_words(patch: DesignPatch) -> str:
    leaf = patch.path.rpartition(".")[2]
    return f"{leaf} * {patch.value}" if patch.operation == "multiply" else f"{leaf} = {patch.value}"
