"""One builder a project; a dead one holds nothing."""

import subprocess
import sys
from pathlib import Path

import pytest

from agent2_schemas import ProjectBusy
from agent2_workspace import build_lock

HOLDER = """
import sys, pathlib
from agent2_workspace import build_lock
with build_lock(pathlib.Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_held_project_is_refused_with_its_holder_and_free_again_after_a_kill(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(ProjectBusy, match=f"by process {holder.pid} since"), build_lock(tmp_path):
            pass
        holder.kill()
        holder.wait(timeout=10)
    with build_lock(tmp_path):
        pass
