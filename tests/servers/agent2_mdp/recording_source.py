"""Records transitions of Gymnasium environments in the recordings contract, and opens projects on them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from agent2_schemas import (
    EnvironmentReference,
    EnvironmentReport,
    EpisodeStatistics,
    InfoKey,
    ObservationEntry,
    Project,
)
from agent2_targets.runtime.spaces import describe_space, leaf_values, leaves
from agent2_workspace import ProjectFolder, find_workspace, write_json

RANDOM_STEPS = 1000
ZERO_STEPS = 200


def record(environment: gymnasium.Env[Any, Any], policy: str | Callable[[Any], Any], steps: int) -> dict[str, Any]:
    """Step an environment by the random policy, by zeros, or by a function of the observation; give the columns."""
    space = describe_space(environment.observation_space)
    environment.action_space.seed(0)
    columns: dict[str, list[Any]] = {}
    infos: list[dict[str, Any]] = []
    observation, _ = environment.reset(seed=0)
    episode = 0
    for _ in range(steps):
        if callable(policy):
            action = policy(observation)
        else:
            action = environment.action_space.sample() if policy == "random" else zero_action(environment.action_space)
        following, original_reward, terminated, truncated, info = environment.step(action)
        row = {
            "action": action,
            "original_reward": float(original_reward),
            "terminated": terminated,
            "truncated": truncated,
        }
        for key, part in leaf_values(observation, space).items():
            row[f"observation/{key}" if key else "observation"] = np.array(part)
        for key, part in leaf_values(following, space).items():
            row[f"next_observation/{key}" if key else "next_observation"] = np.array(part)
        for name, value in {**row, "episode": episode}.items():
            columns.setdefault(name, []).append(value)
        infos.append({k: v for k, v in info.items() if np.ndim(v) == 0 and isinstance(v, int | float | np.number)})
        observation = following
        if terminated or truncated:
            observation, _ = environment.reset()
            episode += 1
    arrays = {name: np.stack(values) for name, values in columns.items()}
    arrays["original_reward"] = arrays["original_reward"].astype(np.float64)
    for key in dict.fromkeys(key for info in infos for key in info):
        arrays[f"info/{key}"] = np.array([float(info.get(key, 0.0)) for info in infos])
        arrays[f"info_present/{key}"] = np.array([key in info for info in infos])
    return arrays


def zero_action(space: gymnasium.Space[Any]) -> Any:
    """Give the action nearest to zero."""
    if isinstance(space, gymnasium.spaces.Box):
        return np.clip(np.zeros(space.shape), space.low, space.high).astype(space.dtype)
    return np.zeros(space.shape or (), np.int64)[()]


def statistics(policy: Any, arrays: dict[str, Any]) -> EpisodeStatistics:
    """Sum up a recording as the inspection does."""
    original_reward, episode = arrays["original_reward"], arrays["episode"]
    ended = arrays["terminated"] | arrays["truncated"]
    finished = episode[ended]
    returns = np.array([original_reward[episode == e].sum() for e in finished])
    lengths = np.array([(episode == e).sum() for e in finished])
    has = len(finished) > 0
    return EpisodeStatistics(
        policy=policy,
        episodes=len(finished),
        env_steps=len(original_reward),
        mean_original_return=returns.mean() if has else None,
        std_original_return=returns.std() if has else None,
        min_original_return=returns.min() if has else None,
        max_original_return=returns.max() if has else None,
        mean_length=lengths.mean() if has else None,
        terminated_fraction=arrays["terminated"][ended].mean() if has else None,
        truncated_fraction=arrays["truncated"][ended].mean() if has else None,
        mean_original_reward=original_reward.mean(),
        std_original_reward=original_reward.std(),
        min_original_reward=original_reward.min(),
        max_original_reward=original_reward.max(),
        nonzero_reward_fraction=float((original_reward != 0).mean()),
    )


def write_recordings(environment: gymnasium.Env[Any, Any], folder: Path, name: str) -> None:
    """Write report.json, random.npz and zero.npz of one environment into a folder."""
    folder.mkdir(parents=True)
    random, zero = record(environment, "random", RANDOM_STEPS), record(environment, "zero", ZERO_STEPS)
    np.savez_compressed(folder / "random.npz", **random)
    np.savez_compressed(folder / "zero.npz", **zero)
    spec = environment.spec
    report = EnvironmentReport(
        reference=EnvironmentReference(name=name),
        observation_space=describe_space(environment.observation_space),  # pyright: ignore[reportArgumentType]
        action_space=describe_space(environment.action_space),  # pyright: ignore[reportArgumentType]
        max_episode_steps=spec.max_episode_steps if spec else None,
        is_deterministic=True,
        step_seconds=2e-5,
        reset_seconds=1e-4,
        start_seconds=0.1,
        episodes=(statistics("random", random), statistics("zero", zero)),
        observation_entries=entries(random, environment.observation_space),
        info_keys=tuple(
            InfoKey(name=key[5:], is_numeric=True, presence_fraction=float(random[f"info_present/{key[5:]}"].mean()))
            for key in random
            if key.startswith("info/")
        ),
    )
    write_json(folder / "report.json", report)


def entries(arrays: dict[str, Any], space: gymnasium.Space[Any]) -> tuple[ObservationEntry, ...]:
    """Give the statistics of the entries of a flat box."""
    if set(leaves(describe_space(space))) != {""} or not isinstance(space, gymnasium.spaces.Box):
        return ()
    rows = arrays["observation"].reshape(len(arrays["observation"]), -1)
    return tuple(
        ObservationEntry(index=i, mean=column.mean(), std=column.std(), min=column.min(), max=column.max())
        for i, column in enumerate(rows.T)
    )


def open_project(folder: Path, name: str, environment: str) -> ProjectFolder:
    """Open a project of the test's workspace on recordings that were written before."""
    project = Project(
        name=name,
        task="Do it well.",
        environment=EnvironmentReference(name=environment),
        created_at="2026-01-01T00:00:00+00:00",
        agent2_version="0",
    )
    opened = find_workspace(for_server=True).open_project(project)
    opened.report_json.write_bytes((folder / "report.json").read_bytes())
    opened.recordings.mkdir(exist_ok=True)
    for recording in ("random.npz", "zero.npz"):
        (opened.recordings / recording).write_bytes((folder / recording).read_bytes())
    return opened
