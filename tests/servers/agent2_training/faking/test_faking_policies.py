"""What a policy host tries never changes a score: it stays the honest one, or the evaluation fails with the cause."""

import json
import re
import struct
from pathlib import Path
from typing import Any

import anyio
import numpy as np
import pytest

from agent2_schemas import CorrectableError, EnvironmentReference, Evaluation
from agent2_serving import LongCalls
from agent2_training.checkpoints import accept_checkpoints
from agent2_training.evaluation.calls import EvaluationCalls
from agent2_training.evaluation.evaluations import stored_evaluations
from agent2_training.evaluation.policy_folder import write_policy_folder
from agent2_training.evaluation.processes import Deadlines, run_processes
from agent2_training.runs.starting import environment_origin
from agent2_workspace import ProjectFolder, RunFolder

from ...agent2_sandbox.conftest import require_tier  # noqa: TID252  (the folders of tests are no package with a name)
from ..honest import honest_returns  # noqa: TID252
from .attempts import BROKEN_PROMISES, HARMLESS_LIES, attempt

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
EPISODES = 3
CASES = Path(__file__).parents[3] / "cases" / "hostile"


@pytest.fixture(params=["A", "B"])
def tier(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Force one tier for everything that this process starts."""
    require_tier(request.param)
    monkeypatch.setenv("AGENT2_SANDBOX_TIER", request.param)
    return request.param


async def evaluate(project: ProjectFolder, run: RunFolder, **request: Any) -> Evaluation:
    values: dict[str, Any] = {"checkpoint": "latest", "purpose": "selection", "mode": "deterministic"}
    values |= {"episodes": EPISODES, **request}
    with anyio.fail_after(200):
        while True:
            found = await EvaluationCalls(LongCalls()).evaluate_run(project, run, ctx=None, **values)
            if found.state != "running":
                return found


def run_with(lab: Any, project: ProjectFolder, code: str) -> RunFolder:
    """Make a run of a candidate with this mdp.py, with a checkpoint of an untrained actor."""
    candidate = lab.candidate(project, code=code)
    lab.write_design(project, candidate)
    run = lab.run(project, candidate)
    lab.leave_checkpoint(run, lab.checkpoint_bytes(lab.actor_tensors(candidate), 100), 100)
    assert accept_checkpoints(run) == {}
    return run


@pytest.mark.parametrize("name", list(HARMLESS_LIES))
async def test_a_lie_that_reaches_nothing_leaves_the_honest_score(
    tier: str, name: str, cartpole: ProjectFolder, lab: Any, tmp_path: Path
) -> None:
    run = run_with(lab, cartpole, attempt(name, HARMLESS_LIES[name]))
    sizes = (EPISODES, EPISODES + 1) if "next evaluation" in name else (EPISODES,)
    evaluations = [await evaluate(cartpole, run, episodes=episodes) for episodes in sizes]

    assert [each.state for each in evaluations] == ["finished"] * len(sizes), [each.message for each in evaluations]
    honest = honest_returns(cartpole, run, 100, sizes[-1], tmp_path / "policy")
    assert [each.original_returns for each in evaluations] == [honest[:episodes] for episodes in sizes]


@pytest.mark.parametrize("name", list(BROKEN_PROMISES))
async def test_a_broken_promise_fails_the_evaluation_with_the_cause(
    tier: str, name: str, cartpole: ProjectFolder, lab: Any
) -> None:
    body, words = BROKEN_PROMISES[name]
    run = run_with(lab, cartpole, attempt(name, body))
    evaluation = await evaluate(cartpole, run)

    assert evaluation.state == "failed", evaluation
    assert re.search(words, evaluation.message), evaluation.message
    assert evaluation.mean_original_return is None
    assert stored_evaluations(run) == ()


@pytest.mark.parametrize(("value", "is_finite"), [("1000.0", True), ("np.nan", False), ("np.inf", False)])
async def test_actions_sent_past_the_pipeline_are_clipped_and_counted_or_refused(
    workspace: Any, lab: Any, value: str, is_finite: bool
) -> None:
    project = lab.project("swing", EnvironmentReference(name="Pendulum-v1"))
    body = f"setattr(sys.modules['__main__'], 'encode_batch', lambda a, s: np.full(len(observation), {value}, np.float32).tobytes())"
    evaluation = await evaluate(project, run_with(lab, project, attempt("sends what it likes", body)))

    assert evaluation.state == ("finished" if is_finite else "failed"), evaluation.message
    assert evaluation.clipped_action_fraction == (1.0 if is_finite else None)
    assert is_finite or "not finite" in evaluation.message
    assert not is_finite or max(evaluation.original_returns) <= 0.0


async def test_the_clock_and_random_numbers_of_the_hostile_file_move_no_score(
    tier: str, cartpole: ProjectFolder, lab: Any, tmp_path: Path
) -> None:
    run = run_with(lab, cartpole, (CASES / "patch_clock_and_random.py").read_text())
    evaluation = await evaluate(cartpole, run)

    assert evaluation.state == "finished", evaluation.message
    assert evaluation.original_returns == honest_returns(cartpole, run, 100, EPISODES, tmp_path / "policy")


async def test_a_policy_that_never_loads_is_ended_by_its_own_deadline(
    tier: str, cartpole: ProjectFolder, lab: Any, tmp_path: Path
) -> None:
    run = run_with(lab, cartpole, (CASES / "slow_observe.py").read_text())
    write_policy_folder(tmp_path / "policy", run, 100)
    with anyio.fail_after(100):
        outcome = await run_processes(
            tmp_path / "policy", environment_origin(cartpole), (1,), "deterministic", Deadlines(start_seconds=20.0)
        )

    assert "took longer than 20.0 s while loading" in outcome.error


@pytest.mark.parametrize(
    "statistics",
    [
        {"mean": [0.0] * 3, "variance": [1.0] * 3, "count": 5.0, "clip": 10.0},
        {"mean": "big", "variance": [1.0], "count": 5.0, "clip": 10.0},
        {"mean": [1e999] * 4, "variance": [1.0] * 4, "count": 5.0, "clip": 10.0},
    ],
)
async def test_statistics_that_lie_fail_the_evaluation(
    cartpole: ProjectFolder, lab: Any, statistics: dict[str, Any]
) -> None:
    candidate = lab.candidate(cartpole)
    lab.write_design(cartpole, candidate, normalise_observation="running")
    run = lab.run(cartpole, candidate)
    content = lab.checkpoint_bytes(lab.actor_tensors(candidate), 100, normaliser=json.dumps(statistics))
    lab.leave_checkpoint(run, content, 100)
    evaluation = await evaluate(cartpole, run)

    assert evaluation.state == "failed", evaluation
    assert evaluation.message


async def test_weights_of_another_shape_fail_the_evaluation(cartpole: ProjectFolder, lab: Any) -> None:
    candidate = lab.candidate(cartpole)
    lab.write_design(cartpole, candidate)
    run = lab.run(cartpole, candidate)
    tensors = {name: np.zeros((2, 2), np.float32) for name in lab.actor_tensors(candidate)}
    lab.leave_checkpoint(run, lab.checkpoint_bytes(tensors, 100), 100)

    assert (await evaluate(cartpole, run)).state == "failed"


async def test_a_header_that_claims_more_than_the_file_holds_is_no_checkpoint(
    cartpole: ProjectFolder, lab: Any, run: RunFolder
) -> None:
    path = run.work / "checkpoints" / "100.safetensors"
    content = path.read_bytes()
    path.write_bytes(struct.pack("<Q", 2**40) + content[8:])

    with pytest.raises(CorrectableError, match="no accepted checkpoint"):
        await evaluate(cartpole, run)


async def test_an_environment_that_pays_more_from_now_on_is_said_not_to_compare(workspace: Any, lab: Any) -> None:
    source = "import gymnasium\ndef make():\n    return gymnasium.make('CartPole-v1')\n"
    generous = (
        "import gymnasium\ndef make():\n"
        "    return gymnasium.wrappers.TransformReward(gymnasium.make('CartPole-v1'), lambda reward: 1e6)\n"
    )
    project = lab.project("own", EnvironmentReference(name="own.py:make"), source=source)
    run = run_with(lab, project, attempt("nothing", "pass"))
    first = await evaluate(project, run)
    (project.snapshot / "own.py").write_text(generous)
    second = await evaluate(project, run, episodes=EPISODES + 1)
    (project.snapshot / "own.py").write_text(source)
    third = await evaluate(project, run, episodes=EPISODES + 2)

    assert [each.is_comparable for each in (first, second, third)] == [True, False, True]
    assert "do not compare" in second.message
    assert third.original_returns[:EPISODES] == first.original_returns
