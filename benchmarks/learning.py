"""Train the first suggestion of the catalogue on small tasks and append what was reached to results/learning.csv.

python benchmarks/learning.py InvertedPendulum-v5 [--algorithm PPO] [--suggestion "tuned preset"] [--budget 40000] [--seeds 3]
"""

from __future__ import annotations

import argparse
import csv
import json
import resource
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import gymnasium
import yaml
from safetensors import safe_open
from safetensors.torch import save_file

from agent2_schemas import EnvironmentReference, EnvironmentReport, MdpDesign, RunSpecification, TrainingSuggestion
from agent2_targets import render_policy
from agent2_targets.runtime.agent import Agent
from agent2_targets.runtime.environment import build_environment
from agent2_targets.runtime.rollout import run_episodes
from agent2_training.catalogue import complete_design, suggest

RESULTS = Path(__file__).parent / "results" / "learning.csv"
COLUMNS = (
    "date", "environment", "algorithm", "suggestion", "env_steps", "seed", "wall_seconds", "cpu_seconds",
    "mean_original_return", "min_original_return", "episodes", "changed",
)  # fmt: skip


def describe(environment: str) -> EnvironmentReport:
    """Give the little that the catalogue reads of an inspection."""
    adapted = build_environment({"name": environment}, root=None)
    report = {
        "reference": {"name": environment}, "observation_space": adapted.observation_space,
        "action_space": adapted.action_space, "max_episode_steps": adapted.max_episode_steps, "is_deterministic": None,
        "step_seconds": None, "reset_seconds": None, "start_seconds": None, "episodes": [],
    }  # fmt: skip
    return EnvironmentReport.model_validate(report)


def write_run(
    folder: Path,
    report: EnvironmentReport,
    suggestion: TrainingSuggestion,
    budget: int,
    seed: int,
    changed: dict[str, Any],
) -> None:
    """Write what a worker reads: run.json, reference.json, candidate/."""
    candidate = folder / "candidate"
    candidate.mkdir(parents=True)
    size = gymnasium.spaces.flatdim(build_environment({"name": report.reference.name}, root=None).env.observation_space)
    action = report.action_space.model_dump()
    is_discrete = action["kind"] == "discrete"
    box = {"kind": "box", "dtype": "float32", "low": -1.0, "high": 1.0}
    mdp = MdpDesign.model_validate(
        {
            "environment_observation_space": report.observation_space,
            "environment_action_space": report.action_space,
            "observation_space": {**box, "shape": [size], "low": None, "high": None},
            "action_space": {"kind": "discrete", "n": action["n"]}
            if is_discrete
            else {**box, "shape": action["shape"]},
        }
    )
    hyperparameters = {
        **suggestion.hyperparameters.model_dump(),
        **{k: v for k, v in changed.items() if k in suggestion.hyperparameters.model_dump()},
    }
    network = {
        **suggestion.network.model_dump(),
        **{k: v for k, v in changed.items() if k in suggestion.network.model_dump()},
    }
    design, findings = complete_design(
        candidate_id="c1", mdp=mdp, report=report, algorithm=suggestion.algorithm, network=network,
        hyperparameters=hyperparameters, budget_env_steps=budget,
        normalise_observation=changed.get("normalise_observation", suggestion.normalise_observation),
        reward_scale=changed.get("reward_scale", suggestion.reward_scale),
    )  # fmt: skip
    if design is None:
        raise SystemExit("\n".join(f"{finding.message} {finding.advice}" for finding in findings))
    (candidate / "design.yaml").write_text(yaml.safe_dump(json.loads(design.model_dump_json()), sort_keys=False))
    (candidate / "mdp.py").write_text('"""Nothing is changed."""\n')
    (candidate / "policy.py").write_text(render_policy(design))
    run = RunSpecification(
        run_id="r1", project="benchmark", candidate_id="c1", design_sha256="", training_seed=seed, seed_index=0,
        budget_env_steps=budget, lease="keep", created_at="",
    )  # fmt: skip
    (folder / "run.json").write_text(run.model_dump_json())
    (folder / "reference.json").write_text(
        json.dumps({"reference": EnvironmentReference(name=report.reference.name).model_dump(), "root": None})
    )
    (folder / "work").mkdir()


def train(folder: Path) -> tuple[float, float]:
    """Run the worker in a process of its own; give wall and processor time from its start, seconds."""
    begun, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    arguments = [str(folder / "work"), str(folder / "run.json"), "--reference", str(folder / "reference.json")]
    environment = {"OMP_NUM_THREADS": "1", "MUJOCO_GL": "egl", "PATH": "/usr/bin:/bin"}
    subprocess.run(
        [sys.executable, "-I", "-B", "-m", "agent2_training.worker", *arguments], check=True, env=environment
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.monotonic() - begun, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def evaluate(folder: Path, environment: str, episodes: int) -> tuple[float, float]:
    """Score the last checkpoint: deterministic actions, fresh seeds. Gives mean and smallest original return."""
    newest = max((folder / "work" / "checkpoints").glob("*.safetensors"), key=lambda path: int(path.stem))
    with safe_open(newest, "pt") as file:
        metadata = file.metadata()
        actor = {
            name.removeprefix("actor."): file.get_tensor(name)
            for name in list(file.keys())
            if name.startswith("actor.")
        }
    agent_folder = folder / "agent"
    agent_folder.mkdir()
    for name in ("design.yaml", "mdp.py", "policy.py"):
        (agent_folder / name).write_bytes((folder / "candidate" / name).read_bytes())
    save_file(actor, agent_folder / "weights.safetensors")
    if json.loads(metadata["normaliser"]):
        (agent_folder / "normaliser.json").write_text(metadata["normaliser"])
    agent = Agent.load(agent_folder, seed=0)
    rollout = run_episodes(
        lambda: build_environment({"name": environment}, root=None).env,
        lambda observation, mask: agent.act(observation, mask, deterministic=True),
        list(range(1_000_000, 1_000_000 + episodes)),
    )
    return rollout.mean_original_return, min(rollout.original_returns)


def main() -> None:
    """Train, score, append rows, print them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("environment")
    parser.add_argument("--algorithm", default="")
    parser.add_argument("--suggestion", default="", help="name of the suggestion; empty: the first")
    parser.add_argument("--budget", type=int, default=0, help="environment steps; 0: as the suggestion says")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--episodes", type=int, default=20)
    parser.add_argument("--change", default="{}", help="JSON of values that replace those of the suggestion")
    parser.add_argument("--no-record", action="store_true", help="print only")
    arguments = parser.parse_args()
    report = describe(arguments.environment)
    suggestions = suggest(report, arguments.algorithm, arguments.budget or 100_000)
    suggestion = next(s for s in suggestions if arguments.suggestion in ("", s.name))
    budget = arguments.budget or suggestion.suggested_env_steps
    suggestion = next(s for s in suggest(report, suggestion.algorithm, budget) if s.name == suggestion.name)
    for seed in range(arguments.first_seed, arguments.first_seed + arguments.seeds):
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place) / "run"
            write_run(folder, report, suggestion, budget, seed, json.loads(arguments.change))
            seconds, cpu = train(folder)
            mean, smallest = evaluate(folder, arguments.environment, arguments.episodes)
        row = (
            datetime.now(UTC).date().isoformat(), arguments.environment, suggestion.algorithm, suggestion.name, budget, seed,
            round(seconds, 1), round(cpu, 1), round(mean, 2), round(smallest, 2), arguments.episodes, arguments.change,
        )  # fmt: skip
        print(*row, sep="\t", flush=True)
        if not arguments.no_record:
            append(row)


def append(row: tuple[Any, ...]) -> None:
    """Add a row to the results."""
    is_new = not RESULTS.exists()
    RESULTS.parent.mkdir(exist_ok=True)
    with RESULTS.open("a", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        if is_new:
            writer.writerow(COLUMNS)
        writer.writerow(row)


if __name__ == "__main__":
    main()
