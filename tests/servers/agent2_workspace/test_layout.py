"""Projects, candidates and runs are found by id; what is missing is named with what is there."""

from pathlib import Path

import pytest

from agent2_schemas import CorrectableError, EnvironmentReference, NotFound, PrerequisiteError, Project
from agent2_workspace import Workspace, find_workspace


def project(name: str = "p", environment: str = "CartPole-v1") -> Project:
    reference = EnvironmentReference(name=environment)
    return Project(name=name, environment=reference, created_at="2026-01-01T00:00:00Z", agent2_version="0")


def test_opening_a_project_twice_is_harmless_and_another_environment_is_refused(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    folder = workspace.open_project(project())
    assert workspace.open_project(project()).read() == folder.read()
    with pytest.raises(CorrectableError, match=r"about CartPole-v1, not Pendulum-v1.*another project name"):
        workspace.open_project(project(environment="Pendulum-v1"))
    assert [event.kind for event in folder.journal.events()] == ["project-opened"]


def test_ids_count_upwards_and_keep_their_order_beyond_nine(tmp_path: Path) -> None:
    folder = Workspace(tmp_path).open_project(project())
    assert [folder.new_candidate().id for _ in range(11)][-3:] == ["c9", "c10", "c11"]
    assert folder.candidate_ids()[-1] == "c11"
    assert folder.new_run().id == "r1"


@pytest.mark.parametrize("name", ["../outside", "a b", ".hidden", "x" * 80, ""])
def test_a_name_that_is_no_folder_name_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(CorrectableError, match="no project name"):
        Workspace(tmp_path).project(name)


def test_what_is_missing_is_named_with_what_is_there(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    folder = workspace.open_project(project("known"))
    folder.new_candidate()
    with pytest.raises(NotFound, match="projects: known"):
        workspace.project("unknown")
    with pytest.raises(NotFound, match=r"no candidate 'c7'; the newest: c1\. Make one with write_mdp"):
        folder.candidate("c7")
    with pytest.raises(NotFound, match="none yet"):
        folder.run("r1")
    with pytest.raises(NotFound, match="write_training"):
        folder.candidate("c1").read_design()


def test_a_workspace_that_cannot_be_written_says_what_to_set() -> None:
    with pytest.raises(PrerequisiteError, match=r"cannot be written.*AGENT2_WORKSPACE"):
        Workspace(Path("/proc/agent2")).open_project(project())


def test_the_workspace_is_where_the_environment_variable_says(
    workspace_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert find_workspace(for_server=True).root == workspace_folder
    monkeypatch.delenv("AGENT2_WORKSPACE")
    assert find_workspace(for_server=False).root == Path.cwd() / "agent2-workspace"


def test_accepted_checkpoints_are_counted_by_their_steps(tmp_path: Path) -> None:
    run = Workspace(tmp_path).open_project(project()).new_run()
    run.checkpoints.mkdir()
    for name in ("900.safetensors", "10000.safetensors", "note.txt", "x.safetensors"):
        (run.checkpoints / name).touch()
    assert run.read_checkpoint_steps() == (900, 10000)
