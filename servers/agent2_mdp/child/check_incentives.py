"""What the learning reward would teach over whole episodes: to idle, to end early, to last, to do worse."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from agent2_mdp.child.statistics import episode_sums, short, spearman
from agent2_mdp.child.subject import Subject

Values = NDArray[np.float64]
MIN_EPISODES = 10
"""Finished episodes below which nothing is said of their order."""
ANTI_RANKED = -0.5
LENGTH_RANKED = 0.8


def check_incentives(subject: Subject, total: Values) -> None:
    """Compare episode sums of the shaped reward with those of the original reward.

    Args:
        subject: what is verified.
        total: shaped reward of each recorded row, potential-based shaping left out (it leaves the optimum unchanged).
    """
    recording = subject.recording
    shaped, lengths, sources = episode_sums(total, recording)
    original, _, _ = episode_sums(recording.original_reward, recording)
    if len(shaped) >= MIN_EPISODES:
        _check_order(subject, shaped, original)
        _check_length(subject, shaped, original, lengths)
    _check_early_end(subject, total)
    _check_recordings(subject, shaped, original, sources)


def _line(subject: Subject) -> int | None:
    return subject.loaded.line("reward")


def _check_order(subject: Subject, shaped: Values, original: Values) -> None:
    correlation = spearman(shaped, original)
    if correlation is not None and correlation <= ANTI_RANKED:
        subject.notes.error(
            "episodes-ranked-backwards",
            f"The shaped reward prefers episodes with a low original return: Spearman {correlation:.2f}.",
            "Check the sign and the size of the components; a penalty at every step rewards ending early.",
            evidence=f"{len(shaped)} finished recorded episodes",
            line=_line(subject),
        )


def _check_length(subject: Subject, shaped: Values, original: Values, lengths: Values) -> None:
    by_shaped, by_original = spearman(lengths, shaped), spearman(lengths, original)
    if by_shaped is None or by_shaped < LENGTH_RANKED or (by_original is not None and by_original > 0.2):
        return
    subject.notes.warning(
        "alive-bonus",
        "The shaped reward grows with the length of an episode, though the original return does not.",
        "Reward progress, not presence: an agent may learn to last without solving the task.",
        evidence=f"Spearman with length: shaped {short(by_shaped)}, original {short(by_original)}",
        line=_line(subject),
    )


def _check_early_end(subject: Subject, total: Values) -> None:
    recording = subject.recording
    if not recording.terminated.any():
        return
    going, ending = total[~recording.terminated], total[recording.terminated]
    before = recording.original_reward[~recording.terminated]
    if not len(going) or going.mean() >= 0 or before.mean() < 0 or ending.mean() < 5 * going.mean():
        return
    subject.notes.warning(
        "early-end-incentive",
        f"A step costs {short(-going.mean())} on average and ending costs little more: ending early pays.",
        "Add a terminal penalty larger than the cost of the remaining steps, or a positive reward for going on.",
        evidence=f"mean shaped reward {short(going.mean())} on going steps, {short(ending.mean())} on ending ones",
        line=_line(subject),
    )


def _check_recordings(subject: Subject, shaped: Values, original: Values, sources: Values) -> None:
    """Compare recordings: idle (zero) against random, and random against the best known policy."""
    names = subject.recording.names

    def returns(values: Values, name: str) -> Values:
        chosen = [index for index, stem in enumerate(names) if stem.startswith(name)]
        return values[np.isin(sources, chosen)]

    pairs = (("zero", "random", "idle-incentive", False), ("random", "best", "best-ranked-below-random", True))
    for low, high, code, is_error in pairs:
        samples = [returns(values, name) for values in (original, shaped) for name in (low, high)]
        if any(len(sample) == 0 for sample in samples):
            continue
        low_original, high_original, low_shaped, high_shaped = (float(sample.mean()) for sample in samples)
        margin_original = 0.25 * (samples[0].std() + samples[1].std())
        margin_shaped = 0.25 * (samples[2].std() + samples[3].std())
        if high_original > low_original + margin_original and low_shaped > high_shaped + margin_shaped:
            add = subject.notes.error if is_error else subject.notes.warning
            add(
                code,
                f"The shaped reward ranks the {low} policy above the {high} policy; the original reward does not.",
                "Check the components: what the agent learns to want is not what the task pays for.",
                evidence=f"shaped {short(low_shaped)} against {short(high_shaped)}, "
                f"original {short(low_original)} against {short(high_original)}",
                line=_line(subject),
            )
