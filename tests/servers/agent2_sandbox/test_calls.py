"""A question to a child is answered, or its failure is explained."""

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from agent2_sandbox import ChildFailed, Limits, ProcessRequest, call_child
from agent2_schemas import PrerequisiteError

pytestmark = pytest.mark.anyio


@pytest.fixture
def asking(scripts: Path) -> ProcessRequest:
    script = scripts / "answering.py"
    return ProcessRequest(module="agent2_sandbox.script", arguments=(str(script),), read_only=(script,))


async def test_a_child_answers_and_its_words_go_to_the_log(tier: str, asking: ProcessRequest) -> None:
    answer = await call_child(asking, {"a": [1, 2.5, None]}, timeout_seconds=60)
    assert answer.value == {"echo": {"a": [1, 2.5, None]}}
    assert "a word to the log" in answer.log
    assert answer.peak_memory_bytes > 1e6
    assert answer.isolation.tier == tier
    assert answer.isolation.not_enforced


async def test_nothing_of_our_environment_reaches_a_child_and_it_needs_no_heavy_library(
    tier: str, asking: ProcessRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_API_KEY", "sk-canary")
    answer = await call_child(asking, {"do": "environment"}, timeout_seconds=60)
    names = answer.value["names"]
    assert isinstance(names, list)
    assert "SECRET_API_KEY" not in names
    assert {"MUJOCO_GL", "OMP_NUM_THREADS", "SDL_VIDEODRIVER", "MPLBACKEND"} <= set(names)
    assert not {"mcp", "pydantic", "numpy", "torch"} & set(answer.value["modules"])  # pyright: ignore[reportArgumentType]  # JSON
    assert answer.value["uid"] != 0


async def test_what_a_child_raises_comes_back_with_its_line(asking: ProcessRequest) -> None:
    with pytest.raises(ChildFailed, match="ValueError: the wrong value") as failed:
        await call_child(asking, {"do": "raise"}, timeout_seconds=60)
    assert failed.value.outcome == "crashed"
    assert failed.value.line == 1 + _line_before(asking, 'case "raise"')
    assert "Traceback" in failed.value.log


def _line_before(asking: ProcessRequest, text: str) -> int:
    lines = Path(asking.arguments[0]).read_text().splitlines()
    return 1 + next(number for number, line in enumerate(lines) if text in line)


async def test_a_child_that_hangs_is_ended_and_the_line_is_shown(asking: ProcessRequest) -> None:
    with anyio.fail_after(60), pytest.raises(ChildFailed, match=r"answering\.py, line \d+ in _spin") as failed:
        await call_child(asking, {"do": "spin"}, timeout_seconds=2)
    assert failed.value.outcome == "time_limit"


@pytest.mark.parametrize(("do", "outcome"), [("exit", "exited_early"), ("forge", "exited_early")])
async def test_a_child_that_leaves_without_an_answer_is_found_out(
    asking: ProcessRequest, do: str, outcome: str
) -> None:
    with pytest.raises(ChildFailed) as failed:
        await call_child(asking, {"do": do}, timeout_seconds=60)
    assert failed.value.outcome == outcome


async def test_memory_over_the_limit_ends_a_child(asking: ProcessRequest) -> None:
    request = replace(asking, limits=Limits(memory_bytes=300 * 10**6))
    with pytest.raises(ChildFailed, match=r"used \d+ MB, limit 300 MB") as failed:
        await call_child(request, {"do": "hoard"}, timeout_seconds=60)
    assert failed.value.outcome == "out_of_memory"


async def test_a_child_writes_only_its_folder_and_we_can_read_it(
    tier: str, asking: ProcessRequest, run_folder: Path
) -> None:
    answer = await call_child(replace(asking, writable=run_folder / "work"), {"do": "write"}, timeout_seconds=60)
    assert answer.value["folder"] == str(run_folder / "work")
    assert (run_folder / "work" / "made.txt").read_text() == "by the child"
    with pytest.raises(ChildFailed, match=r"Read-only|Permission denied|No such file"):
        await call_child(replace(asking, working_directory=run_folder), {"do": "write"}, timeout_seconds=60)


async def test_folders_below_closed_parents_can_be_used(tier: str, asking: ProcessRequest, tmp_path: Path) -> None:
    folder = tmp_path / "closed" / "work"
    folder.mkdir(parents=True)
    (tmp_path / "closed" / "secret").write_text("x")
    (tmp_path / "closed").chmod(0o700)
    request = replace(asking, writable=folder, read_only=(*asking.read_only, tmp_path / "closed" / "secret"))
    answer = await call_child(request, {"do": "write"}, timeout_seconds=60)
    assert answer.value["folder"] == str(folder)
    assert (folder / "made.txt").exists()


async def test_a_cancelled_call_leaves_no_process(
    asking: ProcessRequest,
    processes_naming: Callable[[str], list[int]],
    wait_until: Callable[[Callable[[], bool], float], bool],
) -> None:
    marked = replace(asking, arguments=(*asking.arguments, f"mark-{os.getpid()}-{id(asking)}"))
    with anyio.move_on_after(2):
        await call_child(marked, {"do": "spin"}, timeout_seconds=60)
    assert wait_until(lambda: not processes_naming(marked.arguments[-1]), 5)


async def test_free_form_code_is_refused_where_there_is_no_boundary(
    asking: ProcessRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENT2_SANDBOX_TIER", "D")
    with pytest.raises(PrerequisiteError, match=r"Type: .*best_effort"):
        await call_child(asking, {}, timeout_seconds=60)
    for allowed in (replace(asking, is_declared_only=True), replace(asking, isolation_policy="best_effort")):
        answer = await call_child(allowed, {}, timeout_seconds=60)
        assert answer.isolation.tier == "D"
        assert "network: open" in json.dumps(answer.isolation.not_enforced)
