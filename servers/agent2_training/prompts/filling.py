"""Fill the prompts with what a project knows: task, environment, design, published settings, attempts, diagnosis."""

from collections.abc import Sequence
from importlib import resources
from typing import Any

from pydantic import BaseModel

from agent2_schemas import (
    A2CHyperparameters,
    AlgorithmCard,
    Design,
    DQNHyperparameters,
    PPOHyperparameters,
    SACHyperparameters,
    TD3Hyperparameters,
    TrainingSuggestion,
)
from agent2_training.prompts.facts import (
    as_yaml,
    candidate_facts,
    diagnosis_facts,
    environment_facts,
    history_facts,
)
from agent2_workspace import CandidateFolder, ProjectFolder

RANGES: dict[str, type[BaseModel]] = {
    "PPO": PPOHyperparameters,
    "A2C": A2CHyperparameters,
    "SAC": SACHyperparameters,
    "TD3": TD3Hyperparameters,
    "DQN": DQNHyperparameters,
}


def select_algorithm(
    project: ProjectFolder,
    candidate: CandidateFolder | None,
    cards: Sequence[AlgorithmCard],
    suggestions: Sequence[TrainingSuggestion],
) -> str:
    """Fill the prompt that chooses an algorithm.

    Args:
        project: the project.
        candidate: the design it is for; None: not chosen yet.
        cards: the catalogue, with `is_applicable`.
        suggestions: published settings, best first.
    """
    applicable = [card for card in cards if card.is_applicable is not False]
    return _template("select_algorithm").format(
        **_shared(project, candidate),
        algorithms="\n".join(f"- {card.name} ({card.title}; {card.paper}): {card.suits}" for card in applicable),
        suggestions="\n".join(f"- {each.name}, {each.algorithm}: {each.reason} ({each.source})" for each in suggestions)
        or "None.",
    )


def design_network(project: ProjectFolder, candidate: CandidateFolder, design: Design) -> str:
    """Fill the prompt that designs the networks of a candidate with a design."""
    return _template("design_network").format(
        **_shared(project, candidate),
        candidate_id=candidate.id,
        algorithm=design.algorithm,
        network=f"```yaml\n{as_yaml(design.network.model_dump(mode='json'))}\n```",
    )


def tune_hyperparameters(project: ProjectFolder, candidate: CandidateFolder, design: Design) -> str:
    """Fill the prompt that tunes the hyperparameters of a candidate with a design."""
    return _template("tune_hyperparameters").format(
        **_shared(project, candidate),
        candidate_id=candidate.id,
        algorithm=design.algorithm,
        hyperparameters=as_yaml(design.hyperparameters.model_dump(mode="json")),
        ranges=ranges_of(design.algorithm),
        diagnosis=diagnosis_facts(project),
    )


def ranges_of(algorithm: str) -> str:
    """List the hyperparameters of an algorithm: name, bounds, meaning, one a line."""
    lines: list[str] = []
    for name, schema in RANGES[algorithm].model_json_schema()["properties"].items():
        if name != "algorithm":
            lines.append(f"- `{name}` ({_bounds(schema)}): {schema['description']}")
    return "\n".join(lines)


def _bounds(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return " or ".join(map(str, schema["enum"]))
    if "anyOf" in schema:
        return " or ".join(_bounds(option) for option in schema["anyOf"])
    if "const" in schema:
        return str(schema["const"])
    signs = {"minimum": ">=", "exclusiveMinimum": ">", "maximum": "<=", "exclusiveMaximum": "<"}
    parts = [f"{sign} {schema[key]:g}" for key, sign in signs.items() if key in schema]
    return ", ".join([str(schema.get("type", "value")), *parts])


def _shared(project: ProjectFolder, candidate: CandidateFolder | None) -> dict[str, str]:
    description = project.read()
    return {
        "project": project.name,
        "task": description.task or "Reach a high return.",
        "context": description.context or "None given.",
        "environment": environment_facts(project),
        "candidate": candidate_facts(candidate),
        "history": history_facts(project),
    }


def _template(name: str) -> str:
    return resources.files("agent2_training.prompts").joinpath(f"{name}.md").read_text(encoding="utf-8")
