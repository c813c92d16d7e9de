"""The honest score: the same weights, in this process, with an mdp.py that does nothing."""

from pathlib import Path

from agent2_targets.runtime.agent import Agent
from agent2_targets.runtime.environment import build_environment
from agent2_targets.runtime.rollout import run_episodes
from agent2_training.evaluation.policy_folder import write_policy_folder
from agent2_training.runs.starting import environment_origin
from agent2_workspace import ProjectFolder, RunFolder

HARMLESS = '"""The environment as it is."""\n\n\ndef observe(observation):\n    return observation\n'


def honest_returns(
    project: ProjectFolder, run: RunFolder, env_steps: int, episodes: int, folder: Path, code: str = HARMLESS
) -> tuple[float, ...]:
    """Give the original returns of a checkpoint on the project's selection seeds.

    Args:
        project: the project.
        run: the run.
        env_steps: which accepted checkpoint.
        episodes: how many.
        folder: made here, for the policy.
        code: the mdp.py that acts.
    """
    write_policy_folder(folder, run, env_steps)
    (folder / "mdp.py").write_text(code)
    agent = Agent.load(folder)
    origin = environment_origin(project)
    return run_episodes(
        lambda: build_environment(origin["reference"], root=origin["root"]).env,
        lambda raw, mask: agent.act(raw, mask, True),
        project.seeds("selection", episodes),
    ).original_returns
