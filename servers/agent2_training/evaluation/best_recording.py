"""`recordings/best.npz`: episodes of the best known policy, so that a reward which ranks random above it is refused."""

import logging
import secrets
import shutil
from pathlib import Path

import anyio.to_thread
from pydantic import Field, ValidationError

from agent2_schemas import Agent2Error, EnvironmentReport, Evaluation, Frozen
from agent2_training.checkpoints import MalformedCheckpoint, read_plain_file
from agent2_training.evaluation.policy_folder import write_policy_folder
from agent2_training.evaluation.processes import Deadlines, run_processes
from agent2_training.runs.starting import environment_origin
from agent2_workspace import ProjectFolder, RunFolder, read_json, write_json, write_whole

FILE, ORIGIN = "best.npz", "best.json"
EPISODES_AT_MOST, EPISODES_AT_LEAST = 20, 3
ROWS_WANTED = 4000
"""Steps after which fewer episodes do: the verification reads no more."""
GAIN = 1.25
"""A better policy is recorded anew once its lead over random is this many times that of the recorded one."""
CLEAR_LEAD = 0.5
"""Lead over random, in standard deviations of random's returns, from which a policy counts as better."""
SECONDS = 120.0
FILE_BYTES = 128 * 2**20
_LOG = logging.getLogger(__name__)


class BestOrigin(Frozen):
    """Which evaluation the recorded policy is from."""

    evaluation_id: str = Field(description="The evaluation that showed it to be better than random.")
    mean_original_return: float = Field(description="Its score.")


def is_worth_recording(project: ProjectFolder, evaluation: Evaluation) -> bool:
    """Tell whether an evaluation shows a policy better than random, and clearly better than the recorded one."""
    mean = evaluation.mean_original_return
    is_selection = evaluation.purpose == "selection" and evaluation.mode == "deterministic"
    if evaluation.state != "finished" or not is_selection or not evaluation.is_comparable or mean is None:
        return False
    random, spread = _random_returns(project)
    if random is None or mean - random <= CLEAR_LEAD * spread:
        return False
    recorded = _recorded(project)
    return recorded is None or mean - random > GAIN * (recorded.mean_original_return - random)


async def record_best(project: ProjectFolder, run: RunFolder, evaluation: Evaluation) -> bool:
    """Record episodes of the evaluated policy, by the evaluator and a policy host in their sandboxes.

    It is optional: a failure is a line in the server's log.

    Returns:
        Whether there is a new recording.
    """
    folder = run.root / f".policy-best-{secrets.token_hex(3)}"
    written = run.root / f".best-{secrets.token_hex(3)}"
    mean_length = sum(evaluation.lengths) / max(1, len(evaluation.lengths))
    episodes = max(EPISODES_AT_LEAST, min(EPISODES_AT_MOST, round(ROWS_WANTED / max(1.0, mean_length))))
    try:
        await anyio.to_thread.run_sync(write_policy_folder, folder, run, evaluation.checkpoint_env_steps)
        written.mkdir()
        outcome = await run_processes(
            folder, environment_origin(project), project.seeds("recording", episodes), "deterministic",
            Deadlines(total_seconds=SECONDS), recording=written / FILE,
        )  # fmt: skip
        if outcome.error:
            _LOG.warning("the best policy was not recorded: %s", outcome.error)
            return False
        await anyio.to_thread.run_sync(_keep, project, written, evaluation)
    except (Agent2Error, MalformedCheckpoint, OSError) as error:
        _LOG.warning("the best policy was not recorded: %s", error)
        return False
    finally:
        for path in (folder, written):
            shutil.rmtree(path, ignore_errors=True)
    return True


def _keep(project: ProjectFolder, written: Path, evaluation: Evaluation) -> None:
    content = read_plain_file(written, FILE, limit_bytes=FILE_BYTES)
    write_whole(project.recordings / FILE, content)
    mean = evaluation.mean_original_return
    assert mean is not None
    write_json(
        project.recordings / ORIGIN, BestOrigin(evaluation_id=evaluation.evaluation_id, mean_original_return=mean)
    )


def _random_returns(project: ProjectFolder) -> tuple[float | None, float]:
    """Mean and standard deviation of the random policy's returns; None where no episode of it ended."""
    if project.report_json.exists():
        for each in read_json(project.report_json, EnvironmentReport).episodes:
            if each.policy == "random":
                return each.mean_original_return, each.std_original_return or 0.0
    return None, 0.0


def _recorded(project: ProjectFolder) -> BestOrigin | None:
    try:
        return read_json(project.recordings / ORIGIN, BestOrigin)
    except (OSError, ValidationError, ValueError):
        return None
