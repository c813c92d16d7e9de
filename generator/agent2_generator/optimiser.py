"""Optuna's side of the search: hyperparameters around the champion, told every score so far."""

import warnings
from typing import Any

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution
from optuna.trial import create_trial

from agent2_generator.designer import Archive, Candidate
from agent2_schemas import DesignPatch

_ON_POLICY: dict[str, BaseDistribution] = {
    "learning_rate": FloatDistribution(1e-5, 1e-2, log=True),
    "gamma": CategoricalDistribution((0.9, 0.95, 0.98, 0.99, 0.995, 0.999)),
    "gae_lambda": CategoricalDistribution((0.8, 0.9, 0.95, 0.98)),
    "entropy_coefficient": CategoricalDistribution((0.0, 0.001, 0.003, 0.01)),
    "max_gradient_norm": CategoricalDistribution((0.3, 0.5, 1.0, 2.0)),
}
_OFF_POLICY: dict[str, BaseDistribution] = {
    "learning_rate": FloatDistribution(1e-4, 3e-3, log=True),
    "gamma": CategoricalDistribution((0.9, 0.95, 0.98, 0.99, 0.995, 0.999)),
    "batch_size": CategoricalDistribution((64, 128, 256)),
    "updates_per_env_step": CategoricalDistribution((0.25, 0.5, 1.0)),
}
"""Ranges after rl-baselines3-zoo's published search spaces, narrowed to what small budgets can tell apart."""
_SPACES: dict[str, dict[str, BaseDistribution]] = {
    "PPO": _ON_POLICY | {"clip_range": CategoricalDistribution((0.1, 0.2, 0.3)), "epochs": CategoricalDistribution((4, 10, 20))},
    "A2C": _ON_POLICY,
    "SAC": _OFF_POLICY | {"tau": CategoricalDistribution((0.005, 0.01, 0.02))},
    "TD3": _OFF_POLICY | {"tau": CategoricalDistribution((0.005, 0.01, 0.02)), "exploration_noise": CategoricalDistribution((0.05, 0.1, 0.2))},
    "DQN": _OFF_POLICY | {"exploration_fraction": CategoricalDistribution((0.1, 0.2, 0.4))},
}  # fmt: skip


def propose_patches(archive: Archive, champion: Candidate, *, seed: int, number: int) -> tuple[DesignPatch, ...]:
    """Ask for the next point, having told every candidate of the champion's algorithm.

    Args:
        archive: all candidates so far; those with a score are told.
        champion: whose algorithm is searched; at most three of its values change at once, nearest proposals first.
        seed: seed of the sampler.
        number: how many proposals were made before, so that equal archives give different points.

    Returns:
        One to three changes as patches.
    """
    algorithm = champion.recipe.algorithm
    space = _SPACES[algorithm]
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        sampler = optuna.samplers.TPESampler(seed=seed * 1000 + number, n_startup_trials=8)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    for candidate in archive.candidates.values():
        if candidate.score is not None and candidate.recipe.algorithm == algorithm:
            study.add_trial(_told(candidate, space))
    asked = study.ask(space).params
    current = champion.recipe.hyperparameters
    changed = [name for name in space if name in current and asked[name] != current[name]]
    chosen = [changed[(number + offset) % len(changed)] for offset in range(min(3, len(changed)))]
    return tuple(
        DesignPatch(path=f"hyperparameters.{name}", operation="set", value=asked[name], reason="Optuna TPE")
        for name in dict.fromkeys(chosen)
    )


def _told(candidate: Candidate, space: dict[str, BaseDistribution]) -> optuna.trial.FrozenTrial:
    """Tell a score; values outside the ranges are told at the nearest point within."""
    values: dict[str, Any] = {}
    for name, distribution in space.items():
        value = candidate.recipe.hyperparameters.get(name)
        if isinstance(distribution, FloatDistribution):
            values[name] = min(max(float(value or distribution.low), distribution.low), distribution.high)
        elif isinstance(distribution, CategoricalDistribution):
            choices = [choice for choice in distribution.choices if isinstance(choice, int | float)]
            values[name] = min(choices, key=lambda choice: abs(choice - float(value or 0.0)))
    return create_trial(params=values, distributions=space, value=candidate.score)
