"""Rules on critics, temperature, exploration, gradients and batches (33-36, 40)."""

import numpy as np

from agent2_metrics.diagnosis.facts import Facts, Missing
from agent2_metrics.diagnosis.rule import (
    GRADIENT_NORM,
    LAYER_NORM,
    LEARNING_RATE,
    NORMALISE_OBSERVATION,
    REWARD_SCALE,
    Evidence,
    RuleBook,
    times,
    to,
)  # fmt: skip
from agent2_schemas import DQNHyperparameters, OffPolicy, OnPolicy, PPOHyperparameters

BOOK = RuleBook()
REWARD_ROOM = 1.2


@BOOK.rule(
    "bootstrap-divergence", 33, cause="Bootstrapped targets feed back on themselves.",
    source="SB3#1372 (depends on the seed); rl-zoo3#322",
    fixes=(times(REWARD_SCALE, 0.1, "smaller targets"), times(LEARNING_RATE, 1 / 3), times("hyperparameters.tau", 0.5),
           to(LAYER_NORM, True, "a bounded critic"), times("hyperparameters.updates_per_env_step", 0.5)),
)  # fmt: skip
def bootstrap_divergence(facts: Facts) -> Evidence | None:
    """Q far above what any return can be, or a critic loss that grows a hundredfold within the last window."""
    limits = facts.thresholds
    grown = _critic_growth(facts)
    if grown is not None and grown > limits.critic_growth:
        series = facts.need("critic_loss")
        return Evidence(symptom=f"critic_loss grew {grown:.3g} times.", numbers={"growth": grown}, severity="error",
                        window=(float(series.x[0]), float(series.x[-1])))  # fmt: skip
    if not facts.has("q_mean"):
        if grown is None:
            raise Missing("curve q_mean or critic_loss")
        return None
    q, design = facts.need("q_mean"), facts.need_design()
    if "reward" in design.mdp.parts or "potential" in design.mdp.parts:
        raise Missing("largest step of the shaped reward (critic_loss did not fire)")
    statistics = facts.random_episodes()
    largest = max(abs(statistics.min_original_reward or 0.0), abs(statistics.max_original_reward or 0.0)) * REWARD_ROOM
    bound = limits.q_bound * largest * design.mdp.reward_scale / max(1e-6, 1 - design.hyperparameters.gamma)
    newest = float(np.median(facts.tail(q)))
    if bound == 0 or abs(newest) <= bound:
        return None
    return Evidence(symptom=f"q_mean is {newest:.4g}; twice the largest possible return is {bound:.4g}.", severity="error",
                    numbers={"q_mean": newest, "bound": bound}, window=(float(q.x[0]), float(q.x[-1])))  # fmt: skip


@BOOK.rule(
    "alpha-rising", 34, cause="The target entropy cannot be reached (saturated or many actions), or the reward scale is off.",
    source="RL-Zoo3 presets of SAC; Haarnoja et al. 2018, arXiv 1812.05905",
    fixes=(times(REWARD_SCALE, 0.3), to("hyperparameters.alpha", 0.05, "a fixed temperature"),
           to("hyperparameters.target_entropy", -3.0, "a lower target")),
)  # fmt: skip
def alpha_rising(facts: Facts) -> Evidence | None:
    """The temperature rises steadily by more than ten times."""
    series = facts.need("alpha")
    if float(series.y.min()) <= 0:
        return None
    lowest = int(np.argmin(series.y))
    rising = series.y[lowest:]
    growth = float(np.median(facts.tail(series)) / series.y[lowest])
    is_steady = len(rising) >= 5 and float(np.mean(np.diff(rising) >= 0)) > 0.7
    if growth <= facts.thresholds.alpha_growth or not is_steady:
        return None
    return Evidence(symptom=f"alpha rose {growth:.3g} times, to {series.y[-1]:.3g}.",
                    numbers={"growth": growth, "alpha": float(series.y[-1])}, severity="warning",
                    window=(float(series.x[lowest]), float(series.x[-1])))  # fmt: skip


@BOOK.rule(
    "exploration-schedule", 35, cause="Exploration ends too early to have seen anything, or too late to learn from it.",
    source="RL-Zoo3 presets of DQN (tuned presets win); yzmir-deep-rl advises 50 to 80 %",
    fixes=(to("hyperparameters.exploration_fraction", 0.16, "a usual share"),),
)  # fmt: skip
def exploration_schedule(facts: Facts) -> Evidence | None:
    """Epsilon is final before 5 % of the budget, or still above 0.3 after 60 %."""
    limits = facts.thresholds
    if facts.has("exploration_rate"):
        series = facts.need("exploration_rate")
        t, final = facts.time(series), float(series.y.min())
        first_final = float(t[np.flatnonzero(series.y <= final + 1e-6)[0]])
        late = series.y[t > limits.exploration_late]
        late_value, moved = float(late.max()) if len(late) else 0.0, float(series.y.max()) > final + 0.05
    else:
        settings = facts.need_design().hyperparameters
        if not isinstance(settings, DQNHyperparameters):
            raise Missing("curve exploration_rate")
        first_final, moved = settings.exploration_fraction, True
        span = settings.exploration_initial - settings.exploration_final
        done = min(1.0, limits.exploration_late / settings.exploration_fraction)
        late_value = settings.exploration_initial - span * done
    numbers: dict[str, float | None] = {"final_at": first_final, "late_rate": late_value}
    if moved and first_final < limits.exploration_early:
        return Evidence(symptom=f"Exploration ends after {first_final:.1%} of the budget.", numbers=numbers)
    if late_value > limits.exploration_high:
        return Evidence(
            symptom=f"{late_value:.0%} of the actions are still random after 60 % of the budget.", numbers=numbers
        )
    return None


@BOOK.rule(
    "gradient-norm", 36, cause="Scale of reward or observation, learning rate, or dead units.",
    source="yzmir-deep-rl; SB3's default of 0.5",
    fixes=(to(GRADIENT_NORM, 0.5, "the usual bound"), times(REWARD_SCALE, 0.1), to(NORMALISE_OBSERVATION, "running")),
)  # fmt: skip
def gradient_norm(facts: Facts) -> Evidence | None:
    """Gradients before clipping are huge, or vanish."""
    series, limits = facts.need("gradient_norm"), facts.thresholds
    level = float(np.median(facts.tail(series)))
    if limits.gradient_low <= level <= limits.gradient_high:
        return None
    return Evidence(symptom=f"The gradient norm is {level:.3g}.", numbers={"gradient_norm": level},
                    window=(float(series.x[0]), float(series.x[-1])))  # fmt: skip


@BOOK.rule(
    "batch-geometry", 40, cause="Batches are starved or uneven; many environments quietly cut the number of updates.",
    source="Jones, Debugging RL; SB3#643", advice="Mend the geometry: more updates of full batches.",
)  # fmt: skip
def batch_geometry(facts: Facts) -> Evidence | None:
    """Rollouts that minibatches do not divide, or fewer than fifty updates in all."""
    design = facts.need_design()
    settings, budget = design.hyperparameters, facts.budget_env_steps or design.budget_env_steps
    if isinstance(settings, OffPolicy):
        updates = max(0, budget - settings.warmup_env_steps) * settings.updates_per_env_step
        if updates >= facts.thresholds.updates_minimum:
            return None
        return Evidence(symptom=f"Only {updates:.0f} gradient steps fit into the budget.", severity="error",
                        numbers={"updates": updates, "warmup_env_steps": float(settings.warmup_env_steps)},
                        fixes=(to("hyperparameters.warmup_env_steps", budget // 20, "learn sooner"),))  # fmt: skip
    assert isinstance(settings, OnPolicy)
    samples = settings.rollout_steps * settings.num_envs
    updates = budget / (samples * design.mdp.stateful.action_repeat)
    rest = samples % settings.minibatch_size if isinstance(settings, PPOHyperparameters) else 0
    numbers: dict[str, float | None] = {"rollouts": updates, "samples": float(samples), "rest": float(rest)}
    if updates < facts.thresholds.updates_minimum:
        wanted = max(8, samples // settings.num_envs * int(updates) // facts.thresholds.updates_minimum)
        return Evidence(symptom=f"Only {updates:.0f} rollouts of {samples} samples fit into the budget.", numbers=numbers,
                        severity="warning" if updates < 20 else "note",
                        fixes=(to("hyperparameters.rollout_steps", wanted, "more, smaller rollouts"),))  # fmt: skip
    if rest and rest < samples:
        return Evidence(symptom=f"Minibatches leave a rest of {rest} of {samples} samples.", numbers=numbers, severity="note",
                        fixes=(to("hyperparameters.minibatch_size", _divisor(samples, settings), "it divides the rollout"),))  # fmt: skip
    return None


def _critic_growth(facts: Facts) -> float | None:
    """How much the critic loss grew within the last window and over the run, the smaller of what is suspicious."""
    if not facts.has("critic_loss"):
        return None
    series = facts.need("critic_loss")
    tail = facts.tail(series)
    usual = float(np.median(series.y[: max(3, len(series.y) // 2)]))
    first = float(np.abs(tail[:1]).max())
    newest = float(np.median(np.abs(tail[-3:])))
    floor = max(abs(usual), 1e-6)
    return max(newest / max(first, 1e-6) if newest > 10 * floor else 0.0, newest / floor)


def _divisor(samples: int, settings: OnPolicy) -> int:
    wanted = settings.minibatch_size if isinstance(settings, PPOHyperparameters) else samples
    return max(size for size in range(1, min(wanted, samples) + 1) if samples % size == 0)
