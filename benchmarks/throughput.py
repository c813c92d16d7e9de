"""Print how fast the engine is beside stock Tianshou, both measured in this very run: ratios, never absolute claims.

python benchmarks/throughput.py [--steps 4096] [--updates 200]
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import yaml
from learning import describe, write_run
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.utils.torch_utils import policy_within_training_step

from agent2_sandbox.child import WorkerControl
from agent2_training.catalogue import suggest
from agent2_training.engine.collectors import OnPolicyCollector
from agent2_training.engine.replay import ReplayBuffer
from agent2_training.engine.training import Training


def open_training(folder: Path, environment: str, algorithm: str, changed: dict[str, Any]) -> Training:
    """Make a training of the catalogue's first suggestion in this process."""
    report = describe(environment)
    write_run(folder, report, suggest(report, algorithm, 100_000)[0], 100_000, 0, changed)
    design = yaml.safe_load((folder / "candidate" / "design.yaml").read_text(encoding="utf-8"))
    origin = json.loads((folder / "reference.json").read_text(encoding="utf-8"))
    return Training(design, folder / "candidate", origin, folder / "work", 0, 100_000, WorkerControl(None))


def processor_seconds(work: Callable[[], object], repeats: int = 3) -> float:
    """Smallest processor time of several repetitions."""
    times: list[float] = []
    for _ in range(repeats):
        begun = time.process_time()
        work()
        times.append(time.process_time() - begun)
    return min(times)


def compare_collection(folder: Path, environment: str, steps: int) -> None:
    """Collect rollouts with Tianshou's collector and with ours."""
    count = 8
    training = open_training(folder, environment, "PPO", {"num_envs": count, "rollout_steps": 256})
    policy = training.learner.algorithm.policy
    venv = DummyVectorEnv([lambda: gymnasium.make(environment) for _ in range(count)])
    stock = Collector(training.learner.algorithm, venv, VectorReplayBuffer(steps, count))
    stock.reset()
    training.simulation.reset()
    ours = OnPolicyCollector(training.simulation, training.learner.actor, lambda: None)
    with policy_within_training_step(policy):
        before = processor_seconds(lambda: stock.collect(n_step=steps))
    after = processor_seconds(lambda: ours.collect(steps // count))
    print(
        f"collect {environment}: stock {steps / before:.0f}, ours {steps / after:.0f} env steps per cpu-s: x{before / after:.2f}"
    )


def compare_buffers(folder: Path, updates: int) -> None:
    """Update SAC from a buffer of a thousand rows and from one of a million."""
    training = open_training(folder, "Pendulum-v1", "SAC", {})
    simulation = training.simulation
    seconds: dict[int, float] = {}
    for rows in (1_000, 1_000_000):
        buffer = ReplayBuffer(rows, simulation.shape, simulation.action_shape, False, 0)
        chunk = np.zeros((1_000, simulation.size), np.float32)
        for _ in range(rows // 1_000):
            buffer.add(chunk, chunk[:, :1], np.zeros(1_000), chunk, np.zeros(1_000, bool))

        def work(full: ReplayBuffer = buffer) -> None:
            for _ in range(updates):
                training.learner.algorithm.update(full, 256)

        seconds[rows] = processor_seconds(work)
        print(f"SAC update, {rows} rows: {updates / seconds[rows]:.0f} updates per cpu-s")
    print(f"SAC with a million rows takes x{seconds[1_000_000] / seconds[1_000]:.2f} the time of a thousand")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=4096)
    parser.add_argument("--updates", type=int, default=200)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        compare_collection(Path(place) / "a", "CartPole-v1", arguments.steps)
        compare_collection(Path(place) / "b", "InvertedPendulum-v5", arguments.steps)
        compare_buffers(Path(place) / "c", arguments.updates)


if __name__ == "__main__":
    main()
