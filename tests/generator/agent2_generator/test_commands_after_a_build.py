"""The commands about what a build left, as a person types them; the build goes over HTTP and SSE to `agent2 serve`."""

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

pytestmark = pytest.mark.timeout(600)
TOKEN = "a-token-for-this-test"


@dataclass(frozen=True, kw_only=True)
class Shell:
    """Where the commands are typed."""

    folder: Path

    @property
    def environment(self) -> dict[str, str]:
        """Variables of every command."""
        return {
            **os.environ,
            "AGENT2_WORKSPACE": str(self.folder / "workspace"),
            "AGENT2_CONFIG": str(self.folder / "config.toml"),
            "AGENT2_TOKEN": TOKEN,
            "COLUMNS": "200",
        }

    def type(self, *arguments: object, code: int = 0) -> str:
        """Type a command, expect its exit code, and read what it printed."""
        done = subprocess.run(
            [sys.executable, "-m", "agent2_generator", *map(str, arguments)],
            env=self.environment, cwd=self.folder, capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip
        assert done.returncode == code, f"{done.stdout}\n{done.stderr}"
        assert "Traceback" not in done.stderr
        return done.stdout + done.stderr


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    """A folder with a workspace of its own."""
    return Shell(folder=tmp_path_factory.mktemp("shell"))


@pytest.fixture(scope="module")
def served(shell: Shell) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    """Address and process of `agent2 serve` with all four servers."""
    command = [sys.executable, "-m", "agent2_generator", "serve", "--transport", "sse", "--port", "0"]
    process = subprocess.Popen(command, env=shell.environment, cwd=shell.folder, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    first = process.stderr.readline()
    yield re.findall(r"http://[^/]+", first)[0], process
    if process.poll() is None:
        process.terminate()
        process.wait(20)
    process.stderr.close()


@pytest.fixture(scope="module")
def built(shell: Shell, served: tuple[str, "subprocess.Popen[str]"]) -> str:
    """Name of a project that a build over HTTP and SSE delivered."""
    address, _ = served
    shown = shell.type(
        "build", "CartPole-v1", "--task", "balance the pole", "--budget", "8k-steps", "--algorithm", "PPO", "--name", "pole",
        "--server", f"training={address}/training/mcp", "--server", f"metrics={address}/metrics-sse/sse",
        "--server", f"mdp={address}/mdp/mcp", "--server", f"environment={address}/environment-sse/sse", "--json",
    )  # fmt: skip
    result = json.loads(next(line for line in shown.splitlines() if line.startswith("{")))
    assert result["state"] == "delivered"
    return "pole"


def test_a_build_over_http_and_sse_starts_no_server_of_its_own(built: str, shell: Shell) -> None:
    assert list((shell.folder / "workspace" / "logs").glob("*.log")) != [], "where a lost server would be explained"
    assert all(not log.read_text() for log in (shell.folder / "workspace" / "logs").glob("*.log"))
    assert (shell.folder / "workspace" / "projects" / built / "target" / "manifest.json").exists()


def test_show_tells_what_was_tried_and_what_came_of_it(built: str, shell: Shell) -> None:
    shown = shell.type("show", built)
    assert "balance the pole" in shown
    assert "tuned preset" in shown
    assert "judgement: not tested" in shown
    assert "report.html" in shown


def test_runs_lists_projects_and_then_the_runs_of_one(built: str, shell: Shell) -> None:
    assert "pole: CartPole-v1, delivered" in shell.type("runs")
    shown = shell.type("runs", built)
    assert "finished" in shown
    assert "selection score" in shown


def test_compare_ranks_the_candidates(built: str, shell: Shell) -> None:
    shown = shell.type("compare", built)
    assert "shrunken mean" in shown
    assert re.search(r"^\s*c1 .*r\d", shown, re.MULTILINE)
    ranking = json.loads(shell.type("compare", built, "c1", "--json"))["ranking"]
    assert [ranked["candidate_id"] for ranked in ranking] == ["c1"]


def test_compare_refuses_a_candidate_that_is_not_there(built: str, shell: Shell) -> None:
    assert "c99" in shell.type("compare", built, "c99", code=2)


def test_diagnose_says_what_was_checked(built: str, shell: Shell) -> None:
    assert "checked and healthy:" in shell.type("diagnose", built)
    assert json.loads(shell.type("diagnose", built, "r1", "--json"))["diagnosis"] is not None
    assert "r99" in shell.type("diagnose", built, "r99", code=2)


def test_evaluate_scores_on_fresh_seeds(built: str, shell: Shell) -> None:
    assert re.search(r"mean original return [0-9.]+ over 10 episodes", shell.type("evaluate", built, "--episodes", 10))


def test_play_films_the_agent(built: str, shell: Shell) -> None:
    film = shell.folder / "film.gif"
    shown = shell.type("play", built, "--video", film, "--episodes", 1)
    assert "episode 1" in shown
    assert film.read_bytes().startswith(b"GIF8")


def test_clean_frees_the_work_folders_and_keeps_the_agent(built: str, shell: Shell) -> None:
    shown = shell.type("clean", built, "--yes")
    assert "freed" in shown
    project = shell.folder / "workspace" / "projects" / built
    assert list(project.glob("runs/*/work")) == []
    assert "mean original return" in shell.type("evaluate", built, "--episodes", 2)


def test_doctor_names_versions_extras_sandbox_workspace_and_servers(shell: Shell) -> None:
    shown = shell.type("doctor")
    for word in (
        "agent-squared",
        "extra train",
        "sandbox",
        "configuration",
        "writable",
        "environment, mdp, training, metrics",
    ):
        assert word in shown


def test_doctor_ends_with_one_where_something_is_missing(shell: Shell) -> None:
    assert "not writable" in shell.type("doctor", "--workspace", "/proc/none", code=1)


def test_env_list_names_families_and_their_install_lines(shell: Shell) -> None:
    assert "classic_control" in shell.type("env", "list")
    assert "Acrobot-v1" in shell.type("env", "list", "classic_control")


def test_whoever_ends_serve_ends_the_servers(
    built: str, served: tuple[str, "subprocess.Popen[str]"], wait_until: Callable[[Callable[[], object], float], None]
) -> None:
    address, process = served
    with urllib.request.urlopen(f"{address}/health", timeout=10) as answer:
        assert json.loads(answer.read())["ok"] is True
    family = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
    process.send_signal(signal.SIGTERM)
    process.wait(20)
    wait_until(lambda: not [each for each in family if each.is_running() and each.pid != process.pid], 15)
