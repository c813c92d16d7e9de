"""A server's half for the escape battery: plants canaries, runs the probes inside, prints what got through.

Outside any sandbox. With `control` it runs the same probes without one instead.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

import anyio

from agent2_sandbox import ProcessRequest, call_child

_SCRIPT = Path(__file__).parent / "escapes.py"


def main() -> None:
    """Plant, probe, print."""
    folder = Path(tempfile.mkdtemp(prefix="escape-", dir="/var/tmp"))
    folder.chmod(0o755)
    secret = f"sk-canary-{os.getpid()}"
    decoy = subprocess.Popen(
        [sys.executable, "-c", "import time; print(id(time), flush=True); time.sleep(300)"],
        env={"SECRET_KEY": secret}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
    )  # fmt: skip
    try:
        with socket.socket() as port, socket.socket(socket.AF_UNIX) as abstract, socket.socket(socket.AF_UNIX) as named:
            facts = _plant(folder, secret, decoy, (port, abstract, named))
            descriptor = os.open(folder / "canary-open", os.O_RDONLY)
            os.set_inheritable(descriptor, True)
            print(json.dumps(_control(facts) if sys.argv[1:] == ["control"] else _inside(facts, folder)))
    finally:
        decoy.kill()
        decoy.communicate()
        shutil.rmtree(folder, ignore_errors=True)


def _plant(
    folder: Path, secret: str, decoy: "subprocess.Popen[bytes]", sockets: tuple[socket.socket, ...]
) -> dict[str, object]:
    for name in ("home", "candidate", "work", "temporary", "other-run/work"):
        (folder / name).mkdir(parents=True)
    names = {"home_key": "home/id_ed25519", "seeds": "seeds.json", "beside": "candidate-2.py", "temporary_file": "temporary/x", "status_file": "process.json", "candidate_file": "candidate/mdp.py", "other_run_status": "other-run/status.json", "other_run_work": "other-run/work/checkpoint.safetensors"}  # fmt: skip
    for name in (*names.values(), "canary-open"):
        (folder / name).write_text("canary")
    port, abstract, named = sockets
    port.bind(("127.0.0.1", 0))
    abstract.bind(f"\0{secret}")
    named.bind(str(folder / "socket"))
    for listening in sockets:
        listening.listen(64)
    assert decoy.stdout is not None
    return {
        **{key: str(folder / name) for key, name in names.items()}, "home": str(folder / "home"),
        "candidate": str(folder / "candidate"), "work": str(folder / "work"), "temporary_folder": str(folder / "temporary"),
        "run_folder": str(folder), "other_run_folder": str(folder / "other-run/work"), "pid": decoy.pid, "address": int(decoy.stdout.readline()), "secret": secret,
        "port": port.getsockname()[1], "abstract": secret, "socket": str(folder / "socket"),
    }  # fmt: skip


def _control(facts: dict[str, object]) -> dict[str, object]:
    # In private namespaces, so that what succeeds changes nothing here.
    command = ["unshare", "--mount", "--uts", "--ipc", sys.executable, str(_SCRIPT), json.dumps(facts)]
    ended = subprocess.run(command, capture_output=True, check=True, close_fds=False)
    return json.loads(ended.stdout)


def _inside(facts: dict[str, object], folder: Path) -> dict[str, object]:
    request = ProcessRequest(
        module="agent2_sandbox.script",
        arguments=(str(_SCRIPT),),
        read_only=(_SCRIPT, folder / "candidate"),
        writable=folder / "work",
    )
    answer = anyio.run(partial(call_child, request, dict(facts), timeout_seconds=120))
    return {**answer.value, "uid": os.getuid()}


if __name__ == "__main__":
    main()
