"""Print what the sandbox costs beside the bare process, all measured in this very run, and append it to results/sandbox.csv.

python benchmarks/sandbox.py [--tier A] [--rounds 5] [--steps 100000] [--training-rounds 12]

Start-up, environment steps per second of training (target: at most 3 % lost), and microseconds per step of the split
evaluation beside the same agent in one process, for 1, 4 and 16 environments. The bare process takes turns with the
sandboxed one. Times are the smallest of the rounds, which other work on the machine disturbed least; the ratio of
training counts steps per processor second of the worker: geometric mean over the rounds, with its 95 % interval.
"""

from __future__ import annotations

import argparse
import asyncio
import csv
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch
from learning import describe, write_run
from scipy import stats

from agent2_sandbox import ProcessRequest, call_child, probe_isolation, read_run_process, start_run
from agent2_targets.runtime.agent import Agent
from agent2_targets.runtime.environment import build_environment
from agent2_targets.runtime.rollout import run_episodes
from agent2_training.catalogue import suggest
from agent2_training.checkpoints import accept_checkpoints, accepted_checkpoints
from agent2_training.evaluation.policy_folder import write_policy_folder
from agent2_training.evaluation.processes import run_processes
from agent2_workspace import RunFolder

RESULTS = Path(__file__).parent / "results" / "sandbox.csv"
COUNTS = (1, 4, 16)
TARGET_LOST = 0.03
ENVIRONMENT = {"OMP_NUM_THREADS": "1", "MUJOCO_GL": "egl", "PATH": "/usr/bin:/bin"}
TIMED_WORKER = """
import json, sys, time
from pathlib import Path
from agent2_sandbox.child import WorkerControl
from agent2_training.worker import train
control = WorkerControl.from_arguments()
work, run, reference = map(Path, sys.argv[1:])
wall, cpu = time.perf_counter(), time.process_time()
train(work, run, reference, None, control)
spent = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
(work / "spent.json").write_text(json.dumps(spent))
control.done()
"""
EMPTY_CALL = "from agent2_sandbox.child import serve_call\nserve_call(lambda payload: {})\n"
Pair = tuple[float, float]
"""What the bare process took or reached, and what the sandboxed one did."""


def in_turns(bare: Callable[[], float], sandboxed: Callable[[], float], rounds: int) -> list[Pair]:
    """Measure both, whoever comes first changing from round to round; a first round warms the caches."""
    for work in (bare, sandboxed):
        work()
    pairs: list[Pair] = []
    for number in range(rounds):
        values = {name: work() for name, work in ([("b", bare), ("s", sandboxed)][:: 1 if number % 2 else -1])}
        pairs.append((values["b"], values["s"]))
    return pairs


def mean_ratio(pairs: list[Pair]) -> tuple[float, float, float]:
    """Geometric mean of bare by sandboxed seconds, below 1 where the sandbox slows down, and its 95 % t interval."""
    logs = [math.log(bare / sandboxed) for bare, sandboxed in pairs]
    centre = statistics.fmean(logs)
    half = float(stats.t.ppf(0.975, len(logs) - 1)) * statistics.stdev(logs) / math.sqrt(len(logs))
    return math.exp(centre), math.exp(centre - half), math.exp(centre + half)


def least(pairs: list[Pair]) -> Pair:
    """Smallest of both columns."""
    return min(pair[0] for pair in pairs), min(pair[1] for pair in pairs)


def measure_start(place: Path, rounds: int) -> list[Pair]:
    """Seconds until an empty function has answered."""
    script = place / "empty.py"
    script.write_text(EMPTY_CALL)
    place.chmod(0o755)
    command = [sys.executable, "-I", "-B", "-m", "agent2_sandbox.script", str(script)]
    request = ProcessRequest(module="agent2_sandbox.script", arguments=(str(script),), read_only=(script,))

    def bare() -> float:
        begun = time.perf_counter()
        subprocess.run(command, input=b"{}", check=True, env=ENVIRONMENT, stdout=subprocess.DEVNULL)
        return time.perf_counter() - begun

    def sandboxed() -> float:
        begun = time.perf_counter()
        asyncio.run(call_child(request, {}, timeout_seconds=60))
        return time.perf_counter() - begun

    return in_turns(bare, sandboxed, 4 * rounds)


class TrainingPairs:
    """Trains the same design with the same seed, bare and sandboxed."""

    def __init__(self, place: Path, environment: str, algorithm: str, steps: int) -> None:
        """Choose the catalogue's first suggestion."""
        self._place, self._report, self._steps = place, describe(environment), steps
        self._suggestion = suggest(self._report, algorithm, steps)[0]
        self._number = 0
        self._script = place / "timed_worker.py"
        self._script.write_text(TIMED_WORKER)
        self.wall_seconds: dict[str, list[float]] = {"bare": [], "sandboxed": []}
        self.folder = place

    def _prepare(self) -> tuple[RunFolder, tuple[str, ...]]:
        self._number += 1
        self.folder = self._place / "projects" / "benchmark" / "runs" / f"r{self._number}"
        write_run(self.folder, self._report, self._suggestion, self._steps, 0, {})
        names = ("work", "run.json", "reference.json")
        return RunFolder(self.folder), (str(self._script), *(str(self.folder / name) for name in names))

    def _spent(self, kind: str) -> float:
        spent: dict[str, float] = json.loads((self.folder / "work" / "spent.json").read_text(encoding="utf-8"))
        self.wall_seconds[kind].append(spent["wall"])
        return spent["cpu"]

    def bare(self) -> float:
        """Processor seconds of the worker, imports left out, in a bare process."""
        _, arguments = self._prepare()
        command = [sys.executable, "-I", "-B", "-m", "agent2_sandbox.script", *arguments]
        subprocess.run(command, check=True, env=ENVIRONMENT)
        return self._spent("bare")

    def sandboxed(self) -> float:
        """The same in the sandbox, with its supervisor."""
        run, arguments = self._prepare()
        request = ProcessRequest(
            module="agent2_sandbox.script",
            arguments=arguments,
            read_only=(self._script, run.candidate_copy, run.specification_file, run.root / "reference.json"),
            writable=run.work,
        )
        start_run(request, run_folder=run.root, status_file=run.status_file, log_file=run.log_file, lease="stop")
        while (process := read_run_process(run.status_file)).ended_at is None:
            time.sleep(0.2)
        if process.outcome != "ok":
            raise RuntimeError(f"{process.outcome}: {process.message}\n{run.log_file.read_text()[-2000:]}")
        return self._spent("sandboxed")


def measure_evaluation(folder: Path, environment: str, policy_folder: Path, rounds: int) -> dict[int, list[Pair]]:
    """Microseconds per environment step of the last checkpoint, in one process and split, by number of environments."""
    run = RunFolder(folder)
    accept_checkpoints(run)
    write_policy_folder(policy_folder, run, accepted_checkpoints(run)[-1])
    request: dict[str, Any] = {"reference": {"name": environment}, "root": None}
    pairs: dict[int, list[Pair]] = {}
    for count in COUNTS:
        seeds = tuple(range(max(4, count)))

        def alone(seeds: tuple[int, ...] = seeds, count: int = count) -> float:
            agent = Agent.load(policy_folder)
            agent_steps = time.perf_counter()
            rollout = run_episodes(
                lambda: build_environment(request["reference"], root=None).env,
                lambda raw, mask: agent.act(raw, mask, True),
                seeds,
                count,
            )
            return (time.perf_counter() - agent_steps) * 1e6 / sum(rollout.lengths)

        def split(seeds: tuple[int, ...] = seeds, count: int = count) -> float:
            outcome = asyncio.run(run_processes(policy_folder, request, seeds, "deterministic", lockstep=count))
            if outcome.error:
                raise RuntimeError(outcome.error)
            return outcome.stepping_seconds * 1e6 / sum(outcome.lengths)

        pairs[count] = in_turns(alone, split, rounds)
    return pairs


def append_row(row: dict[str, Any]) -> None:
    """Append to the file of results, which begins with its header."""
    is_new = not RESULTS.exists()
    with RESULTS.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=list(row), lineterminator="\n")
        if is_new:
            writer.writeheader()
        writer.writerow(row)


def main() -> int:
    """Measure, print, append; the exit code tells whether training meets the target."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tier", choices=("A", "B"), help="A: bubblewrap, B: Landlock; without it the best one here")
    parser.add_argument("--rounds", type=int, default=5, help="of starts and evaluations")
    parser.add_argument("--training-rounds", type=int, default=12, help="at least 2: the interval needs them")
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--environment", default="CartPole-v1")
    parser.add_argument("--algorithm", default="PPO")
    options = parser.parse_args()
    if options.tier:
        os.environ["AGENT2_SANDBOX_TIER"] = options.tier
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        place = Path(name)
        row: dict[str, Any] = {
            "date": datetime.now(UTC).date().isoformat(), "tier": probe_isolation().tier,
            "environment": options.environment, "algorithm": options.algorithm, "env_steps": options.steps,
            "rounds": options.rounds, "training_rounds": options.training_rounds, "cores": len(os.sched_getaffinity(0)), "load": round(os.getloadavg()[0], 1),
        }  # fmt: skip
        bare, sandboxed = least(measure_start(place, options.rounds))
        row |= {"start_bare_ms": round(bare * 1e3, 1), "start_sandboxed_ms": round(sandboxed * 1e3, 1)}
        print(f"tier {row['tier']}: an empty call takes {bare * 1e3:.0f} ms bare, {sandboxed * 1e3:.0f} ms sandboxed")
        training = TrainingPairs(place, options.environment, options.algorithm, options.steps)
        ratio, low, high = mean_ratio(in_turns(training.bare, training.sandboxed, options.training_rounds))
        bare, sandboxed = (options.steps / min(seconds) for seconds in training.wall_seconds.values())
        row |= {
            "steps_per_s_bare": round(bare),
            "steps_per_s_sandboxed": round(sandboxed),
            "rate_ratio": round(ratio, 3),
            "rate_ratio_low": round(low, 3),
            "rate_ratio_high": round(high, 3),
        }
        print(f"training: {bare:.0f} env steps/s bare, {sandboxed:.0f} sandboxed (wall time, best rounds)")
        print(
            f"training, per processor second: x{ratio:.3f}, 95 % interval {low:.3f} to {high:.3f} "
            f"(target: at least {1 - TARGET_LOST})"
        )
        evaluations = measure_evaluation(training.folder, options.environment, place / "policy", options.rounds)
        for count, pairs in evaluations.items():
            alone, split = least(pairs)
            row |= {f"us_alone_{count}": round(alone, 1), f"us_split_{count}": round(split, 1)}
            print(
                f"evaluation, {count} at a time: {alone:.0f} us/step in one process, {split:.0f} split: x{split / alone:.2f}"
            )
    append_row(row)
    return 0 if ratio >= 1 - TARGET_LOST else 1


if __name__ == "__main__":
    sys.exit(main())
