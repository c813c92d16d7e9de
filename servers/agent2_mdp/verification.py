"""Verification of one candidate: the syntax tree here, then import, contract and behaviour in the sandbox."""

import ast
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from agent2_mdp.arguments import MdpArguments
from agent2_mdp.faults import is_suspicious, known_good_code
from agent2_mdp.info_keys import check_info_keys
from agent2_mdp.syntax import NOT_RUN, check_syntax, defined_parts
from agent2_sandbox import ChildAnswer, ChildFailed, Limits, ProcessRequest, call_child
from agent2_schemas import (
    EnvironmentReport,
    Finding,
    Isolation,
    MdpDesign,
    MdpPart,
    PrerequisiteError,
    RewardComponent,
    Space,
    VerificationReport,
)
from agent2_workspace import read_configuration, write_whole

CHILD = "agent2_mdp.child.verify"
CHILD_SECONDS = 60.0
STALL_SECONDS = 20.0
MEMORY_BYTES = 2 * 2**30
MAX_FINDINGS = 40
_SPACE: TypeAdapter[Space] = TypeAdapter(Space)
_PARTS: TypeAdapter[tuple[MdpPart, ...]] = TypeAdapter(tuple[MdpPart, ...])
_FAILURES = {
    "stalled": ("hangs", "Bound the loops; a call must take well under a millisecond a row."),
    "time_limit": ("hangs", "Bound the loops; a call must take well under a millisecond a row."),
    "out_of_memory": ("out-of-memory", "Use arrays no larger than a few times the input."),
    "too_many_processes": ("starts-processes", "Compute in place: no threads, no processes."),
    "exited_early": ("exits", "Return a value for every input; never end the process."),
}


@dataclass(frozen=True, kw_only=True)
class Verified:
    """The report, and the MDP half of the design where the candidate is accepted."""

    report: VerificationReport
    design: MdpDesign | None


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """What a candidate is verified against."""

    environment: EnvironmentReport
    recordings: tuple[Path, ...]


async def verify(candidate_id: str, mdp_file: Path, arguments: MdpArguments, inputs: Inputs) -> Verified:
    """Verify the file of a candidate and collect all findings.

    Args:
        candidate_id: id of the candidate.
        mdp_file: its mdp.py, already written.
        arguments: what it was asked to be.
        inputs: the environment report and the recorded transitions.

    Raises:
        PrerequisiteError: the check itself does not work on this machine, or there is no sandbox.
    """
    tree, findings = check_syntax(arguments.text)
    if tree is not None:
        findings += check_info_keys(tree, arguments.info_keys)
    is_syntax_clean = not _has_errors(findings)
    value: dict[str, Any] = {}
    isolation: Isolation | None = None
    if tree is not None and not any(finding.code in NOT_RUN for finding in findings):
        value, isolation, more = await _run_child(mdp_file, arguments, inputs, is_declared_only=_is_declared(tree))
        findings = _merged(findings, more)
    report = VerificationReport(
        candidate_id=candidate_id,
        is_accepted=not _has_errors(findings),
        levels_passed=(*(["syntax"] if is_syntax_clean else []), *value.get("levels_passed", [])),
        parts=_PARTS.validate_python(tuple(value.get("parts") or (defined_parts(tree) if tree else ()))),
        observation_space=_space(value.get("observation_space")),
        action_space=_space(value.get("action_space")),
        reward_components=tuple(RewardComponent(**row) for row in value.get("reward_components", [])),
        shaped_correlation_with_original=value.get("shaped_correlation_with_original"),
        seconds_per_step=value.get("seconds_per_step"),
        recorded_transitions=value.get("recorded_transitions", 0),
        findings=tuple(findings[:MAX_FINDINGS]),
        isolation=isolation,
    )
    if not report.is_accepted or tree is None:
        return Verified(report=report, design=None)
    return Verified(report=report, design=_design(report, arguments, inputs.environment, value, tree))


def _has_errors(findings: list[Finding]) -> bool:
    return any(finding.severity == "error" for finding in findings)


def _is_declared(tree: ast.Module) -> bool:
    """Tell whether a module holds nothing but docstrings, so that there is no free-form code."""
    return all(isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) for node in tree.body)


def _space(value: Any) -> Space | None:
    return None if value is None else _SPACE.validate_python(value)


def _design(
    report: VerificationReport,
    arguments: MdpArguments,
    environment: EnvironmentReport,
    value: dict[str, Any],
    tree: ast.Module,
) -> MdpDesign:
    assert report.observation_space is not None
    assert report.action_space is not None
    return MdpDesign(
        parts=report.parts,
        is_declared_only=_is_declared(tree),
        info_keys=arguments.info_keys,
        stateful=arguments.stateful,
        reward_scale=arguments.reward_scale,
        reward_weights=value.get("reward_weights", {}),
        max_episode_steps=environment.max_episode_steps,
        environment_observation_space=environment.observation_space,
        environment_action_space=environment.action_space,
        observation_space=report.observation_space,
        action_space=report.action_space,
    )


async def _run_child(
    mdp_file: Path, arguments: MdpArguments, inputs: Inputs, *, is_declared_only: bool
) -> tuple[dict[str, Any], Isolation | None, list[Finding]]:
    try:
        answer = await _call(mdp_file, arguments, inputs, is_declared_only=is_declared_only)
    except ChildFailed as failure:
        if failure.line is None or failure.outcome == "crashed":  # else a hang or a limit within a line of mdp.py
            await _check_installation(mdp_file, inputs)
        return {}, failure.isolation, [_failure_finding(failure)]
    findings = _findings_of(answer)
    if is_suspicious(findings):
        await _check_installation(mdp_file, inputs)
    return answer.value, answer.isolation, findings


def _findings_of(answer: ChildAnswer) -> list[Finding]:
    return [Finding(**finding) for finding in answer.value.get("findings", [])]  # pyright: ignore[reportGeneralTypeIssues, reportUnknownVariableType, reportUnknownArgumentType]


async def _call(mdp_file: Path, arguments: MdpArguments, inputs: Inputs, *, is_declared_only: bool) -> ChildAnswer:
    environment = inputs.environment
    request = ProcessRequest(
        module=CHILD,
        read_only=(mdp_file, *inputs.recordings),
        limits=Limits(memory_bytes=MEMORY_BYTES, processes=16, stall_seconds=STALL_SECONDS),
        is_declared_only=is_declared_only,
        isolation_policy=read_configuration().isolation,
    )
    payload: dict[str, object] = {
        "file": str(mdp_file),
        "recordings": [str(path) for path in inputs.recordings],
        "observation_space": environment.observation_space.model_dump(mode="json"),
        "action_space": environment.action_space.model_dump(mode="json"),
        "stateful": arguments.stateful.model_dump(mode="json"),
        "info_keys": list(arguments.info_keys),
        "known_info_keys": [key.name for key in environment.info_keys if key.is_numeric],
        "max_episode_steps": environment.max_episode_steps,
    }
    return await call_child(request, payload, timeout_seconds=CHILD_SECONDS)


async def _check_installation(mdp_file: Path, inputs: Inputs) -> None:
    """Run a known-good design the same way: where that fails too, the code is not to blame.

    Raises:
        PrerequisiteError: it failed too.
    """
    reference = mdp_file.with_name("known_good.py")
    write_whole(reference, known_good_code(inputs.environment))
    try:
        answer = await _call(reference, MdpArguments(), inputs, is_declared_only=True)
        faults = [finding.message for finding in _findings_of(answer) if finding.severity == "error"]
    except ChildFailed as failure:
        faults = [failure.message]
    finally:
        reference.unlink(missing_ok=True)
    if faults:
        raise PrerequisiteError(
            f"Verification fails here even for a known-good design, so the code is not to blame: {faults[0]}",
            "Run `agent2 doctor`; inspect the environment again if its recordings are damaged.",
        )


def _failure_finding(failure: ChildFailed) -> Finding:
    code, advice = _FAILURES.get(failure.outcome, ("crashes", "Remove what ends the process."))
    return Finding(
        code=code,
        severity="error",
        message=_failure_message(failure)[:400],
        advice=advice,
        evidence=failure.log[-300:],
        file="mdp.py",
        line=failure.line if failure.outcome != "crashed" or "mdp.py" in failure.message else None,
    )


def _failure_message(failure: ChildFailed) -> str:
    if failure.outcome != "stalled":
        return f"Verification ended: {failure.message}"
    _, _, place = failure.message.partition("; ")
    return f"A call did not end within {STALL_SECONDS:g} s{f': {place}' if place else ''}."


def _merged(first: list[Finding], second: list[Finding]) -> list[Finding]:
    """Join the findings of both halves, errors first; what the tree has already said of a line is not said twice."""
    told = {finding.line for finding in first if finding.code == "import-not-allowed"}
    signatures = {finding.line for finding in first if finding.code in ("wrong-parameters", "parameters-swapped")}
    kept = [
        finding
        for finding in second
        if not (finding.code == "import-fails" and finding.line in told)
        and not (finding.code == "wrong-parameters" and finding.line in signatures)
    ]
    order = {"error": 0, "warning": 1, "note": 2}
    return sorted([*first, *kept], key=lambda finding: (order[finding.severity], finding.line or 0))
