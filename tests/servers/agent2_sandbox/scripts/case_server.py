"""A server's half for the hostile cases: runs one case for each line it reads, answers each in one line of JSON.

Outside any sandbox; it holds the canaries that the cases look for.
"""

import contextlib
import json
import os
import shutil
import socket
import sys
import tempfile
import threading
from pathlib import Path
from time import monotonic

from agent2_sandbox import Limits, ProcessRequest, read_run_process, start_run

_HERE = Path(__file__).parent
_PAUSE = threading.Event()
_SLOW_TO_FILL = ("fill_run_folder", "fill_tmp", "fork_bomb", "memory_growth", "one_big_array", "print_flood")


def _limits(case: str) -> Limits:
    # A busy machine needs more than 3 s to fill a gigabyte; the cases that fill something must not end as stalled.
    return Limits(
        memory_bytes=1000 * 10**6,
        processes=40,
        folder_bytes=100 * 10**6,
        file_bytes=64 * 2**20,
        temporary_bytes=256 * 2**20,
        stall_seconds=60.0 if case in _SLOW_TO_FILL else 3.0,
        wall_seconds=80.0 if case in _SLOW_TO_FILL else 20.0,
    )


def _run(case: str, code: str) -> dict[str, object]:
    folder = Path(tempfile.mkdtemp(prefix="hostile-", dir="/var/tmp"))
    folder.chmod(0o755)
    try:
        return _run_in(folder, case, code)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run_in(folder: Path, case: str, code: str) -> dict[str, object]:
    for name in ("candidate", "work"):
        (folder / name).mkdir()
    for canary in ("seeds.json", ".env"):
        (folder / canary).write_text("canary")
        assert (folder / canary).read_text() == "canary"
    file, worker = folder / "candidate" / "mdp.py", _HERE / "small_worker.py"
    file.write_text(code)
    request = ProcessRequest(
        module="agent2_sandbox.script",
        arguments=(str(worker), str(file)),
        read_only=(worker, folder / "candidate"),
        writable=folder / "work",
        limits=_limits(case),
    )
    status_file, log_file = folder / "process.json", folder / "log.txt"
    start_run(request, run_folder=folder, status_file=status_file, log_file=log_file, lease="stop")
    end = monotonic() + 120
    while read_run_process(status_file).ended_at is None and monotonic() < end:
        _PAUSE.wait(0.02)
    status = read_run_process(status_file)
    end = monotonic() + 1
    while (left := _left_of(str(folder))) and monotonic() < end:
        _PAUSE.wait(0.02)
    log = log_file.read_text(errors="replace")
    unchanged = file.read_text() == code and sorted(path.name for path in folder.iterdir()) == sorted(
        ["candidate", "work", "seeds.json", ".env", "process.json", "log.txt"]
    )
    return {
        "outcome": status.outcome,
        "message": status.message,
        "line": status.line,
        "peak_memory_bytes": status.peak_memory_bytes,
        "tier": status.isolation.tier,
        "log_tail": log[-2000:],
        "log_bytes": log_file.stat().st_size,
        "has_breach": "BREACH" in log or "BREACH" in status.message,
        "has_forged": "FORGED" in log,
        "left": left,
        "outside_unchanged": unchanged and [path.name for path in (folder / "candidate").iterdir()] == ["mdp.py"],
    }


def _left_of(text: str) -> list[str]:
    """Processes that still name the run's folder, or call themselves stray-daemon."""
    left: list[str] = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if int(entry.name) == os.getpid():
                continue
            is_stray = (entry / "comm").read_text().strip() == "stray-daemon"
            if is_stray or text.encode() in (entry / "cmdline").read_bytes():
                left.append(entry.name)
    return left


def main() -> None:
    """Show that the canaries can be reached from here, then answer."""
    assert "ANTHROPIC_API_KEY" in Path("/proc/self/environ").read_text()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        address = f"\0agent2-canary-{os.getpid()}"
        listening.bind(address)
        listening.listen()
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as channel:
            channel.connect(address)
        for line in sys.stdin:
            question = json.loads(line)
            print(json.dumps(_run(question["case"], question["code"])), flush=True)


if __name__ == "__main__":
    main()
