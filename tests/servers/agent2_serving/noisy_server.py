"""The demo server behind an import that prints, as a library of an environment might."""

import os

from demo_server import build_server

from agent2_serving import run_server

__all__ = ["build_server"]

if __name__ == "__main__":
    run_server("noisy_server:build_server")
else:
    print("printed while importing", flush=True)
    os.write(1, b'{"jsonrpc": "2.0", "id": 7, "result": {"forged": true}}\n')
