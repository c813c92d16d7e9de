"""What a person asked for: the options of one build, kept in the journal so that a resume needs none."""

from typing import Literal, get_args

from pydantic import Field, JsonValue

from agent2_generator.budget import parse_budget
from agent2_schemas import AlgorithmName, Budget, CorrectableError, Frozen, ProjectName

DesignPart = Literal["observation", "action", "reward", "algorithm", "network", "hyperparameters"]
"""Parts of a design that a designer may change, in the paper's order."""
DESIGN_PARTS: tuple[DesignPart, ...] = get_args(DesignPart)


class BuildOptions(Frozen):
    """One build, as data."""

    project: ProjectName = Field(description="Name of the project.")
    environment: str = Field(description="Environment as typed; files as absolute paths.")
    keyword_arguments: dict[str, JsonValue] = Field(default_factory=dict, description="Arguments of the environment.")
    max_episode_steps: int | None = Field(default=None, description="Time limit, environment steps; null: its own.")
    task: str = Field(default="", description="What the user wants, in words.")
    context: str = Field(default="", description="Constraints and prior knowledge, in words.")
    budget: Budget = Field(description="Total budget.")
    run_env_steps: int | None = Field(
        default=None, ge=1, description="Environment steps of one training; null: as published for such environments."
    )
    seed: int = Field(default=0, ge=0, description="Root of all seed lists.")
    target_return: float | None = Field(default=None, description="Return at which the search may stop.")
    algorithm: AlgorithmName | None = Field(default=None, description="Fixed algorithm; null: the designer chooses.")
    design_parts: tuple[DesignPart, ...] = Field(default=DESIGN_PARTS, description="Parts the designer may change.")
    baseline: dict[str, JsonValue] | None = Field(
        default=None, description="The user's own baseline: algorithm, network, hyperparameters, as in design.yaml."
    )
    parallel_runs: int = Field(default=1, ge=1, description="Runs side by side.")
    addresses: dict[str, str] = Field(default_factory=dict, description="URL by server name; others over stdio.")
    llm: str = Field(default="none", description="Language model as --llm names it, defaults written out; never a key.")
    max_usd: float | None = Field(default=None, gt=0, description="Cap on the price of all its calls, US dollars.")
    max_tokens: int | None = Field(default=None, gt=0, description="Cap on all its tokens, prompts and answers.")
    is_source_sent: bool = Field(default=True, description="Whether the environment's source is sent to its provider.")


def parse_parts(text: str) -> tuple[DesignPart, ...]:
    """Read `--design reward,network`.

    Raises:
        CorrectableError: a part is not known; all faults at once.
    """
    names = [name.strip() for name in text.split(",") if name.strip()]
    unknown = [name for name in names if name not in DESIGN_PARTS]
    if unknown or not names:
        raise CorrectableError(
            f"{', '.join(map(repr, unknown)) or 'An empty list'} is no part of a design.",
            f"Parts: {', '.join(DESIGN_PARTS)}.",
        )
    return tuple(part for part in DESIGN_PARTS if part in names)


def parse_run_length(text: str) -> int:
    """Read the length of one training, environment steps.

    Raises:
        CorrectableError: the text is no number of environment steps.
    """
    steps = parse_budget(text).env_steps
    if steps is None:
        raise CorrectableError(f"--run-length {text!r} is no number of environment steps.", "Write it as 20k-steps.")
    return steps


def parse_addresses(pairs: tuple[str, ...], known: tuple[str, ...]) -> dict[str, str]:
    """Read `--server training=http://…` pairs.

    Raises:
        CorrectableError: a pair has no address, or names no server; all faults at once.
    """
    addresses: dict[str, str] = {}
    faults: list[str] = []
    for pair in pairs:
        name, separator, url = pair.partition("=")
        if name not in known or not separator or not url.startswith(("http://", "https://")):
            faults.append(repr(pair))
        addresses[name] = url
    if faults:
        raise CorrectableError(
            f"{', '.join(faults)} is no server address.",
            f"Write NAME=http://HOST:PORT/… with NAME one of {', '.join(known)}.",
        )
    return addresses
