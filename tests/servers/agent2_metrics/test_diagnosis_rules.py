"""Every rule on a healthy series, where it must be silent, and on a sabotaged one, where it must fire."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from made_facts import T, components, curve, dqn, entry, facts, fired, off_policy, spike
from made_runs import BUDGET, POINTS, design, episodes, evaluation, report

from agent2_metrics.diagnosis.diagnose import RULES, applicable, diagnose, value_at
from agent2_metrics.diagnosis.facts import Facts
from agent2_schemas import Design, DesignPatch

SABOTAGED: dict[str, Callable[[], Facts]] = {
    "nonfinite-values": lambda: facts(curve("value_loss", spike(1.0, 20, np.nan))),
    "timeout-as-termination": lambda: facts(
        curve("episode_length", 500.0), curve("terminated_fraction", 1.0)
    ),
    "action-bounds": lambda: facts(curve("action_clipped_fraction", 0.8)),
    "unnormalised-observation": lambda: facts(report=report(observation_entries=(entry(0, max=4000.0), entry(1)))),
    "constant-observation": lambda: facts(report=report(observation_entries=(entry(0, std=1e-6), entry(1)))),
    "no-reward-signal": lambda: facts(report=report(episodes=(episodes(std_original_return=0.0),))),
    "dominant-component": lambda: facts(verification=components(progress=0.05, energy=0.95)),
    "reward-hacking": lambda: facts(curve("shaped_return", 20 + 500 * T), curve("episode_return", 30 - 5 * T)),
    "idle-or-suicide": lambda: facts(
        curve("episode_length", np.maximum(200 - 500 * T, 10)), curve("episode_return", -300 + 0 * T),
        curve("shaped_return", -np.maximum(200 - 500 * T, 10)), evaluations=(),
        report=report(episodes=(episodes(mean_original_return=-100.0, mean_length=200.0),)),
    ),
    "constant-length": lambda: facts(curve("episode_length", 37.0)),
    "horizon-mismatch": lambda: facts(
        design=design(hyperparameters=design().hyperparameters.model_copy(update={"gamma": 0.5})),
        report=report(episodes=(episodes(nonzero_reward_fraction=0.005),)),
    ),
    "no-better-than-random": lambda: facts(curve("episode_return", 22.0), evaluations=()),
    "sparse-reward": lambda: facts(
        report=report(episodes=(episodes(min_original_reward=0.0, max_original_reward=0.0, std_original_return=0.0),))
    ),
    "approx-kl-high": lambda: facts(curve("approx_kl", 0.2)),
    "destructive-update": lambda: facts(
        curve("approx_kl", spike(0.01, 20, 1.7)),
        curve("episode_return", np.where(np.arange(POINTS) > 20, 60.0, 300.0)), evaluations=(),
    ),
    "steps-too-small": lambda: facts(
        curve("approx_kl", 1e-6), curve("clip_fraction", 0.0), curve("episode_return", 22 + np.sin(40 * T))
    ),
    "approx-kl-negative": lambda: facts(curve("approx_kl", spike(0.01, 5, -0.4))),
    "clip-fraction-high": lambda: facts(curve("clip_fraction", 0.5)),
    "entropy-stays-high": lambda: facts(curve("entropy", 0.69)),
    "premature-collapse": lambda: facts(curve("entropy", 0.001), curve("episode_return", 10.0), evaluations=()),
    "action-spread-grows": lambda: facts(curve("action_std", 1 + 9 * T)),
    "explained-variance-low": lambda: facts(curve("explained_variance", -0.3)),
    "value-loss-spike": lambda: facts(curve("value_loss", spike(5.0, 30, 900.0))),
    "bootstrap-divergence": lambda: facts(curve("critic_loss", 10 ** (5 * T)), design=off_policy()),
    "alpha-rising": lambda: facts(curve("alpha", 0.1 * 10 ** (3 * T)), design=off_policy()),
    "exploration-schedule": lambda: facts(design=dqn(1.0, 0.5)),
    "gradient-norm": lambda: facts(curve("gradient_norm", 4000.0)),
    "batch-geometry": lambda: facts(
        budget_env_steps=4000,
        design=design(hyperparameters=design().hyperparameters.model_copy(update={"rollout_steps": 512})),
    ),
    "seed-spread": lambda: facts(sibling_scores=(500.0, 21.0, 490.0, 20.0, 22.0)),
    "late-collapse": lambda: facts(
        evaluations=(evaluation(score=450.0, checkpoint_env_steps=BUDGET // 2), evaluation(score=120.0))
    ),
    "train-evaluation-gap": lambda: facts(
        evaluations=(evaluation(score=40.0, checkpoint_env_steps=BUDGET // 2), evaluation(score=60.0))
    ),
    "can-but-unreliable": lambda: facts(
        evaluations=(evaluation(score=90.0, checkpoint_env_steps=1000), evaluation(score=100.0, max_original_return=500.0))
    ),
    "slowing-or-leaking": lambda: facts(curve("env_steps_per_second", 2000 - 1700 * T)),
    "greedy-worse-than-sampled": lambda: facts(
        evaluations=(evaluation(score=80.0), evaluation(score=400.0, mode="stochastic"))
    ),
}  # fmt: skip


@pytest.mark.parametrize("rule", [rule.name for rule in RULES])
def test_a_sabotaged_run_is_found_and_the_finding_is_complete(rule: str) -> None:
    found = diagnose(SABOTAGED[rule](), "r1")
    assert rule in fired(found)
    finding = next(each for each in found.findings if each.rule == rule)
    assert finding.symptom
    assert finding.cause
    assert finding.source
    assert finding.numbers


def test_a_healthy_run_has_no_finding() -> None:
    found = diagnose(facts(), "r1")
    assert fired(found) == []
    assert len(found.healthy) >= 20


@pytest.mark.parametrize("rule", [rule.name for rule in RULES if rule.name != "nonfinite-values"])
def test_a_rule_without_its_evidence_is_not_checked_and_says_what_is_missing(rule: str) -> None:
    found = diagnose(Facts(series={"learning_rate": curve("learning_rate", 1e-3)}), "log")
    assert rule not in found.healthy
    assert found.not_checked[rule].startswith("missing: ")


def test_every_rule_answers_exactly_once() -> None:
    found = diagnose(facts(curve("approx_kl", 0.2)), "r1")
    assert len(RULES) == len({rule.name for rule in RULES}) == 34
    assert len(found.findings) + len(found.healthy) + len(found.not_checked) == len(RULES)


def test_environment_and_reward_come_before_optimisation_and_evaluation() -> None:
    sabotaged = facts(
        curve("approx_kl", 0.2), curve("value_loss", spike(1.0, 20, np.nan)), curve("episode_length", 37.0),
        sibling_scores=(500.0, 21.0, 490.0),
    )  # fmt: skip
    found = fired(diagnose(sabotaged, "r1"))
    assert found.index("nonfinite-values") < found.index("constant-length") < found.index("approx-kl-high")
    assert found.index("approx-kl-high") < found.index("seed-spread")


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_every_patch_names_a_path_of_some_design(rule: Any) -> None:
    data = [each.model_dump(mode="json") for each in (design(), off_policy(), dqn(0.2))]
    for patch in rule.fixes:
        assert any(applicable(patch, each) for each in (design(), off_policy(), dqn(0.2))) or any(
            value_at(each, patch.path) == patch.value for each in data
        )


@pytest.mark.parametrize("rule", list(SABOTAGED))
def test_the_patches_of_a_finding_lead_to_valid_designs(rule: str) -> None:
    known = SABOTAGED[rule]()
    assert known.design is not None
    for finding in diagnose(known, "r1").findings:
        for patch in finding.fixes:
            Design.model_validate(patched(known.design, patch))


def patched(of: Design, patch: DesignPatch) -> dict[str, Any]:
    data = of.model_dump(mode="json")
    *path, last = patch.path.split(".")
    place = data
    for part in path:
        place = place[part]
    new: Any = patch.value if patch.operation == "set" else place[last] * patch.value
    place[last] = (
        round(new)
        if isinstance(place[last], int) and not isinstance(place[last], bool) and patch.operation == "multiply"
        else new
    )
    return data


def test_a_patch_that_changes_nothing_or_has_no_place_is_left_out() -> None:
    assert applicable(DesignPatch(path="hyperparameters.tau", operation="multiply", value=0.5), design()) == ()
    same = DesignPatch(path="mdp.stateful.normalise_observation", operation="set", value="none")
    assert applicable(same, design()) == ()
    auto = DesignPatch(path="hyperparameters.alpha", operation="multiply", value=0.5)
    assert applicable(auto, off_policy()) == ()


def test_a_stronger_bonus_where_there_is_none_becomes_a_small_one() -> None:
    silent = design(hyperparameters=design().hyperparameters.model_copy(update={"entropy_coefficient": 0.0}))
    patch = DesignPatch(path="hyperparameters.entropy_coefficient", operation="multiply", value=5)
    (found,) = applicable(patch, silent)
    assert (found.operation, found.value) == ("set", 0.01)
