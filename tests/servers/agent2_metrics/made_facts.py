"""Facts for the rules: a healthy run of ours, and the ways to spoil it."""

from typing import Any

import numpy as np
from made_runs import BUDGET, POINTS, design, evaluation, healthy_curves, report, steps

from agent2_metrics.curves.series import Series
from agent2_metrics.diagnosis.facts import Facts
from agent2_schemas import (
    BoxSpace,
    Design,
    Diagnosis,
    DQNHyperparameters,
    ObservationEntry,
    RewardComponent,
    SACHyperparameters,
    VerificationReport,
)  # fmt: skip

T = steps() / BUDGET
NAMES = {"rollout/original_return": "episode_return", "rollout/shaped_return": "shaped_return"}


def curve(name: str, values: Any, x: Any = None, **changes: Any) -> Series:
    y = np.broadcast_to(np.asarray(values, dtype=float), (POINTS,)) if x is None else np.asarray(values, dtype=float)
    defaults: dict[str, Any] = {"hole_count": 0, "is_known": True}
    return Series(
        name=name, tag=name, x_unit="env_steps", x=steps() if x is None else np.asarray(x, dtype=float), y=y,
        **(defaults | changes),
    )  # fmt: skip


def facts(*curves: Series, without: tuple[str, ...] = (), **changes: Any) -> Facts:
    healthy = [curve(NAMES.get(tag, tag.partition("/")[2]), y) for tag, (_, y) in healthy_curves().items()]
    series = {each.name: each for each in [*healthy, *curves] if each.name not in without}
    values: dict[str, Any] = {
        "library": "agent2", "design": design(), "report": report(), "budget_env_steps": BUDGET,
        "evaluations": (evaluation(score=300.0, checkpoint_env_steps=BUDGET // 2), evaluation(score=420.0)),
        "sibling_scores": (400.0, 410.0, 405.0), "target_return": 450.0,
    }  # fmt: skip
    return Facts(series=series, **(values | changes))


def fired(found: Diagnosis) -> list[str]:
    return [each.rule for each in found.findings]


def off_policy(**changes: Any) -> Design:
    values: dict[str, Any] = {
        "learning_rate": 3e-4, "gamma": 0.99, "num_envs": 1, "batch_size": 64, "buffer_size": 10000,
        "warmup_env_steps": 1000, "updates_per_env_step": 1.0, "collect_steps": 1, "tau": 0.005,
    }  # fmt: skip
    return design(algorithm="SAC", hyperparameters=SACHyperparameters(**(values | changes)))


def dqn(fraction: float, final: float = 0.05) -> Design:
    hyperparameters = DQNHyperparameters(
        learning_rate=1e-3, gamma=0.99, num_envs=1, batch_size=64, buffer_size=10000, warmup_env_steps=1000,
        updates_per_env_step=1.0, collect_steps=1, target_update_interval=100, exploration_initial=1.0,
        exploration_final=final, exploration_fraction=fraction,
    )  # fmt: skip
    return design(algorithm="DQN", hyperparameters=hyperparameters)


def spike(values: Any, at: int, to: float) -> np.ndarray:
    changed = np.array(np.broadcast_to(np.asarray(values, dtype=float), (POINTS,)))
    changed[at] = to
    return changed


def entry(index: int, **changes: float) -> ObservationEntry:
    return ObservationEntry(index=index, **({"mean": 0.0, "std": 0.5, "min": -2.0, "max": 2.0} | changes))


def box(low: float | None, high: float | None) -> Any:
    return report(action_space=BoxSpace(shape=(1,), dtype="float32", low=low, high=high))


def components(**shares: float) -> VerificationReport:
    rows = tuple(
        RewardComponent(name=name, weight=1.0, mean=share, std=share, min=0.0, max=1.0, share=share,
                        correlation_with_original=0.5)
        for name, share in shares.items()
    )  # fmt: skip
    return VerificationReport(
        candidate_id="c1", is_accepted=True, levels_passed=("syntax",), parts=("reward",), observation_space=None,
        action_space=None, reward_components=rows, recorded_transitions=1000,
    )  # fmt: skip
