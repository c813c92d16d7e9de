"""Tokens and addresses: what is accepted, and what is refused with a word on how to mend it."""

import os
from pathlib import Path

import pytest

from agent2_schemas import PrerequisiteError
from agent2_serving.access import check_exposure, host_rules, take_token

TOKEN = "a-token-for-the-tests"


def test_the_token_leaves_the_environment_so_that_no_child_inherits_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT2_TOKEN", TOKEN)
    assert take_token(None) == TOKEN
    assert "AGENT2_TOKEN" not in os.environ
    assert take_token(None) is None


def test_a_file_wins_over_the_variable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("AGENT2_TOKEN", "another-token-of-the-tests")
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n", encoding="utf-8")
    assert take_token(file) == TOKEN
    assert "AGENT2_TOKEN" not in os.environ


@pytest.mark.parametrize("token", ["", "short", "two words of some length", "schlüssel-mit-umlauten"])
def test_a_token_that_is_no_secret_is_refused(token: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT2_TOKEN", token)
    with pytest.raises(PrerequisiteError, match=r"is no secret.*Make one"):
        take_token(None)


def test_a_token_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(PrerequisiteError, match="missing-file cannot be read"):
        take_token(tmp_path / "missing-file")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1"])
def test_listening_beyond_this_machine_needs_a_token(host: str) -> None:
    with pytest.raises(PrerequisiteError, match=r"no token is set.*AGENT2_TOKEN"):
        check_exposure(host, None)
    check_exposure(host, TOKEN)
    check_exposure("127.0.0.1", None)


def test_an_allowed_host_is_accepted_with_and_without_a_port() -> None:
    rules = host_rules(["trainer.example"])
    assert {"trainer.example", "trainer.example:*", "localhost:*"} <= set(rules.allowed_hosts)
    assert "https://trainer.example" in rules.allowed_origins
