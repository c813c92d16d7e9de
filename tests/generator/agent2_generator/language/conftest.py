"""Fixtures of the language tests: a provider on this machine, and no key from the person who runs them."""

import sys
from collections.abc import Generator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # the stub and the answering program lie beside the tests

from stub_provider import Served, StubProvider


@pytest.fixture
def provider() -> Generator[StubProvider]:
    """Serve a provider for one test."""
    with Served(StubProvider()) as served:
        yield served


@pytest.fixture(autouse=True)
def without_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide the keys of the person who runs the tests."""
    for name in (
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
        "ANTHROPIC_BASE_URL",
        "OPENAI_API_KEY",
        "MESSAGES_API_KEY",
    ):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """Let module-wide fixtures be asynchronous."""
    return "asyncio"
