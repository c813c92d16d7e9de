"""Evaluations with both processes, and which of them are answered from a file."""

import json
from pathlib import Path
from typing import Any

import anyio
import numpy as np
import pytest
from safetensors.numpy import load_file

from agent2_schemas import CorrectableError, EnvironmentReference, Evaluation
from agent2_serving import LongCalls
from agent2_targets.runtime.agent import Agent
from agent2_targets.runtime.environment import build_environment
from agent2_targets.runtime.rollout import run_episodes
from agent2_training.checkpoints import accept_checkpoints
from agent2_training.evaluation.calls import EvaluationCalls
from agent2_training.evaluation.evaluations import choose_checkpoint, stored_evaluations
from agent2_training.evaluation.policy_folder import read_normaliser, write_policy_folder
from agent2_training.evaluation.processes import Deadlines, run_processes
from agent2_workspace import CandidateFolder, ProjectFolder, RunFolder, write_json

BOX_CODE = '''"""Acts as a test wants."""
import time
import numpy as np

calls = 0

def act(action, observation):
    global calls
    calls += 1
    {body}
    return action
'''


async def evaluate(project: ProjectFolder, run: RunFolder, **request: Any) -> Evaluation:
    values: dict[str, Any] = {
        "checkpoint": "latest",
        "purpose": "selection",
        "mode": "deterministic",
        "episodes": 5,
        **request,
    }
    with anyio.fail_after(60):
        return await EvaluationCalls(LongCalls()).evaluate_run(project, run, ctx=None, **values)


@pytest.mark.anyio
async def test_a_score_comes_from_the_secret_seeds_and_agrees_with_the_same_policy_in_one_process(
    cartpole: ProjectFolder, run: RunFolder, tmp_path: Path
) -> None:
    evaluation = await evaluate(cartpole, run, episodes=8)
    write_policy_folder(tmp_path / "policy", run, 100)
    agent = Agent.load(tmp_path / "policy")
    alone = run_episodes(
        lambda: build_environment({"name": "CartPole-v1"}, root=None).env,
        lambda raw, mask: agent.act(raw, mask, True),
        cartpole.seeds("selection", 8),
    )

    assert evaluation.state == "finished", evaluation.message
    assert evaluation.original_returns == alone.original_returns
    assert evaluation.lengths == alone.lengths
    assert evaluation.is_comparable
    assert evaluation.isolation is not None
    assert [event.payload["evaluation_id"] for event in cartpole.journal.events(kind="evaluation")] == [
        evaluation.evaluation_id
    ]


@pytest.mark.anyio
async def test_an_equal_evaluation_is_answered_from_its_file_and_fresh_seeds_are_new(
    cartpole: ProjectFolder, run: RunFolder
) -> None:
    first = await evaluate(cartpole, run, mode="stochastic")
    again = await evaluate(cartpole, run, mode="stochastic")
    fresh = await evaluate(cartpole, run, mode="stochastic", purpose="fresh")

    assert again == first
    assert fresh.seeds_sha256 != first.seeds_sha256
    assert len(stored_evaluations(run)) == 2


@pytest.mark.anyio
async def test_a_changed_environment_is_said_to_be_not_comparable(workspace: Any, lab: Any) -> None:
    source = "import gymnasium\ndef make():\n    return gymnasium.make('CartPole-v1')\n"
    project = lab.project("own", EnvironmentReference(name="own.py:make"), source=source)
    candidate = lab.candidate(project)
    lab.write_design(project, candidate)
    run = lab.run(project, candidate)
    lab.leave_checkpoint(run, lab.checkpoint_bytes(lab.actor_tensors(candidate), 100), 100)
    first = await evaluate(project, run)
    (project.snapshot / "own.py").write_text(source + "# changed\n")
    second = await evaluate(project, run, episodes=4)

    assert first.state == "finished", first.message
    assert first.is_comparable
    assert not second.is_comparable
    assert "changed" in second.message


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("action = action * np.nan", "NaN or infinite"),
        ("raise RuntimeError('wheel fell off')", "wheel fell off"),
        pytest.param("calls > 3 and time.sleep(5)", "deadline", marks=pytest.mark.slow),
        pytest.param("calls > 3 and __import__('os')._exit(0)", "closed", marks=pytest.mark.slow),
    ],
)
async def test_a_policy_that_breaks_its_promise_fails_the_evaluation_with_the_cause(
    workspace: Any, lab: Any, tmp_path: Path, body: str, words: str
) -> None:
    project = lab.project("swing", EnvironmentReference(name="Pendulum-v1"))
    candidate = lab.candidate(project, code=BOX_CODE.format(body=body))
    lab.write_design(project, candidate)
    run = lab.run(project, candidate)
    lab.leave_checkpoint(run, lab.checkpoint_bytes(lab.actor_tensors(candidate), 100), 100)
    accept_checkpoints(run)
    write_policy_folder(tmp_path / "policy", run, 100)
    reference = {"reference": {"name": "Pendulum-v1"}, "root": None}

    with anyio.fail_after(60):
        outcome = await run_processes(
            tmp_path / "policy", reference, (1, 2), "deterministic", Deadlines(policy_seconds=1.0)
        )

    assert words in outcome.error, outcome.error
    assert outcome.original_returns == ()


@pytest.mark.anyio
async def test_a_failed_evaluation_is_journalled_but_not_kept_as_a_score(
    cartpole: ProjectFolder, run: RunFolder, candidate: CandidateFolder, lab: Any
) -> None:
    part = dict(list(lab.actor_tensors(candidate).items())[:1])  # the other layers are missing
    lab.leave_checkpoint(run, lab.checkpoint_bytes(part, 200), 200)

    evaluation = await evaluate(cartpole, run)

    assert (evaluation.state, evaluation.checkpoint_env_steps) == ("failed", 200)
    assert evaluation.message
    assert stored_evaluations(run) == ()
    assert cartpole.journal.events(kind="evaluation")[0].payload["state"] == "failed"


def scored(
    run: RunFolder, env_steps: int, mean: float, mode: str = "deterministic", purpose: str = "selection"
) -> None:
    name = f"{run.id}-{purpose}-{env_steps}-{mode[0]}-5"
    evaluation = Evaluation.model_validate(
        {
            "evaluation_id": name,
            "state": "finished",
            "project": "pole",
            "run_id": run.id,
            "candidate_id": "c1",
            "checkpoint_env_steps": env_steps,
            "purpose": purpose,
            "mode": mode,
            "episodes": 5,
            "mean_original_return": mean,
        }
    )
    write_json(run.evaluations / f"{name}.json", evaluation)


def test_best_is_the_checkpoint_of_the_best_selection_score(
    run: RunFolder, lab: Any, candidate: CandidateFolder
) -> None:
    for env_steps in (200, 300):
        lab.leave_checkpoint(run, lab.checkpoint_bytes(lab.actor_tensors(candidate), env_steps), env_steps)
    assert choose_checkpoint(run, "best") == 300
    scored(run, 100, 5.0)
    scored(run, 200, 9.0)
    scored(run, 300, 7.0)
    scored(run, 100, 99.0, purpose="verdict")
    scored(run, 300, 99.0, mode="stochastic")

    assert choose_checkpoint(run, "best") == 200
    assert choose_checkpoint(run, "latest") == 300
    assert choose_checkpoint(run, "100") == 100


def test_a_checkpoint_that_is_not_there_is_named_with_those_that_are(run: RunFolder) -> None:
    with pytest.raises(CorrectableError, match="it has 100"):
        choose_checkpoint(run, "50")


@pytest.mark.parametrize("text", ["[1]", '{"mean": [NaN]}', '{"mean": "x"}', "{"])
def test_statistics_that_are_not_finite_numbers_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="normaliser"):
        read_normaliser(text)


def test_the_policy_folder_holds_the_actor_alone(
    run: RunFolder, candidate: CandidateFolder, lab: Any, tmp_path: Path
) -> None:
    tensors = {**lab.actor_tensors(candidate), "critic.weight": np.ones(3)}
    statistics = {"mean": [0.0] * 4, "variance": [1.0] * 4, "count": 5.0, "clip": 10.0}
    content = lab.checkpoint_bytes(tensors, 400, normaliser=json.dumps(statistics))
    lab.leave_checkpoint(run, content, 400)
    accept_checkpoints(run)
    write_policy_folder(tmp_path / "policy", run, 400)

    assert json.loads((tmp_path / "policy" / "normaliser.json").read_text()) == statistics
    assert set(load_file(tmp_path / "policy" / "weights.safetensors")) == {
        name.removeprefix("actor.") for name in tensors if name.startswith("actor.")
    }
    assert {path.name for path in (tmp_path / "policy").iterdir()} == {
        "design.json", "design.yaml", "mdp.py", "normaliser.json", "policy.py", "weights.safetensors",
    }  # fmt: skip
