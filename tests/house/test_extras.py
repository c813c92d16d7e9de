"""The extras: each that a text tells people to install exists, and `all` brings no copyleft and no stack of its own."""

import re
import tomllib
from collections.abc import Iterable
from pathlib import Path

import pytest

COPYLEFT = {"ale-py", "imageio-ffmpeg", "pygame", "pyside6", "pyqt5", "pyqt6"}
CONFLICTING = {"smax", "metadrive"}
NOT_FOR_USERS = {"dev", "docs"}
EXTRAS_OF_THE_DESIGN = {
    "train", "llm", "openai", "metrics", "mujoco", "mpe", "box2d", "onnx", "ray", "smax", "metadrive", "minigrid", "atari",
    "video", "docs", "dev", "all",
}  # fmt: skip
WANTED = re.compile(r"(?:agent-squared|['\" ]\.)\[([a-z0-9,]+)\]")


@pytest.fixture(scope="module")
def extras(root: Path) -> dict[str, list[str]]:
    """The lines of every extra."""
    return tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]


def distribution(line: str) -> str:
    """The name that a requirement begins with, as the index writes it."""
    found = re.match(r"[A-Za-z0-9._-]+", line)
    assert found, line
    return re.sub(r"[-_.]+", "-", found[0]).lower()


def brought(extras: dict[str, list[str]], name: str) -> set[str]:
    """Distributions that an extra brings, by the extras that it names itself."""
    found: set[str] = set()
    for line in extras[name]:
        if distribution(line) != "agent-squared":
            found.add(distribution(line))
            continue
        for inner in line.partition("[")[2].partition("]")[0].split(","):
            found |= brought(extras, inner)
    return found


def wanted_extras(texts: Iterable[str]) -> set[str]:
    """Extras that texts tell people to install."""
    return {name for text in texts for group in WANTED.findall(text) for name in group.split(",")}


def test_the_extras_are_those_of_the_design(extras: dict[str, list[str]]) -> None:
    assert set(extras) == EXTRAS_OF_THE_DESIGN


def test_all_brings_no_copyleft(extras: dict[str, list[str]]) -> None:
    assert brought(extras, "all") & COPYLEFT == set()
    assert brought({**extras, "all": ["agent-squared[train,atari]"]}, "all") & COPYLEFT == {"ale-py"}


def test_all_holds_every_extra_that_is_neither_copyleft_nor_conflicting(extras: dict[str, list[str]]) -> None:
    apart = {*CONFLICTING, *NOT_FOR_USERS, "all", *(name for name in extras if brought(extras, name) & COPYLEFT)}
    assert brought(extras, "all") == {each for name in set(extras) - apart for each in brought(extras, name)}


def test_every_extra_that_a_text_names_exists(
    root: Path, python_files: list[Path], extras: dict[str, list[str]]
) -> None:
    documents = [*root.glob("*.md"), *(root / "docs").rglob("*.md"), root / "Makefile", root / "Dockerfile"]
    named = wanted_extras(path.read_text(encoding="utf-8") for path in [*documents, *python_files])
    assert named - set(extras) - {"nonesuch"} == set()
    assert {"all", "train", "video"} <= named


def test_a_text_that_names_an_unknown_extra_is_caught() -> None:
    assert wanted_extras(["pip install 'agent-squared[train,nonesuch]'"]) == {"train", "nonesuch"}


def test_the_readme_names_each_extra_for_users(root: Path, extras: dict[str, list[str]]) -> None:
    text = (root / "README.md").read_text(encoding="utf-8")
    assert [name for name in set(extras) - NOT_FOR_USERS - {"all"} if f"`{name}`" not in text] == []
