"""Opening a project: complete or not at all; re-used while nothing changes; told apart when something does."""

import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from mcp import Client
from mcp_types import CallToolResult

from agent2_workspace import Workspace

Call = Callable[..., Awaitable[CallToolResult]]
TextOf = Callable[[CallToolResult], str]

CAR = '''
"""A car on a road."""
import gymnasium
import numpy as np
from roads import LENGTH


class Car(gymnasium.Env):
    """Drive to the end of the road.

    More words.
    """

    def __init__(self, wind=0.0):
        self.observation_space = gymnasium.spaces.Box(-100.0, 100.0, (2,), np.float64)
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)
        self.wind = wind

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.state = self.np_random.uniform(-1.0, 1.0, 2)
        self.steps = 0
        return self.state.copy(), {}

    def step(self, action):
        self.steps += 1
        self.state[1] = 0.9 * self.state[1] + float(action[0]) + self.wind
        self.state[0] = np.clip(self.state[0] + 0.1 * self.state[1], -100.0, 100.0)
        is_there = bool(self.state[0] > LENGTH)
        return self.state.copy(), float(is_there) - 0.01 * abs(float(action[0])), is_there, self.steps >= 60, {"at": self.state[0]}
'''


@pytest.fixture
def car(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "car.py").write_text(CAR)
    (folder / "roads.py").write_text("LENGTH = 3.0\n")
    (folder / ".env").write_text("KEY=secret")
    monkeypatch.setenv("AGENT2_ROOTS", str(folder))
    return folder


def everything_in(folder: Path) -> set[str]:
    return {
        path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file() and path.suffix != ".lock"
    }


@pytest.mark.anyio
async def test_a_file_environment_opens_a_project_with_its_snapshot_report_and_recordings(
    car: Path, call: Call, text_of: TextOf, workspace_folder: Path
) -> None:
    result = await call("inspect_environment", environment=f"{car}/car.py:Car", project="car", task="drive", seed=5)
    assert not result.is_error, text_of(result)
    answer: dict[str, Any] = result.structured_content or {}
    project = Workspace(workspace_folder).project("car")
    assert answer["project_folder"] == str(project.root)
    known = project.read()
    assert (known.environment.name, known.snapshot, known.task, known.seed) == ("car.py:Car", "environment", "drive", 5)
    assert known.environment_sha256 == answer["report"]["source_sha256"]
    assert everything_in(project.snapshot) == {"car.py", "roads.py"}
    assert answer["report"]["source_file"] == str(project.snapshot / "car.py")
    assert answer["report"]["documentation"] == "Drive to the end of the road."
    with np.load(project.recordings / "random.npz", allow_pickle=False) as kept:
        assert len(kept["original_reward"]) >= 1000
        assert kept["observation"].dtype == np.float64
        assert kept["info/at"].shape == kept["info_present/at"].shape
    assert [event.kind for event in project.journal.events()] == ["project-opened", "inspection"]
    assert not list((workspace_folder / "projects").glob(".inspection-*"))


@pytest.mark.anyio
async def test_the_same_call_again_reuses_the_report_and_a_change_is_inspected_and_warned_of(
    car: Path, call: Call, text_of: TextOf, workspace_folder: Path
) -> None:
    first = await call("inspect_environment", environment=f"{car}/car.py:Car", project="car")
    assert not first.is_error, text_of(first)
    again = await call("inspect_environment", environment=f"{car}/car.py:Car", project="car")
    assert "has not changed" in (again.structured_content or {})["message"]
    by_snapshot = await call("inspect_environment", environment="car.py:Car", project="car")
    assert "has not changed" in (by_snapshot.structured_content or {})["message"]
    (car / "roads.py").write_text("LENGTH = 2.0\n")
    changed = await call("inspect_environment", environment=f"{car}/car.py:Car", project="car")
    answer: dict[str, Any] = changed.structured_content or {}
    assert "not comparable" in answer["message"]
    assert "environment-changed" in {finding["code"] for finding in answer["report"]["findings"]}
    project = Workspace(workspace_folder).project("car")
    assert (project.snapshot / "roads.py").read_text() == "LENGTH = 2.0\n"


@pytest.mark.anyio
async def test_a_project_keeps_its_environment_and_says_what_differs(car: Path, call: Call, text_of: TextOf) -> None:
    await call("inspect_environment", environment=f"{car}/car.py:Car", project="car")
    other = await call("inspect_environment", environment=f"{car}/car.py:Car", project="car", max_episode_steps=30)
    assert other.is_error
    assert "max_episode_steps None, not 30" in text_of(other)
    other = await call("inspect_environment", environment="CartPole-v1", project="car")
    assert other.is_error
    assert "Choose another project name" in text_of(other)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("def broken(:\n", "line 1"),
        ("class Car:\n    pass\n", "car.py"),
        ("import sys\nsys.exit(3)\n", "SystemExit"),
        ("import os\nos._exit(0)\n", "ended its own process"),
    ],
)
async def test_what_cannot_be_built_leaves_nothing_and_is_told_without_a_traceback(
    code: str, words: str, car: Path, call: Call, text_of: TextOf, workspace_folder: Path
) -> None:
    (car / "car.py").write_text(code)
    result = await call("inspect_environment", environment=f"{car}/car.py:Car", project="car")
    assert result.is_error
    assert words in text_of(result), text_of(result)
    assert "Traceback" not in text_of(result)
    assert not [name for name in everything_in(workspace_folder) if name != ".secret"]


@pytest.mark.anyio
async def test_an_error_finding_does_not_open_a_project_and_does_not_touch_an_open_one(
    car: Path, call: Call, text_of: TextOf, workspace_folder: Path
) -> None:
    await call("inspect_environment", environment=f"{car}/car.py:Car", project="car")
    project = Workspace(workspace_folder).project("car")
    before = project.report_json.read_bytes()
    (car / "car.py").write_text(CAR.replace("float(is_there) -", "float('nan') if self.steps > 40 else 0.0 -"))
    result = await call("inspect_environment", environment=f"{car}/car.py:Car", project="car")
    answer: dict[str, Any] = result.structured_content or {}
    assert not result.is_error, text_of(result)
    assert answer["state"] == "failed"
    assert "was not opened or changed" in answer["message"]
    assert answer["report"]["findings"][0]["code"] == "reward-not-finite"
    assert project.report_json.read_bytes() == before
    assert "nan" not in (project.snapshot / "car.py").read_text()
    fresh = await call("inspect_environment", environment=f"{car}/car.py:Car", project="fresh")
    assert (fresh.structured_content or {})["project"] == ""
    assert Workspace(workspace_folder).project_names() == ("car",)


@pytest.mark.anyio
async def test_a_file_outside_the_allowed_roots_is_refused_with_the_line_that_allows_it(
    tmp_path: Path, call: Call, text_of: TextOf
) -> None:
    (tmp_path / "car.py").write_text(CAR)
    result = await call("inspect_environment", environment=f"{tmp_path}/car.py:Car")
    assert result.is_error
    assert "outside the folders that may be read" in text_of(result)
    assert "roots" in text_of(result)


@pytest.mark.anyio
async def test_a_workspace_that_cannot_be_written_is_said_before_anything_runs(
    call: Call, text_of: TextOf, workspace_folder: Path
) -> None:
    workspace_folder.write_text("a file is in the way")
    result = await call("inspect_environment", environment="CartPole-v1", project="cart")
    assert result.is_error
    assert "cannot be written" in text_of(result)


@pytest.mark.anyio
async def test_source_samples_drawing_and_the_prompt_come_from_the_opened_project(
    car: Path, call: Call, text_of: TextOf, client: Client, workspace_folder: Path
) -> None:
    await call("inspect_environment", environment=f"{car}/car.py:Car", project="car", task="drive {fast}")
    source = await call("read_environment_source", project="car", first_line=2, max_lines=2)
    assert (source.structured_content or {})["text"].startswith('"""A car on a road."""')
    assert (source.structured_content or {})["next_step"].endswith("first_line=4)")
    samples = await call("sample_episodes", project="car", policy="zero", episodes=3)
    answer: dict[str, Any] = samples.structured_content or {}
    assert len(answer["original_returns"]) == 3
    assert Path(answer["recording"]).is_file()
    prompt = await client.get_prompt("analyze_problem", {"project": "car"})
    words = text_of_prompt(prompt)
    assert "drive {fast}" in words
    assert "Drive to the end of the road." in words
    assert "class Car" in words
    assert "{task}" not in words
    drawn = await call("render_episode", project="car")
    assert drawn.is_error
    assert "rgb_array" in text_of(drawn) or "render" in text_of(drawn)


def text_of_prompt(prompt: Any) -> str:
    return "".join(message.content.text for message in prompt.messages)


@pytest.mark.anyio
async def test_a_report_that_names_a_foreign_file_does_not_open_it(
    car: Path, call: Call, text_of: TextOf, workspace_folder: Path
) -> None:
    await call("inspect_environment", environment=f"{car}/car.py:Car", project="car")
    project = Workspace(workspace_folder).project("car")
    foreign = car / "key.py"
    foreign.write_text("KEY = 'secret'\n")
    text = project.report_json.read_text().replace(str(project.snapshot / "car.py"), str(foreign))
    project.report_json.write_text(text)
    result = await call("read_environment_source", project="car")
    assert result.is_error
    assert "secret" not in text_of(result)


@pytest.mark.anyio
async def test_an_episode_of_a_classic_is_drawn_as_a_file_of_the_project(
    call: Call, text_of: TextOf, workspace_folder: Path
) -> None:
    await call("inspect_environment", environment="CartPole-v1", project="cart")
    result = await call("render_episode", project="cart", policy="zero")
    assert not result.is_error, text_of(result)
    answer: dict[str, Any] = result.structured_content or {}
    file = Path(answer["file"])
    assert file.is_relative_to(workspace_folder)
    assert file.stat().st_size > 500
    assert answer["frames"] >= 5
    shutil.rmtree(file.parent)


@pytest.mark.anyio
async def test_project_yaml_is_written_last_and_reads_back(call: Call, text_of: TextOf, workspace_folder: Path) -> None:
    result = await call("inspect_environment", environment="Pendulum-v1", project="pendulum", context="be gentle")
    assert not result.is_error, text_of(result)
    project = Workspace(workspace_folder).project("pendulum")
    data = yaml.safe_load(project.project_file.read_text())
    assert (data["context"], data["snapshot"]) == ("be gentle", "")
    assert project.project_file.stat().st_mtime >= project.report_json.stat().st_mtime
