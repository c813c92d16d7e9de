"""The words of the house: which names say nothing here, and where a reward may go without an adjective."""

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

BANNED = {
    "trial", "experiment", "job", "solution", "fence", "manager", "util", "utils", "helper", "helpers", "common", "core",
    "misc", "base",
}  # fmt: skip
ALLOWED = {
    "base_url": "the word of the language-model SDKs for an address, and of pytest's plugins",
    "cores": "processor cores",
    "bind_a_process_to_a_core": "processor cores",
}
BARE = {"reward", "rewards"}
REWARD_ALLOWED = {
    "servers/agent2_training/engine/guarding.py": "calls the function of that name in mdp.py",
    "target_templates/agent2_targets/runtime/multi_agent/transforms.py": "calls the function of that name in mdp.py",
    "target_templates/agent2_targets/runtime/transforms.py": "calls the function of that name in mdp.py",
}
CASES = "cases"  # input for tests: other people's habits, faults on purpose


class Named(NamedTuple):
    """A name that a file defines."""

    name: str
    line: int

    @property
    def words(self) -> set[str]:
        """The words of a name in snake case or camel case, plurals in both forms."""
        words = {word for word in re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", self.name).lower().split("_") if word}
        return words | {word.removesuffix("s") for word in words}


def defined_names(source: str) -> Iterator[Named]:
    """Every name that this source defines: functions, classes, arguments, variables, attributes, aliases."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield Named(name, node.lineno)
            case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield Named(name, node.lineno)
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield Named(name, node.lineno)
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                yield from (Named(alias.asname, alias.lineno) for alias in aliases if alias.asname)
            case _:
                pass


def names_that_say_nothing(source: str) -> list[Named]:
    """Names with a banned word; the sentence that names a test may hold any word."""
    return [
        named
        for named in defined_names(source)
        if named.words & BANNED and named.name not in ALLOWED and not named.name.startswith("test_")
    ]


def bare_rewards(source: str) -> list[Named]:
    """Rewards of which the name does not say whose they are."""
    return [named for named in defined_names(source) if named.name.strip("_") in BARE]


@pytest.fixture(scope="module")
def our_files(python_files: list[Path], root: Path) -> dict[str, Path]:
    """Every Python file of ours by its path in the tree, those of test cases left out."""
    named = {path.relative_to(root).as_posix(): path for path in python_files}
    return {name: path for name, path in named.items() if CASES not in name.split("/")}


def found_in(files: dict[str, Path], check: Callable[[str], list[Named]]) -> list[str]:
    """Run a check over files and say file, line and name of each find."""
    return [
        f"{name}:{each.line} {each.name}"
        for name, path in files.items()
        for each in check(path.read_text(encoding="utf-8"))
    ]


def test_no_name_says_nothing(our_files: dict[str, Path]) -> None:
    assert found_in(our_files, names_that_say_nothing) == []


def test_no_module_or_folder_has_a_name_that_says_nothing(our_files: dict[str, Path]) -> None:
    parts = {part.removesuffix(".py").removeprefix("test_") for name in our_files for part in name.split("/")}
    assert [part for part in sorted(parts) if Named(part, 0).words & BANNED] == []


def test_a_reward_says_whose_it_is(our_files: dict[str, Path]) -> None:
    files = {name: path for name, path in our_files.items() if name not in REWARD_ALLOWED}
    assert found_in(files, bare_rewards) == []


def test_what_is_allowed_is_still_needed(our_files: dict[str, Path]) -> None:
    defined = {each.name for path in our_files.values() for each in defined_names(path.read_text(encoding="utf-8"))}
    assert set(ALLOWED) <= defined
    assert all(bare_rewards(our_files[name].read_text(encoding="utf-8")) for name in REWARD_ALLOWED)


@pytest.mark.parametrize(
    "source",
    [
        "class RunManager: ...",
        "def read(job): ...",
        "self.base = 1",
        "trials = []",
        "async def common_part(): ...",
        "import importlib.util as util",
        "for fence in walls: ...",
        "with open(name) as helper: ...",
    ],
)
def test_a_planted_name_is_caught(source: str) -> None:
    assert names_that_say_nothing(source)


@pytest.mark.parametrize(
    "source", ["from optuna import trial", "study.ask().trial", "def baseline(score): ...", "f(base=1)"]
)
def test_a_name_that_others_chose_is_let_through(source: str) -> None:
    assert names_that_say_nothing(source) == []


@pytest.mark.parametrize("source", ["reward = 1", "_, rewards = step()", "def f(reward): ...", "self.reward = 0"])
def test_a_planted_bare_reward_is_caught(source: str) -> None:
    assert bare_rewards(source)


def test_a_reward_with_an_adjective_is_let_through() -> None:
    assert bare_rewards("original_reward, shaped_reward = 1, 2\nmdp.reward(shaped_reward)") == []
