"""The policy host, a child process: weights and transforms, without environment, seeds, network or writable folder."""

from __future__ import annotations

import argparse
import json
import os
import sys
import traceback
from typing import Any

import numpy as np
import torch

from agent2_targets.runtime.agent import Agent
from agent2_targets.runtime.frames import (
    ACT,
    INIT,
    STEP,
    FrameChannel,
    FrameError,
    batch_bytes,
    decode_step,
    encode_batch,
)
from agent2_targets.runtime.spaces import SpaceDict, as_raw, empty_batch

WAIT_SECONDS = 3600.0
WRITE_SECONDS = 60.0


class PolicyHost:
    """Answer frames with actions until the evaluator leaves."""

    def __init__(self, channel: FrameChannel, folder: str, is_deterministic: bool, seed: int) -> None:
        """Load the agent; its parts were checked by the verification, here they may still fail."""
        self._channel, self._is_deterministic = channel, is_deterministic
        self._folder, self._seed = folder, seed

    def run(self) -> None:
        """Serve one evaluation.

        Raises:
            FrameError: the evaluator left in the middle of a frame, or sent something malformed.
        """
        _, sequence, payload = self._channel.receive_any((INIT,), None, None, WAIT_SECONDS)
        init: dict[str, Any] = json.loads(payload)
        count, observation, action = init["count"], init["observation_space"], init["action_space"]
        self._warm_up(count, observation)
        agent = Agent.load(self._folder, seed=self._seed)
        self._channel.send(ACT, sequence, b"", WRITE_SECONDS)
        size = count + batch_bytes(observation, count)
        while True:
            _, sequence, payload = self._channel.receive_any((STEP,), None, size, WAIT_SECONDS)
            reset_mask, raw = decode_step(payload, observation, count)
            actions = agent.act(raw, reset_mask, self._is_deterministic)
            self._channel.send(ACT, sequence, encode_batch(actions, action), WRITE_SECONDS)

    def _warm_up(self, count: int, observation: SpaceDict) -> None:
        """Act once on an agent that is thrown away: first calls are slow, and the deadline of a step is short."""
        agent = Agent.load(self._folder, seed=self._seed)
        raw = as_raw(empty_batch(observation, count))
        try:
            agent.act(raw, np.ones(count, bool), self._is_deterministic)
        except Exception as error:  # zeros may lie outside the space; a real fault shows again at the first step
            sys.stderr.write(f"warm-up: {type(error).__name__}: {error}\n")


def leave(code: int) -> None:
    """End without the slow teardown of the libraries."""
    sys.stderr.flush()
    os._exit(code)


def main() -> None:
    """Serve until the evaluator closes its end."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--read", type=int, required=True)
    parser.add_argument("--write", type=int, required=True)
    parser.add_argument("--mode", choices=("deterministic", "stochastic"), required=True)
    parser.add_argument("--seed", type=int, required=True)
    options = parser.parse_args()
    torch.set_num_threads(1)
    channel = FrameChannel(options.read, options.write)
    try:
        PolicyHost(channel, options.folder, options.mode == "deterministic", options.seed).run()
    except FrameError as error:
        sys.stderr.write(f"the evaluator left: {error}\n")
        leave(0)
    except Exception:
        channel.close()  # at once: the evaluator need not wait for the end of this process
        traceback.print_exc()
        leave(1)


if __name__ == "__main__":
    main()
