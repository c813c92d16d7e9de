"""The person's configuration: read with all faults at once; files only from allowed folders."""

from pathlib import Path

import pytest

from agent2_schemas import CorrectableError, PrerequisiteError
from agent2_workspace import configuration_file, read_configuration, resolve_allowed_file


def test_a_missing_file_means_the_defaults() -> None:
    assert read_configuration().isolation == "require"


def test_all_faults_are_named_at_once() -> None:
    configuration_file().write_text('isolation = "off"\nparallel_runs = 0\ncolour = "red"\n')
    with pytest.raises(PrerequisiteError, match=r"isolation.*parallel_runs.*colour|colour.*isolation"):
        read_configuration()


def test_a_file_that_is_no_toml_is_named() -> None:
    configuration_file().write_text("isolation = ")
    with pytest.raises(PrerequisiteError, match="not valid TOML"):
        read_configuration()


def test_only_files_below_a_root_may_be_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inside, outside = tmp_path / "mine" / "env.py", tmp_path / "other.py"
    inside.parent.mkdir()
    inside.touch()
    outside.touch()
    monkeypatch.setenv("AGENT2_ROOTS", str(inside.parent))
    assert resolve_allowed_file(str(inside), workspace_root=tmp_path / "workspace") == inside
    for name in (str(outside), f"{inside.parent}/../other.py"):
        with pytest.raises(CorrectableError, match=r"outside the folders.*roots = "):
            resolve_allowed_file(name, workspace_root=tmp_path / "workspace")


def test_a_link_out_of_a_root_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root, secret = tmp_path / "root", tmp_path / "secret.py"
    root.mkdir()
    secret.touch()
    (root / "link.py").symlink_to(secret)
    monkeypatch.setenv("AGENT2_ROOTS", str(root))
    with pytest.raises(CorrectableError, match="outside"):
        resolve_allowed_file(str(root / "link.py"), workspace_root=tmp_path / "workspace")
