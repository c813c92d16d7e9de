"""A reward component that is a difference of one function of the state comes back with its potential, ready to paste."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent2_workspace import ProjectFolder

OpenProject = Callable[[str], ProjectFolder]
PROGRESS = Path(__file__).parents[2] / "cases" / "mdp" / "good" / "progress.py"


def forms(answer: dict[str, Any]) -> list[dict[str, Any]]:
    return [finding for finding in answer["report"]["findings"] if finding["code"] == "potential-form"]


@pytest.mark.anyio
async def test_the_offered_potential_can_be_pasted_and_passes(open_project: OpenProject, call_tool: Any) -> None:
    project = open_project("MountainCarContinuous-v0")
    code = PROGRESS.read_text()
    (finding,) = forms(await call_tool("write_mdp", project=project.name, code=code))
    text = finding["advice"].partition("\n")[2]
    assert text == "def potential(observation):\n    return 2.0 * height(observation)"
    without = code.replace(', "progress": height(observation) - height(previous_observation)', "")
    without = without.replace(', "progress": 2.0', "")
    mended = await call_tool("write_mdp", project=project.name, code=f"{without}\n\n{text}\n")
    assert mended["report"]["is_accepted"], mended["report"]["findings"]
    assert mended["report"]["parts"] == ["reward", "potential"]
    assert not forms(mended)


@pytest.mark.anyio
async def test_an_antisymmetric_component_that_is_no_difference_is_not_taken_for_one(
    open_project: OpenProject, call_tool: Any
) -> None:
    project = open_project("MountainCarContinuous-v0")
    code = PROGRESS.read_text().replace(
        "height(observation) - height(previous_observation)",
        "np.tanh(40.0 * (height(observation) - height(previous_observation)))",
    )
    assert not forms(await call_tool("write_mdp", project=project.name, code=code))
