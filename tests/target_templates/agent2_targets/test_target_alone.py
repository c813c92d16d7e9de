"""A delivered agent runs without Agent²: with its imports blocked (fast), and in a fresh environment (slow)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent2_targets import TargetContent, pack_target

Make = Callable[..., TargetContent]
CONSTRAINTS = Path(__file__).parents[3] / "constraints.txt"
BLOCKED = """
import runpy
import sys


class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("pydantic", "mcp", "jinja2") or name.startswith("agent2_"):
            raise ModuleNotFoundError(f"{name} is not for a delivered agent", name=name)


sys.meta_path.insert(0, Blocked())
script, sys.argv = sys.argv[1], sys.argv[1:]
sys.path[0] = script.rpartition("/")[0]
runpy.run_path(script, run_name="__main__")
"""


def run(python: str | Path, *arguments: str | Path, cwd: Path, blocked: bool = False, seconds: int = 240) -> str:
    prefix = ["-c", BLOCKED] if blocked else []
    environment = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "DISPLAY")}
    done = subprocess.run(
        [python, *prefix, *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
        env=environment | {"OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def greenhouse_agent(tmp_path: Path, make_content: Make, greenhouse: Path) -> Path:
    """An untrained agent for the example environment, far from where that came from."""
    (tmp_path / "greenhouse.py").write_text((greenhouse / "greenhouse.py").read_text())
    stateful = {"history": 2, "previous_action": True, "normalise_observation": "running"}
    pack_target(tmp_path / "agent", make_content("PPO", "greenhouse.py", snapshot=greenhouse, stateful=stateful))
    (tmp_path / "greenhouse.py").unlink()
    (greenhouse / "greenhouse.py").unlink()
    return tmp_path / "agent"


def test_evaluate_prints_one_json_line_with_agent2_blocked(tmp_path: Path, greenhouse_agent: Path) -> None:
    arguments = (greenhouse_agent / "evaluate.py", "--episodes", "3", "--seed", "4", "--json")
    printed = [run(sys.executable, *arguments, cwd=tmp_path, blocked=True) for _ in range(2)]
    assert printed[0].count("\n") == 1
    score = json.loads(printed[0])
    assert score["episodes"] == 3
    assert score["min_original_return"] <= score["mean_original_return"] <= score["max_original_return"]
    assert printed[0] == printed[1], "equal seeds give equal scores"


def test_play_films_an_episode(tmp_path: Path, greenhouse_agent: Path) -> None:
    film = tmp_path / "film.gif"
    said = run(
        sys.executable, greenhouse_agent / "play.py", "--video", film, "--max-steps", "5", cwd=tmp_path, blocked=True
    )
    assert film.read_bytes().startswith(b"GIF")
    assert "return" in said


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("evaluate.py", "--episodes", "0"), "at least 1"),
        (("play.py", "--video", "film.avi"), ".mp4 or .gif"),
        (("play.py",), "--video FILE.gif"),
    ],
)
def test_wrong_options_get_one_clear_line(
    tmp_path: Path, greenhouse_agent: Path, arguments: tuple[str, ...], words: str
) -> None:
    name, *rest = arguments
    done = subprocess.run(
        [sys.executable, greenhouse_agent / name, *rest],
        cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode != 0
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_an_mp4_without_ffmpeg_is_refused_with_the_line_to_type(tmp_path: Path, greenhouse_agent: Path) -> None:
    script = greenhouse_agent / "play.py"
    code = (
        "import runpy, sys; from importlib import util; find = util.find_spec\n"
        "util.find_spec = lambda name, *rest: None if name == 'imageio_ffmpeg' else find(name, *rest)\n"
        f"sys.path.insert(0, {str(greenhouse_agent)!r}); sys.argv = ['play.py', '--video', 'film.mp4']\n"
        f"runpy.run_path({str(script)!r}, run_name='__main__')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 1
    assert "pip install imageio-ffmpeg" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("algorithm", "environment", "options"),
    [
        ("PPO", "CartPole-v1", {"stateful": {"history": 2, "time_left": True, "normalise_observation": "running"}}),
        ("PPO", "Pendulum-v1", {"hyperparameters": {"learning_rate_schedule": "linear", "normalise_return": True}}),
        ("A2C", "CartPole-v1", {}),
        ("SAC", "Pendulum-v1", {"stateful": {"normalise_observation": "warmup", "action_repeat": 2}}),
        ("TD3", "Pendulum-v1", {"hyperparameters": {"learning_rate_schedule": "linear"}}),
        ("DQN", "CartPole-v1", {}),
    ],
)
def test_train_runs_with_stock_tianshou_and_its_weights_can_be_measured(
    tmp_path: Path, make_content: Make, algorithm: str, environment: str, options: dict[str, Any]
) -> None:
    pack_target(tmp_path / "agent", make_content(algorithm, environment, **options))
    folder, output = tmp_path / "agent", tmp_path / "again"
    small = ("--env-steps", "400", "--tests", "1", "--episodes", "2", "--output", output)
    said = run(sys.executable, folder / "train.py", *small, cwd=tmp_path, blocked=True, seconds=600)
    assert "trained: original return" in said
    score = run(sys.executable, folder / "evaluate.py", "--weights", output, "--episodes", "2", "--json", cwd=tmp_path)
    assert json.loads(score)["episodes"] == 2


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_an_agent_runs_in_a_fresh_environment_with_its_own_requirements_only(
    tmp_path: Path, make_content: Make
) -> None:
    folder, home = tmp_path / "agent", tmp_path / "venv"
    pack_target(folder, make_content("PPO", "CartPole-v1"))
    venv.create(home, with_pip=True)
    python = home / "bin" / "python"
    install = ("-m", "pip", "install", "-q", "--disable-pip-version-check", "-c", CONSTRAINTS)
    run(python, *install, "-r", folder / "requirements.txt", cwd=tmp_path, seconds=1500)
    check = (
        "import importlib.util as u; assert not any(map(u.find_spec, ('agent2_schemas', 'agent2_targets', 'pydantic')))"
    )
    run(python, "-c", check, cwd=tmp_path)
    score = json.loads(run(python, folder / "evaluate.py", "--episodes", "5", "--json", cwd=tmp_path))
    assert score["episodes"] == 5
    for film in ("film.gif", "film.mp4"):
        run(python, folder / "play.py", "--video", film, "--max-steps", "10", cwd=tmp_path)
        assert (tmp_path / film).stat().st_size > 1000
    imported = run(python, "-c", "import policy; print(policy.POLICY_KIND)", cwd=folder)
    assert imported.strip() == "categorical"
