"""Fixtures: a project in the test's workspace, and arms of verdict runs in it."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # the builders of `made_runs` are shared by the tests beside them

from made_runs import ProjectMaker


@pytest.fixture
def maker(workspace_folder: Path) -> ProjectMaker:
    """A project in the test's workspace."""
    return ProjectMaker(workspace_folder)


@pytest.fixture
def arms(maker: ProjectMaker) -> Callable[..., dict[str, list[str]]]:
    """Make verdict runs for arms from their scores; None is a failed run."""

    def make(**scores: list[float | None]) -> dict[str, list[str]]:
        return {
            name: [
                maker.run(
                    f"c{index}", score=score, purpose="verdict", seed=1000 + seed, curves={},
                    state="failed" if score is None else "finished",
                ).id
                for seed, score in enumerate(values)
            ]
            for index, (name, values) in enumerate(scores.items(), start=1)
        }  # fmt: skip

    return make
