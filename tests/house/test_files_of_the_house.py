"""Files that no test can run here: container files by structure, the Makefile by its targets, links by their ends."""

import os
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

SERVERS = ("environment", "mdp", "training", "metrics")
TARGETS = ("install", "demo", "test", "test-slow", "check", "docs")


@pytest.fixture(scope="module")
def compose(root: Path) -> dict[str, Any]:
    """The services as Compose would read them."""
    return yaml.safe_load((root / "docker-compose.yml").read_text(encoding="utf-8"))


def test_compose_runs_four_servers_the_generator_and_tensorboard(compose: dict[str, Any]) -> None:
    assert set(compose["services"]) == {*SERVERS, "generator", "tensorboard"}
    assert set(compose["volumes"]) == {"workspace"}


@pytest.mark.parametrize("name", SERVERS)
def test_a_server_in_compose_is_guarded_checked_and_shares_the_workspace(compose: dict[str, Any], name: str) -> None:
    service = compose["services"][name]
    command = service["command"]
    assert command[0] == f"agent2-{name}"
    assert command[command.index("--allowed-host") + 1] == name
    assert command[command.index("--transport") + 1] == "http"
    assert service["environment"]["AGENT2_TOKEN"].startswith("${AGENT2_TOKEN:?")
    assert "--token" not in " ".join(command)
    assert "/health" in service["healthcheck"]["test"][-1]
    assert service["volumes"] == ["workspace:/workspace"]
    assert all(port.startswith("127.0.0.1:") for port in service["ports"])


def test_the_generator_in_compose_knows_each_server_and_waits_for_it(compose: dict[str, Any]) -> None:
    generator = compose["services"]["generator"]
    for name in SERVERS:
        assert f"--server={name}=http://{name}:8775/mcp" in generator["entrypoint"]
        assert generator["depends_on"][name] == {"condition": "service_healthy"}


def test_the_image_copies_every_source_root_and_runs_as_nobody_special(root: Path) -> None:
    text = (root / "Dockerfile").read_text(encoding="utf-8")
    for name in ("schemas", "servers", "generator", "target_templates"):
        assert f"COPY {name} {name}" in text
    assert re.search(r"^USER (?!root)", text, re.MULTILINE)
    assert "bubblewrap" in text


@pytest.mark.parametrize("target", TARGETS)
def test_the_makefile_explains_each_target(root: Path, target: str) -> None:
    text = (root / "Makefile").read_text(encoding="utf-8")
    assert re.search(rf"^{target}:.*## \w", text, re.MULTILINE)


def test_the_check_of_changes_calls_make_test(root: Path) -> None:
    file = root / ".ci" / "run"
    assert os.access(file, os.X_OK)
    assert "make test" in file.read_text(encoding="utf-8")


def test_torch_is_pinned_so_that_no_other_build_is_fetched(root: Path) -> None:
    lines = (root / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+==[0-9A-Za-z.!]+", line) for line in pins)
    assert any(line.startswith("torch==") for line in pins)


def test_links_between_documents_lead_somewhere(root: Path) -> None:
    broken: list[str] = []
    for path in [*root.glob("*.md"), *(root / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", path.read_text(encoding="utf-8")):
            if not re.match(r"[a-z]+:", target) and not (path.parent / target).exists():
                broken.append(f"{path.relative_to(root)} -> {target}")
    assert broken == []
