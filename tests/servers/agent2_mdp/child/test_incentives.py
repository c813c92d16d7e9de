"""What the learning reward would teach over whole episodes, on made-up recordings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from agent2_mdp.child.check_incentives import check_incentives
from agent2_mdp.child.module import Loaded
from agent2_mdp.child.notes import Notes
from agent2_mdp.child.recording import Recording, with_history
from agent2_mdp.child.statistics import discounted_returns, ranks, spearman
from agent2_mdp.child.subject import Subject


def make_subject(
    lengths: list[int], original: Any, sources: list[int] | None = None, names: Any = ("random",)
) -> Subject:
    """Make episodes of these lengths, all of which terminate; `original(episode, length)` is the reward of a step."""
    episode = np.repeat(np.arange(len(lengths)), lengths)
    last = np.r_[episode[1:] != episode[:-1], True]
    original_rewards = np.array([original(e, lengths[e]) for e in episode], dtype=np.float64)
    source = np.array([(sources or [0] * len(lengths))[e] for e in episode])
    values = np.zeros((len(episode), 1))
    recording = Recording(
        observation=values, next_observation=values, action=values, original_reward=original_rewards, terminated=last,
        truncated=np.zeros_like(last), episode=episode, source=source, names=names, info={},
    )  # fmt: skip
    space = {"kind": "box", "shape": [1], "dtype": "float64", "low": None, "high": None}
    return Subject(
        loaded=Loaded(file="mdp.py"), recording=recording, observation_space=space, action_space=space, stateful={},
        info_keys=(), known_info_keys=(), notes=Notes(),
    )  # fmt: skip


LENGTHS = list(range(5, 25))


def codes(subject: Subject, shaped: Any) -> set[str]:
    check_incentives(subject, np.asarray(shaped, dtype=np.float64))
    return subject.notes.codes()


def test_the_original_reward_itself_has_no_fault() -> None:
    subject = make_subject(LENGTHS, lambda episode, length: 1.0)
    assert codes(subject, subject.recording.original_reward) == set()


def test_a_cost_a_step_where_lasting_pays_is_an_error() -> None:
    subject = make_subject(LENGTHS, lambda episode, length: 1.0)
    found = codes(subject, -np.ones(len(subject.recording)))
    assert {"episodes-ranked-backwards", "early-end-incentive"} <= found
    assert subject.notes.has_errors()


def test_a_bonus_a_step_where_ending_pays_is_an_alive_bonus() -> None:
    subject = make_subject(LENGTHS, lambda episode, length: 1.0 / length if episode % 2 else 0.9 / length)
    assert "alive-bonus" in codes(subject, np.ones(len(subject.recording)))


def test_a_cost_a_step_in_a_task_of_reaching_a_goal_is_fine() -> None:
    subject = make_subject(LENGTHS, lambda episode, length: -1.0)
    assert codes(subject, subject.recording.original_reward * 0.1) == set()


def test_standing_still_that_pays_more_than_moving_is_noticed() -> None:
    sources = [0] * 10 + [1] * 10
    subject = make_subject([10] * 20, lambda e, n: 1.0 if e < 10 else 0.0, sources, ("random", "zero"))
    shaped = np.where(subject.recording.source == 1, 1.0, 0.2)
    assert "idle-incentive" in codes(subject, shaped)


def test_a_reward_that_ranks_random_above_the_best_known_policy_is_refused() -> None:
    sources = [0] * 8 + [1] * 8
    subject = make_subject([10] * 16, lambda e, n: 0.0 if e < 8 else 5.0, sources, ("random", "best-c3"))
    shaped = np.where(subject.recording.source == 1, -0.1, 0.0)
    assert "best-ranked-below-random" in codes(subject, shaped)
    assert subject.notes.has_errors()


def test_ties_share_their_rank_and_a_constant_has_no_correlation() -> None:
    assert ranks(np.array([3.0, 1.0, 3.0, 2.0])).tolist() == [2.5, 0.0, 2.5, 1.0]
    assert spearman(np.arange(5.0), np.exp(np.arange(5.0))) == pytest.approx(1.0)
    assert spearman(np.arange(5.0), np.ones(5)) is None


def test_history_starts_with_the_first_observation_repeated() -> None:
    windows = with_history(np.array([[1.0], [2.0], [3.0], [9.0], [8.0]]), np.array([0, 0, 0, 1, 1]), 3)
    assert isinstance(windows, np.ndarray)
    assert windows[:, :, 0].tolist() == [[1, 1, 1], [1, 1, 2], [1, 2, 3], [9, 9, 9], [9, 9, 8]]


def test_returns_do_not_run_over_the_end_of_an_episode() -> None:
    subject = make_subject([2, 1], lambda episode, length: 1.0)
    assert discounted_returns(np.ones(3), subject.recording, 0.5).tolist() == [1.5, 1.0, 1.0]
