"""Published priors for the MDP, each called for by a measured fact and ready to hand to `write_mdp`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from agent2_mdp import suggested_code
from agent2_schemas import Bound, BoxSpace, DiscreteSpace, EnvironmentReport, MdpSuggestion, StatefulSteps

STD_RATIO = 10.0
LARGE_ENTRY = 10.0
LARGE_RETURN_STD = 20.0
SMALL_RETURN_STD = 0.1
VELOCITY_GAIN = 0.3
SLOW_STEP_SHARE = 0.05
LONG_EPISODE = 200
CHEAP_STEP_SECONDS = 2e-4

UNCHANGED_SOURCE = "Henderson et al. 2018, arXiv 1709.06560: the unchanged task is the baseline to beat"
NORMALISE_SOURCE = "Andrychowicz et al. 2021, arXiv 2006.05990 (observation normalisation is crucial)"
SCALE_SOURCE = "Stable-Baselines3 RL tips; Achiam 2018: fixed scaling for off-policy algorithms"
ANGLE_SOURCE = "Zhou et al. 2019, arXiv 1812.07035 (angles are discontinuous, sine and cosine are not)"
POTENTIAL_SOURCE = "Ng, Harada, Russell 1999, Policy invariance under reward transformations"
REWARD_SCALE_SOURCE = "Engstrom et al. 2020, arXiv 2005.12729 (returns of unit scale); Jones, Debugging RL"
TIME_SOURCE = "Pardo et al. 2018, arXiv 1712.00378 (time limits)"
REPEAT_SOURCE = "Braylan et al. 2015, Frame skip is a powerful parameter; Mnih et al. 2015"
HISTORY_SOURCE = "Mnih et al. 2015, doi 10.1038/nature14236 (stacked observations)"


@dataclass(frozen=True, kw_only=True)
class Measured:
    """Facts that `child.measure` found, with the environment report."""

    report: EnvironmentReport
    facts: dict[str, Any]

    @property
    def box(self) -> BoxSpace | None:
        """The observation space where it is one flat row of numbers."""
        space = self.report.observation_space
        return space if isinstance(space, BoxSpace) and len(space.shape) == 1 else None

    @property
    def entries(self) -> list[dict[str, float]]:
        """Statistics of the flat entries under the random policy."""
        return self.facts.get("entries") or []


def suggest(measured: Measured) -> tuple[MdpSuggestion, ...]:
    """Propose the unchanged MDP, then what the measurements call for, best first."""
    rules: tuple[Callable[[Measured], Iterator[MdpSuggestion]], ...] = (
        _normalise,
        _reward_scale,
        _potential,
        _angles,
        _time_left,
        _action_repeat,
        _history,
    )
    found = [suggestion for rule in rules for suggestion in rule(measured)]
    return (_unchanged(measured), *found)


def _unchanged(measured: Measured) -> MdpSuggestion:
    space = measured.report.observation_space
    extra = (
        f" The discrete observation is handed to the policy one-hot, as {space.n} entries, by itself."
        if isinstance(space, DiscreteSpace)
        else ""
    )
    reason = f"The baseline that every change has to beat on held-out seeds.{extra}"
    return MdpSuggestion(name="unchanged", parts=(), reason=reason, source=UNCHANGED_SOURCE)


def _normalise(measured: Measured) -> Iterator[MdpSuggestion]:
    entries = measured.entries
    stds = [entry["std"] for entry in entries if entry["std"] and entry["std"] > 1e-6]
    if not stds:
        return
    ratio = max(stds) / min(stds)
    largest = max(abs(entry["mean"] or 0.0) + (entry["std"] or 0.0) for entry in entries)
    if ratio <= STD_RATIO and largest <= LARGE_ENTRY:
        return
    numbers = f"standard deviations of the entries range from {min(stds):.3g} to {max(stds):.3g} (ratio {ratio:.3g})"
    if largest > LARGE_ENTRY:
        numbers += f"; |mean| + std reaches {largest:.3g}"
    yield MdpSuggestion(
        name="running-normalisation",
        parts=(),
        stateful=StatefulSteps(normalise_observation="running"),
        reason=f"Under the random policy, {numbers}.",
        source=NORMALISE_SOURCE,
    )
    yield from _fixed_scaling(measured, numbers)


def _fixed_scaling(measured: Measured, numbers: str) -> Iterator[MdpSuggestion]:
    box = measured.box
    if box is None:
        return
    low, high = bounds(box)
    is_bounded = all(math.isfinite(a) and math.isfinite(b) and b - a < 1e6 for a, b in zip(low, high, strict=True))
    if not is_bounded or all(a >= -1 and b <= 1 for a, b in zip(low, high, strict=True)):
        return
    yield MdpSuggestion(
        name="scale-to-bounds",
        parts=("observe",),
        code=suggested_code.scale_to_bounds(low, high),
        reason=f"All entries have finite bounds, so that scaling needs no running statistics; {numbers}.",
        source=SCALE_SOURCE,
    )


def _reward_scale(measured: Measured) -> Iterator[MdpSuggestion]:
    std, largest = measured.facts.get("return_std"), measured.facts.get("return_max_abs")
    if not std or not largest:
        return
    if std <= LARGE_RETURN_STD and not (std < SMALL_RETURN_STD and largest < SMALL_RETURN_STD):
        return
    scale = float(f"{1 / std:.2g}")
    yield MdpSuggestion(
        name="reward-scale",
        parts=(),
        reward_scale=scale,
        reason=f"Discounted returns (0.99) of the random policy have standard deviation {std:.3g} and reach "
        f"{largest:.3g}; values of about unit scale are learnt faster. A constant factor changes no optimum.",
        source=REWARD_SCALE_SOURCE,
    )


def _potential(measured: Measured) -> Iterator[MdpSuggestion]:
    goal = measured.facts.get("goal")
    if not goal:
        return
    if goal["kind"] == "distances":
        code = suggested_code.distance_potential(goal)
        what = "fewest recorded transitions to the rewarded states"
    else:
        code = suggested_code.point_potential(goal)
        what = f"distance to the median rewarded state in entries {goal['entries']}"
    yield MdpSuggestion(
        name="goal-potential",
        parts=("potential",),
        code=code,
        reason=f"Only {goal['share']:.2%} of random steps have more than the usual reward; {goal['events']} episodes "
        f"ended with it. Shaping by the {what} leaves the best policy unchanged.",
        source=POTENTIAL_SOURCE,
    )


def _angles(measured: Measured) -> Iterator[MdpSuggestion]:
    box = measured.box
    if box is None:
        return
    low, high = bounds(box)
    angles = [
        index
        for index, (a, b) in enumerate(zip(low, high, strict=True))
        if abs(a + math.pi) < 1e-3 and abs(b - math.pi) < 1e-3
    ]
    if not angles:
        return
    yield MdpSuggestion(
        name="sin-cos-angles",
        parts=("observe",),
        code=suggested_code.sin_cos(angles, low, high),
        reason=f"Entries {angles} are bounded by -pi and pi: an angle that jumps where the pose does not.",
        source=ANGLE_SOURCE,
    )


def _time_left(measured: Measured) -> Iterator[MdpSuggestion]:
    limit = measured.report.max_episode_steps
    random = next((item for item in measured.report.episodes if item.policy == "random"), None)
    if limit is None or random is None or measured.facts.get("terminated"):
        return
    if random.terminated_fraction:
        return
    yield MdpSuggestion(
        name="time-left",
        parts=(),
        stateful=StatefulSteps(time_left=True),
        reason=f"No recorded episode terminated: all end at the limit of {limit} steps, which the observation does "
        "not tell.",
        source=TIME_SOURCE,
    )


def _action_repeat(measured: Measured) -> Iterator[MdpSuggestion]:
    share, report = measured.facts.get("step_share"), measured.report
    lengths = [item.mean_length for item in report.episodes if item.mean_length]
    longest = max([*lengths, 0.0])
    if share is None or share >= SLOW_STEP_SHARE or longest < LONG_EPISODE:
        return
    if report.step_seconds is None or report.step_seconds > CHEAP_STEP_SECONDS:
        return
    yield MdpSuggestion(
        name="action-repeat",
        parts=(),
        stateful=StatefulSteps(action_repeat=2 if share > SLOW_STEP_SHARE / 3 else 4),
        reason=f"One step moves the observation by {share:.3g} standard deviations (median of the fastest entry), a "
        f"step costs {report.step_seconds * 1e6:.0f} µs and episodes last {longest:.0f} steps.",
        source=REPEAT_SOURCE,
    )


def _history(measured: Measured) -> Iterator[MdpSuggestion]:
    gain = measured.facts.get("velocity_gain")
    if gain is None or gain < VELOCITY_GAIN:
        return
    yield MdpSuggestion(
        name="history",
        parts=(),
        stateful=StatefulSteps(history=4, previous_action=True),
        reason=f"The last change explains {gain:.0%} more of the next change than observation and action do: "
        "velocities seem to be missing.",
        source=HISTORY_SOURCE,
    )


def bounds(box: BoxSpace) -> tuple[list[float], list[float]]:
    """Give the bounds of a flat box, one number an entry; infinite where there is none."""
    size = math.prod(box.shape)

    def spread(bound: Bound, missing: float) -> list[float]:
        values: list[float | None] = list(bound) if isinstance(bound, tuple) else [bound] * size
        return [missing if value is None else float(value) for value in values]

    return spread(box.low, -math.inf), spread(box.high, math.inf)
