"""A child that does as the payload asks, then answers. Runs in the sandbox."""

import os
import sys
import time
from pathlib import Path
from typing import NoReturn

from agent2_sandbox.child import serve_call


def _spin() -> NoReturn:
    while True:
        time.sleep(0.01)


def answer(payload: dict[str, object]) -> dict[str, object]:
    """Do what `payload["do"]` names."""
    match payload.get("do"):
        case "raise":
            raise ValueError("the wrong value")
        case "exit":
            os._exit(0)
        case "spin":
            _spin()
        case "hoard":
            hoard = [bytearray(b"x" * (16 << 20)) for _ in range(200)]
            return {"held": len(hoard)}
        case "forge":
            os.write(payload_descriptor(), b"[1, 2")
            os._exit(0)
        case "environment":
            return {"names": sorted(os.environ), "modules": sorted(sys.modules), "uid": os.geteuid()}
        case "write":
            Path("made.txt").write_text("by the child")
            return {"folder": str(Path.cwd())}
        case _:
            print("a word to the log")
    return {"echo": payload}


def payload_descriptor() -> int:
    """The descriptor on which the answer goes."""
    parts = dict(part.split("=") for part in os.environ["AGENT2_CHILD"].split(","))
    return int(parts["output"])


if __name__ == "__main__":
    serve_call(answer)
