"""Files that the options of a build name, read and checked before anything is started or written."""

from pathlib import Path
from typing import Any

import yaml
from pydantic import Field, JsonValue, ValidationError

from agent2_schemas import AlgorithmName, CorrectableError, Frozen, StatefulSteps


class UsersDesign(Frozen):
    """A person's own baseline, written as design.yaml is written."""

    algorithm: AlgorithmName = Field(description="The algorithm.")
    network: dict[str, JsonValue] = Field(default_factory=dict, description="Parts of the network; the rest: preset.")
    hyperparameters: dict[str, JsonValue] = Field(default_factory=dict, description="Some or all; the rest: preset.")
    normalise_observation: str = Field(default="none", description="none, running or warmup.")
    reward_scale: float = Field(default=1.0, gt=0, description="Constant that multiplies the learning reward.")


def read_text(path: Path | None, option: str) -> str:
    """Read a text file that an option names; empty where there is no such option.

    Raises:
        CorrectableError: it cannot be read.
    """
    if path is None:
        return ""
    try:
        return path.expanduser().read_text(encoding="utf-8")
    except OSError as error:
        raise CorrectableError(
            f"{option} {path} cannot be read: {error.strerror or error}.", "Name a text file."
        ) from error
    except UnicodeDecodeError as error:
        raise CorrectableError(f"{option} {path} cannot be read: it is no UTF-8 text.", "Name a text file.") from error


def read_task(typed: str, path: Path | None) -> str:
    """Read the task from one of its two options.

    Raises:
        CorrectableError: both are given, or the one that is given says nothing.
    """
    if typed and path is not None:
        raise CorrectableError("--task and --task-file are both given.", "Give one of them.")
    task = typed or read_text(path, "--task-file")
    if (typed or path is not None) and not task.strip():
        raise CorrectableError(
            "The task is empty.",
            "Say in words what the agent shall do, or leave the option out to keep the environment's aim.",
        )
    return task


def read_baseline(path: Path | None) -> dict[str, Any] | None:
    """Read a person's own baseline.

    Returns:
        What was written, defaults left out; None where no file is named.

    Raises:
        CorrectableError: it is no YAML, or no design; all faults at once.
    """
    if path is None:
        return None
    try:
        written = yaml.safe_load(read_text(path, "--baseline"))
    except yaml.YAMLError as error:
        raise CorrectableError(f"--baseline {path} is no YAML: {yaml_fault(error)}.", "Mend that line.") from error
    form = "It is YAML with algorithm, network, hyperparameters, normalise_observation and reward_scale, as in design.yaml."
    if not isinstance(written, dict):
        raise CorrectableError(f"--baseline {path} holds no mapping.", form)
    try:
        design = UsersDesign.model_validate(written)
        StatefulSteps.model_validate({"normalise_observation": design.normalise_observation})
    except ValidationError as error:
        faults = "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors())
        raise CorrectableError(f"--baseline {path}: {faults}.", form) from error
    return design.model_dump(exclude_unset=True)


def yaml_fault(error: yaml.YAMLError) -> str:
    """Say in one line what a parser could not read, and where."""
    problem, mark = getattr(error, "problem", None), getattr(error, "problem_mark", None)
    return f"{problem or 'it cannot be read'}{f' (line {mark.line + 1})' if mark else ''}"
