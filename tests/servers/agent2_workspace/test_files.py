"""Files are written whole, and read back as they were."""

from pathlib import Path

import pytest

from agent2_schemas import EnvironmentReference, Project
from agent2_workspace import read_json, read_yaml, sha256_of, write_json, write_whole, write_yaml


def test_a_failed_write_leaves_the_old_file_and_no_leftover(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    write_whole(path, "old")
    with pytest.raises(TypeError):
        write_whole(path, 3)  # pyright: ignore[reportArgumentType]
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_values_survive_json_and_yaml(tmp_path: Path) -> None:
    reference = EnvironmentReference(name="env.py:Env", keyword_arguments={"a": [1, None, {"b": 0.1}]})
    project = Project(name="p", task="größer: yes", environment=reference, created_at="t", agent2_version="0")
    write_json(tmp_path / "a.json", project)
    write_yaml(tmp_path / "a.yaml", project)
    assert read_json(tmp_path / "a.json", Project) == read_yaml(tmp_path / "a.yaml", Project) == project


def test_the_hash_tells_where_one_part_ends() -> None:
    assert sha256_of("ab", "c") != sha256_of("a", "bc")
