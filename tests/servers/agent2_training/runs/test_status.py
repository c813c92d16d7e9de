"""How a run stands, from its folder alone."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agent2_training.runs.ownership import Owner, is_owner_alive, own, owner_file
from agent2_training.runs.status import read_progress, read_status
from agent2_training.runs.stopping import request_stop
from agent2_workspace import CandidateFolder, ProjectFolder, RunFolder, Workspace, read_json, write_json

PROGRESS = {
    "env_steps": 5, "updates": 1, "episodes": 0, "reported_original_return": None, "reported_shaped_return": None,
    "env_steps_per_second": 1.0, "seconds": 1.0, "checkpoint_env_steps": None, "phase": "training",
}  # fmt: skip


def dead_owner() -> Owner:
    """Describe a process that has ended."""
    code = "from agent2_training.runs.ownership import _start_ticks; import os; print(os.getpid(), _start_ticks(os.getpid()))"
    pid, ticks = map(int, subprocess.check_output([sys.executable, "-c", code]).split())
    return Owner(pid=pid, start_ticks=ticks, boot_id=Path("/proc/sys/kernel/random/boot_id").read_text().strip())


def test_a_run_without_a_process_is_queued_and_accepts_its_checkpoints(cartpole: ProjectFolder, run: RunFolder) -> None:
    status = read_status(cartpole, run)

    assert (status.state, status.outcome, status.checkpoints_env_steps) == ("queued", None, (100,))


def test_a_waiting_run_that_must_end_with_its_owner_is_stopped_once_that_is_gone(
    cartpole: ProjectFolder, candidate: CandidateFolder, lab: Any
) -> None:
    run = lab.run(cartpole, candidate, lease="stop")
    own(run)
    assert read_status(cartpole, run).state == "queued"
    write_json(owner_file(run), dead_owner())

    status = read_status(cartpole, run)
    assert (status.state, status.outcome) == ("stopped", "server_gone")


def test_a_later_process_of_the_same_number_is_not_the_owner(run: RunFolder) -> None:
    own(run)
    owner = read_json(owner_file(run), Owner)
    assert owner.pid == os.getpid()
    assert is_owner_alive(run)
    write_json(owner_file(run), owner.model_copy(update={"start_ticks": owner.start_ticks + 1}))

    assert not is_owner_alive(run)


def test_a_waiting_run_is_stopped_without_ever_starting(
    workspace: Workspace, cartpole: ProjectFolder, run: RunFolder
) -> None:
    request_stop(workspace, cartpole, run, "stop")
    first = read_status(cartpole, run)
    request_stop(workspace, cartpole, run, "pause")

    assert (first.state, first.outcome) == ("stopped", "cancelled")
    assert read_status(cartpole, run) == first
    assert len(cartpole.journal.events(kind="run-ended")) == 1


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        json.dumps({**PROGRESS, "env_steps": -1}).encode(),
        json.dumps({**PROGRESS, "score": 1}).encode(),
        b"[" * 9000,
    ],
)
def test_a_malformed_report_counts_as_none(run: RunFolder, content: bytes) -> None:
    run.progress_file.write_bytes(content)

    assert read_progress(run) is None


def test_a_report_behind_a_link_counts_as_none(run: RunFolder, tmp_path: Path) -> None:
    (tmp_path / "progress.json").write_text(json.dumps(PROGRESS))
    run.progress_file.symlink_to(tmp_path / "progress.json")
    assert read_progress(run) is None
    run.progress_file.unlink()
    run.progress_file.write_text(json.dumps(PROGRESS))

    progress = read_progress(run)
    assert progress is not None
    assert progress.env_steps == 5
