"""Fixtures of the sandbox's tests: tiers, forms, and small scripts that run inside or beside a sandbox."""

import contextlib
import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic

import pytest

from agent2_sandbox.probing import probe_tier
from agent2_sandbox.specification import Tier

HERE = Path(__file__).parent
WAIVED = {line.strip() for line in (HERE / "waived_tiers.txt").read_text().splitlines() if line and line[0] != "#"}


def require_tier(name: Tier) -> None:
    """A tier that is missing fails the test, unless the list in this folder waives it by name."""
    probe = probe_tier(name)
    if not probe.holds and name in WAIVED:
        pytest.skip(f"tier {name} is waived in waived_tiers.txt: {probe.reason}")
    assert probe.holds, f"tier {name} does not hold here: {probe.reason} {probe.advice}"


@pytest.fixture(params=["A", "B"])
def tier(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Force one tier for everything that this process starts."""
    require_tier(request.param)
    monkeypatch.setenv("AGENT2_SANDBOX_TIER", request.param)
    return request.param


@pytest.fixture
def run_folder() -> Iterator[Path]:
    """A run folder that others may walk into, with the folders candidate and work."""
    folder = Path(tempfile.mkdtemp(prefix="run-", dir="/var/tmp"))
    folder.chmod(0o755)
    for name in ("candidate", "work"):
        (folder / name).mkdir()
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def scripts() -> Path:
    """Folder of the scripts that tests run in children."""
    return HERE / "scripts"


@pytest.fixture
def wait_until() -> Callable[[Callable[[], bool], float], bool]:
    """Look again and again until something holds, for so many seconds at most."""

    def wait(holds: Callable[[], bool], seconds: float) -> bool:
        end, pause = monotonic() + seconds, threading.Event()
        while not holds():
            if monotonic() > end:
                return False
            pause.wait(0.02)
        return True

    return wait


@pytest.fixture
def processes_naming() -> Callable[[str], list[int]]:
    """Find the living processes whose command line holds a text."""

    def find(text: str) -> list[int]:
        found: list[int] = []
        for entry in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if text.encode() in (entry / "cmdline").read_bytes() and int(entry.name) != os.getpid():
                    found.append(int(entry.name))
        return found

    return find
