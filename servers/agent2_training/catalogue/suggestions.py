"""Which published settings apply to an inspected environment, best first."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from agent2_schemas import (
    AlgorithmName,
    DiscreteSpace,
    EnvironmentReport,
    MultiBinarySpace,
    MultiDiscreteSpace,
    NetworkDesign,
    TrainingSuggestion,
)
from agent2_schemas import hyperparameters as schemas
from agent2_training.catalogue.cards import CARDS, policy_action_kind
from agent2_training.catalogue.presets import Preset, class_preset, library_default
from agent2_training.catalogue.tuned import FIRST_CHOICE, TUNED, family_of

HYPERPARAMETERS = {
    "PPO": schemas.PPOHyperparameters,
    "A2C": schemas.A2CHyperparameters,
    "SAC": schemas.SACHyperparameters,
    "TD3": schemas.TD3Hyperparameters,
    "DQN": schemas.DQNHyperparameters,
}
MAX_BUFFER_BYTES = 2**30
CHEAP_STEP_SECONDS = 5e-4
"""Below this a simulator step costs less than a gradient step of SAC, and PPO wins per wall-clock second."""


def suggest(
    report: EnvironmentReport, algorithm: str = "", budget_env_steps: int = 100_000
) -> tuple[TrainingSuggestion, ...]:
    """Give published settings for an environment, best first for the budget.

    Args:
        report: the inspection of the environment.
        algorithm: only this one; empty: every one that fits the action space.
        budget_env_steps: environment steps of one training; long warm-ups are cut to a tenth of it.

    Returns:
        For each algorithm a `tuned preset` and a `library default`; empty where no algorithm fits.
    """
    kind = policy_action_kind(report.action_space.kind)
    names: list[AlgorithmName] = [
        card.name for card in CARDS if kind in card.action_kinds and algorithm in ("", card.name)
    ]
    suggestions: list[TrainingSuggestion] = []
    for name in _ordered(names, report, budget_env_steps):
        suggestions += [
            _suggestion("tuned preset", name, tuned_preset(name, report), report, budget_env_steps),
            _suggestion("library default", name, library_default(name, kind), report, budget_env_steps),
        ]
    # Defaults stand behind every tuned preset, so that the list is best first.
    return tuple(sorted(suggestions, key=lambda suggestion: suggestion.name == "library default"))


def tuned_preset(algorithm: AlgorithmName, report: EnvironmentReport) -> Preset:
    """Give the setting tuned for this very environment, else for its class, with the discount from its horizon."""
    kind = policy_action_kind(report.action_space.kind)
    below = class_preset(algorithm, kind)
    family = family_of(report.reference.name)
    if family == "LunarLander" and kind == "box":
        family = "LunarLanderContinuous"
    if (algorithm, family) in TUNED:
        return TUNED[algorithm, family].over(below)
    gamma, why = gamma_from_horizon(report)
    return replace(below, hyperparameters={**below.hyperparameters, "gamma": gamma}, source=f"{below.source}; {why}")


def gamma_from_horizon(report: EnvironmentReport) -> tuple[float, str]:
    """Choose the discount from the time limit and from how rare rewards are.

    Returns:
        The discount, and the reason in a few words. A discount sees about 1 / (1 - gamma) steps.
    """
    random = next((episodes for episodes in report.episodes if episodes.policy == "random"), None)
    horizon = report.max_episode_steps or (random and random.mean_length) or 1000
    density = random.nonzero_reward_fraction if random else None
    if density is not None and density < 0.05:
        seen = min(max(horizon / 2, 20), 1000)
        return round(1 - 1 / seen, 4), f"discount for rare rewards within {horizon:g} steps"
    seen = min(max(horizon / 5, 10), 100)
    return round(1 - 1 / seen, 4), f"discount for a horizon of {horizon:g} steps"


def fit_to_budget(values: dict[str, Any], observation_size: int, budget_env_steps: int) -> dict[str, Any]:
    """Cut warm-up, buffer and rollout of a preset to what a small budget and memory allow."""
    fitted = dict(values)
    if "warmup_env_steps" in fitted:
        fitted["warmup_env_steps"] = min(fitted["warmup_env_steps"], max(1, budget_env_steps // 10))
        rows = max(1_000, MAX_BUFFER_BYTES // (8 * max(1, observation_size) + 32))
        fitted["buffer_size"] = min(fitted["buffer_size"], rows)
    if "minibatch_size" in fitted:
        # At least ten rollouts: a training of fewer updates shows nothing.
        fitted["rollout_steps"] = min(fitted["rollout_steps"], max(8, budget_env_steps // (10 * fitted["num_envs"])))
        fitted["minibatch_size"] = min(fitted["minibatch_size"], max(2, fitted["rollout_steps"] * fitted["num_envs"]))
    return fitted


def _suggestion(
    name: str, algorithm: AlgorithmName, preset: Preset, report: EnvironmentReport, budget_env_steps: int
) -> TrainingSuggestion:
    values = fit_to_budget(preset.hyperparameters, _observation_size(report), budget_env_steps)
    return TrainingSuggestion(
        name=name,
        algorithm=algorithm,
        network=NetworkDesign.model_validate(preset.network),
        hyperparameters=HYPERPARAMETERS[algorithm].model_validate(values),
        normalise_observation=preset.normalise_observation or "none",
        reward_scale=preset.reward_scale,
        suggested_env_steps=preset.suggested_env_steps,
        reason=_reason(name, algorithm, report),
        source=preset.source,
    )


def _reason(name: str, algorithm: AlgorithmName, report: EnvironmentReport) -> str:
    if name == "library default":
        return "What a library ships for any environment: the baseline to beat."
    family = family_of(report.reference.name)
    if (algorithm, family) in TUNED:
        return f"Tuned for {family} by others."
    kind = "discrete choices" if _is_discrete(report) else "continuous actions"
    return f"Tuned settings of environments with {kind}; {family} itself is in no published table."


def _ordered(names: list[AlgorithmName], report: EnvironmentReport, budget_env_steps: int) -> list[AlgorithmName]:
    """Put the algorithm first that promises most for the budget."""
    first = FIRST_CHOICE.get(family_of(report.reference.name))
    if first is None:
        is_dear = (report.step_seconds or 0.0) > CHEAP_STEP_SECONDS or budget_env_steps < 30_000
        first = ("DQN" if _is_discrete(report) else "SAC") if is_dear else "PPO"
    return sorted(names, key=lambda name: name != first)


def _is_discrete(report: EnvironmentReport) -> bool:
    return isinstance(report.action_space, DiscreteSpace | MultiDiscreteSpace | MultiBinarySpace)


def _observation_size(report: EnvironmentReport) -> int:
    shape: tuple[int, ...] = getattr(report.observation_space, "shape", None) or (len(report.observation_entries),)
    size = 1
    for length in shape:
        size *= max(1, length)
    return size


def known_algorithms() -> tuple[str, ...]:
    """Names of all algorithms of the catalogue."""
    return tuple(card.name for card in CARDS)
