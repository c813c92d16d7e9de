"""Fixtures for every test: the asyncio backend, and a workspace of its own."""

from pathlib import Path

import pytest


@pytest.fixture
def anyio_backend() -> str:
    """Run async tests on asyncio, as the servers do."""
    return "asyncio"


@pytest.fixture(autouse=True)
def workspace_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give each test a workspace and a user configuration of its own."""
    folder = tmp_path / "workspace"
    monkeypatch.setenv("AGENT2_WORKSPACE", str(folder))
    monkeypatch.setenv("AGENT2_CONFIG", str(tmp_path / "config.toml"))
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    return folder
