"""Statistics of recorded transitions: episodes, observation entries, info keys."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from agent2_environment.introspection.recording import Recorder, numeric_keys
from agent2_targets.runtime.spaces import SpaceDict, leaves, make_flattener

ENTRIES_AT_MOST = 64
INFO_KEYS_AT_MOST = 64


def episode_statistics(policy: str, recorder: Recorder) -> dict[str, Any]:
    """Summarise returns, lengths, endings and rewards of one rollout (fields of `EpisodeStatistics`)."""
    returns, lengths = np.array(recorder.returns), np.array(recorder.lengths)
    original_rewards = np.array(recorder.original_rewards)
    finished = len(returns)
    return {
        "policy": policy,
        "episodes": finished,
        "env_steps": len(original_rewards),
        "mean_original_return": _over(np.mean, returns),
        "std_original_return": _over(np.std, returns),
        "min_original_return": _over(np.min, returns),
        "max_original_return": _over(np.max, returns),
        "mean_length": _over(np.mean, lengths),
        "terminated_fraction": recorder.terminated_count / finished if finished else None,
        "truncated_fraction": 1.0 - recorder.terminated_count / finished if finished else None,
        "mean_original_reward": _over(np.mean, original_rewards),
        "std_original_reward": _over(np.std, original_rewards),
        "min_original_reward": _over(np.min, original_rewards),
        "max_original_reward": _over(np.max, original_rewards),
        "nonzero_reward_fraction": _over(np.mean, original_rewards != 0),
    }


def flat_observations(space: SpaceDict, arrays: dict[str, NDArray[Any]]) -> NDArray[np.float64] | None:
    """Flatten recorded observations to `(steps, entries)`; None for images and for spaces that are no arrays."""
    if is_image(space) or not any(name.split("/")[0] == "observation" for name in arrays):
        return None
    parts = {key: arrays[f"observation/{key}" if key else "observation"] for key in leaves(space)}
    if all(leaf["kind"] == "box" for leaf in leaves(space).values()):
        return np.concatenate([part.reshape(len(part), -1).astype(np.float64) for part in parts.values()], axis=1)
    try:
        return make_flattener(space)(parts if set(parts) != {""} else parts[""]).astype(np.float64)
    except IndexError:  # a choice outside its space; the finding on bounds says so
        return None


def is_image(space: SpaceDict) -> bool:
    """Whether any part of a space is a picture: three axes of bytes, or three axes with few channels."""
    for leaf in leaves(space).values():
        if leaf["kind"] == "box" and len(leaf["shape"]) == 3:
            height, width = sorted(leaf["shape"])[1:]
            if leaf["dtype"] == "uint8" or min(height, width) >= 16:
                return True
    return False


def observation_entries(flat: NDArray[np.float64] | None) -> list[dict[str, Any]]:
    """Summarise each entry of the flattened observation (fields of `ObservationEntry`)."""
    if flat is None or not len(flat):
        return []
    kept = flat[:, :ENTRIES_AT_MOST]
    columns = zip(kept.mean(0), kept.std(0), kept.min(0), kept.max(0), strict=True)
    names = ("mean", "std", "min", "max")
    return [
        {"index": index, **dict(zip(names, map(_finite, column), strict=True))} for index, column in enumerate(columns)
    ]


def info_keys(recorder: Recorder) -> list[dict[str, Any]]:
    """Describe the keys of info (fields of `InfoKey`)."""
    numeric = set(numeric_keys(recorder.infos))
    return [
        {
            "name": name[:200],
            "is_numeric": name in numeric,
            "presence_fraction": sum(name in info for info in recorder.infos) / len(recorder.infos),
            "example": example,
        }
        for name, example in list(recorder.info_examples.items())[:INFO_KEYS_AT_MOST]
    ]


def _over(function: Any, values: NDArray[Any]) -> float | None:
    with np.errstate(all="ignore"):
        return _finite(function(values)) if len(values) else None


def _finite(value: Any) -> float | None:
    return float(value) if np.isfinite(value) else None
