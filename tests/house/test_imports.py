"""Who may import whom, what a server may load, and that every import is a declared dependency."""

import ast
import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

HEAVY = ("torch", "tianshou", "matplotlib", "tensorboard", "pandas", "mujoco", "pygame", "optuna")
SERVERS = ("agent2_environment", "agent2_mdp", "agent2_training", "agent2_metrics")

DISTRIBUTIONS = {"yaml": "pyyaml", "mcp_types": "mcp", "PIL": "pillow", "imageio_ffmpeg": "imageio-ffmpeg"}
COMES_WITH = {
    # module: the declared distribution that brings it
    "anyio": "mcp", "starlette": "mcp", "uvicorn": "mcp", "httpx2": "mcp", "typing_extensions": "pydantic",
    "pydantic_core": "pydantic", "mujoco": "gymnasium", "pillow": "imageio", "google": "tensorboard", "markupsafe": "jinja2",
}  # fmt: skip
BROUGHT_BY_THE_USER = {"pettingzoo", "mpe2", "onnx", "onnxruntime", "gym", "pygame", "moviepy", "minigrid", "ale_py"}


def test_floors_hold(root: Path) -> None:
    command = Path(sys.executable).with_name("lint-imports")
    ended = subprocess.run([str(command)], cwd=root, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 0, ended.stdout


@pytest.mark.parametrize("package", SERVERS)
def test_a_server_starts_without_anything_heavy(package: str) -> None:
    code = (
        "import sys, json; from importlib import import_module;"
        f"import_module('{package}.server').build_server();"
        f"print(json.dumps([name for name in {HEAVY!r} if name in sys.modules]))"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout.splitlines()[-1]) == []


def imported_modules(path: Path) -> set[str]:
    """Top-level names of the absolute imports of a file."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names.add(node.module.split(".")[0])
    return names


def test_every_import_is_a_declared_dependency(root: Path, packages: dict[str, Path]) -> None:
    settings = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = settings["optional-dependencies"]
    lines = [*settings["dependencies"], *(line for name, part in extras.items() if name != "dev" for line in part)]
    declared = {line.split("[")[0].split(">")[0].split("=")[0].split("<")[0].strip().lower() for line in lines}
    ours = {*packages, *sys.stdlib_module_names, *BROUGHT_BY_THE_USER}
    missing: dict[str, list[str]] = {}
    for folder in packages.values():
        for path in folder.rglob("*.py"):
            for name in imported_modules(path) - ours:
                distribution = COMES_WITH.get(name, DISTRIBUTIONS.get(name, name))
                if distribution.lower() not in declared:
                    missing.setdefault(name, []).append(str(path.relative_to(root)))
    assert missing == {}
