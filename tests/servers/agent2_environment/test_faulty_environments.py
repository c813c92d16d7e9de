"""Every faulty environment gets the finding that its README names, and the server answers afterwards."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp_types import CallToolResult

Call = Callable[..., Awaitable[CallToolResult]]
TextOf = Callable[[CallToolResult], str]


@dataclass(frozen=True, kw_only=True)
class Case:
    """What one file must give: a finding, or a refusal to build it (`code` in brackets)."""

    file: str
    severity: str = "error"
    code: str
    words: tuple[str, ...] = ()
    is_adapted: bool = False
    state: str = "finished"
    step: int | None = None
    is_refused: bool = False


FAST = (
    Case(file="four_value_step", severity="warning", code="four-value-step", words=("four values",), is_adapted=True),
    Case(file="imports_old_gym", code="", words=("No module named 'gym'", "gymnasium"), is_refused=True),
    Case(
        file="seed_ignored",
        severity="warning",
        code="not-reproducible",
        words=("not reproducible from its seed", "global NumPy generator"),
    ),
    Case(
        file="out_of_bounds_observation",
        severity="warning",
        code="observation-out-of-bounds",
        words=("outside the declared bounds", "%", "declared -1 … 1"),
    ),
    Case(file="no_observation_space", code="", words=("no observation_space",), is_refused=True),
    Case(
        file="late_nan_reward",
        code="reward-not-finite",
        words=("reward is nan at step 37",),
        step=37,
    ),
    Case(
        file="observation_reused",
        severity="warning",
        code="observation-reused",
        words=("share memory",),
        is_adapted=True,
    ),
    Case(file="missing_argument", code="", words=("road_length", "missing"), is_refused=True),
    Case(
        file="segfault_in_step",
        code="process-crashed",
        words=("died of SIGSEGV at step 9", "line 26"),
        state="failed",
        step=9,
    ),
    Case(file="exit_in_step", code="exit-in-step", words=("sys.exit(0)", "step 9"), state="failed", step=9),
    Case(
        file="step_hangs",
        code="step-hangs",
        words=("Step 12 did not finish within 3 s", "line 26"),
        state="failed",
        step=12,
    ),
)
SLOW = (
    Case(file="reset_without_info", severity="warning", code="reset-without-info", words=("info",), is_adapted=True),
    Case(
        file="float64_observation",
        severity="warning",
        code="observation-dtype",
        words=("float64", "float32"),
        is_adapted=True,
    ),
    Case(
        file="reward_array",
        severity="warning",
        code="reward-array",
        words=("shape (1,)", "number"),
        is_adapted=True,
    ),
    Case(
        file="uneven_action_range",
        severity="note",
        code="action-range-uneven",
        words=("0 … 2000", "0 … 0.001", "float64", "-1 … 1"),
        is_adapted=True,
    ),
    Case(file="tuple_spaces", code="action-space-unsupported", words=("Tuple", "not supported")),
    Case(
        file="tuple_spaces",
        severity="note",
        code="observation-space-flattened",
        words=("Tuple", "flattened"),
        is_adapted=True,
    ),
    Case(file="python_int_action", severity="note", code="python-int-action", words=("Python int",), is_adapted=True),
    Case(
        file="one_instance",
        severity="warning",
        code="one-instance",
        words=("one instance per process", "the engine is already running in this process"),
        is_adapted=True,
    ),
    Case(
        file="prints_in_step",
        severity="warning",
        code="output-while-stepping",
        words=("stdout", "log"),
        is_adapted=True,
    ),
    Case(file="slow_import", severity="warning", code="slow-start", words=("start took", "MB")),
    Case(file="leaks_memory", severity="warning", code="memory-grows", words=("MB per 1000 steps",)),
    Case(file="all_key", severity="warning", code="all-key", words=("__all__ is no agent",), is_adapted=True),
    Case(
        file="all_key",
        severity="warning",
        code="agents-stay",
        words=("stay listed after the end",),
        is_adapted=True,
    ),
    Case(
        file="new_space_each_call",
        severity="warning",
        code="new-space-objects",
        words=("differ between calls", "the first are kept"),
        is_adapted=True,
    ),
)
HEALTHY = ("step_after_end", "relative_file")


async def check(case: Case, cases: Path, call: Call, text_of: TextOf, client: Client) -> None:
    entry = "parallel_env" if case.file in ("all_key", "new_space_each_call") else "Environment"
    result = await call("inspect_environment", environment=f"{cases / case.file}.py:{entry}", detail="full")
    if case.is_refused:
        assert result.is_error
        assert all(word in text_of(result) for word in case.words), text_of(result)
        assert "Traceback" not in text_of(result)
    else:
        assert not result.is_error, text_of(result)
        answer: dict[str, Any] = result.structured_content or {}
        found = {finding["code"]: finding for finding in answer["report"]["findings"]}
        assert case.code in found, answer
        finding = found[case.code]
        told = f"{finding['message']} {finding['evidence']}"
        assert all(word in told for word in case.words), told
        assert (finding["severity"], finding["is_adapted"]) == (case.severity, case.is_adapted) or (
            case.code == "not-reproducible"
        )
        assert answer["state"] == case.state, answer["message"]
        assert case.step is None or finding["step"] == case.step
        others = {f["code"] for f in found.values() if f["severity"] == "error"}
        assert others <= {case.code, "action-space-unsupported"}
    tools = await client.list_tools()
    assert tools.tools


@pytest.mark.anyio
@pytest.mark.parametrize("case", FAST, ids=lambda case: f"{case.file}-{case.code or 'refused'}")
async def test_a_faulty_environment_gets_its_finding_and_the_server_lives(
    case: Case, cases: Path, call: Call, text_of: TextOf, client: Client
) -> None:
    await check(case, cases, call, text_of, client)


@pytest.mark.slow
@pytest.mark.anyio
@pytest.mark.parametrize("case", SLOW, ids=lambda case: f"{case.file}-{case.code or 'refused'}")
async def test_a_further_faulty_environment_gets_its_finding_and_the_server_lives(
    case: Case, cases: Path, call: Call, text_of: TextOf, client: Client
) -> None:
    await check(case, cases, call, text_of, client)


@pytest.mark.anyio
@pytest.mark.parametrize("name", HEALTHY)
async def test_an_environment_that_only_looks_odd_gets_no_error_and_no_warning(
    name: str, cases: Path, call: Call, text_of: TextOf
) -> None:
    result = await call("inspect_environment", environment=f"{cases / name}.py:Environment")
    assert not result.is_error, text_of(result)
    findings = (result.structured_content or {})["report"]["findings"]
    assert all(finding["severity"] == "note" for finding in findings), findings


@pytest.mark.anyio
async def test_a_missing_constructor_argument_is_no_finding_once_it_is_given(
    cases: Path, call: Call, text_of: TextOf
) -> None:
    result = await call(
        "inspect_environment",
        environment=f"{cases / 'missing_argument'}.py:Environment",
        keyword_arguments={"road_length": 100},
    )
    assert not result.is_error, text_of(result)
    assert all(f["severity"] == "note" for f in (result.structured_content or {})["report"]["findings"])
