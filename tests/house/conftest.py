"""Where the house stands: the root of the source tree, and the files in it."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE_ROOTS = ("schemas", "servers", "generator", "target_templates")


@pytest.fixture(scope="session")
def root() -> Path:
    """The root of the source tree."""
    return ROOT


@pytest.fixture(scope="session")
def source_roots() -> dict[str, Path]:
    """The four folders that hold packages."""
    return {name: ROOT / name for name in SOURCE_ROOTS}


@pytest.fixture(scope="session")
def packages(source_roots: dict[str, Path]) -> dict[str, Path]:
    """Every package of ours by name."""
    return {folder.name: folder for root in source_roots.values() for folder in root.glob("agent2_*")}


@pytest.fixture(scope="session")
def python_files() -> list[Path]:
    """Every Python file of the project: what git tracks, else what lies in the source folders."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.py"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if listed.returncode == 0:
        return [ROOT / line for line in listed.stdout.splitlines() if (ROOT / line).is_file()]
    folders = (*SOURCE_ROOTS, "tests", "benchmarks", "examples")
    return [path for name in folders for path in (ROOT / name).rglob("*.py")]
