"""The model card of a delivered agent: README.md, written for someone who has never heard of Agent²."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from agent2_schemas import BoxSpace, DiscreteSpace, Evaluation
from agent2_targets.rendering import policy_kind, render_template

if TYPE_CHECKING:
    from agent2_targets.packing import TargetContent

BOOTSTRAP_SAMPLES = 2000


def render_model_card(content: TargetContent, packages: Mapping[str, str]) -> str:
    """Give the text of README.md."""
    design = content.design
    text = render_template(
        "README.md.jinja",
        content=content,
        design=design,
        kind=policy_kind(design),
        scores=[
            (mode, describe_score(card))
            for mode, card in (("best action", content.card), ("sampled action", content.card_stochastic))
            if card is not None
        ],
        observation=describe_space(design.mdp.environment_observation_space),
        action=describe_space(design.mdp.environment_action_space),
        policy_observation=describe_space(design.mdp.observation_space),
        policy_action=describe_space(design.mdp.action_space),
        hyperparameters=hyperparameter_rows(design.hyperparameters.model_dump(mode="json")),
        parameters=sum(int(np.size(array)) for array in content.weights.values()),
        packages=packages,
        steps=stateful_steps(content),
        limits=limits(content),
    )
    return re.sub(r"\n{3,}", "\n\n", text)  # what is left out leaves its blank lines behind


def describe_score(card: Evaluation) -> dict[str, str]:
    """Give the numbers of a score as text, with the bootstrap interval of the mean."""
    returns = np.array(card.original_returns, dtype=float)
    if not len(returns):
        mean = card.mean_original_return
        return {"mean": "-" if mean is None else number(mean), "interval": "-", "episodes": str(card.episodes)}
    low, high = bootstrap_interval(returns)
    ordered = np.sort(returns)
    quarter = len(ordered) // 4
    return {
        "mean": number(returns.mean()),
        "interval": f"{number(low)} … {number(high)}",
        "iqm": number(ordered[quarter : len(ordered) - quarter].mean()),
        "std": number(returns.std()),
        "min": number(returns.min()),
        "max": number(returns.max()),
        "episodes": str(len(returns)),
    }


def bootstrap_interval(returns: Any) -> tuple[float, float]:
    """Give the 95 % percentile bootstrap interval of the mean over episodes."""
    generator = np.random.default_rng(0)
    samples = generator.choice(returns, (BOOTSTRAP_SAMPLES, len(returns))).mean(axis=1)
    low, high = np.quantile(samples, [0.025, 0.975])
    return float(low), float(high)


def number(value: float) -> str:
    """Write a number with four significant digits, without an exponent where it is of ordinary size."""
    return f"{value:.4g}" if abs(value) < 1e4 or abs(value) >= 1e9 else f"{value:.0f}"


def describe_space(space: object) -> str:
    """Describe a space in a few words."""
    if isinstance(space, DiscreteSpace):
        return f"{space.n} choices" + (f", from {space.start}" if space.start else "")
    if isinstance(space, BoxSpace):
        shape = " x ".join(map(str, space.shape)) or "1"
        bounds = ""
        if isinstance(space.low, float) and isinstance(space.high, float):
            bounds = f" in [{number(space.low)}, {number(space.high)}]"
        return f"{shape} numbers{bounds} ({space.dtype})"
    return f"{getattr(space, 'kind', 'unknown')} space"


def hyperparameter_rows(values: dict[str, Any]) -> list[tuple[str, str]]:
    """Give the rows of the hyperparameter table."""
    return [
        (name.replace("_", " "), number(value) if isinstance(value, float) else str(value))
        for name, value in values.items()
        if name != "algorithm" and value is not None
    ]


def stateful_steps(content: TargetContent) -> list[str]:
    """Say in words which declared steps act between environment and policy."""
    steps = content.design.mdp.stateful
    said: list[str] = []
    if steps.history > 1:
        said.append(f"the last {steps.history} observations are seen together")
    if steps.previous_action:
        said.append("the previous action is appended to the observation")
    if steps.time_left:
        said.append("the share of the time limit that is left is appended to the observation")
    if steps.action_repeat > 1:
        said.append(f"each action is held for {steps.action_repeat} environment steps")
    if steps.normalise_observation != "none":
        said.append(
            "each observation entry is shifted and scaled by the mean and variance in `normaliser.json`, then clipped "
            f"to ±{number(steps.observation_clip)}"
        )
    return said


def limits(content: TargetContent) -> Sequence[str]:
    """Say what the agent is not known to do."""
    said = [
        "It was trained and measured in this environment only; what it does elsewhere is not known.",
        f"It comes from one training run (seed {content.design.training_seed}); another seed may give a better or a worse agent.",
    ]
    if content.card is None:
        said.append("Its score was not measured when it was packed; `evaluate.py` measures it.")
    elif content.card.episodes < 100:
        said.append(
            f"The score rests on {content.card.episodes} episodes; the interval says how much that leaves open."
        )
    if content.adaptations:
        said.append("The environment is adapted when it is built: " + "; ".join(content.adaptations) + ".")
    return [*said, *content.notes]
