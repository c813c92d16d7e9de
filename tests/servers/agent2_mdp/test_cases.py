"""Every case file: good ones pass without an error, wrong ones are caught with a finding that names the line."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent2_workspace import ProjectFolder

OpenProject = Callable[[str], ProjectFolder]
CASES = Path(__file__).parents[2] / "cases" / "mdp"
QUICK = {
    "potential_energy", "history_differences", "discretised_torque", "info_component",
    "syntax_error", "nan_in_rare_state", "changes_the_observation", "stale_state", "batch_mean", "action_too_large",
    "component_over_the_batch", "reward_sign",
}  # fmt: skip
"""Cases of the default suite, one of each kind; the others are slow only by their number."""


def cases(kind: str) -> list[Any]:
    marks = {True: (), False: (pytest.mark.slow,)}
    files = sorted((CASES / kind).glob("*.py"))
    return [pytest.param(file, id=file.stem, marks=marks[file.stem in QUICK]) for file in files]


def header(text: str, name: str) -> str:
    found = re.search(rf"^# {name}: (.*)$", text, flags=re.MULTILINE)
    assert found is not None
    return found[1]


async def verify(file: Path, open_project: OpenProject, call_tool: Any) -> tuple[str, dict[str, Any]]:
    text = file.read_text(encoding="utf-8")
    project = open_project(header(text, "environment"))
    answer = await call_tool("write_mdp", project=project.name, code=text, **json.loads(header(text, "arguments")))
    return text, answer["report"]


def test_there_are_enough_cases() -> None:
    assert len(cases("good")) >= 15
    assert len(cases("wrong")) >= 30


@pytest.mark.anyio
@pytest.mark.parametrize("file", cases("good"))
async def test_a_good_file_passes_with_no_error(file: Path, open_project: OpenProject, call_tool: Any) -> None:
    _, report = await verify(file, open_project, call_tool)
    errors = [finding for finding in report["findings"] if finding["severity"] == "error"]
    assert report["is_accepted"], errors
    assert report["levels_passed"] == ["syntax", "import", "contract", "behaviour"]
    assert report["observation_space"]["kind"] == "box"
    assert report["seconds_per_step"] < 1e-3 or any(f["code"] == "slow-step" for f in report["findings"])


@pytest.mark.anyio
@pytest.mark.parametrize("file", cases("wrong"))
async def test_a_wrong_file_is_caught_at_its_line(file: Path, open_project: OpenProject, call_tool: Any) -> None:
    text, report = await verify(file, open_project, call_tool)
    expected = re.fullmatch(r"code=(\S+) line=(\d+)", header(text, "expect"))
    assert expected is not None
    found = [f for f in report["findings"] if f["code"] == expected[1] and f["line"] == int(expected[2])]
    assert found, report["findings"]
    assert found[0]["severity"] in ("error", "warning")
    assert found[0]["advice"]
