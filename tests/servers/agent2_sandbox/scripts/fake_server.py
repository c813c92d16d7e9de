"""A server as small as can be: starts one run and waits to be killed. Runs outside any sandbox."""

import sys
import time
from pathlib import Path

from agent2_sandbox import ProcessRequest, start_run


def main() -> None:
    """Start the saving worker under a lease and say so."""
    folder, lease, manner = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    worker = Path(__file__).parent / "saving_worker.py"
    request = ProcessRequest(
        module="agent2_sandbox.script",
        arguments=(str(worker), str(folder / "work"), manner),
        read_only=(worker,),
        writable=folder / "work",
    )
    start_run(
        request,
        run_folder=folder,
        status_file=folder / "process.json",
        log_file=folder / "log.txt",
        lease="keep" if lease == "keep" else "stop",
    )
    print("started", flush=True)
    time.sleep(300)


if __name__ == "__main__":
    main()
