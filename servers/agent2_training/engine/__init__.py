"""The engine: trains one run inside the sandbox, on Tianshou's policies and algorithms."""
