"""What a person granted in the configuration reaches the environment, and is said in the report."""

from pathlib import Path
from typing import Any

import pytest

from agent2_workspace import configuration_file

LICENSED = '''"""Runs only where its licence is: a variable that names a file."""
import os
import gymnasium

def make():
    if "SIMULATOR_LICENCE" not in os.environ:
        raise RuntimeError("no licence")
    open(os.environ["SIMULATOR_LICENCE"], encoding="utf-8").close()
    return gymnasium.make("CartPole-v1")
'''


@pytest.mark.anyio
async def test_a_licence_is_granted_to_one_environment_by_name(
    call: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, licence = tmp_path / "sources" / "licensed.py", tmp_path / "licence" / "key"
    for path, text in ((source, LICENSED), (licence, "secret")):
        path.parent.mkdir()
        path.write_text(text)
    tmp_path.chmod(0o755)
    monkeypatch.setenv("SIMULATOR_LICENCE", str(licence))
    monkeypatch.setenv("AGENT2_ROOTS", str(source.parent))

    refused = await call("inspect_environment", environment=f"{source}:make")
    assert "no licence" in str(refused.structured_content or refused.content)

    configuration_file().write_text(
        f'[grants."*licensed.py:make"]\nread = ["{licence}"]\nvariables = ["SIMULATOR_LICENCE"]\n'
    )
    allowed = await call("inspect_environment", environment=f"{source}:make", project="licensed", detail="full")
    report = allowed.structured_content["report"]
    assert report is not None, allowed.structured_content
    assert "granted by the user's configuration: variable SIMULATOR_LICENCE" in report["isolation"]["not_enforced"]
    again = await call("sample_episodes", project="licensed", episodes=1)
    assert not again.is_error, again.content
