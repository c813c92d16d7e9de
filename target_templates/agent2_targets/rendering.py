"""Render `policy.py` from a design: the networks as plain torch, for people to read and for the worker to train."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jinja2

from agent2_schemas import BoxSpace, Design, DiscreteSpace

TEMPLATES = Path(__file__).parent / "templates"

DISCRETE_KINDS = {"PPO": "categorical", "A2C": "categorical", "DQN": "q_values"}
BOX_KINDS = {"PPO": "gaussian", "A2C": "gaussian", "SAC": "squashed_gaussian", "TD3": "deterministic"}


def policy_kind(design: Design) -> str:
    """Name the kind of policy that an algorithm trains in the design's action space.

    Raises:
        ValueError: the algorithm does not act in that space.
    """
    space = design.mdp.action_space
    kinds = DISCRETE_KINDS if isinstance(space, DiscreteSpace) else BOX_KINDS
    if design.algorithm not in kinds or not isinstance(space, DiscreteSpace | BoxSpace):
        raise ValueError(f"{design.algorithm} does not act in a {space.kind} space; it could be one of {sorted(kinds)}")
    return kinds[design.algorithm]


def render_policy(design: Design) -> str:
    """Give the text of policy.py.

    Raises:
        ValueError: the algorithm does not act in the design's action space, or the policy would see no box.
    """
    observation, action = design.mdp.observation_space, design.mdp.action_space
    if not isinstance(observation, BoxSpace):
        raise ValueError(f"A policy sees a box, not a {observation.kind} space.")
    network, kind = design.network, policy_kind(design)
    size = 1
    for length in observation.shape:
        size *= length
    values: dict[str, Any] = {
        "design": design,
        "kind": kind,
        "observation_shape": observation.shape,
        "observation_size": size,
        "is_image": len(observation.shape) > 1,
        "actions": action.n if isinstance(action, DiscreteSpace) else action_size(action),
        "hidden": network.hidden_sizes,
        "critic_hidden": network.critic_hidden_sizes or network.hidden_sizes,
        "activation": ACTIVATIONS[network.activation],
        "layer_norm": network.layer_norm,
        "orthogonal": network.orthogonal_init,
        "initial_log_std": network.initial_log_std,
    }
    return render_template("policy.py.jinja", **values)


def render_template(file: str, **values: Any) -> str:
    """Give the text of a file of a Target Agent from its template."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
        autoescape=False,  # the files are Python, Markdown and plain text
    )
    return environment.get_template(file).render(**values)


ACTIVATIONS = {"tanh": "Tanh", "relu": "ReLU", "elu": "ELU", "leaky_relu": "LeakyReLU", "silu": "SiLU"}


def action_size(space: object) -> int:
    """Count the entries of a box of actions."""
    assert isinstance(space, BoxSpace)
    size = 1
    for length in space.shape:
        size *= length
    return size
