"""Build an environment from its reference, whatever its age, and say what was adapted."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium

from .adapt import DEFAULT_LIMIT, OFFSET, CurrentApi
from .failures import BuildError
from .spaces import SpaceDict, describe_space

DEFAULT_LIMIT_STEPS = 1000


@dataclass
class Adapted:
    """An environment that obeys the current interface, and what it took.

    Attributes:
        env: the environment.
        adaptations: names of what was adapted, "name: what it means"; grows while it is stepped.
        max_episode_steps: time limit, environment steps; None where only the environment knows.
        observation_space: its observation space as a plain dict.
        action_space: its action space as a plain dict.
    """

    env: gymnasium.Env[Any, Any]
    adaptations: list[str]
    max_episode_steps: int | None
    observation_space: SpaceDict
    action_space: SpaceDict


def build_environment(reference: dict[str, Any], *, root: str | None, render_mode: str | None = None) -> Adapted:
    """Build an environment from its reference.

    Args:
        reference: `name`, and where given `keyword_arguments`, `wrappers`, `max_episode_steps`.
        root: folder against which `file.py` names resolve; it goes on sys.path and becomes the working directory.
        render_mode: Gymnasium render mode; None draws nothing.

    Raises:
        BuildError: it cannot be built; says why and what to do.
    """
    arguments = dict(reference.get("keyword_arguments") or {})
    if render_mode is not None:
        arguments["render_mode"] = render_mode
    name, limit = reference["name"], reference.get("max_episode_steps")
    environment: Any = gymnasium.make(name, max_episode_steps=limit, disable_env_checker=True, **arguments)
    adaptations: list[str] = []
    limit = limit or getattr(environment.spec, "max_episode_steps", None)
    current = CurrentApi(environment, environment.observation_space, environment.action_space, None, adaptations)
    return Adapted(
        current, adaptations, limit, describe_space(current.observation_space), describe_space(current.action_space)
    )
