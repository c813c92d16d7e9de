"""Time environments of several agents: batches of ours beside plain loops over single ones, in environment steps per second.

    python benchmarks/multi_agent_environments.py [NAME …]   # what is not yet in results/multi_agent_environments.csv
    python benchmarks/multi_agent_environments.py --again    # measure all anew
    python benchmarks/multi_agent_environments.py --table    # print the table of docs/families.md

All ways of one environment take turns in one run, after each was warmed up (compiled code is compiled before); a row is
the best round, with the load of the machine. Random legal actions are drawn beforehand or outside of the clock; resets
are inside of it.
"""

from __future__ import annotations

import argparse
import csv
import importlib
import os
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from agent2_targets.runtime.multi_agent.building import build_multi_agent
from agent2_targets.runtime.multi_agent.interface import JointObservation, Layout

RESULTS = Path(__file__).parent / "results" / "multi_agent_environments.csv"
COLUMNS = ("date", "cores", "load", "environment", "way", "count", "env_steps_per_second")
ROUNDS, SECONDS_A_ROUND = 3, 2.0
SPREAD = "mpe2.simple_spread_v3"
Round = Callable[[float], float]
"""Steps for so many seconds; gives environment steps per second."""


def random_actions(layout: Layout, joint: JointObservation, generator: np.random.Generator) -> dict[str, Any]:
    """Draw legal choices for all groups."""
    actions: dict[str, Any] = {}
    for group in layout.groups:
        scores = generator.random((*joint.alive[group.name].shape, group.action_space["n"]))
        if group.has_action_mask:
            scores[~joint.action_masks[group.name]] = -1.0
        actions[group.name] = scores.argmax(axis=-1)
    return actions


def batch_round(name: str, count: int, arguments: dict[str, Any]) -> Round:
    """Time one of our batches."""
    reference = {"name": name, "keyword_arguments": arguments}
    batch, generator = build_multi_agent(reference, count, can_be_twin=True), np.random.default_rng(0)
    seen = [batch.reset(list(range(count)))]

    def steps(seconds: float) -> float:
        spent, taken = 0.0, 0
        while spent < seconds:
            actions = random_actions(batch.layout, seen[0], generator)
            begun = time.perf_counter()
            step = batch.step(actions)
            ended = np.flatnonzero(step.terminated | step.truncated)
            fresh = batch.reset(None, ended) if len(ended) else None
            spent += time.perf_counter() - begun
            taken += count
            seen[0] = step.following if fresh is None else merged(step.following, fresh, ended)
        return taken / spent

    return steps


def merged(joint: JointObservation, fresh: JointObservation, rows: Any) -> JointObservation:
    """Put first observations in the places of last ones."""
    for old, new in zip(joint[:3], fresh[:3], strict=True):
        for name, part in new.items():
            old[name][rows] = part
    joint.state[rows] = fresh.state
    return joint


def loop_of_singles(name: str, count: int) -> Round:
    """Time `count` batches of one, stepped one after another."""
    singles = [batch_round(name, 1, {}) for _ in range(count)]

    def steps(seconds: float) -> float:
        return float(np.mean([single(seconds / count) for single in singles]))

    return steps


def bare_pettingzoo(module: str, count: int) -> Round:
    """Time the bare parallel environments of a module: dicts in, dicts out, no arrays."""
    make = importlib.import_module(module).parallel_env
    environments, generator = [make() for _ in range(count)], np.random.default_rng(0)
    for seed, environment in enumerate(environments):
        environment.reset(seed=seed)

    def steps(seconds: float) -> float:
        spent, taken = 0.0, 0
        while spent < seconds:
            drawn = generator.integers(5, size=(count, len(environments[0].possible_agents))).tolist()
            begun = time.perf_counter()
            for environment, row in zip(environments, drawn, strict=True):
                environment.step(dict(zip(environment.possible_agents, row, strict=True)))
                if not environment.agents:
                    environment.reset()
            spent += time.perf_counter() - begun
            taken += count
        return taken / spent

    return steps


def measurements() -> dict[str, dict[tuple[str, int], Callable[[], Round]]]:
    """By environment: the ways to step it, by name and number of environments."""
    spread: dict[tuple[str, int], Callable[[], Round]] = {
        ("bare PettingZoo", 16): lambda: bare_pettingzoo(SPREAD, 16),
        ("batch of mpe2", 16): lambda: batch_round(SPREAD, 16, {}),
        ("NumPy twin", 16): lambda: batch_round(SPREAD, 16, {"batched": True}),
        ("NumPy twin", 32): lambda: batch_round(SPREAD, 32, {"batched": True}),
    }
    ways = {SPREAD: spread}
    for name in ("skirmish:3v3", "skirmish:8v8", "smax:3m", "smax:2s3z", "smax:8m"):
        ways[name] = {
            ("loop of single ones", 4): lambda name=name: loop_of_singles(name, 4),
            ("batch", 8): lambda name=name: batch_round(name, 8, {}),
            ("batch", 32): lambda name=name: batch_round(name, 32, {}),
        }
    return ways


def measure(name: str, ways: dict[tuple[str, int], Callable[[], Round]]) -> list[dict[str, Any]]:
    """Time all ways of one environment, taking turns."""
    load = round(os.getloadavg()[0], 1)
    rounds = {way: make() for way, make in ways.items()}
    for steps in rounds.values():
        steps(0.2)
    best = dict.fromkeys(rounds, 0.0)
    for _ in range(ROUNDS):
        for way, steps in rounds.items():
            best[way] = max(best[way], steps(SECONDS_A_ROUND))
    date, cores = datetime.now(UTC).date().isoformat(), os.cpu_count()
    rows = [(date, cores, load, name, way, count, round(rate)) for (way, count), rate in best.items()]
    return [dict(zip(COLUMNS, row, strict=True)) for row in rows]


def read_rows() -> list[dict[str, str]]:
    """The rows so far."""
    if not RESULTS.exists():
        return []
    with RESULTS.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def append(rows: list[dict[str, Any]]) -> None:
    """Add rows to the file, with its head where it is new."""
    is_new = not RESULTS.exists()
    with RESULTS.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=COLUMNS, lineterminator="\n")
        if is_new:
            writer.writeheader()
        writer.writerows(rows)


def print_table(rows: list[dict[str, str]]) -> None:
    """The newest row of each way, as Markdown."""
    newest = {(row["environment"], row["way"], row["count"]): row for row in rows}
    print("| environment | way | side by side | env steps/s | load |\n|---|---|---|---|---|")
    for row in newest.values():
        rate = f"{int(row['env_steps_per_second']):,}"
        print(f"| `{row['environment']}` | {row['way']} | {row['count']} | {rate} | {row['load']} |")


def main() -> None:
    """Measure what is missing, or print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="only these environments")
    parser.add_argument("--again", action="store_true", help="measure all anew")
    parser.add_argument("--table", action="store_true", help="print the table only")
    arguments = parser.parse_args()
    if not arguments.table:
        known = set() if arguments.again else {row["environment"] for row in read_rows()}
        for name, ways in measurements().items():
            if name not in known and (not arguments.names or name in arguments.names):
                rows = measure(name, ways)
                append(rows)
                for row in rows:
                    print(
                        f"{name} {row['way']} x {row['count']}: {row['env_steps_per_second']} env steps/s", flush=True
                    )
    print_table(read_rows())


if __name__ == "__main__":
    main()
