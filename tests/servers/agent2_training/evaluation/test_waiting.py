"""A policy host on a busy machine is not blamed for the time in which it got no processor."""

import json
import os
import struct
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from agent2_targets.runtime.frames import ACT, INIT, STEP, FrameChannel
from agent2_training.evaluation.policy_peer import EvaluationFailed, PolicyPeer
from agent2_training.evaluation.waiting import WaitingTime, read_waiting_seconds

SPACE = {"kind": "box", "shape": [1], "dtype": "float32", "low": -1.0, "high": 1.0}


def answer_late(channel: FrameChannel, seconds: float) -> None:
    _, sequence, payload = channel.receive_any((INIT,), None, None, 10)
    assert json.loads(payload)["count"] == 1
    channel.send(ACT, sequence, b"", 10)
    _, sequence, _ = channel.receive_any((STEP,), None, None, 10)
    threading.Event().wait(seconds)
    channel.send(ACT, sequence, np.zeros(1, np.float32).tobytes(), 10)


@pytest.mark.parametrize("waited", [0.0, 5.0])
def test_a_late_answer_counts_only_as_far_as_the_policy_had_a_processor(waited: float) -> None:
    to_host, from_peer = os.pipe()
    to_peer, from_host = os.pipe()
    ours, theirs = FrameChannel(to_peer, from_peer), FrameChannel(to_host, from_host)
    host = threading.Thread(target=answer_late, args=(theirs, 0.8), daemon=True)
    host.start()
    waiting = WaitingTime()
    peer = PolicyPeer(ours, 1, SPACE, SPACE, policy_seconds=0.3, waiting=waiting.descriptor)
    peer.begin()
    threading.Timer(0.1, lambda: os.pwrite(waiting.descriptor, struct.pack("<d", waited), 0)).start()
    if waited:
        assert np.array_equal(np.asarray(peer.act(np.ones(1, bool), np.zeros((1, 1), np.float32))), [[0.0]])
    else:
        with pytest.raises(EvaluationFailed, match=r"took longer than 0\.3 s at step 0"):
            peer.act(np.ones(1, bool), np.zeros((1, 1), np.float32))
    host.join(5)
    ours.close()
    theirs.close()
    waiting.stop()


@pytest.mark.skipif(not os.path.exists("/proc/self/schedstat"), reason="this system does not tell")  # noqa: PTH110
def test_the_waiting_time_of_a_process_without_a_processor_grows() -> None:
    cpu = min(os.sched_getaffinity(0))
    code = f"import os\nos.sched_setaffinity(0, {{{cpu}}})\nwhile True: pass"
    busy = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(3)]
    waiting = WaitingTime()
    waiting.watch(lambda: busy[0].pid)
    try:
        end = time.monotonic() + 20
        while (seconds := read_waiting_seconds(waiting.descriptor)) < 0.3 and time.monotonic() < end:
            threading.Event().wait(0.05)
    finally:
        for process in busy:
            process.kill()
            process.wait()
        waiting.stop()

    assert seconds >= 0.3
