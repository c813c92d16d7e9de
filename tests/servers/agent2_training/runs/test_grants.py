"""What a person granted reaches the worker."""

from agent2_training.runs.queue import request_for
from agent2_workspace import ProjectFolder, RunFolder, configuration_file


def test_the_worker_of_a_granted_environment_gets_the_gpu(cartpole: ProjectFolder, run: RunFolder) -> None:
    assert request_for(cartpole, run).grants == ()
    configuration_file().write_text('isolation = "best_effort"\n[grants."CartPole-*"]\ngpu = true\n')
    request = request_for(cartpole, run)
    assert request.grants == ("gpu",)
    assert request.isolation_policy == "best_effort"
