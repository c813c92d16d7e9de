"""The built-in designer proposes what is untried, the same for the same archive, within the parts it may design."""

import anyio
import pytest

from agent2_generator.built_in import BuiltInDesigner
from agent2_generator.designer import Archive, Candidate, Facts
from agent2_generator.options import BuildOptions
from agent2_generator.recipe import Recipe
from agent2_generator.session import new_candidate
from agent2_schemas import (
    BoxSpace,
    Budget,
    DesignPatch,
    Diagnosis,
    DiagnosisFinding,
    DiscreteSpace,
    EnvironmentReference,
    EnvironmentReport,
    MdpSuggestion,
    NetworkDesign,
    PPOHyperparameters,
    RunFailed,
    StatefulSteps,
    TrainingSuggestion,
)

REPORT = EnvironmentReport(
    reference=EnvironmentReference(name="CartPole-v1"), observation_space=BoxSpace(shape=(4,), dtype="float32", low=None, high=None),
    action_space=DiscreteSpace(n=2), max_episode_steps=500, is_deterministic=True, step_seconds=1e-5, reset_seconds=1e-5,
    start_seconds=0.1, episodes=(),
)  # fmt: skip


def suggestion(name: str, learning_rate: float) -> TrainingSuggestion:
    hyperparameters = PPOHyperparameters(
        learning_rate=learning_rate, gamma=0.99, num_envs=8, rollout_steps=128, gae_lambda=0.95, entropy_coefficient=0.0,
        value_coefficient=0.5, max_gradient_norm=0.5, minibatch_size=256, epochs=10, clip_range=0.2,
    )  # fmt: skip
    return TrainingSuggestion(
        name=name, algorithm="PPO", network=NetworkDesign(), hyperparameters=hyperparameters, normalise_observation="none",
        suggested_env_steps=50_000, reason="r", source="s",
    )  # fmt: skip


def facts(**options: object) -> Facts:
    given = {"project": "p", "environment": "CartPole-v1", "budget": Budget(seconds=60.0)} | options
    return Facts(
        options=BuildOptions.model_validate(given),
        report=REPORT,
        mdp_suggestions=(
            MdpSuggestion(name="unchanged", parts=(), reason="r", source="s"),
            MdpSuggestion(name="scaled-reward", parts=(), reward_scale=0.1, reason="large returns", source="s"),
            MdpSuggestion(
                name="history", parts=(), stateful=StatefulSteps(history=4), reason="no velocities", source="s"
            ),
        ),
        training_suggestions=(suggestion("tuned preset", 1e-3), suggestion("library default", 3e-4)),
    )


def archive_of(*recipes: Recipe) -> Archive:
    archive = Archive()
    for number, recipe in enumerate(recipes, start=1):
        candidate = new_candidate(f"c{number}", recipe, is_accepted=True)
        candidate.score = float(number)
        archive.candidates[candidate.id] = candidate
        archive.champion = archive.champion or candidate
    return archive


def propose(given: Facts, archive: Archive, count: int) -> tuple[Recipe, ...]:
    return anyio.run(BuiltInDesigner().propose, given, archive, count)


def test_the_baselines_are_the_two_named_presets() -> None:
    tuned, default = anyio.run(BuiltInDesigner().baselines, facts())
    assert (tuned.key, default.key) == ("tuned-preset", "library-default")
    assert (tuned.hyperparameters["learning_rate"], default.hyperparameters["learning_rate"]) == (1e-3, 3e-4)


def test_priors_come_before_numbers_and_each_recipe_once() -> None:
    given = facts()
    tuned, default = anyio.run(BuiltInDesigner().baselines, given)
    archive = archive_of(tuned)
    first = propose(given, archive, 5)
    assert [recipe.key for recipe in first] == [
        "library-default",
        "scaled-reward-on-c1",
        "history-on-c1",
        "optuna-0",
        "optuna-1",
    ]
    assert len({recipe.key for recipe in first}) == 5
    again = propose(given, archive_of(tuned, default, *first[1:]), 3)
    assert {recipe.key for recipe in again}.isdisjoint(recipe.key for recipe in first)


def test_equal_archives_give_equal_proposals() -> None:
    given = facts()
    tuned, _ = anyio.run(BuiltInDesigner().baselines, given)
    assert propose(given, archive_of(tuned), 6) == propose(given, archive_of(tuned), 6)


def test_only_the_parts_that_may_be_designed_are_touched() -> None:
    given = facts(design_parts=("reward",))
    tuned, _ = anyio.run(BuiltInDesigner().baselines, given)
    assert [recipe.key for recipe in propose(given, archive_of(tuned), 5)] == ["scaled-reward-on-c1"]


def test_a_finding_of_the_champion_is_mended_first() -> None:
    given = facts()
    tuned, _ = anyio.run(BuiltInDesigner().baselines, given)
    archive = archive_of(tuned)
    champion = archive.champion
    assert isinstance(champion, Candidate)
    fix = DesignPatch(path="hyperparameters.learning_rate", operation="multiply", value=0.5)
    impossible = DesignPatch(path="hyperparameters.nothing", operation="set", value=1)
    finding = DiagnosisFinding(
        rule="kl-too-large",
        severity="warning",
        symptom="KL is 0.1.",
        cause="Steps too large.",
        numbers={},
        fixes=(impossible, fix),
        source="s",
    )
    champion.diagnosis = Diagnosis(source="r1", findings=(finding,), healthy=(), not_checked={})
    recipe = propose(given, archive, 1)[0]
    assert recipe.key == "kl-too-large-on-c1"
    assert recipe.hyperparameters["learning_rate"] == 5e-4


def test_no_algorithm_for_the_space_is_said() -> None:
    given = facts()
    empty = Facts(options=given.options, report=given.report, mdp_suggestions=(), training_suggestions=())
    with pytest.raises(RunFailed, match="No algorithm of the catalogue"):
        anyio.run(BuiltInDesigner().baselines, empty)
