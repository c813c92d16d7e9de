"""Recipes change by patches, and say so."""

import pytest

from agent2_generator.recipe import Recipe, patched
from agent2_schemas import DesignInvalid, DesignPatch

RECIPE = Recipe(
    key="k", title="t", change="c", reason="r", algorithm="PPO",
    network={"hidden_sizes": [64, 64]}, hyperparameters={"learning_rate": 0.001, "epochs": 10},
)  # fmt: skip


def test_a_patch_multiplies_or_sets_and_keeps_whole_numbers_whole() -> None:
    patches = (
        DesignPatch(path="hyperparameters.learning_rate", operation="multiply", value=0.5),
        DesignPatch(path="hyperparameters.epochs", operation="multiply", value=0.25),
        DesignPatch(path="mdp.stateful.normalise_observation", operation="set", value="running"),
        DesignPatch(path="mdp.reward_scale", operation="set", value=0.1),
    )
    result = patched(RECIPE, patches, key="k2", parent="c1", reason="because")
    assert result.hyperparameters == {"learning_rate": 0.0005, "epochs": 2}
    assert result.stateful.normalise_observation == "running"
    assert result.reward_scale == 0.1
    assert result.parent == "c1"
    assert "learning_rate * 0.5" in result.change


def test_all_faults_of_patches_are_named_at_once() -> None:
    patches = (
        DesignPatch(path="hyperparameters.learnig_rate", operation="set", value=1),
        DesignPatch(path="network.hidden_sizes", operation="multiply", value=2),
        DesignPatch(path="hyperparameters.epochs", operation="set", value=10),
    )
    with pytest.raises(DesignInvalid, match=r"learnig_rate.*no number to multiply.*10 already"):
        patched(RECIPE, patches, key="k2", parent="c1", reason="because")


def test_a_patch_that_gives_no_valid_design_is_refused() -> None:
    patch = DesignPatch(path="mdp.stateful.history", operation="set", value=0)
    with pytest.raises(DesignInvalid, match="history"):
        patched(RECIPE, (patch,), key="k2", parent="c1", reason="because")
