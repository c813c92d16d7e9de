"""Every hostile mdp.py, started through the training server and trained by the real worker, ends as its README says."""

import contextlib
import os
import re
import shutil
import socket
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from time import monotonic
from typing import Any, cast

import pytest

from agent2_sandbox.specification import Tier
from agent2_schemas import EnvironmentReference
from agent2_workspace import ProjectFolder

from ...agent2_sandbox import conftest, forms  # noqa: TID252  (the folders of tests are no package with a name)
from ...agent2_sandbox.test_hostile_cases import EXPECTED  # noqa: TID252
from ..stdio_server import StdioServer  # noqa: TID252

pytestmark = pytest.mark.slow

CASES = Path(__file__).parents[3] / "cases" / "hostile"
HARMLESS = '"""The reward as it is."""\n\n\ndef reward(p, action, observation, original, t, u, info):\n    return {"original": original}\n'
AS_USER = ("exit_zero", "kill_parent", "nan_reward", "read_secrets", "segfault", "slow_observe", "write_outside")
"""What an ordinary user tries through the server; the sandbox's own tests try all of them in both forms."""
SLOW_TO_FILL = ("fill_run_folder", "fill_tmp", "fork_bomb", "memory_growth", "one_big_array", "print_flood")
HYPERPARAMETERS = {"num_envs": 1, "rollout_steps": 64, "minibatch_size": 32, "epochs": 1}
LIMITS = "parallel_runs = 2\n[limits]\nmemory_bytes = 1000000000\nprocesses = 40\nfolder_bytes = 100000000\nstall_seconds = {stall}\n"
NAME = "pole"


class HostilePlace:
    """A workspace with canaries, and a server with a secret that works in it."""

    def __init__(self, tier: str, form: str, lab: Any, patch: pytest.MonkeyPatch) -> None:
        """Open the project and start the server."""
        self.root = Path(tempfile.mkdtemp(prefix="hostile-runs-", dir="/var/tmp"))
        self.root.chmod(0o755)
        self.form, self.configuration = form, self.root / "config.toml"
        patch.setenv("AGENT2_WORKSPACE", str(self.root / "workspace"))
        self.project: ProjectFolder = lab.project(NAME, EnvironmentReference(name="CartPole-v1"))
        (self.project.root / "runs").mkdir(exist_ok=True)
        for folder in (self.project.root, self.project.root / "runs", self.root):
            for canary in ("seeds.json", ".env"):
                (folder / canary).write_text("canary")
        self.limit(3.0)
        secrets = {"ANTHROPIC_API_KEY": "sk-canary", "AGENT2_SANDBOX_TIER": tier}
        self.hand_over()
        self.server = StdioServer(self.root / "workspace", self.configuration, form, **secrets)
        assert "sk-canary" in Path(f"/proc/{self.server.pid}/environ").read_text()

    def limit(self, stall_seconds: float) -> None:
        """Write the user's configuration: a busy machine needs more than 3 s to fill a gigabyte."""
        self.configuration.write_text(LIMITS.format(stall=stall_seconds))

    def hand_over(self) -> None:
        """Give everything to the user who runs the server."""
        if self.form == "user" and os.geteuid() == 0:
            for path in (self.root, *self.root.rglob("*")):
                os.chown(path, forms._USER, forms._USER, follow_symlinks=False)

    def run(self, code: str, lab: Any, patch: pytest.MonkeyPatch, stall_seconds: float = 3.0) -> dict[str, Any]:
        """Train a candidate to its end."""
        patch.setenv("AGENT2_WORKSPACE", str(self.root / "workspace"))
        self.limit(stall_seconds)
        candidate = lab.candidate(self.project, code=code)
        lab.write_design(self.project, candidate, hyperparameters=HYPERPARAMETERS, budget_env_steps=300)
        self.hand_over()
        started = self.server.call("start_training", project=NAME, candidate=candidate.id, lease="stop")
        return self.server.until_ended(NAME, started["run_id"])

    def outside(self) -> dict[str, bytes]:
        """Everything outside run folders that no one but trusted code may change."""
        return {
            str(path.relative_to(self.root)): path.read_bytes()
            for path in sorted(self.root.rglob("*"))
            if path.is_file()
            and not path.name.startswith(("journal", "config.toml"))
            and not re.search(r"/(runs|candidates)/[rc]\d+/", str(path))
        }

    def close(self) -> None:
        """End the server and remove all."""
        self.server.close()
        shutil.rmtree(self.root, ignore_errors=True)


@pytest.fixture(scope="module")
def places() -> Iterator[dict[tuple[str, str], HostilePlace]]:
    made: dict[tuple[str, str], HostilePlace] = {}
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        address = f"\0agent2-canary-{os.getpid()}"
        listening.bind(address)
        listening.listen()
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as channel:
            channel.connect(address)  # the canary can be reached from outside a sandbox
        yield made
    for place in made.values():
        place.close()


def parameters() -> list[Any]:
    pairs = [(form, tier) for form in forms.FORMS for tier in ("A", "B")]
    return [
        (tier, form, case) for form, tier in pairs for case in EXPECTED if form == forms.FORMS[0] or case in AS_USER
    ]


def left_of(text: str) -> list[str]:
    """Processes that name a folder, or call themselves stray-daemon."""
    left: list[str] = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            is_stray = (entry / "comm").read_text().strip() == "stray-daemon"
            if is_stray or text.encode() in (entry / "cmdline").read_bytes():
                left.append(f"{entry.name} {(entry / 'cmdline').read_bytes()[-200:]!r}")
    return left


@pytest.mark.timeout(400)
@pytest.mark.parametrize(("tier_name", "form", "case"), parameters())
def test_a_hostile_file_ends_as_the_readme_says(
    tier_name: str,
    form: str,
    case: str,
    places: dict[tuple[str, str], HostilePlace],
    lab: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    conftest.require_tier(cast("Tier", tier_name))
    key = (tier_name, form)
    if key not in places:
        places[key] = HostilePlace(tier_name, form, lab, monkeypatch)
        harmless = places[key].run(HARMLESS, lab, monkeypatch, 30.0)
        assert (harmless["state"], harmless["outcome"]) == ("finished", "ok"), harmless
        assert harmless["peak_memory_bytes"] > 0
    place = places[key]
    before = place.outside()
    status = place.run((CASES / f"{case}.py").read_text(), lab, monkeypatch, 60.0 if case in SLOW_TO_FILL else 3.0)
    run = place.project.run(status["run_id"])
    end, pause = monotonic() + 1.0, threading.Event()
    while (left := left_of(str(run.root))) and monotonic() < end:
        pause.wait(0.02)

    log = run.log_file.read_text(errors="replace")
    assert "BREACH" not in log + status["message"], (status, log[-2000:])
    assert status["isolation"]["tier"] == tier_name
    wanted = EXPECTED[case].get(tier_name) or EXPECTED[case]["AB"]
    assert any(
        status["outcome"] == outcome and re.search(words, status["message"], re.DOTALL) for outcome, words in wanted
    ), (status, log[-2000:])
    assert status["peak_memory_bytes"] > 0
    assert left == []
    assert place.outside() == before
    if case == "print_flood":
        assert run.log_file.stat().st_size < 3e6
        assert re.search(r"\[\d+ bytes of output dropped by the log cap\]", log)
    if case == "forged_jsonrpc":
        assert "FORGED" in log
        assert not any("FORGED" in line for line in place.server.lines)


def test_after_all_of_them_every_server_answers_and_another_run_works(
    places: dict[tuple[str, str], HostilePlace], lab: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in places.values():
        status = place.run(HARMLESS, lab, monkeypatch, 30.0)
        assert (status["state"], status["outcome"]) == ("finished", "ok"), status
