"""Episodes of a policy that beats random are recorded, so that a reward which ranks random above it can be refused."""

from __future__ import annotations

import logging
from typing import Any

import anyio
import numpy as np
import pytest

from agent2_schemas import EnvironmentReference, Evaluation
from agent2_serving import LongCalls
from agent2_training.evaluation.best_recording import is_worth_recording, record_best
from agent2_training.evaluation.calls import EvaluationCalls
from agent2_workspace import CandidateFolder, ProjectFolder, RunFolder

LEANING = '''"""Pushes the cart to where the pole leans: a good policy, whatever the weights are."""
import numpy as np

def act(action, observation):
    return (observation[:, 2] + 0.5 * observation[:, 3] > 0).astype(np.int64)
'''


@pytest.fixture
def good_run(cartpole: ProjectFolder, lab: Any) -> RunFolder:
    candidate: CandidateFolder = lab.candidate(cartpole, code=LEANING)
    lab.write_design(cartpole, candidate)
    run = lab.run(cartpole, candidate)
    lab.leave_checkpoint(run, lab.checkpoint_bytes(lab.actor_tensors(candidate), 100), 100)
    return run


async def evaluate(calls: LongCalls, project: ProjectFolder, run: RunFolder, **request: Any) -> Evaluation:
    values: dict[str, Any] = {"checkpoint": "latest", "purpose": "selection", "mode": "deterministic", "episodes": 4}
    with anyio.fail_after(60):
        return await EvaluationCalls(calls).evaluate_run(project, run, ctx=None, **{**values, **request})


@pytest.mark.anyio
async def test_a_policy_that_beats_random_is_recorded_in_the_background(
    cartpole: ProjectFolder, good_run: RunFolder
) -> None:
    calls = LongCalls()
    evaluation = await evaluate(calls, cartpole, good_run)
    assert (evaluation.mean_original_return or 0.0) > 100.0
    with anyio.fail_after(60):
        recorded = await calls.result(f"record|{good_run.root}|{evaluation.evaluation_id}", _never, 60.0)
    assert recorded is True
    with np.load(cartpole.recordings / "best.npz", allow_pickle=False) as archive:
        columns = {name: archive[name] for name in archive.files}
    rows = len(columns["original_reward"])
    assert columns["observation"].shape == columns["next_observation"].shape == (rows, 4)
    assert columns["observation"].dtype == np.float32
    assert columns["action"].dtype == np.int64
    assert columns["original_reward"].dtype == np.float64
    assert columns["episode"].max() + 1 >= 3
    for number in np.unique(columns["episode"]):
        at = np.flatnonzero(columns["episode"] == number)
        assert np.array_equal(at, np.arange(at[0], at[-1] + 1))
        np.testing.assert_array_equal(columns["next_observation"][at[:-1]], columns["observation"][at[1:]])
        ended = columns["terminated"] | columns["truncated"]
        assert ended[at[-1]]
        assert not ended[at[:-1]].any()
    assert not [path for path in good_run.root.iterdir() if path.name.startswith((".best", ".policy"))]
    assert not is_worth_recording(cartpole, evaluation), "it was recorded already"
    better = evaluation.model_copy(update={"mean_original_return": 22.0 + 1.3 * (evaluation.mean_original_return - 22)})  # pyright: ignore[reportOptionalOperand]
    assert is_worth_recording(cartpole, better)


async def _never() -> bool:
    raise AssertionError("no recording was begun")


@pytest.mark.anyio
async def test_what_does_not_beat_random_or_is_no_selection_is_not_recorded(
    cartpole: ProjectFolder, good_run: RunFolder
) -> None:
    evaluation = await evaluate(LongCalls(), cartpole, good_run, purpose="fresh")
    assert not is_worth_recording(cartpole, evaluation)
    selection = evaluation.model_copy(update={"purpose": "selection"})
    assert is_worth_recording(cartpole, selection)
    for change in (
        {"mean_original_return": 21.0}, {"mode": "stochastic"}, {"state": "failed"}, {"is_comparable": False},
    ):  # fmt: skip
        assert not is_worth_recording(cartpole, selection.model_copy(update=change))


@pytest.mark.slow
@pytest.mark.anyio
async def test_a_recording_that_fails_is_a_line_in_the_log(
    lab: Any, workspace: Any, caplog: pytest.LogCaptureFixture
) -> None:
    source = "import gymnasium\ndef make():\n    raise RuntimeError('no licence')\n"
    project = lab.project("own", EnvironmentReference(name="own.py:make"), source=source.replace("raise RuntimeError('no licence')", "return gymnasium.make('CartPole-v1')"))  # fmt: skip
    candidate = lab.candidate(project)
    lab.write_design(project, candidate)
    run = lab.run(project, candidate)
    lab.leave_checkpoint(run, lab.checkpoint_bytes(lab.actor_tensors(candidate), 100), 100)
    evaluation = await evaluate(LongCalls(), project, run, purpose="fresh")
    (project.snapshot / "own.py").write_text(source)
    with caplog.at_level(logging.WARNING), anyio.fail_after(60):
        assert await record_best(project, run, evaluation) is False
    assert "no licence" in caplog.text
    assert not (project.recordings / "best.npz").exists()
