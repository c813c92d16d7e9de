"""The policy host as the evaluator sees it: frames out, checked actions in; nothing it sends is believed."""

from __future__ import annotations

import json
import time

import numpy as np

from agent2_targets.runtime.frames import (
    ACT,
    INIT,
    STEP,
    FrameChannel,
    FrameError,
    batch_bytes,
    decode_batch,
    encode_step,
)
from agent2_targets.runtime.spaces import Array, Raw, SpaceDict, as_parts, as_raw, box_bounds, leaves
from agent2_training.evaluation.waiting import read_waiting_seconds

START_SECONDS = 120.0
CLIP_TOLERANCE = 1e-6
SLICE_SECONDS = 0.2
PATIENCE = 20
"""A deadline is lengthened by at most this many times itself, however busy the machine is."""


class EvaluationFailed(Exception):
    """The evaluation cannot be finished; says whose fault it is and why."""

    def __init__(self, side: str, message: str) -> None:
        """Keep both apart: `side` is policy, environment or time."""
        super().__init__(message)
        self.side = side


class PolicyPeer:
    """The policy host, seen from here: raw observations out, raw actions in.

    Args:
        channel: frames to and from it.
        count: environments side by side.
        observation_space: the environment's, as a plain dict.
        action_space: likewise.
        policy_seconds: longest answer to one step, seconds.
        start_seconds: longest time to load, seconds.
        waiting: descriptor that tells how long the policy host waited for a processor, which is not counted; or None.
    """

    def __init__(
        self,
        channel: FrameChannel,
        count: int,
        observation_space: SpaceDict,
        action_space: SpaceDict,
        policy_seconds: float,
        start_seconds: float = START_SECONDS,
        waiting: int | None = None,
    ) -> None:
        """Keep the spaces; nothing is sent yet."""
        self._channel, self._count = channel, count
        self._policy_seconds, self._start_seconds = policy_seconds, start_seconds
        self._observation_space, self._action_space = observation_space, action_space
        self._waiting = waiting
        self._sequence = 0

    def begin(self) -> None:
        """Tell the policy host the spaces and wait until it has loaded.

        Raises:
            EvaluationFailed: it did not load.
        """
        spaces = {"observation_space": self._observation_space, "action_space": self._action_space}
        self._exchange(INIT, json.dumps({"count": self._count, **spaces}).encode(), 0, self._start_seconds)

    def act(self, reset_mask: Array, observation: Raw) -> Raw:
        """Ask for one action per environment.

        Raises:
            EvaluationFailed: no answer in time, or a malformed one.
        """
        payload = encode_step(reset_mask, observation, self._observation_space)
        size = batch_bytes(self._action_space, self._count)
        reply = self._exchange(STEP, payload, size, self._policy_seconds)
        return decode_batch(reply, self._action_space, self._count)

    def _exchange(self, tag: bytes, payload: bytes, size: int, seconds: float) -> bytes:
        self._sequence += 1
        begun, waited = time.monotonic(), self._waited()
        try:
            self._channel.send(tag, self._sequence, payload, seconds)
            left = begun + seconds - time.monotonic()
            # In slices, because the waiting goes on; the frame itself is read in one go once its first byte is here.
            while left > 0 and not self._channel.is_readable(min(left, SLICE_SECONDS)):
                spare = min(self._waited() - waited, PATIENCE * seconds)
                left = begun + seconds + spare - time.monotonic()
            return self._channel.receive(ACT, self._sequence, size, max(0.001, left))
        except FrameError as error:
            place = "while loading" if tag == INIT else f"at step {self._sequence - 2}"
            what = f"took longer than {seconds:.1f} s" if "deadline" in str(error) else "failed"
            raise EvaluationFailed("policy", f"the policy {what} {place}: {error}") from error

    def _waited(self) -> float:
        return 0.0 if self._waiting is None else read_waiting_seconds(self._waiting)


class ActionCheck:
    """Make the environment's actions out of what the policy sent; tell what had to be clipped."""

    def __init__(self, space: SpaceDict) -> None:
        """Prepare the bounds of every leaf of the action space."""
        self._leaves = leaves(space)
        self._bounds = {key: box_bounds(leaf) for key, leaf in self._leaves.items() if leaf["kind"] == "box"}

    def __call__(self, actions: Raw) -> tuple[Raw, Array]:
        """Check a batch.

        Args:
            actions: a raw batch of the action space, a copy of ours.

        Returns:
            The batch within bounds, and (n,) bool: which rows were clipped.

        Raises:
            EvaluationFailed: a value is not finite, or a choice is out of range.
        """
        parts: dict[str, Array] = {}
        clipped: Array = np.zeros(len(next(iter(as_parts(actions).values()))), bool)
        for key, values in as_parts(actions).items():
            leaf = self._leaves[key]
            if leaf["kind"] == "box":
                parts[key], part_clipped = self._within(key, values)
                clipped |= part_clipped
            else:
                check_choices(leaf, values)
                parts[key] = values
        return as_raw(parts), clipped

    def _within(self, key: str, values: Array) -> tuple[Array, Array]:
        if not np.all(np.isfinite(values)):
            raise EvaluationFailed("policy", "the policy sent an action that is not finite")
        low, high = self._bounds[key]
        inside = np.clip(values, low, high).astype(values.dtype)
        moved = np.abs(inside.astype(float) - values.astype(float)) > CLIP_TOLERANCE
        return inside, np.any(moved.reshape(len(values), -1), axis=1)


def check_choices(leaf: SpaceDict, values: Array) -> None:
    """Check that choices lie in range.

    Raises:
        EvaluationFailed: one does not.
    """
    start = leaf.get("start", 0) if leaf["kind"] == "discrete" else 0
    count = {"discrete": leaf.get("n"), "multi_discrete": leaf.get("nvec")}.get(leaf["kind"], 2)
    if np.any(values < start) or np.any(values >= np.asarray(count) + start):
        raise EvaluationFailed("policy", f"the policy sent choice {values.tolist()}, which is out of range")
