"""A worker that counts, leaves a daemon behind, and saves when it is asked to stop. Runs in the sandbox."""

import os
import signal
import sys
import time
from pathlib import Path

from agent2_sandbox.child import WorkerControl


def _leave_a_daemon() -> None:
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            time.sleep(300)
        os._exit(0)


def main() -> None:
    """Count until asked to stop; `stubborn` never hears it."""
    control = WorkerControl.from_arguments()
    folder, manner = Path(sys.argv[1]), sys.argv[2]
    _leave_a_daemon()
    step = 0
    while not control.stop_requested or manner == "stubborn":
        step += 1
        control.beat(step)
        (folder / "steps").write_text(str(step))
        time.sleep(0.01)
        if manner == "short" and step == 20:
            control.done()
            return
    (folder / "checkpoint").write_text(str(step))


if __name__ == "__main__":
    main()
