"""Rules on optimisation: KL, clipping, entropy, action spread, value function (2-5, 7-10, 12, 14)."""

import numpy as np

from agent2_metrics.diagnosis.facts import Facts, Missing, longest_stretch, rolling_median
from agent2_metrics.diagnosis.rule import (
    BATCH,
    CRITIC_SIZES,
    ENTROPY,
    EPOCHS,
    GAMMA,
    LEARNING_RATE,
    LOG_STD,
    MINIBATCH,
    NORMALISE_OBSERVATION,
    NORMALISE_RETURN,
    REWARD_SCALE,
    SCHEDULE,
    Evidence,
    RuleBook,
    times,
    to,
)  # fmt: skip

BOOK = RuleBook()
MEDIAN_WIDTH = 20


@BOOK.rule(
    "approx-kl-high", 2, cause="The policy moves too far in one update.",
    source="37 implementation details of PPO; Schulman, Nuts and Bolts (0.01 is small, 10 far too much)",
    fixes=(
        times(LEARNING_RATE, 0.5, "smaller steps"), times(EPOCHS, 0.5, "fewer passes over one rollout"),
        times(MINIBATCH, 2, "less noisy steps"), times("hyperparameters.rollout_steps", 2, "more samples an update"),
    ),
)  # fmt: skip
def approx_kl_high(facts: Facts) -> Evidence | None:
    """KL above 0.02 for at least five updates in a row."""
    series, limits = facts.need("approx_kl"), facts.thresholds
    length, end = longest_stretch(series.y > limits.kl_high)
    if length < limits.kl_updates:
        return None
    stretch = series.y[end - length : end]
    level = float(np.median(stretch))
    severity = "error" if level > limits.kl_critical else "warning" if level > limits.kl_warning else "note"
    return Evidence(
        symptom=f"approx_kl stayed above {limits.kl_high:g} for {length} logged updates (median {level:.3g}).",
        numbers={"updates": float(length), "median": level, "max": float(stretch.max())},
        severity=severity, window=(float(series.x[end - length]), float(series.x[end - 1])),
    )  # fmt: skip


@BOOK.rule(
    "destructive-update", 3, cause="One update threw the policy far from where it was, and the return fell.",
    source="Schulman, Nuts and Bolts; openai/baselines#975 (0.017, 1.76, 3.79)",
    fixes=(times(LEARNING_RATE, 0.5, "smaller steps"), to(SCHEDULE, "linear", "smaller steps later"),
           times(EPOCHS, 0.5, "fewer passes over one rollout")),
    advice="Ship or resume from the best checkpoint before the jump.",
)  # fmt: skip
def destructive_update(facts: Facts) -> Evidence | None:
    """KL above five times its rolling median, and the return falls by a fifth soon after."""
    series, limits = facts.need("approx_kl"), facts.thresholds
    try:
        steps, returns, _ = facts.scores()
    except Missing:
        curve = facts.need("episode_return")
        steps, returns = curve.x, curve.y
    usual = np.maximum(rolling_median(series.y, MEDIAN_WIDTH), 0)
    jumps = np.flatnonzero((series.y > limits.kl_jump * usual) & (series.y > limits.kl_jump_floor))
    spread = float(np.ptp(returns))
    for jump in jumps[jumps > 0]:
        before, after = returns[steps <= series.x[jump]], returns[steps > series.x[jump]][:3]
        if not len(before) or not len(after):
            continue
        reference = float(np.median(before[-3:]))
        fall = reference - float(after.min())
        if spread > 0 and fall > limits.return_drop * max(abs(reference), 1e-9) and fall > limits.return_drop * spread:
            return Evidence(
                symptom=f"approx_kl jumped from {usual[jump]:.3g} to {series.y[jump]:.3g}, then the return fell from {reference:.4g} to {after.min():.4g}.",
                numbers={"kl": float(series.y[jump]), "usual_kl": float(usual[jump]), "return_before": reference,
                         "return_after": float(after.min())},
                severity="error", window=(float(series.x[jump]), float(series.x[-1])),
            )  # fmt: skip
    return None


@BOOK.rule(
    "steps-too-small", 4, cause="Steps are too small, gradients vanish, or advantages are near zero.",
    source="Jones, Debugging RL; SB3#2240",
    fixes=(times(LEARNING_RATE, 3, "larger steps"), to(NORMALISE_OBSERVATION, "running", "tame outliers")),
    advice="Check that the learning reward varies at all.",
)  # fmt: skip
def steps_too_small(facts: Facts) -> Evidence | None:
    """KL and clip fraction near zero while the return is flat."""
    kl, clip, returns = facts.need("approx_kl"), facts.need("clip_fraction"), facts.need("episode_return")
    limits = facts.thresholds
    level, clipped = float(np.median(np.abs(kl.y))), float(np.median(clip.y))
    if level >= limits.kl_tiny or clipped >= limits.clip_tiny or not _is_flat(facts, returns.y):
        return None
    return Evidence(
        symptom=f"approx_kl is {level:.2g} and clip_fraction {clipped:.2g} while the return does not move.",
        numbers={"approx_kl": level, "clip_fraction": clipped}, window=(float(kl.x[0]), float(kl.x[-1])),
    )  # fmt: skip


@BOOK.rule(
    "approx-kl-negative", 5, cause="The estimator is wrong, or invalid actions are ignored when the ratio is formed.",
    source="Jones, Debugging RL; 37 implementation details of PPO",
    advice="Estimate KL by mean((ratio - 1) - log ratio), and mask invalid actions.",
)  # fmt: skip
def approx_kl_negative(facts: Facts) -> Evidence | None:
    """A KL below zero, which the usual estimator cannot give; for the k1 estimate its mean counts."""
    name = "approx_kl" if facts.has("approx_kl") or not facts.has("approx_kl_k1") else "approx_kl_k1"
    series = facts.need(name)
    low = float(series.y.min()) if name == "approx_kl" else float(facts.tail(series).mean())
    if low >= -1e-6:
        return None
    return Evidence(
        symptom=f"{name} is negative ({low:.3g}).", numbers={"lowest": low}, severity="error",
        window=(float(series.x[0]), float(series.x[-1])),
    )  # fmt: skip


@BOOK.rule(
    "clip-fraction-high", 7, cause="The learning rate or the number of epochs is too high for the batch.",
    source="SB3 documentation (its sample log shows 0.24)",
    fixes=(times(LEARNING_RATE, 0.5), times(EPOCHS, 0.5), times(MINIBATCH, 2)),
)  # fmt: skip
def clip_fraction_high(facts: Facts) -> Evidence | None:
    """More than 30 % of samples clipped for at least five updates."""
    series, limits = facts.need("clip_fraction"), facts.thresholds
    length, end = longest_stretch(series.y > limits.clip_high)
    if length < limits.kl_updates:
        return None
    level = float(np.median(series.y[end - length : end]))
    return Evidence(
        symptom=f"{level:.0%} of samples were clipped over {length} logged updates.",
        numbers={"median": level, "updates": float(length)},
        window=(float(series.x[end - length]), float(series.x[end - 1])),
    )  # fmt: skip


@BOOK.rule(
    "entropy-stays-high", 8,
    cause="Nothing is learned: the entropy bonus outweighs the advantages, or the reward carries no signal.",
    source="Jones, Debugging RL; Schulman, Nuts and Bolts; SB3#2240 (1.33 of 1.386 at coefficient 0.15)",
    fixes=(times(ENTROPY, 0.1, "a weaker bonus"), times(LEARNING_RATE, 3, "larger steps, where there is no bonus")),
    advice="Look first at the reward: rules explained-variance-low, no-reward-signal, no-better-than-random.",
)  # fmt: skip
def entropy_stays_high(facts: Facts) -> Evidence | None:
    """A discrete policy is still nearly uniform after a quarter of the budget."""
    series, limits = facts.need("entropy"), facts.thresholds
    count = facts.action_count()
    if count is None:
        raise Missing("discrete actions (the rule is about them)")
    late = facts.time(series) > limits.entropy_high_after
    if not late.any():
        raise Missing("a quarter of the budget")
    relative = float(np.median(facts.tail(series))) / float(np.log(count)) if count > 1 else 0.0
    if relative <= limits.entropy_high:
        return None
    return Evidence(
        symptom=f"Entropy is still {relative:.0%} of that of a uniform choice among {count} actions.",
        numbers={"relative_entropy": relative, "actions": float(count)}, severity="error",
        window=(float(series.x[late][0]), float(series.x[-1])),
    )  # fmt: skip


@BOOK.rule(
    "premature-collapse", 9, cause="The policy became deterministic before it was any good.",
    source="Schulman, Nuts and Bolts; Jones, Debugging RL",
    fixes=(times(ENTROPY, 5, "a stronger bonus"), times(REWARD_SCALE, 0.3, "rewards far above the bonus"),
           to(LOG_STD, 0.0, "start wider"), times(LEARNING_RATE, 0.5)),
)  # fmt: skip
def premature_collapse(facts: Facts) -> Evidence | None:
    """Entropy or action spread near zero in the first 30 % of the budget, with a poor return."""
    limits = facts.thresholds
    spread, name = None, "action_std"
    if facts.has("action_std"):
        spread, bound = facts.need("action_std"), limits.action_std_low
    else:
        spread, count, name = facts.need("entropy"), facts.action_count(), "entropy"
        if count is None:
            raise Missing("curve action_std")
        bound = limits.entropy_low * float(np.log(count))
    early = (facts.time(spread) < limits.collapse_before) & (spread.y < bound)
    if not early.any():
        return None
    if not _is_poor(facts):
        return None
    first = int(np.flatnonzero(early)[0])
    return Evidence(
        symptom=f"{name} fell to {spread.y[first]:.3g} at {spread.x[first]:.0f} env steps while the return is still poor.",
        numbers={name: float(spread.y[first]), "return": facts.last_return()}, severity="error",
        window=(float(spread.x[first]), float(spread.x[-1])),
    )  # fmt: skip


@BOOK.rule(
    "action-spread-grows", 10,
    cause="The bonus outweighs the advantages, or clipped actions give a flat reward, so that wider costs nothing.",
    source="Jones, Debugging RL; Andrychowicz et al. 2021 (no evidence that the bonus helps); IsaacLab#673, #2045; rsl_rl#33",
    fixes=(to(ENTROPY, 0.0, "continuous control needs no bonus"), to(LOG_STD, -0.5, "start narrower"),
           times(LEARNING_RATE, 0.5)),
    advice="Penalise large actions, or squash them.",
)  # fmt: skip
def action_spread_grows(facts: Facts) -> Evidence | None:
    """Action std doubles, or entropy turns early and rises for good."""
    limits = facts.thresholds
    if facts.has("action_std"):
        series = facts.need("action_std")
        start, end = float(np.median(series.y[:3])), float(np.median(facts.tail(series)))
        if start > 0 and end > limits.action_std_growth * start:
            return Evidence(
                symptom=f"action_std grew from {start:.3g} to {end:.3g}.", numbers={"start": start, "end": end},
                severity="error" if end > 5 * start else "warning", window=(float(series.x[0]), float(series.x[-1])),
            )  # fmt: skip
        if not facts.has("entropy"):
            return None
    series = facts.need("entropy", points=10)
    smooth = np.convolve(series.y, np.ones(3) / 3, mode="valid")
    turn, reach = int(np.argmin(smooth)), float(np.ptp(smooth))
    rise = float(smooth[-3:].min() - smooth[turn])
    fell = float(smooth[0] - smooth[turn])
    if turn > 0.7 * len(smooth) or reach < 0.1 or rise < limits.entropy_rise * reach or fell < 0.1 * reach:
        return None
    return Evidence(
        symptom=f"Entropy fell to {smooth[turn]:.3g} and then rose for good by {rise:.3g}.", severity="note",
        numbers={"minimum": float(smooth[turn]), "rise": rise}, window=(float(series.x[turn]), float(series.x[-1])),
        cause="The policy left an early, short-sighted solution; or the bonus outweighs the advantages.",
    )  # fmt: skip


@BOOK.rule(
    "explained-variance-low", 12,
    cause="The value network does not learn: scale of the returns, too few value steps, or an observation that hides the state.",
    source="Schulman, Nuts and Bolts; Jones, Debugging RL; SB3 documentation; Andrychowicz et al. 2021",
    fixes=(to(NORMALISE_RETURN, True, "returns of unit scale"),
           to(NORMALISE_OBSERVATION, "running", "inputs of unit scale"),
           to(CRITIC_SIZES, [256, 256], "a wider value network"), times(EPOCHS, 2, "more value steps")),
    advice="Check the scale of the reward, and whether the observation tells what the return depends on.",
)  # fmt: skip
def explained_variance_low(facts: Facts) -> Evidence | None:
    """Explained variance near zero after a tenth of the budget; below zero is worse than predicting the mean."""
    series, limits = facts.need("explained_variance"), facts.thresholds
    late = facts.time(series) > limits.explained_variance_after
    if late.sum() < 3:
        raise Missing("a tenth of the budget")
    level, newest = float(np.median(series.y[late])), float(np.median(facts.tail(series)))
    if newest >= limits.explained_variance_low:
        return None
    return Evidence(
        symptom=f"explained_variance is {newest:.3g} at the end (median {level:.3g}).",
        numbers={"end": newest, "median": level}, severity="error" if newest < 0 and level < 0 else "warning",
        window=(float(series.x[late][0]), float(series.x[-1])),
    )  # fmt: skip


@BOOK.rule(
    "value-loss-spike", 14, cause="An outlier of the reward, a blow-up of the physics, or returns of a large scale.",
    source="openai/baselines#975; SB3#2240 (738 000); ml-agents#2897",
    fixes=(to(NORMALISE_RETURN, True, "value targets of unit scale"), times(REWARD_SCALE, 0.1, "smaller returns"),
           times(GAMMA, 0.99, "a shorter horizon"), times(BATCH, 2, "less noisy steps")),
    advice="Clip each reward term per step, end invalid states, and name the term that spiked first.",
)  # fmt: skip
def value_loss_spike(facts: Facts) -> Evidence | None:
    """Value loss above ten times its rolling median for good, or above 10 000 without return normalisation."""
    series, limits = facts.need("value_loss"), facts.thresholds
    is_normalised = bool(getattr(facts.design.hyperparameters, "normalise_return", False)) if facts.design else False
    level = float(np.median(facts.tail(series)))
    usual = rolling_median(series.y, MEDIAN_WIDTH)
    settled = np.arange(len(series.y)) >= min(MEDIAN_WIDTH, len(series.y) // 3)
    spikes = np.flatnonzero(settled & (series.y > limits.value_loss_jump * usual) & (series.y > 1.0))
    if level > limits.value_loss_high and not is_normalised:
        return Evidence(
            symptom=f"value_loss is {level:.4g}: the returns are far from unit scale.", severity="error",
            numbers={"value_loss": level}, window=(float(series.x[0]), float(series.x[-1])),
            cause="The reward is not scaled.",
        )  # fmt: skip
    if not len(spikes):
        return None
    worst = int(spikes[np.argmax(series.y[spikes])])
    return Evidence(
        symptom=f"value_loss jumped from {usual[worst]:.3g} to {series.y[worst]:.3g}; {len(spikes)} such points.",
        severity="note" if len(spikes) == 1 else "warning",
        numbers={"spike": float(series.y[worst]), "usual": float(usual[worst]), "spikes": float(len(spikes))},
        window=(float(series.x[spikes[0]]), float(series.x[spikes[-1]])),
    )  # fmt: skip


def _is_flat(facts: Facts, returns: np.ndarray) -> bool:
    """Whether a return curve ends where it began, against its own noise."""
    third = max(2, len(returns) // 3)
    change = abs(float(returns[-third:].mean() - returns[:third].mean()))
    noise = float(returns.std()) or 1.0
    return change <= max(facts.thresholds.flat_return * abs(float(returns[:third].mean())), 0.5 * noise)


def _is_poor(facts: Facts) -> bool:
    """Whether the return is known to be poor.

    Raises:
        Missing: neither a target nor a random baseline is known.
    """
    if facts.target_return is not None:
        return facts.last_return() < facts.target_return
    mean, error = facts.random_return()
    return facts.last_return() <= mean + facts.thresholds.random_errors * error + 0.05 * abs(mean)
