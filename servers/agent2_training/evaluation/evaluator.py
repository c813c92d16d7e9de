"""The evaluator, a child process: it alone holds the environment, the seeds and the sum of the original reward.

It speaks to the policy host by binary frames only and believes nothing it hears. The result goes to a descriptor that
no other process holds.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np

from agent2_targets.runtime.environment import build_environment
from agent2_targets.runtime.failures import BuildError, StepFault
from agent2_targets.runtime.frames import FrameChannel
from agent2_targets.runtime.rollout import Rollout, run_episodes
from agent2_targets.runtime.spaces import Array, Raw
from agent2_training.evaluation.policy_peer import START_SECONDS, ActionCheck, EvaluationFailed, PolicyPeer


@dataclass(frozen=True, kw_only=True)
class EvaluationRequest:
    """What the server asks for, on a descriptor of its own."""

    reference: dict[str, Any]
    """Environment reference as JSON."""
    root: str | None
    """Folder against which file names of the reference resolve."""
    seeds: list[int]
    """One per episode."""
    lockstep: int
    """Environments side by side."""
    policy_seconds: float
    """Longest answer of the policy to one step."""
    total_seconds: float
    """Longest evaluation."""
    start_seconds: float = START_SECONDS
    """Longest time in which the policy loads."""
    waiting: int | None = None
    """Descriptor of `WaitingTime`: what the policy waited for a processor is added to its deadlines."""


class CheckedEnvironment(gymnasium.Wrapper[Any, Any, Any, Any]):
    """An environment that counts its steps, and those whose action had to be clipped."""

    def __init__(self, environment: gymnasium.Env[Any, Any], row: int, evaluation: EpisodeEvaluation) -> None:
        """Remember the row, to find its mark in the newest action check."""
        super().__init__(environment)
        self._row, self._evaluation = row, evaluation

    def step(self, action: Any) -> Any:
        """Step the environment; an exception of its own is the environment's fault."""
        self._evaluation.count_step(self._row)
        return self.env.step(action)


class EpisodeEvaluation:
    """All episodes of one request."""

    def __init__(self, request: EvaluationRequest, channel: FrameChannel) -> None:
        """Build the first environment, whose spaces the policy host is told."""
        self._request, self._channel = request, channel
        self._count = max(1, min(request.lockstep, len(request.seeds)))
        self._built = 0
        self._clipped: Array = np.zeros(self._count, bool)
        self.env_steps = 0
        self.clipped_steps = 0
        self.stepping_seconds = 0.0
        self._first = build_environment(request.reference, root=request.root)
        self._check = ActionCheck(self._first.action_space)
        self._peer = PolicyPeer(
            channel,
            self._count,
            self._first.observation_space,
            self._first.action_space,
            request.policy_seconds,
            request.start_seconds,
            request.waiting,
        )

    def run(self) -> Rollout:
        """Run every seed's episode once to its end.

        Raises:
            EvaluationFailed: the policy broke its promise, or the time is over.
            StepFault: the environment broke the interface.
        """
        self._peer.begin()
        begun = time.monotonic()
        self._end = begun + self._request.total_seconds
        rollout = run_episodes(self._build, self._act, self._request.seeds, count=self._count)
        self.stepping_seconds = time.monotonic() - begun
        return rollout

    def count_step(self, row: int) -> None:
        """Count one environment step of a row, and whether its action was clipped."""
        self.env_steps += 1
        self.clipped_steps += bool(self._clipped[row])

    def _build(self) -> gymnasium.Env[Any, Any]:
        adapted = (
            self._first if not self._built else build_environment(self._request.reference, root=self._request.root)
        )
        self._built += 1
        return CheckedEnvironment(adapted.env, self._built - 1, self)

    def _act(self, observation: Raw, reset_mask: Array) -> Raw:
        if time.monotonic() > self._end:
            message = (
                f"not all episodes ended within {self._request.total_seconds:.0f} s ({self.env_steps} steps taken)"
            )
            raise EvaluationFailed("time", f"{message}; does every episode end?")
        actions, self._clipped = self._check(self._peer.act(reset_mask, observation))
        return actions


def evaluate(
    request: EvaluationRequest,
    channel: FrameChannel,
    make: Callable[[EvaluationRequest, FrameChannel], EpisodeEvaluation] = EpisodeEvaluation,
) -> dict[str, Any]:
    """Run a request and describe its end as JSON: returns and lengths, or whose fault it was and why."""
    evaluation: EpisodeEvaluation | None = None
    try:
        evaluation = make(request, channel)
        rollout = evaluation.run()
    except EvaluationFailed as error:
        return {"side": error.side, "error": str(error)}
    except (BuildError, StepFault) as error:
        return {"side": "environment", "error": str(error)}
    except Exception as error:
        traceback.print_exc()
        return {"side": "environment", "error": f"the environment raised {type(error).__name__}: {error}"}
    return {
        "original_returns": list(rollout.original_returns),
        "lengths": list(rollout.lengths),
        "env_steps": evaluation.env_steps,
        "clipped_steps": evaluation.clipped_steps,
        "stepping_seconds": evaluation.stepping_seconds,
    }


def main() -> None:
    """Read the request, evaluate, write the result."""
    parser = argparse.ArgumentParser()
    for name in ("request", "result", "read", "write"):
        parser.add_argument(f"--{name}", type=int, required=True)
    options = parser.parse_args()
    with os.fdopen(options.request, "rb") as file:
        request = EvaluationRequest(**json.loads(file.read()))
    os.set_inheritable(options.result, False)
    result = evaluate(request, FrameChannel(options.read, options.write))
    with os.fdopen(options.result, "wb") as file:
        file.write(json.dumps(result).encode())


if __name__ == "__main__":
    main()
