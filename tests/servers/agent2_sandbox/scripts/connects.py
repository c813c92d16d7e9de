"""Connects to a port of this machine and reads what is there; says what a variable and a file hold."""

import os
import socket
from pathlib import Path

from agent2_sandbox.child import serve_call


def main(payload: dict[str, object]) -> dict[str, object]:
    """Connect."""
    with socket.create_connection(("127.0.0.1", int(str(payload["port"]))), timeout=5) as connection:
        greeting = connection.recv(64).decode()
    return {
        "greeting": greeting,
        "variable": os.environ.get("LICENCE", ""),
        "file": Path(str(payload["file"])).read_text(),
    }


if __name__ == "__main__":
    serve_call(main)
