"""The catalogue proposes what fits, completes what is missing, and says everything that is wrong at once."""

import subprocess
import sys
from typing import Any

import pytest

from agent2_schemas import EnvironmentReport, MdpDesign
from agent2_training.catalogue import algorithm_cards, complete_design, suggest

BOX = {"kind": "box", "shape": [1], "dtype": "float32", "low": -1.0, "high": 1.0}
CHOICES = {"kind": "discrete", "n": 3}


def report(name: str = "Mine-v0", action: dict[str, Any] = BOX, **changed: Any) -> EnvironmentReport:
    values: dict[str, Any] = {
        "reference": {"name": name}, "observation_space": {**BOX, "shape": [3]}, "action_space": action, "max_episode_steps": 200,
        "is_deterministic": True, "step_seconds": 1e-5, "reset_seconds": 1e-5, "start_seconds": 0.1, "episodes": [],
    }  # fmt: skip
    return EnvironmentReport.model_validate(values | changed)


def mdp(action: dict[str, Any] = BOX, **changed: Any) -> MdpDesign:
    seen = {**BOX, "shape": [3]}
    spaces = {
        "environment_observation_space": seen,
        "environment_action_space": action,
        "observation_space": seen,
        "action_space": action,
    }
    return MdpDesign.model_validate(spaces | changed)


def complete(algorithm: str = "PPO", action: dict[str, Any] = BOX, **options: Any) -> tuple[Any, list[str]]:
    design, findings = complete_design(
        candidate_id="c1", mdp=mdp(action), report=report(action=action), algorithm=algorithm, **options
    )
    return design, [finding.code for finding in findings]


def test_cards_say_what_fits_the_action_space() -> None:
    fitting = {card.name for card in algorithm_cards("multi_discrete") if card.is_applicable}
    assert fitting == {"PPO", "A2C", "DQN"}
    assert all(card.is_applicable is None for card in algorithm_cards())


@pytest.mark.parametrize("action", [BOX, CHOICES])
@pytest.mark.parametrize("budget", [200, 5_000, 1_000_000])
def test_every_suggestion_completes_without_a_finding(action: dict[str, Any], budget: int) -> None:
    suggestions = suggest(report(action=action), "", budget)
    algorithms = {suggestion.algorithm for suggestion in suggestions}
    assert algorithms == ({"PPO", "A2C", "DQN"} if action is CHOICES else {"PPO", "A2C", "SAC", "TD3"})
    for suggestion in suggestions:
        design, findings = complete_design(
            candidate_id="c1", mdp=mdp(action), report=report(action=action), algorithm=suggestion.algorithm,
            network=suggestion.network.model_dump(), hyperparameters=suggestion.hyperparameters.model_dump(),
            budget_env_steps=budget, normalise_observation=suggestion.normalise_observation, reward_scale=suggestion.reward_scale,
        )  # fmt: skip
        assert design is not None, findings
        assert not [finding for finding in findings if finding.severity == "error"]
        assert design.hyperparameters == suggestion.hyperparameters
    for algorithm in algorithms:
        assert {s.name for s in suggestions if s.algorithm == algorithm} == {"tuned preset", "library default"}


@pytest.mark.parametrize(
    ("name", "action", "first"),
    [("CartPole-v1", CHOICES, "PPO"), ("Pendulum-v1", BOX, "SAC"), ("InvertedPendulum-v5", BOX, "PPO")],
)
def test_the_first_suggestion_is_the_one_tuned_for_the_task(name: str, action: dict[str, Any], first: str) -> None:
    best = suggest(report(name, action), "", 60_000)[0]
    assert (best.name, best.algorithm) == ("tuned preset", first)
    assert "zoo" in best.source


def test_the_discount_follows_the_horizon_of_an_unknown_task() -> None:
    short, long = (
        suggest(report(max_episode_steps=steps), "PPO", 10**5)[0].hyperparameters.gamma for steps in (50, 1000)
    )
    assert (short, long) == (0.9, 0.99)


def test_missing_values_are_filled_from_the_tuned_preset() -> None:
    design, findings = complete("PPO", hyperparameters={"gamma": 0.97}, network={"hidden_sizes": [32]})
    assert not findings
    assert design.hyperparameters.gamma == 0.97
    assert design.network.hidden_sizes == (32,)
    assert design.network.activation == "tanh"
    assert design.mdp.stateful.normalise_observation == "running"


def test_all_findings_come_at_once() -> None:
    changed = {"learnin_rate": 1e-3, "gamma": 2.0, "warmup_env_steps": 10**6}
    design, findings = complete_design(
        candidate_id="c1",
        mdp=mdp(),
        report=report(),
        algorithm="SAC",
        hyperparameters=changed,
        network={"hiden_sizes": [8]},
        budget_env_steps=5000,
    )
    assert design is None
    assert [finding.code for finding in findings] == [
        "unknown-name",
        "unknown-name",
        "invalid-value",
        "warmup-over-budget",
    ]
    assert "learning_rate" in findings[0].advice
    assert "hidden_sizes" in findings[1].advice


def test_what_does_not_fit_is_named() -> None:
    assert complete("DQN")[1] == ["algorithm-unfit"]
    assert complete("PP0")[1] == ["unknown-algorithm"]
    assert complete("PPO", budget_env_steps=0)[1] == ["no-budget"]
    small = {"rollout_steps": 8, "num_envs": 2, "minibatch_size": 64}
    assert complete("PPO", hyperparameters=small)[1] == ["minibatch-too-large"]
    assert complete("PPO", hyperparameters={"rollout_steps": 4096, "num_envs": 8}, budget_env_steps=10_000)[1] == [
        "rollout-over-budget"
    ]
    assert complete("SAC", hyperparameters={"buffer_size": 100})[1] == ["buffer-too-small"]


def test_the_catalogue_needs_no_torch() -> None:
    code = "import sys, agent2_training.catalogue; sys.exit('torch' in sys.modules or 'numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0
