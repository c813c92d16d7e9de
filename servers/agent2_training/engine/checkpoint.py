"""One file for all that a training needs to go on: weights, statistics, optimisers, counters, random numbers."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import safe_open
from safetensors.torch import save

from agent2_targets.runtime.normaliser import Normaliser
from agent2_training.engine.learner import Learner

FORMAT = "agent2-checkpoint-1"


def save_checkpoint(
    path: Path, learner: Learner, normaliser: Normaliser | None, state: dict[str, Any], seed: int
) -> None:
    """Write a checkpoint whole.

    Args:
        path: `<env_steps>.safetensors`.
        learner: networks and optimisers.
        normaliser: statistics of observations, or None.
        state: counters and the like, as JSON; `env_steps` and `updates` among them.
        seed: training seed of the run.
    """
    tensors = {
        f"{name}.{key}": value for name, module in learner.modules.items() for key, value in module.state_dict().items()
    }
    for name, optimiser in learner.optimisers.items():
        tensors |= {f"optimiser.{name}.{key}": value for key, value in optimiser.state_dict().items()}
    if normaliser is not None:
        tensors["normaliser.mean"] = torch.from_numpy(normaliser.mean)
        tensors["normaliser.variance"] = torch.from_numpy(normaliser.variance)
    kind, keys, position, has_gauss, gauss = np.random.get_state()
    tensors["random.torch"] = torch.get_rng_state()
    tensors["random.numpy"] = torch.from_numpy(np.asarray(keys, dtype=np.int64))
    random = {"kind": kind, "position": int(position), "has_gauss": int(has_gauss), "gauss": float(gauss)}
    statistics = {} if normaliser is None else normaliser.to_dict()
    metadata = {
        "format": FORMAT,
        "env_steps": str(state["env_steps"]),
        "updates": str(state["updates"]),
        "training_seed": str(seed),
        "normaliser": json.dumps(statistics),
        "state": json.dumps({**state, "random": random, "algorithm": algorithm_state(learner)}),
    }
    content = save({name: value.detach().contiguous().clone() for name, value in tensors.items()}, metadata)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.new")
    temporary.write_bytes(content)
    with temporary.open("rb+") as file:
        os.fsync(file.fileno())
    temporary.replace(path)


def load_checkpoint(path: Path, learner: Learner) -> tuple[dict[str, Any], Normaliser | None]:
    """Restore networks, optimisers and random numbers from a checkpoint.

    Returns:
        The state as it was saved, and the normaliser.

    Raises:
        ValueError: the file is no checkpoint of this design.
    """
    with safe_open(path, "pt") as file:
        metadata = file.metadata() or {}
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    if metadata.get("format") != FORMAT:
        raise ValueError(f"{path.name} is no checkpoint of format {FORMAT}")
    for name, module in learner.modules.items():
        try:
            module.load_state_dict(under(tensors, f"{name}."))
        except RuntimeError as error:
            raise ValueError(f"{path.name} does not fit this design: {error}") from error
    for name, optimiser in learner.optimisers.items():
        optimiser.load_state_dict(under(tensors, f"optimiser.{name}."))
    state = json.loads(metadata["state"])
    load_algorithm_state(learner, state["algorithm"])
    random = state["random"]
    keys = tensors["random.numpy"].numpy().astype(np.uint32)
    np.random.set_state((random["kind"], keys, random["position"], random["has_gauss"], random["gauss"]))
    torch.set_rng_state(tensors["random.torch"])
    statistics = json.loads(metadata["normaliser"])
    return state, Normaliser.from_dict(statistics) if statistics else None


def under(tensors: dict[str, torch.Tensor], prefix: str) -> dict[str, torch.Tensor]:
    """Take the tensors below a prefix, without it."""
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}


def algorithm_state(learner: Learner) -> dict[str, Any]:
    """Give the counters and statistics that Tianshou's algorithms keep outside of modules."""
    algorithm = learner.algorithm
    state: dict[str, Any] = {
        name: int(getattr(algorithm, name)) for name in ("_cnt", "_iter") if hasattr(algorithm, name)
    }
    if learner.is_on_policy:
        statistics = algorithm.ret_rms
        state["return_statistics"] = [float(statistics.mean), float(statistics.var), int(statistics.count)]
    if "alpha" in learner.modules or hasattr(algorithm, "alpha"):
        state["alpha"] = float(algorithm.alpha.value)
    return state


def load_algorithm_state(learner: Learner, state: dict[str, Any]) -> None:
    """Restore what `algorithm_state` gave; a learned alpha is a module and came back with the others."""
    for name in ("_cnt", "_iter"):
        if name in state:
            setattr(learner.algorithm, name, state[name])
    if "return_statistics" in state:
        statistics = learner.algorithm.ret_rms
        statistics.mean, statistics.var, statistics.count = state["return_statistics"]


class CheckpointFolder:
    """Keeps the first checkpoint of each tenth of the budget, and the newest.

    Args:
        folder: `work/checkpoints/`.
        budget_env_steps: steps of the whole run.
        interval_seconds: the newest is renewed at least this often.
    """

    def __init__(self, folder: Path, budget_env_steps: int, interval_seconds: float = 20.0) -> None:
        """Start with an empty history."""
        self._folder, self._interval = folder, max(1, budget_env_steps // 10)
        self._seconds = interval_seconds
        self._last_tenth, self._last_time = 0, 0.0
        self._spare: Path | None = None
        self.newest_env_steps: int | None = None

    def begin(self, env_steps: int, now: float) -> None:
        """Count tenths and seconds from here: the start of the run, or of its resumption."""
        self._last_tenth, self._last_time = env_steps // self._interval, now

    def is_due(self, env_steps: int, now: float) -> bool:
        """Whether a tenth was passed, or the newest checkpoint is old."""
        return env_steps // self._interval > self._last_tenth or now - self._last_time > self._seconds

    def path(self, env_steps: int, now: float) -> Path:
        """Name the file to write now."""
        return self._folder / f"{env_steps}.safetensors"

    def written(self, path: Path, env_steps: int, now: float) -> None:
        """Take note of a new checkpoint, and drop the one it supersedes."""
        if self._spare is not None and self._spare != path:
            self._spare.unlink(missing_ok=True)
        is_first = env_steps // self._interval > self._last_tenth
        self._spare = None if is_first else path
        self._last_tenth, self._last_time = env_steps // self._interval, now
        self.newest_env_steps = env_steps
