"""kill -9 at random moments over server, supervisor and worker, through the training server: nothing outlives its lease.

`AGENT2_KILL_ROUNDS` (12) rounds in `AGENT2_KILL_LANES` (2) workspaces side by side. With `AGENT2_KILL_LOG` a file keeps
one line of JSON for each round that held, and a later call goes on where it ended.
"""

import contextlib
import json
import os
import random
import shutil
import signal
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import monotonic, time
from typing import Any

import pytest

from agent2_sandbox import read_run_process
from agent2_sandbox.processes import is_alive
from agent2_schemas import EnvironmentReference
from agent2_workspace import ProjectFolder, RunFolder

from ..stdio_server import StdioServer  # noqa: TID252  (the folders of tests are no package with a name)

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]

ROUNDS = int(os.environ.get("AGENT2_KILL_ROUNDS", "12"))
LANES = int(os.environ.get("AGENT2_KILL_LANES", "2"))
LOG = os.environ.get("AGENT2_KILL_LOG", "")
VICTIMS = ("server", "supervisor", "worker")
LATEST_KILL_SECONDS = 7.0
BUDGETS = (600, 600, 5_000_000)
"""Short ones end by themselves, now and then just when the kill comes."""
LEASE_SECONDS = 10.0
SLACK_SECONDS = 2.0
"""For looking, on a busy machine."""
HYPERPARAMETERS = {"num_envs": 2, "rollout_steps": 32, "minibatch_size": 32, "epochs": 1}
KILLED = {
    "server": {("stopped", "server_gone")},
    "supervisor": {("lost", "supervisor_died")},
    "worker": {("failed", "crashed")},
}
ENDED = ("paused", "finished", "failed", "stopped", "lost")
NAME = "pole"


class Lane:
    """One workspace, with one server at a time."""

    def __init__(self, root: Path, project: ProjectFolder, candidate: str) -> None:
        """Take an inspected project with a complete candidate."""
        self.root, self.project, self._candidate = root, project, candidate
        self._servers: dict[str, StdioServer] = {}
        self.ends: dict[str, tuple[str, str, list[int]]] = {}

    def play(self, number: int) -> dict[str, Any]:
        """Start a run, kill one of its processes, and hold what is left to the promises; tell what happened."""
        generator = random.Random(number)
        victim, tier = VICTIMS[number % 3], "AB"[number // 3 % 2]
        lease, budget = generator.choice(("keep", "stop")), generator.choice(BUDGETS)
        moment = generator.uniform(0.0, LATEST_KILL_SECONDS)
        started = self._server(tier).call(
            "start_training", project=NAME, candidate=self._candidate, lease=lease, budget_env_steps=budget
        )
        run = self.project.run(started["run_id"])
        threading.Event().wait(moment)
        before = self._check(tier, run)
        killed_at, killed_time = monotonic(), time()
        self._kill(victim, tier, run)
        if victim == "server" and lease == "keep" and before["state"] not in ENDED:
            after = self._stop(tier, run)
            wanted = {("stopped", "cancelled")}
        else:
            after = self._until_ended(tier, run, killed_at)
            wanted = KILLED[victim]
        if before["state"] in ENDED:
            wanted = {(before["state"], before["outcome"])}
            assert set(before["checkpoints_env_steps"]) <= set(after["checkpoints_env_steps"])
        end = (after["state"], after["outcome"])
        assert end in wanted | {("finished", "ok")}, (number, victim, lease, moment, before, after)
        self._until_gone(run, killed_at)
        # By the supervisor's own clock: a new server takes long to start on a busy machine, which is no part of a lease.
        ended_at = read_run_process(run.status_file).ended_at
        seconds = max(0.0, ended_at - killed_time) if ended_at else None
        if victim == "server" and lease == "stop":
            assert seconds is not None
            assert seconds <= LEASE_SECONDS + SLACK_SECONDS
        assert len([e for e in self.project.journal.events(kind="run-ended") if e.subject == run.id]) == 1
        self.ends[run.id] = (*end, after["checkpoints_env_steps"])
        return {
            "round": number, "victim": victim, "tier": tier, "lease": lease, "moment": round(moment, 2),
            "before": before["state"], "end": after["outcome"], "ended_seconds": seconds and round(seconds, 2),
        }  # fmt: skip

    def confirm(self) -> None:
        """A new server tells of every run what was told when it ended: no finished run is lost."""
        for run_id, (state, outcome, checkpoints) in self.ends.items():
            status = self._check("A", self.project.run(run_id))
            assert (status["state"], status["outcome"]) == (state, outcome)
            assert set(checkpoints) <= set(status["checkpoints_env_steps"])

    def close(self) -> None:
        """End the servers and remove the workspace."""
        for server in self._servers.values():
            server.close()
        shutil.rmtree(self.root, ignore_errors=True)

    def _server(self, tier: str) -> StdioServer:
        if tier not in self._servers:
            configuration = self.root / "config.toml"
            self._servers[tier] = StdioServer(self.root / "workspace", configuration, "root", AGENT2_SANDBOX_TIER=tier)
        return self._servers[tier]

    def _check(self, tier: str, run: RunFolder) -> dict[str, Any]:
        """Read the status; what it says must be true."""
        status = self._server(tier).call("check_training", project=NAME, run=run.id)
        if status["state"] == "running" and not processes_of(run):
            status = self._server(tier).call("check_training", project=NAME, run=run.id)
            assert status["state"] != "running", f"{run.id} is said to run, but no process of it is there"
        return status

    def _kill(self, victim: str, tier: str, run: RunFolder) -> None:
        if victim == "server":
            server = self._servers.pop(tier)
            server.kill()
            server.close()
            return
        process, end = read_run_process(run.status_file), monotonic() + 10.0
        while process.pid is None and process.ended_at is None and monotonic() < end:  # it may not be there yet
            process = read_run_process(run.status_file)
        pid, created = process.pid, process.created
        if victim == "supervisor":
            pid, created = process.supervisor_pid, process.supervisor_created
        if process.ended_at is None and pid and is_alive(pid, created or 0.0):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def _stop(self, tier: str, run: RunFolder) -> dict[str, Any]:
        """A kept run goes on without its server, until another one ends it."""
        status = self._check(tier, run)
        assert status["state"] in ("running", "finished"), status
        return self._server(tier).call("stop_training", project=NAME, run=run.id)

    def _until_ended(self, tier: str, run: RunFolder, since: float) -> dict[str, Any]:
        while (status := self._check(tier, run))["state"] not in ENDED:
            assert monotonic() - since < LEASE_SECONDS + 2 * SLACK_SECONDS, status
            threading.Event().wait(0.1)
        return status

    def _until_gone(self, run: RunFolder, since: float) -> None:
        told, pause = monotonic(), threading.Event()
        while left := processes_of(run):
            assert monotonic() - max(told, since) < SLACK_SECONDS + 5.0, f"{run.id} has ended, but {left} are there"
            pause.wait(0.05)


def command_of(pid: int) -> bytes:
    """Command line of a process; empty where it is gone."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


def processes_of(run: RunFolder) -> list[int]:
    """Living processes whose command line names the run's folder, and its supervisor."""
    found = [int(e.name) for e in Path("/proc").glob("[0-9]*") if str(run.work).encode() in command_of(int(e.name))]
    process = read_run_process(run.status_file)
    if is_alive(process.supervisor_pid, process.supervisor_created):
        found.append(process.supervisor_pid)
    return found


def rounds_done() -> set[int]:
    """Rounds that a file of an earlier call holds."""
    path = Path(LOG) if LOG else None
    lines = path.read_text().splitlines() if path and path.exists() else []
    return {json.loads(line)["round"] for line in lines}


@pytest.fixture
def make_lane(lab: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Lane]:
    """Make workspaces that sandboxed users may walk into."""

    def make() -> Lane:
        root = Path(tempfile.mkdtemp(prefix="kills-", dir="/var/tmp"))
        root.chmod(0o755)
        monkeypatch.setenv("AGENT2_WORKSPACE", str(root / "workspace"))
        project = lab.project(NAME, EnvironmentReference(name="CartPole-v1"))
        candidate = lab.candidate(project)
        lab.write_design(project, candidate, hyperparameters=HYPERPARAMETERS, budget_env_steps=600)
        return Lane(root, project, candidate.id)

    return make


def test_a_kill_at_any_moment_leaves_nothing_past_its_lease_and_a_true_status(make_lane: Callable[[], Lane]) -> None:
    left = [number for number in range(ROUNDS) if number not in rounds_done()]
    lanes = [make_lane() for _ in range(min(LANES, len(left)))]
    lock = threading.Lock()
    failures: list[str] = []

    def work(lane: Lane) -> None:
        while left and not failures:
            with lock:
                number = left.pop(0) if left else None
            if number is None:
                return
            try:
                told = lane.play(number)
            except BaseException as error:
                failures.append(f"round {number}: {type(error).__name__}: {error}")
                return
            if LOG:
                with lock, Path(LOG).open("a") as file:
                    file.write(json.dumps(told) + "\n")

    try:
        with ThreadPoolExecutor(max(1, len(lanes))) as pool:
            list(pool.map(work, lanes))
        assert failures == []
        for lane in lanes:
            lane.confirm()
    finally:
        for lane in lanes:
            lane.close()
