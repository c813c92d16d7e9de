"""What a worker tries while it trains never changes a score: only the weights that were taken over count."""

from pathlib import Path
from typing import Any

import anyio
import pytest

from agent2_serving import LongCalls
from agent2_training.checkpoints import accepted_checkpoints, checkpoint_file
from agent2_training.evaluation.calls import EvaluationCalls
from agent2_training.evaluation.evaluations import stored_evaluations
from agent2_training.runs.calls import RunCalls
from agent2_training.runs.starting import RunRequest
from agent2_training.runs.status import is_ended
from agent2_workspace import ProjectFolder

from ...agent2_sandbox.conftest import require_tier  # noqa: TID252  (the folders of tests are no package with a name)
from ..honest import honest_returns  # noqa: TID252
from .attempts import LIES_OF_WORKERS

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
EPISODES = 3
BUDGET = 1500
HYPERPARAMETERS = {"num_envs": 4, "rollout_steps": 32, "minibatch_size": 64, "epochs": 1}
HEAD = '"""{about}"""\nimport os\nimport struct\nimport time\n\nimport numpy as np\n\nDESCRIPTORS = [n for n in range(3, 64) if os.path.exists(f"/proc/self/fd/{{n}}")]\n'
TAIL = "\n\ndef observe(observation):\n    return observation\n"


@pytest.fixture(params=["A", "B"])
def tier(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Force one tier for everything that this process starts."""
    require_tier(request.param)
    monkeypatch.setenv("AGENT2_SANDBOX_TIER", request.param)
    return request.param


@pytest.mark.parametrize("name", list(LIES_OF_WORKERS))
async def test_whatever_a_worker_reports_the_score_is_that_of_its_weights(
    tier: str, name: str, cartpole: ProjectFolder, lab: Any, tmp_path: Path
) -> None:
    candidate = lab.candidate(cartpole, code=HEAD.format(about=name) + LIES_OF_WORKERS[name] + TAIL)
    lab.write_design(cartpole, candidate, hyperparameters=HYPERPARAMETERS, budget_env_steps=BUDGET)
    calls = RunCalls()
    taken: dict[int, bytes] = {}
    with anyio.fail_after(200):
        status = await calls.start(RunRequest(project="pole", candidate=candidate.id, lease="stop"))
        run = cartpole.run(status.run_id)
        while not is_ended(status.state):
            status = await calls.check("pole", status.run_id, 1.0, None)
            for env_steps in accepted_checkpoints(run):
                taken.setdefault(env_steps, checkpoint_file(run, env_steps).read_bytes())

    assert (status.state, status.outcome) == ("finished", "ok"), status
    accepted = accepted_checkpoints(run)
    assert accepted
    assert all(env_steps <= BUDGET + 200 for env_steps in accepted)
    assert all(checkpoint_file(run, env_steps).read_bytes() == content for env_steps, content in taken.items())
    assert stored_evaluations(run) == ()
    with anyio.fail_after(120):
        evaluation = await EvaluationCalls(LongCalls()).evaluate_run(
            cartpole, run, checkpoint="latest", purpose="selection", mode="deterministic", episodes=EPISODES, ctx=None
        )
    assert evaluation.state == "finished", evaluation.message
    assert evaluation.checkpoint_env_steps == accepted[-1]
    assert evaluation.original_returns == honest_returns(cartpole, run, accepted[-1], EPISODES, tmp_path / "policy")
    assert max(evaluation.original_returns) <= 500.0
