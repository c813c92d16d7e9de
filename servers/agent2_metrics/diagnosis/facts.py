"""What the rules may read: curves, design, measurements on the environment, evaluations."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from agent2_metrics.curves.series import Floats, Series
from agent2_metrics.diagnosis.thresholds import Thresholds
from agent2_schemas import (
    BoxSpace,
    Design,
    DiscreteSpace,
    EnvironmentReport,
    EpisodeStatistics,
    Evaluation,
    VerificationReport,
)

MAXIMUM_GUESSED_ACTIONS = 32
GUESS_TOLERANCE = 0.02


class Missing(Exception):
    """A rule cannot be checked; the text says what is missing."""


@dataclass(frozen=True, kw_only=True)
class Facts:
    """Evidence on one run.

    Attributes:
        series: curves by canonical name, full length.
        library: who wrote the log.
        design: the run's design; None for a log of another library.
        report: the inspection of the environment.
        verification: the verification of the candidate, with reward components.
        evaluations: trusted evaluations of the run on selection seeds, oldest first.
        sibling_scores: score of every evaluated run of the same design, this one included.
        budget_env_steps: env steps the run was asked to do.
        target_return: return that the user asks for.
        run_message: how the run ended, where it ended badly.
        thresholds: all thresholds.
    """

    series: Mapping[str, Series]
    library: str = "unknown"
    design: Design | None = None
    report: EnvironmentReport | None = None
    verification: VerificationReport | None = None
    evaluations: tuple[Evaluation, ...] = ()
    sibling_scores: tuple[float, ...] = ()
    budget_env_steps: int | None = None
    target_return: float | None = None
    run_message: str = ""
    thresholds: Thresholds = field(default_factory=Thresholds)

    def need(self, name: str, *, points: int | None = None) -> Series:
        """Give the finite points of a curve.

        Raises:
            Missing: it is not in the log, or has too few points.
        """
        found = self.series.get(name)
        if found is None:
            raise Missing(f"curve {name}")
        series, least = found.finite(), points or self.thresholds.minimum_points
        if len(series.x) < least:
            raise Missing(f"curve {name} has {len(series.x)} points, {least} are needed")
        return series

    def has(self, name: str) -> bool:
        """Whether a curve is in the log."""
        return name in self.series

    def need_design(self) -> Design:
        """Give the design.

        Raises:
            Missing: the log belongs to no run of ours.
        """
        if self.design is None:
            raise Missing("design of the run")
        return self.design

    def need_report(self) -> EnvironmentReport:
        """Give the inspection of the environment.

        Raises:
            Missing: it was not inspected.
        """
        if self.report is None:
            raise Missing("environment report (inspect_environment)")
        return self.report

    def random_episodes(self, *, least: int = 2) -> EpisodeStatistics:
        """Give the random policy's statistics.

        Raises:
            Missing: not measured, or on too few episodes.
        """
        for statistics in self.need_report().episodes:
            if statistics.policy == "random" and statistics.episodes >= least:
                return statistics
        raise Missing("finished episodes of the random policy")

    def random_return(self) -> tuple[float, float]:
        """Mean original return of the random policy and its standard error."""
        statistics = self.random_episodes()
        if statistics.mean_original_return is None:
            raise Missing("return of the random policy")
        spread = statistics.std_original_return or 0.0
        return statistics.mean_original_return, spread / float(np.sqrt(statistics.episodes))

    def time(self, series: Series) -> Floats:
        """Share of the budget at each point; without a budget the log's own end counts as 1."""
        if series.x_unit == "env_steps" and self.budget_env_steps:
            return series.x / self.budget_env_steps
        return series.x / max(1.0, float(series.x[-1])) * min(1.0, self.progress())

    def progress(self) -> float:
        """Share of the budget that the log covers; 1 where no budget is known."""
        steps = [float(each.x[-1]) for each in self.series.values() if each.x_unit == "env_steps" and len(each.x)]
        return max(steps) / self.budget_env_steps if steps and self.budget_env_steps else 1.0

    def tail(self, series: Series) -> Floats:
        """Values of the last window, at least three."""
        count = max(3, int(np.ceil(self.thresholds.window * len(series.y))))
        return series.y[-count:]

    def action_count(self) -> int | None:
        """Number of discrete actions; None for a box.

        Without a design the first entropy tells it: a fresh discrete policy is nearly uniform.

        Raises:
            Missing: it cannot be told.
        """
        if self.design is not None:
            space = self.design.mdp.action_space
            return space.n if isinstance(space, DiscreteSpace) else None
        if self.has("action_std"):
            return None
        first = float(self.need("entropy").y[0])
        guess = round(float(np.exp(first))) if 0 < first < np.log(MAXIMUM_GUESSED_ACTIONS) else 0
        if guess >= 2 and abs(first - np.log(guess)) <= GUESS_TOLERANCE * np.log(guess):
            return guess
        raise Missing("number of actions")

    def is_box(self) -> bool:
        """Whether the policy acts in a box, as far as the design tells."""
        return self.design is not None and isinstance(self.design.mdp.action_space, BoxSpace)

    def episode_limit(self) -> int:
        """Time limit of an episode, environment steps.

        Raises:
            Missing: there is none, or it is not known.
        """
        limit = self.need_report().max_episode_steps
        if limit is None:
            raise Missing("time limit of the environment")
        return limit

    def scores(self, *, least: int = 2) -> tuple[Floats, Floats, str]:
        """Env steps and mean return of each evaluation, and where they come from.

        The trusted evaluations count before a curve that the log itself reports.

        Raises:
            Missing: fewer than `least` evaluations.
        """
        own = sorted(
            (each.checkpoint_env_steps, each.mean_original_return)
            for each in self.evaluations
            if each.mode == self._mode() and each.mean_original_return is not None
        )
        if len(own) >= least:
            return np.array([float(step) for step, _ in own]), np.array([score for _, score in own]), "evaluations"
        if self.has("eval_return"):
            series = self.need("eval_return", points=least)
            return series.x, series.y, "curve eval_return"
        raise Missing(f"{least} evaluations on selection seeds, or curve eval_return")

    def _mode(self) -> str:
        modes = [each.mode for each in self.evaluations]
        return "deterministic" if "deterministic" in modes or not modes else modes[0]

    def last_return(self) -> float:
        """The newest mean original return: of an evaluation where there is one, else of training."""
        try:
            return float(self.scores(least=1)[1][-1])
        except Missing:
            return float(self.tail(self.need("episode_return")).mean())


def rolling_median(values: Floats, width: int) -> Floats:
    """Median of the `width` values before each one; the first ones use what there is (at least one value)."""
    return np.array([np.median(values[max(0, i - width) : i]) if i else values[0] for i in range(len(values))])


def longest_stretch(flags: np.ndarray) -> tuple[int, int]:
    """Length and end (exclusive) of the longest stretch of true flags."""
    best = end = run = 0
    for index, flag in enumerate(flags):
        run = run + 1 if flag else 0
        if run > best:
            best, end = run, index + 1
    return best, end
