"""What a person granted works in every tier, is said, and is refused without the grant."""

import socket
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from agent2_sandbox import ChildFailed, ProcessRequest, call_child


@pytest.fixture
def port() -> Iterator[int]:
    """A service of this machine that greets whoever comes."""
    listener = socket.create_server(("127.0.0.1", 0))

    def greet() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                connection.sendall(b"licensed")

    thread = threading.Thread(target=greet, daemon=True)
    thread.start()
    yield listener.getsockname()[1]
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join(5)


@pytest.mark.anyio
async def test_a_licence_server_is_reached_only_with_a_grant(
    tier: str, port: int, scripts: Path, run_folder: Path
) -> None:
    licence = run_folder / "licence"
    licence.write_text("key")
    script = scripts / "connects.py"
    payload: dict[str, object] = {"port": port, "file": str(licence)}
    without = ProcessRequest(module="agent2_sandbox.script", arguments=(str(script),), read_only=(script, licence))
    with pytest.raises(ChildFailed, match=r"unreachable|refused|not permitted|not supported|denied"):
        await call_child(without, payload, timeout_seconds=20)
    grants = ("network", f"read {licence}", "variable LICENCE")
    allowed = replace(without, environment={"LICENCE": "27000@here"}, grants=grants)
    answer = await call_child(allowed, payload, timeout_seconds=20)
    assert answer.value == {"greeting": "licensed", "variable": "27000@here", "file": "key"}
    said = [gap for gap in answer.isolation.not_enforced if gap.startswith("granted by the user's configuration: ")]
    assert len(said) == 3
    assert "cannot be limited to localhost" in said[0]
    assert answer.isolation.tier == tier
