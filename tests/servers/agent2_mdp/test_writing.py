"""Candidates: written whole, verified, idempotent, and refused with words."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from mcp import Client

from agent2_mdp.server import build_server
from agent2_schemas import MdpDesign, VerificationReport
from agent2_workspace import ProjectFolder, read_json, read_yaml

OpenProject = Callable[[str], ProjectFolder]
OBSERVE = """import numpy as np

OBSERVATION_SPACE = {"shape": [4], "low": -1.0, "high": 1.0}


def observe(observation):
    return np.tanh(observation)
"""
BROKEN = "def observe(observation):\n    return observation[:, 9]\n"


async def refused(name: str, **arguments: Any) -> str:
    async with Client(build_server().mcp) as client:
        result = await client.call_tool(name, arguments)
    assert result.is_error
    return result.content[0].text  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.anyio
async def test_without_code_the_candidate_is_the_unchanged_mdp(open_project: OpenProject, call_tool: Any) -> None:
    project = open_project("CartPole-v1")
    answer = await call_tool("write_mdp", project=project.name)
    assert answer["report"]["is_accepted"], answer
    assert answer["report"]["levels_passed"] == ["syntax", "import", "contract", "behaviour"]
    candidate = project.candidate(answer["candidate_id"])
    design = read_yaml(candidate.mdp_design_file, MdpDesign)
    assert design.is_declared_only
    assert design.parts == ()
    assert design.max_episode_steps == 500
    assert design.observation_space.model_dump()["shape"] == (4,)
    assert design.action_space.model_dump() == {"kind": "discrete", "n": 2, "start": 0}
    assert candidate.mdp_file.read_text().startswith('"""')


@pytest.mark.anyio
async def test_an_accepted_candidate_has_all_its_files_and_journal_entries(
    open_project: OpenProject, call_tool: Any
) -> None:
    project = open_project("CartPole-v1")
    answer = await call_tool(
        "write_mdp", project=project.name, code=OBSERVE, title="squashed", history=1, previous_action=True,
        normalise_observation="running", reward_scale=0.1,
    )  # fmt: skip
    candidate = project.candidate(answer["candidate_id"])
    assert sorted(path.name for path in candidate.root.iterdir()) == ["mdp.py", "mdp.yaml", "verification.json"]
    assert candidate.mdp_file.read_text() == OBSERVE
    design = read_yaml(candidate.mdp_design_file, MdpDesign)
    assert not design.is_declared_only
    assert design.parts == ("observe",)
    assert design.reward_scale == 0.1
    assert design.observation_space.model_dump()["shape"] == (6,)  # four features and the previous choice, one-hot
    assert read_json(candidate.verification_file, VerificationReport).model_dump(mode="json") == answer["report"]
    kinds = [event.kind for event in project.journal.events(subject=candidate.id)]
    assert kinds == ["candidate-written", "verification"]
    written = project.journal.events(kind="candidate-written")[0].payload
    assert written["title"] == "squashed"
    assert written["declared"]["previous_action"] is True
    assert answer["report"]["isolation"]["tier"] in "ABCD"


@pytest.mark.anyio
async def test_a_rejected_candidate_stays_with_its_report_but_without_a_design(
    open_project: OpenProject, call_tool: Any
) -> None:
    project = open_project("CartPole-v1")
    answer = await call_tool("write_mdp", project=project.name, code=BROKEN)
    candidate = project.candidate(answer["candidate_id"])
    assert not answer["report"]["is_accepted"]
    assert not candidate.mdp_design_file.exists()
    assert not candidate.read_verification().is_accepted
    assert f'parent="{candidate.id}"' in answer["next_step"]
    read = await call_tool("read_candidate", project=project.name, candidate=candidate.id)
    assert read["code"] == BROKEN
    assert read["verification"] == answer["report"]
    mended = await call_tool("write_mdp", project=project.name, code=OBSERVE, parent=candidate.id)
    assert mended["report"]["is_accepted"]


@pytest.mark.anyio
async def test_the_same_key_gives_the_same_candidate_also_to_another_server(
    open_project: OpenProject, call_tool: Any
) -> None:
    project = open_project("CartPole-v1")
    call = {"project": project.name, "code": OBSERVE, "idempotency_key": "first"}
    first = await call_tool("write_mdp", **call)
    second = await call_tool("write_mdp", **call)
    async with Client(build_server().mcp) as other:
        third = (await other.call_tool("write_mdp", call)).structured_content
    assert first["candidate_id"] == second["candidate_id"]
    assert third is not None
    assert third["candidate_id"] == first["candidate_id"]
    assert third["report"] == first["report"]
    assert project.candidate_ids() == (first["candidate_id"],)
    message = await refused("write_mdp", **{**call, "code": BROKEN})
    assert "first" in message
    assert "other arguments" in message


@pytest.mark.slow
@pytest.mark.anyio
async def test_two_servers_at_once_with_one_key_leave_one_candidate(open_project: OpenProject) -> None:
    project = open_project("CartPole-v1")
    call = {"project": project.name, "code": OBSERVE, "idempotency_key": "race"}
    async with Client(build_server().mcp) as one, Client(build_server().mcp) as two:
        answers = await asyncio.gather(one.call_tool("write_mdp", call), two.call_tool("write_mdp", call))
    ids = {answer.structured_content["candidate_id"] for answer in answers if answer.structured_content}
    assert len(ids) == 1
    assert set(project.candidate_ids()) == ids
    assert len(project.journal.events(kind="candidate-written")) == 1


@pytest.mark.anyio
async def test_without_a_key_each_call_makes_a_candidate(open_project: OpenProject, call_tool: Any) -> None:
    project = open_project("CartPole-v1")
    broken = {"project": project.name, "code": "def observe(observation)\n"}
    first = await call_tool("write_mdp", **broken)
    second = await call_tool("write_mdp", **broken)
    assert (first["candidate_id"], second["candidate_id"]) == ("c1", "c2")


@pytest.mark.anyio
async def test_an_installation_that_fails_is_not_blamed_on_the_code(open_project: OpenProject) -> None:
    project = open_project("CartPole-v1")
    (project.recordings / "random.npz").write_bytes(b"damaged")
    message = await refused("write_mdp", project=project.name, code=OBSERVE)
    assert "not to blame" in message
    assert "inspect" in message
    assert project.candidate_ids() == ()
    assert project.journal.events(kind="candidate-written") == ()


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"project": "nowhere"}, "inspect_environment"),
        ({"parent": "c9"}, "no candidate 'c9'"),
        ({"reward_scale": 0}, "reward_scale"),
        ({"action_repeat": 40}, "action_repeat"),
        ({"normalise_observation": "always"}, "normalise_observation"),
        ({"normalize": True}, "normalize"),
    ],
)
async def test_wrong_arguments_are_refused_before_a_folder_is_made(
    open_project: OpenProject, change: dict[str, Any], word: str
) -> None:
    project = open_project("CartPole-v1")
    message = await refused("write_mdp", **{"project": project.name, **change})
    assert word in message
    assert project.candidate_ids() == ()


@pytest.mark.anyio
async def test_a_project_without_recordings_says_to_inspect(open_project: OpenProject) -> None:
    project = open_project("CartPole-v1")
    (project.recordings / "random.npz").unlink()
    assert "inspect_environment" in await refused("write_mdp", project=project.name)
    assert "inspect_environment" in await refused("suggest_mdp", project=project.name)
    assert project.candidate_ids() == ()


@pytest.mark.slow
@pytest.mark.anyio
@pytest.mark.parametrize(
    ("body", "code", "line"),
    [
        ("import sys\n", "import-not-allowed", 1),
        ("def observe(observation):\n    raise SystemExit(0)\n", "exits", 2),
        ("def observe(observation):\n    return observe(observation)\n", "raises", 2),
        ("raise SystemExit(3)\n", "exits", 1),
    ],
)
async def test_code_that_tries_to_leave_becomes_a_finding(
    open_project: OpenProject, call_tool: Any, body: str, code: str, line: int
) -> None:
    project = open_project("CartPole-v1")
    answer = await call_tool("write_mdp", project=project.name, code=body)
    assert (code, line) in {(finding["code"], finding["line"]) for finding in answer["report"]["findings"]}


@pytest.mark.slow
@pytest.mark.anyio
async def test_code_that_hangs_is_rejected_with_its_line(open_project: OpenProject, call_tool: Any) -> None:
    project = open_project("CartPole-v1")
    body = "def observe(observation):\n    while len(observation):\n        pass\n    return observation\n"
    answer = await call_tool("write_mdp", project=project.name, code=body)
    assert ("hangs", True) in {(f["code"], f["line"] in (2, 3)) for f in answer["report"]["findings"]}, answer
    assert project.candidate_ids() == ("c1",)
