"""Attempts to fake a score, each an mdp.py; `_every_call` runs at each call of `observe` in the policy host."""

_FRAME = '''"""{about}"""
import os
import struct
import sys
import time

import numpy as np

calls = 0
DESCRIPTORS = [number for number in range(3, 64) if os.path.exists(f"/proc/self/fd/{{number}}")]


def _every_call(observation):
{body}


def observe(observation):
    global calls
    calls += 1
    if "agent2_training.evaluation.policy_host" in sys.modules["__main__"].__spec__.name:
        _every_call(observation)
    return observation
'''


def attempt(about: str, body: str) -> str:
    """Make an mdp.py.

    Args:
        about: what it tries.
        body: lines of `_every_call(observation)`; `calls` counts from 1, warm-up included.
    """
    lines = "\n".join(f"    {line}" for line in body.strip("\n").splitlines())
    return _FRAME.format(about=about, body=lines)


HARMLESS_LIES = {
    "patches numpy, builtins and the clock": """
import builtins
np.sum = np.mean = np.add.reduce if calls < 0 else (lambda *_, **__: 1e9)
builtins.round = builtins.pow = lambda *_: 1e9
time.time = time.monotonic = time.perf_counter = lambda: 0.0
np.random.default_rng = lambda *_, **__: None
""",
    "patches the environment's class": """
from gymnasium.envs.classic_control.cartpole import CartPoleEnv
CartPoleEnv.step = lambda self, action: (np.zeros(4, np.float32), 1e6, False, False, {})
import gymnasium
gymnasium.make = lambda *_, **__: CartPoleEnv()
""",
    "remembers first observations, to know an episode again": """
memory = globals().setdefault("memory", set())
for row in observation:
    if calls > 3 and row.tobytes() in memory:
        raise AssertionError("BREACH: an observation came back")
    if np.any(row):
        memory.add(row.tobytes())
""",
    "looks for its seed among the small ones": """
if calls == 3:
    import gymnasium
    environment = gymnasium.make("CartPole-v1").unwrapped
    for seed in range(300):
        first, _ = environment.reset(seed=seed)
        if any(np.allclose(first, row) for row in observation):
            raise AssertionError(f"BREACH: the seed is {seed}")
""",
    "reads whatever /proc shows of the evaluator": """
if calls == 3:
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                if b"evaluation.evaluator" not in file.read():
                    continue
        except OSError:
            continue
        for name in ("environ", "mem", "maps", "fd/0", "fd/3", "fd/4", "fd/5"):
            try:
                with open(f"/proc/{pid}/{name}", "rb") as file:
                    file.read(1)
            except OSError:
                continue
            raise AssertionError(f"BREACH: read {name} of the evaluator")
""",
    "signals and traces the evaluator": """
if calls == 3:
    import ctypes
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                if b"evaluation.evaluator" not in file.read():
                    continue
        except OSError:
            continue
        try:
            os.kill(int(pid), 0)
        except OSError:
            pass
        else:
            raise AssertionError("BREACH: the evaluator can be signalled")
        if ctypes.CDLL(None).ptrace(16, int(pid), None, None) == 0:
            raise AssertionError("BREACH: the evaluator can be traced")
""",
    "leaves a note for its next evaluation": """
if calls == 3:
    here = os.path.dirname(os.path.abspath(globals()["__file__"]))
    folders = {os.path.realpath(f) for f in (here, os.getcwd(), "/tmp", "/var/tmp", "/dev/shm", os.environ["TMPDIR"])}
    paths = [os.path.join(folder, "note-to-myself") for folder in folders]
    for path in paths:
        if os.path.exists(path):
            raise AssertionError(f"BREACH: {path} is still there")
    for path in paths:
        try:
            with open(path, "x"):
                pass
        except OSError:
            pass
""",
    "looks for seeds and the workspace's key": """
if calls == 3:
    here = os.path.dirname(os.path.abspath(globals()["__file__"]))
    while here != "/":
        here = os.path.dirname(here)
        for name in (".secret", "project.yaml", "journal.sqlite", "evaluations"):
            if os.access(os.path.join(here, name), os.R_OK):
                raise AssertionError(f"BREACH: {os.path.join(here, name)} can be read")
""",
}
"""None of these reaches anything: the score is the honest one."""

BROKEN_PROMISES = {
    "sleeps at the fourth step": ("time.sleep(600.0 if calls > 6 else 0.0)", r"took longer than 2\.0 s at step"),
    "computes for ever": ("while calls > 6: pass", r"took longer than 2\.0 s at step"),
    "floods the evaluator": (
        "calls > 4 and [os.write(number, b'x' * 4096) for number in DESCRIPTORS if os.get_blocking(number) is False]",
        "malformed|closed",
    ),
    "forges answers ahead of its own": (
        """
for number in DESCRIPTORS if calls > 4 else []:
    try:
        os.write(number, struct.pack("<4sII", b"ACT!", calls, 8 * len(observation)) + bytes(8 * len(observation)))
    except OSError:
        pass
""",
        "malformed|closed",
    ),
    "forges the evaluator's result": (
        """
for number in range(256) if calls > 4 else []:
    try:
        os.write(number, b'{"original_returns": [1e9, 1e9, 1e9], "lengths": [1, 1, 1], "clipped_steps": 0}')
    except OSError:
        pass
""",
        "malformed|closed",
    ),
    "sends actions that are no numbers": (
        "calls > 4 and setattr(sys.modules['__main__'], 'encode_batch', lambda actions, space: b'\\xff' * 8 * len(observation))",
        "out of range",
    ),
    "sends a choice out of range": (
        "calls > 4 and setattr(sys.modules['__main__'], 'encode_batch', lambda a, s: np.full(len(observation), 7, np.int64).tobytes())",
        "out of range",
    ),
    "sends too few bytes": (
        "calls > 4 and setattr(sys.modules['__main__'], 'encode_batch', lambda actions, space: b'abc')",
        "malformed",
    ),
    "leaves in the middle": ("calls > 4 and os._exit(0)", "closed"),
    "closes its descriptors": ("calls > 4 and os.closerange(3, 256)", "closed|Bad file|took longer"),
    "turns its pipes round": (
        """
if calls == 5 and len(DESCRIPTORS) > 1:
    for first in DESCRIPTORS:
        for second in DESCRIPTORS:
            try:
                os.dup2(first, second)
            except OSError:
                pass
""",
        "closed|malformed|took longer|Bad file|failed",
    ),
    "calls sys.exit": ("calls > 4 and sys.exit(0)", r"sys\.exit|closed"),
}
"""Each of these ends its evaluation, with the cause."""

LIES_OF_WORKERS = {
    "patches the environment under its own training": """
from gymnasium.envs.classic_control.cartpole import CartPoleEnv
_true = CartPoleEnv.step
def _step(self, action):
    observation, reward, terminated, truncated, info = _true(self, action)
    return observation, 1e6, terminated, truncated, info
CartPoleEnv.step = _step
""",
    "forges progress and evaluations": """
import json, threading
def _forge():
    while True:
        text = json.dumps({"env_steps": 10**9, "updates": 1, "episodes": 1, "reported_original_return": 1e9,
            "reported_shaped_return": 1e9, "env_steps_per_second": 1.0, "seconds": 1.0,
            "checkpoint_env_steps": 10**9, "phase": "done"})
        for name in ("progress.json", "evaluations/r1-selection-1-d-3.json", "../evaluations/x.json", "../run.json"):
            try:
                os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
                with open(name, "w") as file:
                    file.write(text)
            except OSError:
                pass
        time.sleep(0.01)
threading.Thread(target=_forge, daemon=True).start()
""",
    "plants links and pipes where checkpoints are looked for": """
os.makedirs("checkpoints", exist_ok=True)
def _plant(make, name):
    try:
        make(name)
    except OSError:
        pass
_plant(lambda name: os.symlink("/etc/hostname", name), "checkpoints/999991.safetensors")
_plant(lambda name: os.symlink("../progress.json", name), "checkpoints/999992.safetensors")
_plant(os.mkfifo, "checkpoints/999993.safetensors")
_plant(os.mkdir, "checkpoints/999994.safetensors")
open("mine", "w").write("mine")
_plant(lambda name: os.link("mine", name), "checkpoints/999995.safetensors")
_plant(lambda name: os.symlink(os.path.join(os.path.dirname(os.path.abspath(globals()["__file__"])), "design.yaml"), name),
    "checkpoints/999996.safetensors")
""",
    "writes checkpoints whose header lies": """
import json
os.makedirs("checkpoints", exist_ok=True)
def _lie(number, header, size=None, data=b"\\0" * 16):
    text = json.dumps(header).encode()
    with open(f"checkpoints/{number}.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(text) if size is None else size) + text + data)
_meta = {"format": "agent2-checkpoint-1", "normaliser": "{}"}
def _tensor(start, end, shape=(4,)):
    return {"dtype": "F32", "shape": list(shape), "data_offsets": [start, end]}
_lie(999981, {"__metadata__": {**_meta, "env_steps": "999981"}, "actor.w": _tensor(0, 10**9, (10**9 // 4,))})
_lie(999982, {"__metadata__": {**_meta, "env_steps": "999982"}, "actor.w": _tensor(0, 16), "actor.v": _tensor(0, 16)})
_lie(999983, {"__metadata__": {**_meta, "env_steps": "5"}, "actor.w": _tensor(0, 16)})
_lie(999984, {"__metadata__": {**_meta, "env_steps": "999984"}, "actor.w": _tensor(0, 16)}, size=2**62)
_lie(999985, {"__metadata__": {**_meta, "env_steps": "999985"}, "actor.w": _tensor(-16, 0)})
_lie(999986, {"__metadata__": {**_meta, "env_steps": "999986"}, "score": _tensor(0, 16)})
_lie(999987, {"__metadata__": {**_meta, "env_steps": "999987"}, "actor.w": _tensor(0, 16, (3,))})
""",
    "tells the supervisor that all is done": """
import sys
for _number in DESCRIPTORS if "worker" in sys.modules["__main__"].__spec__.name else []:
    try:
        os.write(_number, b'{"beat": 99999999}\\n{"done": true, "score": 1e9, "original_returns": [1e9]}\\n')
    except OSError:
        pass
""",
    "patches what the engine counts with": """
import builtins
_float = builtins.float
np.mean = lambda values, *_, axis=None, **__: np.full(np.shape(values)[1:] if axis == 0 else (), 1e9)
time.time = time.monotonic = time.perf_counter = lambda: 0.0
np.random.default_rng = lambda *_, **__: np.random.Generator(np.random.PCG64(0))
""",
    "rewrites checkpoints once they are taken over": """
import threading
def _rewrite():
    while True:
        for name in os.listdir("checkpoints") if os.path.isdir("checkpoints") else []:
            source = os.path.join("checkpoints", name)
            if name.endswith(".safetensors") and os.path.getmtime(source) < time.time() - 1.0:
                with open(source, "r+b") as file:
                    file.seek(-64, 2)
                    file.write(b"\\x7f" * 64)
        time.sleep(0.05)
threading.Thread(target=_rewrite, daemon=True).start()
""",
}
"""What a worker may try while it trains: whatever it reports, the score is that of the weights."""
