"""The delivered agent: weights, transforms and normaliser behind one `act`."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
import yaml
from numpy.typing import NDArray
from safetensors.torch import load_file  # pyright: ignore[reportUnknownVariableType] - loosely typed

from .normaliser import Normaliser
from .pipeline import ActionPipeline, ObservationPipeline
from .spaces import Raw, as_parts, as_raw, take
from .transforms import Transforms, rows_of


class Agent:
    """A trained policy that acts on raw observations of one or many environments.

    It keeps what its design declares as state (history, previous action, time left, action repeat) per row, and starts
    afresh in the rows that the reset mask names.

    Args:
        policy: module of policy.py.
        actor: its `Actor` with the trained weights.
        design: the design, as JSON.
        transforms: functions of its mdp.py.
        normaliser: statistics of the checkpoint, or None.
        seed: seed of sampled actions; None takes one from the system.
    """

    def __init__(
        self,
        policy: Any,
        actor: torch.nn.Module,
        design: dict[str, Any],
        transforms: Transforms,
        normaliser: Normaliser | None,
        seed: int | None = None,
    ) -> None:
        """Put the parts together; the pipelines are made at the first call, which tells the number of rows."""
        self.policy, self.actor, self.design = policy, actor.eval(), design
        self._transforms, self._normaliser = transforms, normaliser
        stateful: dict[str, Any] = design["mdp"].get("stateful") or {}
        self._repeat = int(stateful.get("action_repeat", 1))
        self._generator = torch.Generator()
        self._generator.seed() if seed is None else self._generator.manual_seed(seed)
        self._count = 0

    @classmethod
    def load(cls, folder: str | Path, seed: int | None = None, weights: str | Path | None = None) -> Agent:
        """Load an agent from its folder.

        Args:
            folder: holds design.yaml, policy.py, mdp.py, weights.safetensors, normaliser.json.
            seed: seed of sampled actions; None takes one from the system.
            weights: another folder to take weights.safetensors and normaliser.json from.
        """
        place = Path(folder)
        learned = place if weights is None else Path(weights)
        design = yaml.safe_load((place / "design.yaml").read_text(encoding="utf-8"))
        policy = load_module(place / "policy.py")
        actor = policy.Actor()
        actor.load_state_dict(load_file(learned / "weights.safetensors"))
        transforms = Transforms.load(place / "mdp.py", design["mdp"])
        statistics = learned / "normaliser.json"
        values = json.loads(statistics.read_text(encoding="utf-8")) if statistics.exists() else None
        return cls(policy, actor, design, transforms, Normaliser.from_dict(values) if values else None, seed)

    def act(self, raw_observation: Raw, reset_mask: NDArray[np.bool_], deterministic: bool = True) -> Any:
        """Choose environment actions.

        Args:
            raw_observation: raw batch (n, …); the number of rows stays that of the first call.
            reset_mask: rows (n,) in which an episode starts with this observation.
            deterministic: the policy's best action; else one sampled from it.

        Returns:
            Environment actions (n, …) or `{key: (n, …)}`, in the environment's dtype, within its bounds.
        """
        count = rows_of(raw_observation)
        if count != self._count:
            self._start(count)
        mask = np.asarray(reset_mask, dtype=bool)
        self._held[mask] = 0
        due = np.flatnonzero(self._held == 0)
        if len(due):
            self._decide(raw_observation, mask, due, deterministic)
        self._held = (self._held + 1) % self._repeat
        return as_raw({key: part.copy() for key, part in self._environment_action.items()})

    def _start(self, count: int) -> None:
        self._count = count
        self._observations = ObservationPipeline(self.design, self._transforms, count, self._normaliser)
        self._actions = ActionPipeline(self.design, self._transforms, count)
        self._held = np.zeros(count, dtype=np.int64)
        self._inputs = np.zeros((count, *self._observations.shape), dtype=np.float32)
        space = self._actions.space
        is_discrete = space["kind"] == "discrete"
        shape, dtype = ((count,), np.int64) if is_discrete else ((count, *space["shape"]), np.float32)
        self._designed = np.zeros(shape, dtype=dtype)
        self._environment_action: dict[str, Any] = {}

    def _decide(self, raw: Raw, mask: NDArray[np.bool_], due: NDArray[Any], deterministic: bool) -> None:
        """Let the policy choose anew in the rows that are due."""
        first, going = due[mask[due]], due[~mask[due]]
        if len(first):
            self._inputs[first] = self._observations.reset(first, take(raw, first))
        if len(going):
            self._inputs[going] = self._observations.step(take(raw, going), self._designed[going], going)
        with torch.no_grad():
            output = self.actor(torch.as_tensor(self._inputs[due]))
            chosen = self.policy.select_action(output, deterministic, self._generator).numpy()
        self._designed[due] = chosen.reshape(len(due), *self._designed.shape[1:])
        parts = as_parts(self._actions(self._designed[due], take(raw, due)))
        for key, part in parts.items():
            if key not in self._environment_action:
                self._environment_action[key] = np.zeros((self._count, *part.shape[1:]), part.dtype)
            self._environment_action[key][due] = part


def load_module(path: Path) -> Any:
    """Load a Python file as a module of its own."""
    spec = importlib.util.spec_from_file_location(f"agent_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} cannot be read as Python")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
