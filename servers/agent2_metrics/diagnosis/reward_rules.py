"""Rules on the reward: no signal, dominance, hacking, idle and suicidal optima, sparse rewards (20-22, 24, 30, 31)."""

import numpy as np

from agent2_metrics.curves.series import Floats, Series
from agent2_metrics.diagnosis.facts import Facts, Missing
from agent2_metrics.diagnosis.rule import REWARD_SCALE, Evidence, RuleBook, times, to
from agent2_schemas import DesignPatch

BOOK = RuleBook()
NORMAL_95 = 1.6448536
"""95 % quantile of the normal distribution: the ends of a 90 % interval."""
HACKING_POINTS = 8
PREFIX = "reward_component/"


@BOOK.rule(
    "no-reward-signal", 20, cause="The reward does not vary, so that nothing can be learned from it; or a component is dead.",
    source="yzmir-deep-rl; Eureka's feedback tips; prbench PR#131",
    fixes=(times(REWARD_SCALE, 10, "a reward that can be told from noise"),),
    advice="Rewrite, rescale or drop the component; shape the reward.",
)  # fmt: skip
def no_reward_signal(facts: Facts) -> Evidence | None:
    """Reward per step hardly varies under random actions, or a component is constant."""
    dead = [name for name, values in _components(facts).items() if len(values) >= 5 and float(np.ptp(values)) < 1e-12]
    if facts.verification is not None:
        dead += [
            each.name for each in facts.verification.reward_components if each.std is not None and each.std < 1e-12
        ]
    if dead:
        names = ", ".join(sorted(set(dead)))
        return Evidence(symptom=f"Reward component {names} never varies.", numbers={"components": float(len(set(dead)))},
                        fixes=_drop(facts, sorted(set(dead))))  # fmt: skip
    statistics = facts.random_episodes()
    spread = statistics.std_original_reward
    if spread is None or statistics.env_steps < 100:
        raise Missing("spread of the reward over random steps")
    varies_by_ending = (statistics.std_original_return or 0.0) > 0
    scale = facts.design.mdp.reward_scale if facts.design else 1.0
    if spread * scale >= facts.thresholds.reward_std_low or varies_by_ending:
        return None
    return Evidence(symptom=f"The reward has a standard deviation of {spread:.3g} over random steps, and every episode returns the same.",
                    numbers={"reward_std": spread}, severity="error" if spread == 0 else "warning")  # fmt: skip


@BOOK.rule(
    "dominant-component", 21, cause="The dominant component is all that is optimised.",
    source="Eureka's feedback tips; rewardspy", advice="Rescale the components to comparable spreads; optimise their weights.",
)  # fmt: skip
def dominant_component(facts: Facts) -> Evidence | None:
    """One component holds more than 80 % of the sum of absolute components."""
    components = _components(facts)
    if len(components) >= 2:
        sizes = {
            name: float(np.abs(values[-max(3, len(values) // 10) :]).mean()) for name, values in components.items()
        }
    elif facts.verification is not None and len(facts.verification.reward_components) >= 2:
        sizes = {each.name: each.share or 0.0 for each in facts.verification.reward_components}
    else:
        raise Missing("two reward components")
    total = sum(sizes.values())
    name = max(sizes, key=lambda key: sizes[key])
    share = sizes[name] / total if total else 0.0
    if share <= facts.thresholds.component_share:
        return None
    return Evidence(symptom=f"Component {name} holds {share:.0%} of the learning reward.",
                    numbers={f"share {key}": size / total for key, size in sizes.items()},
                    fixes=_halve(facts, name))  # fmt: skip


@BOOK.rule(
    "reward-hacking", 22, cause="The shaped reward is raised by something that the task does not want.",
    source="HighwayEnv#653; stable-eureka (README log); Metaworld#303; RE-Bench",
    advice="Reject the design; look at the episode with the highest shaped and at that with the highest original return; bound the term or make it a difference of potentials.",
)  # fmt: skip
def reward_hacking(facts: Facts) -> Evidence | None:
    """In the last third the shaped return rises or stays high while the original return or success falls or lies flat."""
    shaped = facts.need("shaped_return", points=HACKING_POINTS)
    name = "episode_return" if facts.has("episode_return") else "success_rate"
    original = facts.need(name, points=HACKING_POINTS)
    x, s, o = _at_shared_steps(shaped, original)
    if len(x) < HACKING_POINTS:
        raise Missing("shaped and original return at the same steps")
    if _is_proportional(s, o):
        return None
    begin = int(len(x) * (1 - facts.thresholds.hacking_share))
    start, late = slice(0, max(2, len(x) // 5)), slice(min(begin, len(x) - 5), len(x))
    shaped_gain, original_gain = _gain(s, start, late), _gain(o, start, late)
    correlation = _spearman(s[late], o[late])
    slopes = _slope(x[late], s[late]), _slope(x[late], o[late])
    is_opposite = slopes[0][0] > 0 and slopes[1][1] < 0
    # Two flat curves that have both risen are uncorrelated too: only a gain on one side alone is a hack.
    is_one_sided = shaped_gain > 1.0 and original_gain < 0.25 and correlation < facts.thresholds.hacking_correlation
    if not is_opposite and not is_one_sided:
        return None
    return Evidence(
        symptom=f"The shaped return rose from {s[start].mean():.4g} to {s[late].mean():.4g} while {name} went from {o[start].mean():.4g} to {o[late].mean():.4g} (rank correlation {correlation:.2f} in the last third).",
        numbers={"rank_correlation": correlation, "shaped_start": float(s[start].mean()), "shaped_end": float(s[late].mean()),
                 "original_start": float(o[start].mean()), "original_end": float(o[late].mean())},
        severity="error", window=(float(x[late][0]), float(x[-1])),
    )  # fmt: skip


@BOOK.rule(
    "idle-or-suicide", 24, cause="It pays to stay alive without doing anything, or to end the episode early.",
    source="Irpan, Deep RL Doesn't Work Yet; ml-agents#789; Bullet-Safety-Gym#1",
    advice="Reward progress, not presence; make the penalty of a failed end larger than the horizon times the largest step penalty.",
)  # fmt: skip
def idle_or_suicide(facts: Facts) -> Evidence | None:
    """Length runs to the limit without success, or to the minimum with a negative reward per step."""
    length, returns = facts.need("episode_length"), facts.need("episode_return")
    limits = facts.thresholds
    start, end = float(np.median(length.y[:3])), float(np.median(facts.tail(length)))
    per_step = float(facts.tail(returns).mean()) / max(1.0, end)
    random_length = facts.report and next((s.mean_length for s in facts.report.episodes if s.policy == "random"), None)
    usual = max(start, random_length or 0.0)
    if per_step < 0 and end < 0.5 * usual and end <= limits.length_near_minimum * float(length.y.min()):
        paid = next((each for each in ("shaped_return", "episode_return") if facts.has(each)), "episode_return")
        is_worse_off = _is_no_success(facts)
        if is_worse_off:
            return Evidence(
                symptom=f"Episodes shrank from {usual:.0f} to {end:.0f} steps while each step costs {per_step:.3g}.",
                numbers={"length_start": usual, "length_end": end, f"{paid}_per_step": per_step}, severity="error",
                window=(float(length.x[0]), float(length.x[-1])), cause="It pays to end the episode early.",
            )  # fmt: skip
    if not facts.has("success_rate"):
        if per_step < 0 and end < 0.5 * usual:
            return None
        raise Missing("curve success_rate (the branch of idling; the branch of early endings did not fire)")
    success = float(facts.tail(facts.need("success_rate", points=3)).mean())
    longest = float(facts.episode_limit()) if facts.report else float(length.y.max())
    rose = float(facts.tail(returns).mean()) > float(np.median(returns.y[:3]))
    if end >= limits.length_at_limit * longest and end > 1.2 * start and success < 0.01 and rose:
        return Evidence(
            symptom=f"Episodes grew from {start:.0f} to the limit of {end:.0f} steps and the return rose, yet success is {success:.2g}.",
            numbers={"length_end": end, "success_rate": success}, severity="error",
            window=(float(length.x[0]), float(length.x[-1])), cause="It pays to stay alive without doing anything.",
        )  # fmt: skip
    return None


@BOOK.rule(
    "no-better-than-random", 30, cause="Look at environment and reward before any hyperparameter.",
    source="Jones, Debugging RL; Schulman, Nuts and Bolts; yzmir-deep-rl (80/15/5)",
    advice="Try a scripted policy, simplify the task, count reward events of the random policy.",
)  # fmt: skip
def no_better_than_random(facts: Facts) -> Evidence | None:
    """After a fifth of the budget the return is not above the random policy's."""
    mean, error = facts.random_return()
    if facts.progress() <= facts.thresholds.random_after:
        raise Missing("a fifth of the budget")
    newest, bound = facts.last_return(), mean + facts.thresholds.random_errors * error
    if newest > bound or (error == 0 and newest > mean):
        return None
    series = facts.series.get("episode_return")
    return Evidence(
        symptom=f"The return is {newest:.4g}, the random policy's {mean:.4g} (standard error {error:.3g}).",
        numbers={"return": newest, "random_return": mean, "random_error": error}, severity="error",
        window=(float(series.x[0]), float(series.x[-1])) if series is not None and len(series.x) else None,
    )  # fmt: skip


@BOOK.rule(
    "sparse-reward", 31, cause="Random actions meet no reward at all.",
    source="SB3 documentation (tips); tensorflow/agents#686; SB3#2038",
    fixes=(to("mdp.stateful.action_repeat", 4, "random actions reach farther"), times("hyperparameters.exploration_fraction", 2)),
    advice="Shape by a potential, start near the goal, or lengthen episodes; a tuned preset explores better.",
)  # fmt: skip
def sparse_reward(facts: Facts) -> Evidence | None:
    """No reward event in a thousand or more random steps: every step gives the same reward."""
    statistics = facts.random_episodes(least=0)
    if statistics.env_steps < facts.thresholds.sparse_steps:
        raise Missing(f"{facts.thresholds.sparse_steps} random steps, {statistics.env_steps} were taken")
    low, high = statistics.min_original_reward, statistics.max_original_reward
    if low is None or high is None:
        raise Missing("reward of random steps")
    if low != high or (statistics.std_original_return or 0.0) > 0:
        return None
    return Evidence(
        symptom=f"All {statistics.env_steps} random steps gave the same reward, {low:g}, and no episode ended otherwise.",
        numbers={"env_steps": float(statistics.env_steps), "reward": low}, severity="warning",
    )  # fmt: skip


def _components(facts: Facts) -> dict[str, Floats]:
    return {
        name.removeprefix(PREFIX): series.finite().y
        for name, series in facts.series.items()
        if name.startswith(PREFIX) and len(series.finite().y)
    }


def _halve(facts: Facts, name: str) -> tuple[DesignPatch, ...]:
    known = facts.design is not None and name in facts.design.mdp.reward_weights
    return (times(f"mdp.reward_weights.{name}", 0.3, "comparable spreads"),) if known else ()


def _drop(facts: Facts, names: list[str]) -> tuple[DesignPatch, ...]:
    known = facts.design.mdp.reward_weights if facts.design is not None else {}
    return tuple(to(f"mdp.reward_weights.{name}", 0.0, "it is dead") for name in names if name in known)


def _is_no_success(facts: Facts) -> bool:
    """Whether shorter episodes are known to be no success: the return falls short of a random policy's end by goal.

    Raises:
        Missing: short episodes may be good ones (a goal reached early), and nothing tells.
    """
    if facts.has("success_rate"):
        return float(facts.tail(facts.need("success_rate", points=3)).mean()) < 0.05
    shaped, original = facts.series.get("shaped_return"), facts.series.get("episode_return")
    mean, error = facts.random_return()
    if shaped is None or original is None:
        raise Missing("success rate, to tell an early goal from an early failure")
    return facts.last_return() < mean - facts.thresholds.random_errors * error


def _at_shared_steps(first: Series, second: Series) -> tuple[Floats, Floats, Floats]:
    """Two curves on the steps of the first, the second interpolated."""
    inside = (first.x >= second.x[0]) & (first.x <= second.x[-1])
    x = first.x[inside]
    return x, first.y[inside], np.interp(x, second.x, second.y)


def _is_proportional(s: Floats, o: Floats) -> bool:
    """Whether the shaped return is the original one times a constant: nothing is shaped."""
    if float(np.ptp(o)) == 0 or float(np.ptp(s)) == 0:
        return bool(np.allclose(s, o))
    return abs(float(np.corrcoef(s, o)[0, 1])) > 0.9999 and float(np.corrcoef(s, o)[0, 1]) > 0


def _gain(values: Floats, start: slice, late: slice) -> float:
    """Rise from start to end in units of the noise inside both."""
    noise = float(np.sqrt((values[start].var() + values[late].var()) / 2)) + 1e-9 * (1 + abs(float(values.mean())))
    return float(values[late].mean() - values[start].mean()) / noise


def _spearman(first: Floats, second: Floats) -> float:
    if float(np.ptp(first)) == 0 or float(np.ptp(second)) == 0:
        return 0.0
    return float(np.corrcoef(_ranks(first), _ranks(second))[0, 1])


def _ranks(values: Floats) -> Floats:
    """Ranks from 1; ties share their mean rank."""
    _, group, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[group]


def _slope(x: Floats, y: Floats) -> tuple[float, float]:
    """90 % interval of the slope."""
    if len(x) < 4 or float(np.ptp(y)) == 0:
        return 0.0, 0.0
    scaled = (x - x[0]) / (x[-1] - x[0])
    centred = scaled - scaled.mean()
    slope = float(centred @ y / (centred @ centred))
    rest = y - y.mean() - slope * centred
    error = float(np.sqrt(rest @ rest / (len(x) - 2) / (centred @ centred)))
    reach = _t_95(len(x) - 2) * error
    return slope - reach, slope + reach


def _t_95(freedom: int) -> float:
    """95 % quantile of Student's t to within 2 % from two degrees of freedom on (Cornish and Fisher 1938)."""
    z = NORMAL_95
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / freedom + second / freedom**2 + third / freedom**3
