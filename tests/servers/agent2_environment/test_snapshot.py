"""What of a folder goes into the snapshot of a file environment."""

from pathlib import Path

import pytest

from agent2_environment.snapshot import FILES_AT_MOST, copy_sources, source_files


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "track.py").write_text("import roads\nfrom cars import Car\nimport numpy\n")
    return folder


def names(folder: Path, workspace: Path) -> set[str]:
    return {path.as_posix() for path in source_files(folder / "track.py", workspace_root=workspace)}


def test_a_small_folder_is_copied_whole_with_its_data(folder: Path, tmp_path: Path) -> None:
    (folder / "data").mkdir()
    (folder / "data" / "map.csv").write_text("1,2\n")
    assert names(folder, tmp_path / "workspace") == {"track.py", "data/map.csv"}


def test_hidden_files_environments_caches_links_and_workspaces_stay_behind(folder: Path, tmp_path: Path) -> None:
    (folder / ".env").write_text("KEY=secret")
    for name in (".git", "__pycache__", "venv", "agent2-workspace", "workspace"):
        (folder / name).mkdir()
        (folder / name / "file.py").write_text("")
    (folder / "venv" / "pyvenv.cfg").write_text("")
    outside = tmp_path / "outside.txt"
    outside.write_text("not yours")
    (folder / "link.txt").symlink_to(outside)
    assert names(folder, folder / "workspace") == {"track.py"}


def test_of_a_large_folder_only_the_imported_local_modules_are_copied(folder: Path, tmp_path: Path) -> None:
    for number in range(FILES_AT_MOST + 5):
        (folder / f"other{number}.txt").write_text("")
    (folder / "roads.py").write_text("import deeper\n")
    (folder / "deeper.py").write_text("")
    (folder / "unused.py").write_text("")
    (folder / "cars").mkdir()
    (folder / "cars" / "__init__.py").write_text("")
    (folder / "cars" / "engine.py").write_text("")
    expected = {"track.py", "roads.py", "deeper.py", "cars/__init__.py", "cars/engine.py"}
    assert names(folder, tmp_path / "workspace") == expected


def test_a_file_with_a_syntax_error_is_still_copied(folder: Path, tmp_path: Path) -> None:
    (folder / "track.py").write_text("def broken(:\n")
    for number in range(FILES_AT_MOST + 5):
        (folder / f"other{number}.txt").write_text("")
    assert names(folder, tmp_path / "workspace") == {"track.py"}


def test_copies_keep_their_relative_places(folder: Path, tmp_path: Path) -> None:
    (folder / "data").mkdir()
    (folder / "data" / "map.csv").write_text("1,2\n")
    copy_sources(folder, [Path("data/map.csv"), Path("track.py")], tmp_path / "copy")
    assert (tmp_path / "copy" / "data" / "map.csv").read_text() == "1,2\n"
