"""Fixtures for the tests of serving: a small demo server in memory and as a process."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

from agent2_serving import Server

DEMO_FILE = Path(__file__).with_name("demo_server.py")
TOKEN = "a-token-for-the-tests"


@pytest.fixture(scope="session")
def build_demo() -> Callable[[], Server]:
    """The factory of the demo server."""
    spec = spec_from_file_location("demo_server", DEMO_FILE)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.build_server


@pytest.fixture
def start_http() -> Iterator[Callable[..., str]]:
    """Start a server process over HTTP with these arguments; gives its base address, such as http://127.0.0.1:4242."""
    processes: list[subprocess.Popen[str]] = []

    def start(*arguments: str, token: str | None = TOKEN) -> str:
        environment = {key: value for key, value in os.environ.items() if key != "AGENT2_TOKEN"}
        if token is not None:
            environment["AGENT2_TOKEN"] = token
        process = subprocess.Popen(
            [sys.executable, *arguments, "--port", "0"],
            stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL, env=environment, text=True,
        )  # fmt: skip
        processes.append(process)
        assert process.stderr is not None
        for line in process.stderr:
            if "serving at http" in line:
                return "/".join(line.split("serving at ")[1].split("/")[:3])
        raise AssertionError(f"the server ended with {process.wait(10)}")

    yield start
    for process in processes:
        process.terminate()
        process.communicate(timeout=20)
