"""Rules on evaluation and resources: gaps, spread over seeds, late collapse, slowing (27-29, 32, 38, 42)."""

import numpy as np

from agent2_metrics.diagnosis.facts import Facts, Missing
from agent2_metrics.diagnosis.rule import (
    BATCH,
    ENTROPY,
    LEARNING_RATE,
    LOG_STD,
    MINIBATCH,
    SCHEDULE,
    Evidence,
    RuleBook,
    times,
    to,
)  # fmt: skip

BOOK = RuleBook()
MINUTES_FOR_MEMORY = 2.0


@BOOK.rule(
    "seed-spread", 28, cause="Initialisation or exploration is brittle, or a good score was luck.",
    source="Henderson et al. 2018; yzmir-deep-rl; Bruscon/cartpole; hill-a#1028",
    fixes=(to("network.orthogonal_init", True), times(LEARNING_RATE, 0.5)),
    advice="Report the interquartile mean with its interval; train more seeds.",
)  # fmt: skip
def seed_spread(facts: Facts) -> Evidence | None:
    """Scores of one design differ over training seeds by more than half their mean, or one seed stays random."""
    scores = np.array(facts.sibling_scores)
    if len(scores) < 3:
        raise Missing(f"scores of three training seeds, {len(scores)} are there")
    mean, spread = float(scores.mean()), float(scores.std(ddof=1))
    baseline = 0.0
    stuck = 0
    if facts.report is not None:
        baseline, error = facts.random_return()
        bound = baseline + facts.thresholds.random_errors * error
        stuck = int((scores <= bound).sum()) if scores.max() > bound + 5 * spread / len(scores) else 0
    reach = abs(mean - baseline)
    if spread <= facts.thresholds.seed_spread * reach and not stuck:
        return None
    return Evidence(
        symptom=f"Over {len(scores)} training seeds the score is {mean:.4g} with a standard deviation of {spread:.3g}; {stuck} are no better than random.",
        numbers={"mean": mean, "std": spread, "seeds": float(len(scores)), "stuck": float(stuck)},
    )  # fmt: skip


@BOOK.rule(
    "late-collapse", 32, cause="The policy forgets what it could do.",
    source="ml-agents#2897; SB3#1616; SB3 documentation (tips, DDPG)",
    fixes=(to(SCHEDULE, "linear", "smaller steps later"), times(LEARNING_RATE, 0.5), times("hyperparameters.buffer_size", 2)),
    advice="Deliver the best checkpoint, not the last.",
)  # fmt: skip
def late_collapse(facts: Facts) -> Evidence | None:
    """The last evaluation is far below the best, measured from the random policy."""
    steps, scores, origin = facts.scores()
    best, last = float(scores.max()), float(scores[-1])
    floor = facts.random_return()[0] if facts.report is not None else float(scores.min())
    gain = best - floor
    if gain <= 0 or best - last <= facts.thresholds.collapse_share * gain or not _falls_beyond_noise(facts, scores):
        return None
    return Evidence(
        symptom=f"The score was {best:.4g} at {steps[int(np.argmax(scores))]:.0f} env steps and is {last:.4g} at the end ({origin}).",
        numbers={"best": best, "last": last, "random": floor}, severity="warning",
        window=(float(steps[int(np.argmax(scores))]), float(steps[-1])),
    )  # fmt: skip


@BOOK.rule(
    "train-evaluation-gap", 27,
    cause="Normalisation statistics are not those of training, a wrapper differs, or greedy and sampled actions differ.",
    source="SB3#1556, SB3#2091, SB3#1138; rl-zoo3#282; ASEBO#2",
    advice="Evaluate both modes; check that the checkpoint carries its normaliser; use more evaluation seeds.",
)  # fmt: skip
def train_evaluation_gap(facts: Facts) -> Evidence | None:
    """Training and evaluation of the same reward differ by more than a quarter."""
    steps, scores, origin = facts.scores(least=1)
    curve = facts.need("episode_return")
    last = float(steps[-1])
    near = curve.y[(curve.x <= last * 1.05) & (curve.x >= last * 0.85)]
    if not len(near):
        raise Missing("training returns near the evaluated checkpoint")
    trained, evaluated = float(near.mean()), float(scores[-1])
    gap = trained - evaluated
    spread = float(near.std())
    scale = max(abs(trained), 1e-9)
    if abs(gap) <= facts.thresholds.evaluation_gap * scale or abs(gap) <= spread:
        return None
    is_worse = gap > 0
    return Evidence(
        symptom=f"Training reports {trained:.4g}, the evaluation gives {evaluated:.4g} ({origin}).",
        numbers={"training": trained, "evaluation": evaluated}, severity="warning" if is_worse else "note",
        cause="" if is_worse else "Exploration costs return in training: greedy actions do better, which is no fault.",
        window=(last * 0.85, last),
    )  # fmt: skip


@BOOK.rule(
    "can-but-unreliable", 29, cause="The policy can do it, not reliably.", source="Schulman, Nuts and Bolts",
    fixes=(times(MINIBATCH, 2), times(BATCH, 2), times(ENTROPY, 0.5), to(LOG_STD, -0.5)),
    advice="Train longer; act deterministically.",
)  # fmt: skip
def can_but_unreliable(facts: Facts) -> Evidence | None:
    """The best episode reaches the target while the mean is below half of it."""
    if facts.target_return is None:
        raise Missing("target return")
    if facts.target_return <= 0:
        raise Missing("positive target return")
    bests = [each.max_original_return for each in facts.evaluations if each.max_original_return is not None]
    if facts.has("episode_return_max"):
        bests.append(float(facts.tail(facts.need("episode_return_max", points=1)).max()))
    if not bests:
        raise Missing("largest return of an episode")
    mean, best = facts.last_return(), max(bests)
    if best < facts.target_return or mean >= facts.thresholds.unreliable_mean * facts.target_return:
        return None
    return Evidence(symptom=f"The best episode returned {best:.4g}, the mean is {mean:.4g}, the target {facts.target_return:g}.",
                    numbers={"best": best, "mean": mean, "target": facts.target_return})  # fmt: skip


@BOOK.rule(
    "slowing-or-leaking", 38, cause="A leak, growing logs, or an environment that slows down.",
    source="Jones, Debugging RL; RLlib#8469; metadrive#679; hill-a#555", advice="Profile it; recycle workers.",
)  # fmt: skip
def slowing_or_leaking(facts: Facts) -> Evidence | None:
    """Speed halves, or memory grows by a fifth an hour."""
    speed = facts.need("env_steps_per_second")
    steady = speed.y[min(2, len(speed.y) // 4) :]
    start, end = float(np.median(steady[: max(2, len(steady) // 4)])), float(np.median(facts.tail(speed)))
    grown = _memory_growth(facts, float(np.median(steady)))
    numbers: dict[str, float | None] = {"speed_start": start, "speed_end": end, "memory_growth_per_hour": grown}
    window = (float(speed.x[0]), float(speed.x[-1]))
    if _has_one_phase(facts) and start > 0 and end < facts.thresholds.speed_decay * start:
        return Evidence(
            symptom=f"Speed fell from {start:.4g} to {end:.4g} env steps a second.", numbers=numbers, window=window
        )
    if grown is not None and grown > facts.thresholds.memory_growth_per_hour:
        return Evidence(symptom=f"Memory grows by {grown:.0%} an hour.", numbers=numbers, window=window)
    return None


@BOOK.rule(
    "greedy-worse-than-sampled", 42, cause="The policy lives on its noise: several modes, or a limit cycle.",
    source="RL-Zoo3 (stochastic for Atari); FinRL#365",
    fixes=(times(ENTROPY, 0.3), to(LOG_STD, -0.5)), advice="Report both modes; anneal the spread.",
)  # fmt: skip
def greedy_worse_than_sampled(facts: Facts) -> Evidence | None:
    """Greedy actions score below 70 % of sampled ones on the same checkpoint."""
    by_mode = {(each.checkpoint_env_steps, each.mode): each.mean_original_return for each in facts.evaluations}
    pairs = [
        (greedy, sampled)
        for (steps, mode), greedy in by_mode.items()
        if mode == "deterministic" and greedy is not None
        and (sampled := by_mode.get((steps, "stochastic"))) is not None
    ]  # fmt: skip
    if not pairs:
        raise Missing("evaluations of one checkpoint in both modes")
    greedy, sampled = pairs[-1]
    floor = facts.random_return()[0] if facts.report is not None else 0.0
    if sampled - floor <= 0 or (greedy - floor) >= facts.thresholds.deterministic_share * (sampled - floor):
        return None
    return Evidence(symptom=f"Greedy actions score {greedy:.4g}, sampled ones {sampled:.4g}.",
                    numbers={"deterministic": greedy, "stochastic": sampled, "random": floor})  # fmt: skip


def _falls_beyond_noise(facts: Facts, scores: np.ndarray) -> bool:
    """Whether the fall is larger than two standard errors of the two evaluations, where their episodes are known."""
    own = [
        each
        for each in facts.evaluations
        if each.mean_original_return is not None and each.std_original_return is not None
    ]
    if len(own) < 2:
        return True
    error = float(np.sqrt(sum((each.std_original_return or 0.0) ** 2 / max(1, each.episodes) for each in own[-2:])))
    return float(scores.max() - scores[-1]) > 2 * error


def _has_one_phase(facts: Facts) -> bool:
    """Off-policy training is fast while it only fills its buffer: that first phase is no baseline."""
    return not facts.has("critic_loss")


def _memory_growth(facts: Facts, speed: float) -> float | None:
    """Growth of memory an hour after the first quarter, as a share; None where it cannot be told."""
    if not facts.has("memory_bytes") or speed <= 0:
        return None
    memory = facts.need("memory_bytes", points=8)
    late = slice(len(memory.x) // 2, None)
    hours = float(memory.x[-1] - memory.x[late][0]) / speed / 3600
    grown = float(memory.y[-1] - memory.y[late][0])
    if hours * 60 < MINUTES_FOR_MEMORY or grown < facts.thresholds.memory_growth_minimum_bytes:
        return 0.0
    return grown / float(memory.y[late][0]) / hours
