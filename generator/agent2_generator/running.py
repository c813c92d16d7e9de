"""Runs as the Generator drives them: side by side, followed to their end, taken up again after an interruption."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

import anyio

from agent2_generator.session import ACTOR, Session
from agent2_schemas import Agent2Error, Evaluation, RunFailed, RunStatus

POLL_SECONDS = 1.0
EVALUATION_EPISODES = 20
"""Held-out episodes of one evaluation (diagnosis protocol: at least 20)."""
ENDED = ("paused", "finished", "failed", "stopped", "lost")
MAX_INTERRUPTIONS = 3
"""How often one session takes a training up again that something else keeps ending."""
REPEATED_BELOW_SECONDS = 30.0
"""An interrupted training that had trained for less begins anew: the same seed gives the result it would have had."""

Rung = Callable[[RunStatus], Awaitable[bool]]
"""Called once when a run reaches its rung; false ends the run."""


@dataclass(frozen=True, kw_only=True)
class RunPlan:
    """One training to be done."""

    candidate_id: str
    seed_index: int
    budget_env_steps: int
    purpose: Literal["search", "verdict"] = "search"
    rung: Rung | None = None
    rung_env_steps: int = 0

    @property
    def key(self) -> str:
        """Names the training within its project: the same key never trains twice."""
        return f"{self.candidate_id}-s{self.seed_index}-{self.purpose}-{self.budget_env_steps}"

    @property
    def label(self) -> str:
        """How a person sees it."""
        return f"{self.candidate_id} seed {self.seed_index}"


async def train(session: Session, plans: Sequence[RunPlan], *, parallel: int) -> list[RunStatus]:
    """Train all plans, `parallel` at a time.

    Args:
        session: the build.
        plans: what to train, in order of importance.
        parallel: runs side by side.

    Returns:
        The final status of each plan, in order. Time that runs out ends runs early, with a checkpoint.

    Raises:
        RunFailed: designs that differ crashed alike: further designs would too.
    """
    limiter = anyio.CapacityLimiter(parallel)
    results: dict[int, RunStatus] = {}

    async def one(index: int, plan: RunPlan) -> None:
        async with limiter:
            results[index] = await train_one(session, plan)

    async with anyio.create_task_group() as group:
        for index, plan in enumerate(plans):
            group.start_soon(one, index, plan)
    for status in results.values():
        if status.is_environment_fault:
            raise RunFailed(status.message, "Type `agent2 doctor`, and `agent2 inspect` with your environment.")
    return [results[index] for index in range(len(plans))]


@dataclass(frozen=True, kw_only=True)
class Scored:
    """A training that has ended, and the evaluation of its last checkpoint."""

    plan: RunPlan
    status: RunStatus | None
    """None: not begun, because no time was left."""
    evaluation: Evaluation | None
    """None: nothing to score."""

    @property
    def score(self) -> float | None:
        """Mean original return; None without a finished evaluation."""
        found = self.evaluation
        return found.mean_original_return if found is not None and found.state == "finished" else None


async def train_and_score(
    session: Session, plans: Sequence[RunPlan], *, slots: anyio.CapacityLimiter, seconds_needed: float = 0.0
) -> list[Scored]:
    """Train all plans and score each as soon as it has ended, so that no core waits for the slowest.

    Args:
        session: the build.
        plans: what to train, in order of importance.
        slots: places for trainings and their evaluations, one a core.
        seconds_needed: time that must be left for a training to begin; one that was begun before is always taken up.

    Returns:
        What came of each plan, in order.
    """
    results: dict[int, Scored] = {}

    async def one(index: int, plan: RunPlan) -> None:
        async with slots:
            if session.clock.left_seconds - session.finish_seconds < seconds_needed and not was_started(session, plan):
                results[index] = Scored(plan=plan, status=None, evaluation=None)
            else:
                results[index] = await train_and_score_one(session, plan)

    async with anyio.create_task_group() as group:
        for index, plan in enumerate(plans):
            group.start_soon(one, index, plan)
    return [results[index] for index in range(len(plans))]


async def train_and_score_one(session: Session, plan: RunPlan) -> Scored:
    """Train one plan, and score its last checkpoint unless its rung ended it.

    Raises:
        RunFailed: designs that differ crashed alike: further designs would too.
    """
    status = await train_one(session, plan)
    if status.is_environment_fault:
        raise RunFailed(status.message, "Type `agent2 doctor`, and `agent2 inspect` with your environment.")
    if plan.rung is not None and has_weights(status) and not await plan.rung(status):
        return Scored(plan=plan, status=status, evaluation=None)
    if not has_weights(status):
        session.display.note(f"{plan.label} {status.state}: {status.message or status.outcome or ''}")
        return Scored(plan=plan, status=status, evaluation=None)
    result = await evaluate(session, status.run_id, purpose="verdict" if plan.purpose == "verdict" else "selection")
    scored = Scored(plan=plan, status=status, evaluation=result)
    if status.state == "finished" and status.seconds is not None:
        session.slot_seconds.setdefault(plan.candidate_id, []).append(status.seconds + (result.seconds or 0.0))
    if scored.score is None:
        session.display.note(f"{plan.label} could not be scored: {result.message}")
    else:
        seeds = "verdict" if plan.purpose == "verdict" else "held-out"
        session.display.note(
            f"{plan.label}: score {scored.score:,.4g} ± {result.std_original_return:,.3g} over {result.episodes} {seeds} episodes"
        )
    return scored


async def start(session: Session, plan: RunPlan, *, resume_from: str = "", restart: int = 0) -> RunStatus:
    """Start a training, or find the one that was started under its key."""
    status = await session.call(
        "training",
        "start_training",
        RunStatus,
        candidate=plan.candidate_id,
        budget_env_steps=plan.budget_env_steps,
        seed_index=plan.seed_index,
        purpose=plan.purpose,
        lease="stop",
        resume_from=resume_from,
        idempotency_key=plan.key + (f"#{restart}" if restart else ""),
    )
    if status.state not in ENDED:
        session.active_runs.add(status.run_id)
    return status


async def train_one(session: Session, plan: RunPlan) -> RunStatus:
    """Train one plan to its end; an interrupted run is taken up again at its last checkpoint."""
    interruptions = 0
    while True:
        status = await begin(session, plan, may_restart=interruptions <= MAX_INTERRUPTIONS)
        if status.state not in ENDED:
            status = await _follow(session, plan, status)
        session.active_runs.discard(status.run_id)
        session.display.forget(status.run_id)
        session.clock.env_steps += own_env_steps(session, status)
        session.tick(status.run_id)
        if not _is_interrupted(session, plan, status) or interruptions > MAX_INTERRUPTIONS:
            return status
        interruptions += 1
        session.display.note(f"{plan.label}: {status.state} at {_steps(status):,} env steps, taken up again")


async def begin(session: Session, plan: RunPlan, *, may_restart: bool = True) -> RunStatus:
    """Start a training, find the one that was started under its key, or take up an interrupted one.

    Returns:
        The newest run under the plan's key: in progress, or ended for good.
    """
    resume_from, restart = "", 0
    while True:
        status = await start(session, plan, resume_from=resume_from, restart=restart)
        if not may_restart or status.state not in ENDED or not _is_interrupted(session, plan, status):
            return status
        resume_from, restart = status.run_id if _has_start(session, status) else "", restart + 1


def _has_start(session: Session, status: RunStatus) -> bool:
    """Whether an interrupted training is worth taking up at its checkpoint."""
    if session.folder.run(status.run_id).read_specification().resume_from:
        return True
    seconds = status.progress.seconds if status.progress else 0.0
    return bool(status.checkpoints_env_steps) and seconds >= REPEATED_BELOW_SECONDS


async def _follow(session: Session, plan: RunPlan, status: RunStatus) -> RunStatus:
    rung_is_due = plan.rung is not None
    while status.state not in ENDED:
        status = await check(session, status.run_id, wait_seconds=POLL_SECONDS)
        session.display.run(plan.label, status)
        if session.clock.left_seconds < session.finish_seconds and status.state not in ENDED:
            return await cut(session, status.run_id)
        if rung_is_due and plan.rung and any(s >= plan.rung_env_steps for s in status.checkpoints_env_steps):
            rung_is_due = False
            if not await plan.rung(status):
                return await cut(session, status.run_id)
    return status


async def check(session: Session, run_id: str, *, wait_seconds: float = 0.0) -> RunStatus:
    """Ask how a run stands."""
    return await session.call("training", "check_training", RunStatus, run=run_id, wait_seconds=wait_seconds)


async def cut(session: Session, run_id: str) -> RunStatus:
    """End a run early on purpose: its checkpoints stay, and a resume does not take it up again."""
    session.journal.append(
        ACTOR, "run-cut", run_id, {"used_seconds": session.clock.used_seconds}, key=f"run-cut-{run_id}"
    )
    await session.call("training", "stop_training", RunStatus, run=run_id, mode="stop")
    with anyio.move_on_after(15):
        while (status := await check(session, run_id, wait_seconds=POLL_SECONDS)).state not in ENDED:
            pass
        return status
    return await check(session, run_id)


async def pause_all(session: Session) -> None:
    """Pause every run in progress, all at once; called when a build is interrupted.

    A run that cannot be asked is left to its lease: it saves its weights and ends once its owner is gone.
    """

    async def pause(run_id: str) -> None:
        with suppress(Agent2Error):
            await session.call("training", "stop_training", RunStatus, run=run_id, mode="pause")

    async with anyio.create_task_group() as group:
        for run_id in sorted(session.active_runs):
            group.start_soon(pause, run_id)


async def evaluate(
    session: Session, run_id: str, *, purpose: Literal["selection", "verdict"] = "selection", checkpoint: str = "latest"
) -> Evaluation:
    """Score a checkpoint by the trusted evaluator; the state of a failed evaluation is `failed`."""
    result = await session.call(
        "training", "evaluate_run", Evaluation, may_fail=True, run=run_id, purpose=purpose, checkpoint=checkpoint,
        episodes=EVALUATION_EPISODES,
    )  # fmt: skip
    session.evaluation_seconds = max(session.evaluation_seconds, result.seconds or 0.0)
    return result


def was_started(session: Session, plan: RunPlan) -> bool:
    """Whether an earlier session of this build started the training."""
    return session.journal.find(f"run-{plan.key}") is not None


def has_weights(status: RunStatus) -> bool:
    """Whether a run left a checkpoint that can be scored."""
    return bool(status.checkpoints_env_steps) and status.state != "failed"


def _is_interrupted(session: Session, plan: RunPlan, status: RunStatus) -> bool:
    """Whether a run ended before its budget by no decision of this build and no fault of its candidate."""
    if max(status.checkpoints_env_steps, default=0) >= plan.budget_env_steps or _was_cut(session, status.run_id):
        return False
    was_killed = status.state == "failed" and status.outcome == "crashed" and "SIGKILL" in status.message
    return was_killed or status.state in ("paused", "stopped", "lost")


def _was_cut(session: Session, run_id: str) -> bool:
    return session.journal.find(f"run-cut-{run_id}") is not None


def _steps(status: RunStatus) -> int:
    return status.progress.env_steps if status.progress else 0


def own_env_steps(session: Session, status: RunStatus) -> int:
    """Environment steps of this run alone, without those of the run it was resumed from."""
    earlier = session.folder.run(status.run_id).read_specification().resume_from
    before = max(session.folder.run(earlier).read_checkpoint_steps(), default=0) if earlier else 0
    return max(0, _steps(status) - before)
