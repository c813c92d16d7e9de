"""Faults of the environment or the installation are told from faults of the code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from mcp import Client

from agent2_mdp.server import build_server
from agent2_workspace import ProjectFolder

OpenProject = Callable[[str], ProjectFolder]
FAILING_LIBRARY = """import numpy as np
import {module}


def observe(observation):
    {name} = np.tanh(observation)
    np.ctypeslib.load_library("libmissing", "/usr/lib/none")
    return {name}
"""
WRONG_INDEX = "import {module}\n\n\ndef observe(observation):\n    {name} = observation[:, [9]]\n    return {name}\n"


async def write_three(template: str, project: ProjectFolder, call_tool: Any) -> list[dict[str, Any]]:
    answers: list[dict[str, Any]] = []
    for module, name in (("math", "features"), ("itertools", "seen"), ("functools", "scaled")):
        code = template.format(module=module, name=name)
        answers.append(await call_tool("write_mdp", project=project.name, code=code))
    return answers


@pytest.mark.slow
@pytest.mark.anyio
async def test_the_same_traceback_outside_the_code_of_three_candidates_is_no_fault_of_the_code(
    open_project: OpenProject, call_tool: Any
) -> None:
    project = open_project("CartPole-v1")
    answers = await write_three(FAILING_LIBRARY, project, call_tool)
    codes = [[finding["code"] for finding in answer["report"]["findings"]] for answer in answers]
    assert "environment-fault" not in codes[0] + codes[1]
    assert codes[2][0] == "environment-fault", answers[2]["report"]["findings"]
    finding = answers[2]["report"]["findings"][0]
    assert "c1, c2, c3" in finding["message"]
    assert "not the code" in finding["message"]
    assert "ctypeslib" in finding["evidence"]
    assert "doctor" in finding["advice"]
    assert answers[2]["next_step"] == "agent2 doctor, by a person"


@pytest.mark.slow
@pytest.mark.anyio
async def test_the_same_mistake_of_three_candidates_stays_theirs(open_project: OpenProject, call_tool: Any) -> None:
    project = open_project("CartPole-v1")
    for answer in await write_three(WRONG_INDEX, project, call_tool):
        findings = answer["report"]["findings"]
        assert findings[0]["code"] == "raises"
        assert "environment-fault" not in {finding["code"] for finding in findings}


@pytest.mark.anyio
async def test_an_environment_that_gives_nan_is_not_blamed_on_the_code(open_project: OpenProject) -> None:
    project = open_project("CartPole-v1")
    with np.load(project.recordings / "random.npz") as archive:
        columns = {name: archive[name] for name in archive.files}
    columns["observation"][7, 2] = np.nan
    np.savez_compressed(project.recordings / "random.npz", **columns)
    async with Client(build_server().mcp) as client:
        code = "import numpy as np\n\ndef observe(observation):\n    return np.tanh(observation)\n"
        result = await client.call_tool("write_mdp", {"project": project.name, "code": code})
        assert result.is_error
        text = str(result.content)
        assert "known-good design, so the code is not to blame" in text
        assert "row 7" in text
        assert project.candidate_ids() == ()
        guarded = code.replace("np.tanh(observation)", "np.tanh(np.nan_to_num(observation))")
        result = await client.call_tool("write_mdp", {"project": project.name, "code": guarded})
        assert result.structured_content is not None
        assert result.structured_content["report"]["is_accepted"], result.structured_content["report"]["findings"]
