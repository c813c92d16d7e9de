"""`agent2 verify`: the report of `write_mdp`, for a file and for a stored candidate, and exit code 3 for errors."""

import asyncio
import json
from pathlib import Path

import pytest

from agent2_generator.cli import run
from agent2_generator.servers import connect_servers
from agent2_schemas import Inspection, VerificationReport
from agent2_workspace import ProjectFolder, find_workspace

GOOD = "import numpy as np\n\ndef observe(observation):\n    return np.tanh(observation)\n"
WRONG = "def observe(observation):\n    return observation[:, 9]\n"


@pytest.fixture
def project(workspace_folder: Path) -> ProjectFolder:
    async def open_it() -> None:
        async with connect_servers(workspace=workspace_folder, names=("environment",)) as servers:
            await servers.call(
                "environment", "inspect_environment", Inspection, environment="CartPole-v1", project="pole"
            )

    asyncio.run(open_it())
    return find_workspace(for_server=False).project("pole")


@pytest.mark.slow
def test_a_file_and_the_candidate_that_it_became_get_the_same_report(
    project: ProjectFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good, wrong = tmp_path / "good.py", tmp_path / "wrong.py"
    good.write_text(GOOD)
    wrong.write_text(WRONG)
    assert run(["verify", "pole", str(good), "--history", "1", "--previous-action", "--json"]) == 0
    first = VerificationReport.model_validate_json(capsys.readouterr().out)
    assert first == project.candidate(first.candidate_id).read_verification()
    assert run(["verify", "pole", first.candidate_id, "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert again["observation_space"]["shape"] == [6]
    unmeasured = {"seconds_per_step"}
    assert {k: v for k, v in again.items() if k not in unmeasured} == first.model_dump(mode="json", exclude=unmeasured)
    assert project.candidate_ids() == (first.candidate_id,)

    assert run(["verify", "pole", str(wrong)]) == 3
    shown = capsys.readouterr().out
    assert "wrong.py, now candidate c2: rejected, 1 errors" in shown
    assert "(mdp.py, line 2)" in shown
    assert "run in sandbox tier" in shown
    assert run(["verify", "pole", "c2"]) == 3
    assert "stored code of candidate c2, verified again" in capsys.readouterr().out


def test_what_is_not_there_is_said(project: ProjectFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["verify", "pole", str(tmp_path / "none.py")]) == 2
    assert "cannot be read" in capsys.readouterr().err
    assert run(["verify", "pole", "c9"]) == 2
    assert "c9" in capsys.readouterr().err
    assert project.candidate_ids() == ()
