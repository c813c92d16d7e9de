"""The six tools, the prompt and the chart, through a client in both eras of the protocol."""

import json
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import anyio
import numpy as np
import pytest
from made_runs import BUDGET, ProjectMaker, healthy_curves, steps, write_log
from mcp import Client

from agent2_metrics.server import CHART_URI, build_server
from agent2_schemas import Attempt, DiagnosisAnswer, ReportWritten, RunComparison, RunCurves, RunList

pytestmark = pytest.mark.anyio
PATIENCE_SECONDS = 120


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    async with Client(build_server().mcp) as connected:
        yield connected


async def call(client: Client, tool: str, **arguments: Any) -> Any:
    """Call a tool until it no longer says `running`."""
    with anyio.fail_after(PATIENCE_SECONDS):
        while True:
            result = await client.call_tool(tool, arguments)
            if result.is_error or (result.structured_content or {}).get("state") != "running":
                return result


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_six_tools_and_the_prompt_are_listed_in_both_eras(mode: Any) -> None:
    async with Client(build_server().mcp, mode=mode) as client:
        tools = (await client.list_tools()).tools
        prompts = (await client.list_prompts()).prompts
    assert [tool.name for tool in tools] == [
        "list_runs", "read_curves", "diagnose_run", "compare_runs", "plot_curves", "write_report",
    ]  # fmt: skip
    assert [prompt.name for prompt in prompts] == ["refine_from_feedback"]
    assert all(tool.title and tool.annotations for tool in tools)
    assert sum(len(json.dumps(tool.input_schema)) + len(tool.description or "") for tool in tools) < 8000


def test_the_server_starts_without_its_heavy_parts() -> None:
    code = "import sys, agent2_metrics.server as s; s.build_server(); print(*sys.modules)"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    heavy = {"torch", "matplotlib", "scipy", "tensorboard", "jinja2", "numpy", "tianshou"}
    assert heavy.isdisjoint(ended.stdout.split())


async def test_curves_of_a_run_and_their_chart(client: Client, maker: ProjectMaker) -> None:
    run = maker.run(score=400.0)
    result = await call(client, "read_curves", project="p", run=run.id)
    curves = RunCurves.model_validate(result.structured_content)
    assert curves.library == "agent2"
    assert {"episode_return", "approx_kl"} <= {curve.name for curve in curves.curves}
    assert len(json.dumps(result.structured_content)) < 12_000
    tools = (await client.list_tools()).tools
    tool = next(tool for tool in tools if tool.name == "read_curves")
    assert tool.meta is not None
    assert tool.meta["ui"]["resourceUri"] == CHART_URI
    (chart,) = (await client.read_resource(CHART_URI)).contents
    assert chart.mime_type == "text/html;profile=mcp-app"
    assert "ui/initialize" in chart.text  # pyright: ignore[reportAttributeAccessIssue]
    assert "http://" not in chart.text.replace("http://www.w3.org/2000/svg", "")  # pyright: ignore[reportAttributeAccessIssue]


async def test_a_log_folder_is_read_inside_the_workspace_and_refused_outside(
    client: Client, workspace_folder: Path, tmp_path: Path
) -> None:
    inside = write_log(workspace_folder / "logs", healthy_curves())
    outside = write_log(tmp_path / "outside", healthy_curves())
    assert not (await call(client, "read_curves", log_folder=str(inside))).is_error
    refused = await call(client, "read_curves", log_folder=str(outside))
    assert refused.is_error
    assert "lies outside" in refused.content[0].text
    assert "roots" in refused.content[0].text


async def test_a_root_of_the_user_opens_a_folder(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside = write_log(tmp_path / "outside", healthy_curves())
    monkeypatch.setenv("AGENT2_ROOTS", str(tmp_path / "outside"))
    assert not (await call(client, "read_curves", log_folder=str(outside))).is_error


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("read_curves", {}, "Name either a run"),
        ("read_curves", {"project": "p", "run": "r9"}, "no run 'r9'"),
        ("read_curves", {"project": "p", "run": "../x"}, "is no run id"),
        ("diagnose_run", {"project": "q", "run": "r1"}, "no project 'q'"),
        ("list_runs", {"project": "p", "detail": "full"}, "detail"),
        ("compare_runs", {"project": "p", "arms": {"winner": ["r1"]}}, "at least one baseline"),
        ("compare_runs", {"project": "p", "arms": {"a": ["r1"], "b": ["r1"]}}, "more than once"),
        ("plot_curves", {"project": "p", "names": ["alpha"]}, "No run has a curve alpha"),
    ],
)
async def test_what_the_caller_can_mend_is_said(
    client: Client, maker: ProjectMaker, tool: str, arguments: dict[str, Any], words: str
) -> None:
    maker.run(score=1.0)
    result = await call(client, tool, **arguments)
    assert result.is_error
    assert words in result.content[0].text


async def test_an_empty_log_folder_says_so(client: Client, workspace_folder: Path) -> None:
    (workspace_folder / "empty").mkdir(parents=True)
    result = await call(client, "diagnose_run", log_folder=str(workspace_folder / "empty"))
    assert result.is_error
    assert "no event file" in result.content[0].text


async def test_a_folder_of_several_runs_is_not_diagnosed_as_one(client: Client, workspace_folder: Path) -> None:
    for seed in ("a", "b"):
        write_log(workspace_folder / "logs" / seed, healthy_curves())
    result = await call(client, "diagnose_run", log_folder=str(workspace_folder / "logs"))
    assert "holds 2 runs" in result.content[0].text


async def test_list_runs_reads_statuses_and_scores_from_the_folders(client: Client, maker: ProjectMaker) -> None:
    maker.run(score=400.0)
    maker.run(state="failed")
    queued = maker.run()
    queued.status_file.unlink()
    lost = maker.run()
    lost.status_file.write_text(lost.status_file.read_text().replace('"ended_at": 1060.0', '"ended_at": null'))
    result = await call(client, "list_runs", project="p")
    found = RunList.model_validate(result.structured_content)
    assert [each.state for each in found.runs] == ["finished", "failed", "queued", "lost"]
    assert [each.mean_original_return for each in found.evaluations] == [400.0]
    assert "score 400" in result.content[0].text


async def test_a_sabotaged_run_is_diagnosed_and_journalled(client: Client, maker: ProjectMaker) -> None:
    x = steps()
    run = maker.run(
        score=21.0,
        curves=healthy_curves() | {"rollout/original_return": (x, 21 + 0 * x), "train/entropy": (x, 0.69 + 0 * x)},
    )
    result = await call(client, "diagnose_run", project="p", run=run.id)
    found = DiagnosisAnswer.model_validate(result.structured_content).diagnosis
    assert found is not None
    assert {"no-better-than-random", "entropy-stays-high"} <= {each.rule for each in found.findings}
    assert maker.folder.journal.events(kind="diagnosis", subject=run.id)
    assert "entropy-stays-high" in result.content[0].text


async def test_a_foreign_log_is_diagnosed_without_a_design(client: Client, workspace_folder: Path) -> None:
    x = steps()
    loss = np.where(x > BUDGET / 2, np.nan, 1.0)
    write_log(workspace_folder / "sb3", {"rollout/ep_rew_mean": (x, x), "train/value_loss": (x, loss)})
    result = await call(client, "diagnose_run", log_folder=str(workspace_folder / "sb3"))
    found = DiagnosisAnswer.model_validate(result.structured_content).diagnosis
    assert found is not None
    assert [each.rule for each in found.findings] == ["nonfinite-values"]
    assert found.not_checked["horizon-mismatch"] == "missing: design of the run"


async def test_the_verdict_is_given_from_folders_journalled_and_reported(
    client: Client, maker: ProjectMaker, arms: Callable[..., dict[str, list[str]]]
) -> None:
    maker.run("c1", score=450.0)
    named = arms(
        winner=[410.0, 420, 430, 440, 425], default=[300.0, 310, 290, 305, 295], tuned=[310.0, 320, 300, None, 305]
    )
    result = await call(client, "compare_runs", project="p", arms=named)
    verdict = RunComparison.model_validate(result.structured_content).verdict
    assert verdict is not None
    assert verdict.word == "improved"
    assert (verdict.search_score, verdict.retest_score) == (450.0, 425.0)
    assert verdict.arms[2].failures == 1
    assert "improved" in result.content[0].text
    (event,) = maker.folder.journal.events(kind="verdict")
    assert event.payload["word"] == "improved"
    written = await call(client, "write_report", project="p")
    text = Path(written.structured_content["file"]).read_text()
    for words in ("improved", "default", "450", "What the re-test gave", "loss became NaN", "<polyline"):
        assert words in text


async def test_selection_seeds_give_no_verdict(client: Client, maker: ProjectMaker) -> None:
    named = {
        name: [maker.run(f"c{n}", score=n * 100.0 + s, seed=s, curves={}).id for s in range(5)]
        for n, name in ((2, "a"), (1, "b"), (3, "c"))
    }
    result = await call(client, "compare_runs", project="p", arms=named, purpose="selection")
    verdict = RunComparison.model_validate(result.structured_content).verdict
    assert verdict is not None
    assert verdict.word == "not tested"
    assert "cannot test it" in verdict.reason


async def test_several_looks_at_growing_arms_are_counted(
    client: Client, maker: ProjectMaker, arms: Callable[..., dict[str, list[str]]]
) -> None:
    named = arms(
        winner=[410.0, 420, 430, 440, 425, 428],
        default=[300.0, 310, 290, 305, 295, 299],
        tuned=[310.0, 320, 300, 301, 305, 306],
    )
    looked = {"word": "not shown", "resamples": 1, "arms": [{"name": n, "run_ids": r[:5]} for n, r in named.items()]}
    maker.folder.journal.append("metrics", "verdict", "c1", looked)
    again = await call(client, "compare_runs", project="p", arms=named)
    verdict = RunComparison.model_validate(again.structured_content).verdict
    assert verdict is not None
    assert any(warning.startswith("look 2") for warning in verdict.warnings)


async def test_curves_are_drawn_and_sent_only_when_asked(client: Client, maker: ProjectMaker) -> None:
    for candidate in ("c1", "c1", "c2"):
        maker.run(candidate, score=400.0)
    plain = await call(client, "plot_curves", project="p", names=["episode_return", "entropy"])
    assert Path(plain.structured_content["file"]).read_bytes().startswith(b"\x89PNG")
    assert len(plain.content) == 1
    shown = await call(client, "plot_curves", project="p", include_image=True)
    assert shown.content[1].mime_type == "image/png"


async def test_the_prompt_is_filled_from_scores_curves_diagnosis_and_attempts(
    client: Client, maker: ProjectMaker
) -> None:
    run = maker.run(score=400.0)
    attempt = Attempt(candidate_id="c1", parent_id=None, change="Nothing {braces}.", reason="first")
    maker.folder.journal.append("generator", "attempt", "c1", attempt)
    with anyio.fail_after(PATIENCE_SECONDS):
        found = await client.get_prompt("refine_from_feedback", {"project": "p", "run": run.id})
    text = found.messages[0].content.text  # pyright: ignore[reportAttributeAccessIssue]
    for words in ("balance the pole", "mean 400", "episode_return", "Nothing {braces}.", "one change"):
        assert words in text
    assert "{scores}" not in text


async def test_the_report_of_a_young_project_says_what_is_missing(client: Client, maker: ProjectMaker) -> None:
    result = await call(client, "write_report", project="p")
    file = Path(ReportWritten.model_validate(result.structured_content).file)
    text = file.read_text()
    for words in (
        "not tested",
        "No agent was delivered",
        "No design was written",
        "No run has written a learning curve",
    ):
        assert words in text
