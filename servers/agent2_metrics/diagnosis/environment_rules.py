"""Rules on the environment: finite values, observation scale, action bounds, time limits, horizon (1, 17-19, 25, 26, 39)."""

import numpy as np

from agent2_metrics.curves.canonical import RLLIB
from agent2_metrics.diagnosis.facts import Facts, Missing
from agent2_metrics.diagnosis.rule import (
    GAMMA,
    LEARNING_RATE,
    LOG_STD,
    NORMALISE_OBSERVATION,
    REWARD_SCALE,
    Evidence,
    RuleBook,
    times,
    to,
)  # fmt: skip
from agent2_schemas import BoxSpace

BOOK = RuleBook()


@BOOK.rule(
    "nonfinite-values", 1,
    cause="The environment emits NaN, an observation is huge, the learning rate is too high, or the log std overflows.",
    source="SB3 documentation (checking NaN); SB3#1130, SB3#1593; hill-a#1143",
    fixes=(to(NORMALISE_OBSERVATION, "running", "with its clip"), times(LEARNING_RATE, 1 / 3, "smaller steps"),
           times(REWARD_SCALE, 0.1, "smaller targets"), to(LOG_STD, -0.5, "start narrower")),
    advice="Find the first value of the environment that is not finite; if it is the environment's, mend that first.",
)  # fmt: skip
def nonfinite_values(facts: Facts) -> Evidence | None:
    """Any NaN or infinity in a curve, or a hole where the writer drops NaN."""
    if not facts.series:
        raise Missing("any curve")
    bad = {each.name: each.nonfinite_count for each in facts.series.values() if each.nonfinite_count}
    holes = {each.name: each.hole_count for each in facts.series.values() if each.hole_count}
    if not bad and not holes:
        return None
    firsts = {name: float(facts.series[name].x[~np.isfinite(facts.series[name].y)][0]) for name in bad}
    first = min(firsts, key=lambda name: firsts[name]) if firsts else next(iter(holes))
    said = f"{first} is the first of {len(bad)} curves with NaN or infinity" if bad else f"{first} has holes"
    where = f" at {firsts[first]:.0f} {facts.series[first].x_unit}" if firsts else ""
    note = f"; {RLLIB} drops NaN, so {sum(holes.values())} holes in {len(holes)} curves count" if holes else ""
    numbers: dict[str, float | None] = {f"nonfinite {name}": float(count) for name, count in bad.items()}
    return Evidence(
        symptom=f"{said}{where}{note}.", severity="error",
        numbers=numbers | {f"holes {name}": float(count) for name, count in holes.items()},
        window=(firsts[first], float(facts.series[first].x[-1])) if firsts else None,
    )  # fmt: skip


@BOOK.rule(
    "timeout-as-termination", 26, cause="The time limit is coded as a failure, so that values are bootstrapped wrongly.",
    source="SB3 documentation (tips); 37 implementation details; cleanrl#198; skrl#449; SB3#1864",
    advice="Return truncated instead of terminated at the limit; or declare time_left, so that the agent sees the limit.",
    fixes=(to("mdp.stateful.time_left", True, "the agent sees the limit"),),
)  # fmt: skip
def timeout_as_termination(facts: Facts) -> Evidence | None:
    """Most episodes end at exactly one length, and yet with `terminated`."""
    statistics = facts.random_episodes(least=4)
    if facts.has("terminated_fraction") and facts.has("episode_length"):
        ended = float(facts.tail(facts.need("terminated_fraction", points=3)).mean())
        lengths = facts.tail(facts.need("episode_length", points=3))
        longest, typical = float(lengths.max()), float(np.median(lengths))
        is_constant = longest > 1 and float(np.ptp(lengths)) <= 0.005 * longest
        where = "training"
    else:
        ended, typical = statistics.terminated_fraction or 0.0, statistics.mean_length or 0.0
        is_constant, where = False, "random episodes"
    limit = facts.need_report().max_episode_steps
    at_limit = limit is not None and typical >= limit * (1 - 1e-6)
    if ended <= facts.thresholds.timeout_share or not (at_limit or (is_constant and _random_differs(facts, typical))):
        return None
    return Evidence(
        symptom=f"{ended:.0%} of {where} end by termination, all at {typical:.0f} steps.", severity="error",
        numbers={"terminated_fraction": ended, "length": typical, "limit": None if limit is None else float(limit)},
    )  # fmt: skip


@BOOK.rule(
    "action-bounds", 19, cause="A Gaussian policy cannot reach the range of the actions, or saturates at its bounds.",
    source="SB3 documentation (tips); hill-a#637 (2000 either way); SB3#389 (5 to 35, stuck at 5)",
    fixes=(to(LOG_STD, -0.5, "start narrower"), times(REWARD_SCALE, 0.3, "less pull to the bounds")),
    advice="Act in [-1, 1] and rescale in act; repair bounds that are equal or infinite.",
)  # fmt: skip
def action_bounds(facts: Facts) -> Evidence | None:
    """Bounds far from [-1, 1] that nothing rescales, or more than half of the actions clipped."""
    if facts.has("action_clipped_fraction"):
        clipped = float(facts.tail(facts.need("action_clipped_fraction", points=3)).mean())
        if clipped > facts.thresholds.action_clipped:
            return Evidence(symptom=f"{clipped:.0%} of the actions had to be clipped.", numbers={"clipped": clipped})
    space = facts.need_report().action_space
    if not isinstance(space, BoxSpace):
        return None
    low, high = _bound(space.low, -np.inf), _bound(space.high, np.inf)
    if bool((low == high).any()):
        return _bounds_evidence("An action entry cannot move: low equals high.", low, high, is_error=True)
    if not (np.isfinite(low).all() and np.isfinite(high).all()):
        return _bounds_evidence("An action entry is unbounded.", low, high, is_error=facts.design is None)
    is_rescaled = facts.is_box()  # our designs act in [-1, 1] and are rescaled to the bounds
    is_odd = bool((np.abs(low + high) > 0.05 * (high - low)).any() or (high > 10).any() or (high < 0.1).any())
    if is_odd and not is_rescaled:
        return _bounds_evidence("The action range is far from [-1, 1].", low, high, is_error=True)
    return None


@BOOK.rule(
    "unnormalised-observation", 17, cause="The observation is not of unit scale.",
    source="Schulman, Nuts and Bolts; Andrychowicz et al. 2021 (crucial); yzmir-deep-rl (100); SB3#563",
    fixes=(to(NORMALISE_OBSERVATION, "running", "clipped at 10"), to(NORMALISE_OBSERVATION, "warmup", "off-policy: fixed scaling")),
)  # fmt: skip
def unnormalised_observation(facts: Facts) -> Evidence | None:
    """An entry with a large mean, spread or value, or spreads that differ a hundredfold, and nothing normalises."""
    entries, limits = facts.need_report().observation_entries, facts.thresholds
    if not entries:
        raise Missing("statistics per observation entry")
    if facts.design is not None and facts.design.mdp.stateful.normalise_observation != "none":
        return None
    if facts.design is not None and "observe" in facts.design.mdp.parts:
        raise Missing("statistics of the observation that observe makes (preview_mdp shows them)")
    largest = max(max(abs(each.min or 0.0), abs(each.max or 0.0)) for each in entries)
    mean = max(abs(each.mean or 0.0) for each in entries)
    spreads = [each.std for each in entries if each.std is not None and each.std**2 > limits.constant_variance]
    ratio = max(spreads) / min(spreads) if spreads else 1.0
    widest = max(spreads, default=0.0)
    is_bad = (
        mean > limits.observation_mean or widest > limits.observation_std
        or ratio > limits.observation_ratio or largest > limits.observation_value
    )  # fmt: skip
    if not is_bad:
        return None
    return Evidence(
        symptom=f"Observation entries reach {largest:.3g} (largest mean {mean:.3g}, std {widest:.3g}; stds differ by {ratio:.3g} times) and are not normalised.",
        numbers={"largest": largest, "largest_mean": mean, "largest_std": widest, "std_ratio": ratio},
    )  # fmt: skip


@BOOK.rule(
    "constant-observation", 18, cause="An entry hardly varies; under running normalisation it explodes once it moves.",
    source="SB3#416 (variance 8e-12: manual scaling learned, running normalisation did not)",
    fixes=(to(NORMALISE_OBSERVATION, "none", "with fixed scaling in observe"),),
    advice="Drop the entry in observe, or scale it by a constant.",
)  # fmt: skip
def constant_observation(facts: Facts) -> Evidence | None:
    """An entry with a variance below 1e-8, yet not exactly constant, or constant and normalised."""
    entries = facts.need_report().observation_entries
    if not entries:
        raise Missing("statistics per observation entry")
    still = [each for each in entries if each.std is not None and each.std**2 < facts.thresholds.constant_variance]
    if not still:
        return None
    is_normalised = facts.design is not None and facts.design.mdp.stateful.normalise_observation != "none"
    named = ", ".join(str(each.index) for each in still[:8])
    return Evidence(
        symptom=f"Observation entries {named} hardly vary under random actions.",
        severity="warning" if is_normalised else "note", numbers={f"std {each.index}": each.std for each in still[:8]},
        fixes=None if is_normalised else (),
    )  # fmt: skip


@BOOK.rule(
    "constant-length", 25, cause="A fault of the environment, a degenerate policy, or a task that cannot be solved.",
    source="Jones, Debugging RL; ml-agents#2807", advice="Look at an episode (render_episode); try a scripted policy.",
)  # fmt: skip
def constant_length(facts: Facts) -> Evidence | None:
    """All episodes equally long and below the limit."""
    series = facts.need("episode_length")
    lengths = series.y
    if float(np.ptp(lengths)) > 1e-6 or facts.time(series)[-1] < 0.05:
        return None
    limit = facts.need_report().max_episode_steps
    if limit is not None and lengths[0] >= limit - 0.5:
        return _always_at_limit(facts, float(lengths[0]))
    return Evidence(
        symptom=f"Every episode lasts exactly {lengths[0]:.0f} steps, below any limit.", severity="warning",
        numbers={"length": float(lengths[0]), "limit": None if limit is None else float(limit)},
        window=(float(series.x[0]), float(series.x[-1])),
    )  # fmt: skip


@BOOK.rule(
    "horizon-mismatch", 39, cause="The discount sees much less, or much more, than an episode.",
    source="Schulman, Nuts and Bolts (0.99 sees about 100 steps); Andrychowicz et al. 2021",
    advice="Choose gamma from the horizon: 1 - 1 / steps that matter; or repeat actions.",
)  # fmt: skip
def horizon_mismatch(facts: Facts) -> Evidence | None:
    """1 / (1 - gamma) far below the steps to reward, or above ten episode lengths."""
    gamma, limits = facts.need_design().hyperparameters.gamma, facts.thresholds
    statistics = facts.random_episodes()
    horizon = 1 / max(1e-9, 1 - gamma)
    repeat = facts.need_design().mdp.stateful.action_repeat
    limit = facts.need_report().max_episode_steps
    lengths = facts.series.get("episode_length")
    seen = float(np.nanmax(lengths.y)) if lengths is not None and len(lengths.y) else 0.0
    longest = max(limit or 0, statistics.mean_length or 0.0, seen) / repeat
    nonzero = statistics.nonzero_reward_fraction or 0.0
    between = 1 / nonzero / repeat if nonzero else (statistics.mean_length or 0.0) / repeat
    numbers: dict[str, float | None] = {"horizon": horizon, "steps_to_reward": between, "longest_episode": longest}
    if horizon < limits.horizon_short * between:
        return Evidence(
            symptom=f"gamma {gamma:g} sees {horizon:.0f} steps, a reward comes every {between:.0f}.", numbers=numbers,
            fixes=(to(GAMMA, round(1 - 1 / max(between, 2), 5), "from the steps to reward"),),
        )  # fmt: skip
    if longest and horizon > limits.horizon_long * longest and gamma < 1:
        return Evidence(
            symptom=f"gamma {gamma:g} sees {horizon:.0f} steps, an episode has at most {longest:.0f}.", severity="note",
            numbers=numbers, fixes=(to(GAMMA, round(1 - 1 / max(longest, 2), 5), "from the episode length"),),
        )  # fmt: skip
    return None


def _always_at_limit(facts: Facts, length: float) -> Evidence | None:
    """Always at the limit is a fault only where nothing is gained by it."""
    mean, error = facts.random_return()
    newest = facts.last_return()
    if newest > mean + facts.thresholds.random_errors * error:
        return None
    return Evidence(
        symptom=f"Every episode runs into the limit of {length:.0f} steps, and the return is no better than random.",
        numbers={"length": length, "return": newest, "random_return": mean}, severity="note",
        cause="The policy found nothing to do; or the task has no end by success.",
    )  # fmt: skip


def _random_differs(facts: Facts, length: float) -> bool:
    mean = facts.random_episodes().mean_length
    return mean is None or abs(mean - length) > 0.01 * length


def _bound(bound: float | tuple[float | None, ...] | None, unbounded: float) -> np.ndarray:
    values = bound if isinstance(bound, tuple) else (bound,)
    return np.array([unbounded if value is None else value for value in values], dtype=np.float64)


def _bounds_evidence(symptom: str, low: np.ndarray, high: np.ndarray, *, is_error: bool) -> Evidence:
    return Evidence(
        symptom=symptom, severity="error" if is_error else "note",
        numbers={"low": float(low.min()), "high": float(high.max())}, fixes=(),
    )  # fmt: skip
