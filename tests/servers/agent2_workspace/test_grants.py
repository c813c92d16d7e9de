"""What a person grants beyond the usual: for all, or by the name of the environment."""

from pathlib import Path

import pytest

from agent2_schemas import PrerequisiteError
from agent2_workspace import configuration_file, describe_grants, read_configuration


def write(text: str) -> None:
    configuration_file().write_text(text)


def test_nothing_is_granted_by_itself() -> None:
    granted = read_configuration().granted("CartPole-v1")
    assert (granted.names, granted.read, granted.variables) == ((), (), {})
    assert describe_grants(read_configuration().grants) == ()


def test_a_grant_for_all_and_one_by_pattern_are_joined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    licence = tmp_path / "licence"
    licence.touch()
    monkeypatch.setenv("SIMULATOR_LICENCE", "27000@host")
    write(
        f'[grants]\ngpu = true\n[grants."Factory-*"]\nnetwork = "localhost"\nread = ["{licence}", "/not/there"]\n'
        'variables = ["SIMULATOR_LICENCE", "NOT_SET"]\n'
    )
    granted = read_configuration().granted("Factory-v2")
    assert granted.names[:2] == ("gpu", "network")
    assert f"read {licence}" in granted.names
    assert granted.read == (licence,)
    assert granted.variables == {"SIMULATOR_LICENCE": "27000@host"}
    assert read_configuration().granted("CartPole-v1").names == ("gpu",)
    assert read_configuration().granted("").names == ("gpu",)


def test_what_is_granted_is_said_to_whom() -> None:
    write('[grants]\ndisplay = true\n[grants."lab.py:*"]\nnetwork = "localhost"\n')
    lines = describe_grants(read_configuration().grants)
    assert lines[0] == "every environment: display"
    assert lines[1].startswith("lab.py:*: network (all that this machine reaches")


def test_an_unknown_grant_is_refused_by_name() -> None:
    write('[grants]\nroot = true\n[grants."A-*"]\ngpus = true\n')
    with pytest.raises(PrerequisiteError, match=r"root: no kind of grant; there are display, gpu"):
        read_configuration()
    write('[grants."A-*"]\ngpus = true\n')
    with pytest.raises(PrerequisiteError, match=r"gpus"):
        read_configuration()
