"""Numbers of public threads: what users saw must be found; and look-alikes of them that are fine."""

import numpy as np
from made_facts import T, box, curve, entry, facts, fired, off_policy, spike
from made_runs import BUDGET, POINTS, design, episodes, evaluation, report

from agent2_metrics.diagnosis.diagnose import diagnose
from agent2_schemas import BoxSpace


def test_sb3_2240_traffic_lights_with_unscaled_rewards() -> None:
    # the number of actions is not in the log: the first entropy tells that there are four
    sumo = facts(
        curve("value_loss", 738_000 + 1000 * np.sin(30 * T)), curve("explained_variance", 6e-8),
        curve("entropy", np.linspace(1.386, 1.33, POINTS)), design=None, report=None, evaluations=(),
    )  # fmt: skip
    found = fired(diagnose(sumo, "log"))
    assert {"entropy-stays-high", "explained-variance-low", "value-loss-spike"} <= set(found)


def test_baselines_975_a_good_policy_crashes_in_one_update() -> None:
    kl = np.full(POINTS, 0.017)
    kl[25:28] = 1.76, 3.79, 4.5
    returns = np.where(np.arange(POINTS) > 25, 400.0, 3000.0)
    loss = spike(200.0, 26, 1.7e5)
    crashed = facts(curve("approx_kl", kl), curve("episode_return", returns), curve("value_loss", loss), evaluations=())
    found = diagnose(crashed, "log")
    assert {"destructive-update", "value-loss-spike"} <= set(fired(found))
    finding = next(each for each in found.findings if each.rule == "destructive-update")
    assert finding.severity == "error"
    assert "best checkpoint" in finding.advice


def test_sb3_389_and_hill_a_637_action_ranges_far_from_one() -> None:
    for low, high in ((5.0, 35.0), (-2000.0, 2000.0)):
        assert "action-bounds" in fired(diagnose(facts(report=box(low, high), design=None), "log"))
    assert "action-bounds" not in fired(diagnose(facts(report=box(-1.0, 1.0), design=None), "log"))


def test_a_rescaled_action_range_is_fine() -> None:
    continuous = design(
        mdp=design().mdp.model_copy(update={"action_space": BoxSpace(shape=(1,), dtype="float32", low=-1.0, high=1.0)})
    )
    assert "action-bounds" not in fired(diagnose(facts(report=box(5.0, 35.0), design=continuous), "r1"))


def test_sb3_416_an_entry_with_a_variance_of_8e_12() -> None:
    found = diagnose(facts(report=report(observation_entries=(entry(0, std=8e-12**0.5), entry(1)))), "r1")
    assert "constant-observation" in fired(found)


def test_sb3_1130_sac_turns_nan_on_an_asymmetric_box() -> None:
    loss = 10 ** (6 * T)
    loss[35:] = np.nan
    broken = facts(curve("critic_loss", loss), report=box(0.0, 30.0), design=None)
    assert {"nonfinite-values", "action-bounds", "bootstrap-divergence"} <= set(fired(diagnose(broken, "log")))


def test_sb3_2038_mountain_car_continuous_after_too_few_steps() -> None:
    idle = facts(
        curve("episode_return", -50.0), curve("shaped_return", -50.0), curve("episode_length", 999.0), evaluations=(),
        report=report(
            max_episode_steps=999,
            episodes=(episodes(mean_original_return=-33.3, std_original_return=0.8, mean_length=999.0, terminated_fraction=0.0,
                               std_original_reward=0.03, min_original_reward=-0.1, max_original_reward=0.0,
                               mean_original_reward=-0.03),),
        ),
    )  # fmt: skip
    assert {"no-better-than-random", "constant-length"} <= set(fired(diagnose(idle, "r1")))


def test_highway_env_653_driving_in_circles_is_reward_hacking() -> None:
    circles = facts(
        curve("shaped_return", 5 + 30 * T + 0.5 * np.sin(50 * T)),
        curve("episode_return", 4 - 2.5 * T + 0.3 * np.cos(50 * T)), evaluations=(),
    )  # fmt: skip
    found = diagnose(circles, "r1")
    finding = next(each for each in found.findings if each.rule == "reward-hacking")
    assert finding.severity == "error"


def test_two_curves_that_rise_together_and_level_off_are_no_hacking() -> None:
    generator = np.random.default_rng(3)
    level = 1 - np.exp(-6 * T)
    both = facts(
        curve("shaped_return", 10 * level + 0.3 * generator.normal(size=POINTS)),
        curve("episode_return", 200 * level + 9 * generator.normal(size=POINTS)),
    )
    assert "reward-hacking" in diagnose(both, "r1").healthy


def test_reaching_a_goal_earlier_is_no_suicide() -> None:
    goal = facts(
        curve("episode_length", np.maximum(500 - 800 * T, 80)), curve("episode_return", -np.maximum(500 - 800 * T, 80)),
        report=report(episodes=(episodes(mean_original_return=-500.0, std_original_return=0.0, mean_length=500.0),)),
        evaluations=(evaluation(score=-90.0, checkpoint_env_steps=BUDGET // 2), evaluation(score=-80.0)),
    )  # fmt: skip
    assert "idle-or-suicide" not in fired(diagnose(goal, "r1"))


def test_standing_still_for_the_alive_bonus_is_found() -> None:
    ant = facts(
        curve("episode_length", np.minimum(100 + 2000 * T, 1000)), curve("episode_return", np.minimum(100 + 2000 * T, 1000)),
        curve("success_rate", 0.0), report=report(max_episode_steps=1000),
    )  # fmt: skip
    assert "idle-or-suicide" in fired(diagnose(ant, "r1"))


def test_a_cautious_sac_is_healthy() -> None:
    sac = facts(
        curve("critic_loss", 3 + np.sin(20 * T)), curve("q_mean", 40 * T), curve("alpha", np.exp(-3 * T)),
        design=off_policy(), without=("approx_kl", "clip_fraction", "entropy", "explained_variance", "value_loss"),
    )  # fmt: skip
    assert fired(diagnose(sac, "r1")) == []


def test_sb3_1556_one_evaluation_is_enough_to_see_that_training_and_evaluation_disagree() -> None:
    found = diagnose(facts(evaluations=(evaluation(score=40.0),)), "r1")
    assert "train-evaluation-gap" in fired(found)
    assert "late-collapse" in found.not_checked


def test_a_single_value_spike_is_only_a_note() -> None:
    found = diagnose(facts(curve("value_loss", spike(1.3, 30, 16.5))), "r1")
    assert [(each.rule, each.severity) for each in found.findings] == [("value-loss-spike", "note")]
