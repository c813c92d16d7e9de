"""A server's half: asks the heavy child once and prints its answer. Runs outside any sandbox."""

import json
from functools import partial
from pathlib import Path

import anyio

from agent2_sandbox import ProcessRequest, call_child


def main() -> None:
    """Ask and print."""
    script = Path(__file__).parent / "heavy.py"
    request = ProcessRequest(module="agent2_sandbox.script", arguments=(str(script),), read_only=(script,))
    print(json.dumps(anyio.run(partial(call_child, request, {}, timeout_seconds=180)).value))


if __name__ == "__main__":
    main()
