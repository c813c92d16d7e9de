"""A packed agent: complete, hashed, readable, and free of Agent²."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from safetensors.numpy import load_file

from agent2_schemas import Design, EnvironmentReference, Evaluation, TargetManifest
from agent2_targets import TargetContent, add_file, pack_target
from agent2_targets.packing import bare_reference

Make = Callable[..., TargetContent]
FILES = {
    "policy.py",
    "mdp.py",
    "design.yaml",
    "weights.safetensors",
    "normaliser.json",
    "play.py",
    "evaluate.py",
    "train.py",
    "requirements.txt",
    "requirements-train.txt",
    "README.md",
}
STYLE = """
line-length = 120
src = ["."]
[lint]
select = ["E", "W", "F", "I", "UP", "B", "SIM", "C4", "C90", "D", "PTH", "RET", "RUF", "TID", "PGH", "PLC0415"]
ignore = ["E501"]
mccabe.max-complexity = 10
pydocstyle.convention = "google"
"""
DESIGNS: list[tuple[str, str, dict[str, Any]]] = [
    ("PPO", "CartPole-v1", {"history": 2, "normalise_observation": "running"}),
    ("PPO", "Pendulum-v1", {}),
    ("A2C", "CartPole-v1", {}),
    ("SAC", "Pendulum-v1", {"normalise_observation": "warmup", "action_repeat": 2}),
    ("TD3", "Pendulum-v1", {}),
    ("DQN", "CartPole-v1", {}),
]


def test_a_packed_agent_is_complete_and_every_file_is_hashed(
    tmp_path: Path, make_content: Make, card: Evaluation
) -> None:
    content = make_content("PPO", card=card, extra_files={"videos/episode.gif": b"GIF"})
    manifest = pack_target(tmp_path / "agent", content)
    folder = tmp_path / "agent"
    assert TargetManifest.model_validate_json((folder / "manifest.json").read_text()) == manifest
    found = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert found == {*manifest.files, "manifest.json"}
    assert found >= {*FILES, "runtime/agent.py", "runtime/__init__.py", "videos/episode.gif"}
    for name, digest in manifest.files.items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest
    design = Design.model_validate(yaml.safe_load((folder / "design.yaml").read_text()))
    assert design == content.design
    assert load_file(folder / "weights.safetensors").keys() == content.weights.keys()
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_packing_again_replaces_the_agent_whole(tmp_path: Path, make_content: Make) -> None:
    pack_target(tmp_path / "agent", make_content("PPO", extra_files={"old.txt": "old"}))
    pack_target(tmp_path / "agent", make_content("DQN"))
    assert not (tmp_path / "agent" / "old.txt").exists()
    assert "DQN" in (tmp_path / "agent" / "policy.py").read_text()


def test_a_failed_packing_leaves_the_old_agent_and_no_scraps(tmp_path: Path, make_content: Make) -> None:
    pack_target(tmp_path / "agent", make_content("PPO"))
    for name in ("policy.py", "../outside.txt"):
        with pytest.raises(ValueError, match=name.rpartition("/")[2]):
            pack_target(tmp_path / "agent", make_content("DQN", extra_files={name: "x"}))
    assert "PPO" in (tmp_path / "agent" / "policy.py").read_text()
    assert [path.name for path in tmp_path.iterdir() if "tmp" in path.name or "outside" in path.name] == []


def test_an_added_file_enters_the_manifest(tmp_path: Path, make_content: Make) -> None:
    pack_target(tmp_path / "agent", make_content("PPO"))
    path = add_file(tmp_path / "agent", "report.html", "<p>fine</p>")
    manifest = json.loads((tmp_path / "agent" / "manifest.json").read_text())
    assert manifest["files"]["report.html"] == hashlib.sha256(path.read_bytes()).hexdigest()
    with pytest.raises(ValueError, match="manifest"):
        add_file(tmp_path / "agent", "manifest.json", "{}")


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("CartPole-v1", "CartPole-v1"),
        ("package.module:Class", "package.module:Class"),
        ("/home/me/envs/house.py:House", "house.py:House"),
        ("../house.py", "house.py"),
        ("envs/house.py", "envs/house.py"),
    ],
)
def test_an_environment_is_named_as_it_lies_in_the_agent(given: str, kept: str) -> None:
    assert bare_reference(EnvironmentReference(name=given)).name == kept


@pytest.mark.parametrize(("algorithm", "environment", "stateful"), DESIGNS)
@pytest.mark.parametrize("schedule", ["constant", "linear"])
def test_what_is_written_keeps_the_style_of_the_house(
    tmp_path: Path, make_content: Make, algorithm: str, environment: str, stateful: dict[str, Any], schedule: str
) -> None:
    hyperparameters = {"learning_rate_schedule": schedule}
    content = make_content(algorithm, environment, stateful=stateful, hyperparameters=hyperparameters)
    pack_target(tmp_path / "agent", content)
    (tmp_path / "agent" / "ruff.toml").write_text(STYLE)
    for command in (["check", "--no-cache"], ["format", "--check", "--no-cache"]):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *command, str(tmp_path / "agent")],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stdout
    for path in (tmp_path / "agent").rglob("*.py"):
        text = path.read_text()
        assert "agent2_" not in text, f"{path.name} needs Agent²"
        assert len(text.splitlines()) < 400


def test_the_model_card_gives_score_interval_and_limits(tmp_path: Path, make_content: Make, card: Evaluation) -> None:
    content = make_content("SAC", "Pendulum-v1", card=card, notes=("The verdict is: not tested.",))
    pack_target(tmp_path / "agent", content)
    text = (tmp_path / "agent" / "README.md").read_text()
    for words in (
        "keep it up",
        "| 25 |",
        "15 … 35",
        "bootstrap",
        "not tested",
        "4 episodes",
        "play.py",
        "learning rate",
    ):
        assert words in text, words
    assert "{{" not in text
    assert "\n\n\n" not in text


@pytest.mark.parametrize(
    ("environment", "extra"),
    [("CartPole-v1", "[classic-control]"), ("InvertedPendulum-v5", "[mujoco]"), ("greenhouse.py", "")],
)
def test_requirements_name_what_the_environment_needs(
    tmp_path: Path, make_content: Make, greenhouse: Path, environment: str, extra: str
) -> None:
    (tmp_path / "greenhouse.py").write_text((greenhouse / "greenhouse.py").read_text())
    snapshot = greenhouse if environment.endswith(".py") else None
    pack_target(tmp_path / "agent", make_content("PPO", environment, snapshot=snapshot))
    lines = (tmp_path / "agent" / "requirements.txt").read_text().splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert all("==" in line and "+" not in line for line in pins)
    assert any(line.startswith(f"gymnasium{extra}==") for line in pins)
    assert any(line.startswith("torch==") for line in pins)
    assert not any("tianshou" in line or "agent" in line for line in pins)
    assert "tianshou==" in (tmp_path / "agent" / "requirements-train.txt").read_text()
    assert (tmp_path / "agent" / "environment" / "greenhouse.py").exists() == (snapshot is not None)
