"""Deliver an agent: score it on the card seeds, pack its folder whole, add a video where the environment draws."""

import asyncio
import importlib
import secrets
import shutil
from functools import partial
from pathlib import Path

import anyio.to_thread

from agent2_sandbox import ChildFailed, Limits, ProcessRequest, call_child
from agent2_schemas import Agent2Error, Design, Evaluation, TargetExported
from agent2_training.checkpoints import MalformedCheckpoint, read_plain_file
from agent2_training.evaluation.calls import EvaluationCalls
from agent2_training.evaluation.evaluations import EvaluationRequest, Mode, choose_checkpoint
from agent2_workspace import ProjectFolder, RunFolder, read_configuration, read_yaml

VIDEO_SECONDS = 90.0
VIDEO_STEPS = 600
VIDEO_LIMIT_BYTES = 32 * 2**20
VIDEO_NAMES = ("video.mp4", "video.gif")


async def export(
    project: ProjectFolder, run: RunFolder, checkpoint: str, episodes: int, evaluations: EvaluationCalls
) -> TargetExported:
    """Export one checkpoint of a run.

    Args:
        project: the project, whose `target/` is replaced.
        run: the run to deliver.
        checkpoint: latest, best or env steps.
        episodes: episodes of the card evaluation; the same run, checkpoint and number use the card seeds once.
        evaluations: does the card evaluations.

    Returns:
        Where the agent lies and what it scores; failed where the card evaluation failed, an older agent then stays.
    """
    env_steps = await anyio.to_thread.run_sync(choose_checkpoint, run, checkpoint)
    card, stochastic = await _cards(project, run, env_steps, episodes, evaluations)
    answer = TargetExported(project=project.name, run_id=run.id, card=card)
    if card.state == "failed":
        return answer.model_copy(update={"state": "failed", "message": f"The card evaluation failed: {card.message}"})
    sampled = stochastic if stochastic.state == "finished" else None
    notes = [] if sampled else [f"No score with sampled actions: {stochastic.message}"]
    try:
        await anyio.to_thread.run_sync(_pack, project, run, env_steps, card, sampled)
    except (MalformedCheckpoint, OSError) as error:
        return answer.model_copy(update={"state": "failed", "message": f"The agent could not be packed: {error}"})
    notes.append(await _add_video(project, run))
    message = " ".join(note for note in notes if note)
    done = answer.model_copy(update={"folder": str(project.target), "message": message, "next_step": "write_report"})
    await anyio.to_thread.run_sync(project.journal.append, "training", "export", run.id, done)
    return done


async def _cards(
    project: ProjectFolder, run: RunFolder, env_steps: int, episodes: int, evaluations: EvaluationCalls
) -> tuple[Evaluation, Evaluation]:
    """Score the checkpoint on the card seeds with greedy and with sampled actions, side by side."""
    modes: tuple[Mode, Mode] = ("deterministic", "stochastic")
    requests = [
        EvaluationRequest(checkpoint_env_steps=env_steps, purpose="card", mode=mode, episodes=episodes)
        for mode in modes
    ]
    card, stochastic = await asyncio.gather(*(evaluations.evaluate(project, run, each) for each in requests))
    return card, stochastic


def _pack(
    project: ProjectFolder, run: RunFolder, env_steps: int, card: Evaluation, stochastic: Evaluation | None
) -> None:
    # Loaded at the first export: NumPy and the packing stay out of the server's start.
    importlib.import_module("agent2_training.export.packing").pack(project, run, env_steps, card, stochastic)


async def _add_video(project: ProjectFolder, run: RunFolder) -> str:
    """Film the packed agent and add the video to its folder.

    Returns:
        Empty where that went well, else a note why there is no video or a lesser one: never an error.
    """
    reason = ""
    for name in VIDEO_NAMES:
        folder = run.root / f".film-{secrets.token_hex(3)}"
        folder.mkdir()
        try:
            await call_child(
                _film_request(project, run, folder),
                {"folder": str(project.target), "file": str(folder / name), "max_steps": VIDEO_STEPS},
                timeout_seconds=VIDEO_SECONDS,
            )
            content = read_plain_file(folder, name, limit_bytes=VIDEO_LIMIT_BYTES)
            await anyio.to_thread.run_sync(partial(_add_file, project.target, name, content))
        except ChildFailed as error:
            reason = error.message
            if "cannot draw" in reason:
                break
        except (Agent2Error, OSError) as error:
            reason = str(error)
        else:
            return f"Filmed as {name}; for an .mp4 type: pip install 'agent-squared[video]'." if reason else ""
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    return f"No video: {reason}"[:400]


def _add_file(folder: Path, name: str, content: bytes) -> None:
    importlib.import_module("agent2_targets.packing").add_file(folder, name, content)


def _film_request(project: ProjectFolder, run: RunFolder, folder: Path) -> ProcessRequest:
    configuration = read_configuration()
    granted = configuration.granted(project.read().environment.name)
    return ProcessRequest(
        module="agent2_training.export.filming",
        read_only=(project.target, *granted.read),
        writable=folder,
        limits=Limits(memory_bytes=configuration.limits.memory_bytes, stall_seconds=None, wall_seconds=VIDEO_SECONDS),
        is_declared_only=read_yaml(run.candidate_copy / "design.yaml", Design).mdp.is_declared_only,
        isolation_policy=configuration.isolation,
        grants=granted.names,
        environment=granted.variables,
    )
