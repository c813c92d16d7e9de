"""Candidates: written whole, verified, idempotent, and refused with words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agent2_schemas import MdpDesign
from agent2_workspace import ProjectFolder, read_yaml

OpenProject = Callable[[str], ProjectFolder]


@pytest.mark.anyio
async def test_without_code_the_candidate_is_the_unchanged_mdp(open_project: OpenProject, call_tool: Any) -> None:
    project = open_project("CartPole-v1")
    answer = await call_tool("write_mdp", project=project.name)
    assert answer["report"]["is_accepted"], answer
    assert answer["report"]["levels_passed"] == ["syntax", "import", "contract", "behaviour"]
    candidate = project.candidate(answer["candidate_id"])
    design = read_yaml(candidate.mdp_design_file, MdpDesign)
    assert design.is_declared_only
    assert design.observation_space.model_dump()["shape"] == (4,)
    assert design.action_space.model_dump() == {"kind": "discrete", "n": 2, "start": 0}
