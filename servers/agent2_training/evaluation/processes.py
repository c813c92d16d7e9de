"""The two processes of an evaluation, joined by two pipes; request and result go over pipes that only one of them holds."""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import anyio
import anyio.to_thread
import yaml

from agent2_sandbox import Limits, Peer, ProcessRequest, probe_isolation, start_peer
from agent2_schemas import Agent2Error, Isolation
from agent2_training.evaluation.waiting import WaitingTime
from agent2_workspace import read_configuration

LOCKSTEP = 10
POLICY_SECONDS = 2.0
TOTAL_SECONDS = 1800.0
POLICY_START_SECONDS = 120.0
START_SECONDS = 180.0
RESULT_LIMIT_BYTES = 16 * 2**20
LOG_LINES = 3
_PACKAGE = "agent2_training.evaluation"


@dataclass(frozen=True, kw_only=True)
class EvaluationOutcome:
    """What the evaluator said, or why it could not."""

    original_returns: tuple[float, ...] = ()
    lengths: tuple[int, ...] = ()
    clipped_steps: int = 0
    stepping_seconds: float = 0.0
    """From the first episode to the end of the last, without the start of the processes."""
    error: str = ""
    """Empty where all went well."""
    isolation: Isolation | None = None
    """How the policy host was shut in."""


@dataclass(frozen=True, kw_only=True)
class Deadlines:
    """Limits of one evaluation, seconds."""

    policy_seconds: float = POLICY_SECONDS
    total_seconds: float = TOTAL_SECONDS
    start_seconds: float = POLICY_START_SECONDS


async def run_processes(
    policy_folder: Path,
    environment: dict[str, Any],
    seeds: tuple[int, ...],
    mode: str,
    deadlines: Deadlines | None = None,
    *,
    lockstep: int = LOCKSTEP,
    recording: Path | None = None,
) -> EvaluationOutcome:
    """Run one evaluation to its end.

    Args:
        policy_folder: see `write_policy_folder`; read-only for the policy host.
        environment: `reference` and `root` of the true environment.
        seeds: one per episode; only the evaluator learns them.
        mode: deterministic or stochastic.
        deadlines: limits; None: the usual ones.
        lockstep: environments side by side, at most.
        recording: file to which the evaluator writes the transitions too; its folder is writable for it.

    Returns:
        Returns and lengths in the order of the seeds, or the cause of the failure.
    """
    deadlines = deadlines or Deadlines()
    request = {
        **environment,
        "seeds": list(seeds),
        "lockstep": lockstep,
        "policy_seconds": deadlines.policy_seconds,
        "total_seconds": deadlines.total_seconds,
        "start_seconds": deadlines.start_seconds,
    }
    pipes, waiting = _Pipes(), WaitingTime()
    request["waiting"] = waiting.descriptor
    evaluator: Peer | None = None
    policy: Peer | None = None
    try:
        wall_seconds = deadlines.total_seconds + START_SECONDS
        await anyio.to_thread.run_sync(probe_isolation)
        # Started on the event loop's own thread: a sandbox dies with the thread that started it.
        policy = start_peer(_policy_request(policy_folder, mode, pipes, wall_seconds), pass_fds=pipes.of_policy)
        waiting.watch(policy.pid)
        inherited = (*pipes.of_evaluator, waiting.descriptor)
        evaluator = start_peer(_evaluator_request(environment, pipes, wall_seconds, recording), pass_fds=inherited)
        request_file, result_file = pipes.ours()
        pipes.close()
        result = None
        with anyio.move_on_after(wall_seconds):
            result = await anyio.to_thread.run_sync(
                _exchange, request, request_file, result_file, abandon_on_cancel=True
            )
        return await anyio.to_thread.run_sync(_outcome, result, evaluator, policy)
    except (Agent2Error, OSError) as error:
        return EvaluationOutcome(error=f"The evaluation could not be started: {error}")
    finally:
        for peer in (policy, evaluator):
            if peer is not None:
                peer.stop()
        pipes.close()
        waiting.stop()


class _Pipes:
    """Four pipes: request, result, frames to the policy host, frames from it."""

    def __init__(self) -> None:
        self.request_read, self._request_write = os.pipe()
        self._result_read, self.result_write = os.pipe()
        self.policy_read, self.evaluator_write = os.pipe()
        self.evaluator_read, self.policy_write = os.pipe()
        self._open = {
            self.request_read, self._request_write, self._result_read, self.result_write,
            self.policy_read, self.evaluator_write, self.evaluator_read, self.policy_write,
        }  # fmt: skip

    @property
    def of_policy(self) -> tuple[int, ...]:
        """Descriptors of the policy host."""
        return (self.policy_read, self.policy_write)

    @property
    def of_evaluator(self) -> tuple[int, ...]:
        """Descriptors of the evaluator."""
        return (self.request_read, self.result_write, self.evaluator_read, self.evaluator_write)

    def ours(self) -> tuple[BinaryIO, BinaryIO]:
        """Give our ends as files of their own: where the request goes, where the result comes from."""
        return os.fdopen(os.dup(self._request_write), "wb"), os.fdopen(os.dup(self._result_read), "rb")

    def close(self) -> None:
        """Close every end, so that the end of a child shows; a second call does nothing."""
        while self._open:
            os.close(self._open.pop())


def _exchange(request: dict[str, Any], request_file: BinaryIO, result_file: BinaryIO) -> bytes:
    """Hand over the request and wait for the result; empty where the evaluator ended without one."""
    with result_file:
        try:
            with request_file:
                request_file.write(json.dumps(request).encode())
        except BrokenPipeError:
            return b""
        return result_file.read(RESULT_LIMIT_BYTES)


def _policy_request(folder: Path, mode: str, pipes: _Pipes, wall_seconds: float) -> ProcessRequest:
    configuration = read_configuration()
    design = yaml.safe_load((folder / "design.yaml").read_text(encoding="utf-8"))
    arguments = (str(folder), "--read", str(pipes.policy_read), "--write", str(pipes.policy_write))
    return ProcessRequest(
        module=f"{_PACKAGE}.policy_host",
        arguments=(*arguments, "--mode", mode, "--seed", "0"),
        read_only=(folder,),
        limits=_limits(wall_seconds),
        is_declared_only=bool(design["mdp"]["is_declared_only"]),
        isolation_policy=configuration.isolation,
    )


def _evaluator_request(
    environment: dict[str, Any], pipes: _Pipes, wall_seconds: float, recording: Path | None
) -> ProcessRequest:
    request, result, read, write = map(str, pipes.of_evaluator)
    configuration = read_configuration()
    granted = configuration.granted(str(environment["reference"]["name"]))
    file = ("--file", str(recording)) if recording else ()
    return ProcessRequest(
        module=f"{_PACKAGE}.{'recorder' if recording else 'evaluator'}",
        arguments=("--request", request, "--result", result, "--read", read, "--write", write, *file),
        writable=recording.parent if recording else None,
        read_only=(*((Path(environment["root"]),) if environment["root"] else ()), *granted.read),
        limits=_limits(wall_seconds),
        is_declared_only=True,  # the person's own environment; no line of a model's
        isolation_policy=configuration.isolation,
        grants=granted.names,
        environment=granted.variables,
    )


def _limits(wall_seconds: float) -> Limits:
    limits = read_configuration().limits
    return Limits(
        memory_bytes=limits.memory_bytes, processes=limits.processes, stall_seconds=None, wall_seconds=wall_seconds
    )


def _outcome(content: bytes | None, evaluator: Peer, policy: Peer) -> EvaluationOutcome:
    isolation = policy.isolation
    if not content:
        failure = None if content is None else _failure(evaluator)
        why = "it took too long" if content is None else failure or "it ended without a result"
        return EvaluationOutcome(error=f"The evaluator gave no result: {why}", isolation=isolation)
    result = json.loads(content)
    if "error" in result:
        error = result["error"]
        if result["side"] == "policy" and (cause := _failure(policy)):
            error = f"{error}. Its own words: {cause}"
        return EvaluationOutcome(error=error, isolation=isolation)
    return EvaluationOutcome(
        original_returns=tuple(result["original_returns"]),
        lengths=tuple(result["lengths"]),
        clipped_steps=result["clipped_steps"],
        stepping_seconds=result["stepping_seconds"],
        isolation=isolation,
    )


def _failure(peer: Peer) -> str:
    """Say how a process failed, with the last lines of its log; empty where it did not."""
    peer.wait(timeout_seconds=2.0)
    failure = peer.failure()
    if failure is None:
        return ""
    _, message, log = failure
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    return " | ".join([message, *lines[-LOG_LINES:]])
