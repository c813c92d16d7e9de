"""The child of `sample_episodes`: whole episodes of a fixed policy, recorded."""

import time
from pathlib import Path
from typing import Any

from agent2_environment.introspection.group_recording import new_recorder
from agent2_environment.introspection.joint import build_any
from agent2_environment.introspection.notes import Notes
from agent2_environment.introspection.policies import make_policy
from agent2_environment.introspection.statistics import episode_statistics
from agent2_environment.introspection.stepping import Deadlines, Stepper
from agent2_sandbox.child import serve_call


def main(payload: dict[str, Any]) -> dict[str, Any]:
    """Play one episode for each seed.

    Args:
        payload: `reference` and `root`, `folder`, `policy`, `seeds`, and the deadlines `start_seconds`,
            `step_seconds`, `first_seconds`, `seconds_at_most`.

    Returns:
        `statistics` (fields of `EpisodeStatistics`) and `original_returns`; the recording is `sample.npz`.
    """
    notes = Notes(Path(payload["folder"]))
    notes.at("start", 0, payload["start_seconds"])
    adapted = build_any(payload["reference"], root=payload["root"])
    deadlines = Deadlines(step_seconds=payload["step_seconds"], first_seconds=payload["first_seconds"])
    stepper = Stepper(adapted.env, notes, deadlines)
    stepper.phase = payload["policy"]
    recorder = new_recorder(adapted)
    policy = make_policy(payload["policy"], adapted.env.action_space, payload["seeds"][0])
    begun = time.monotonic()
    for seed in payload["seeds"]:
        observation, _ = stepper.reset(seed)
        is_over = False
        while not is_over and time.monotonic() - begun < payload["seconds_at_most"]:
            action = policy()
            following, original_reward, terminated, truncated, info = stepper.step(action)
            recorder.add(observation, action, original_reward, following, terminated, truncated, info)
            observation, is_over = following, terminated or truncated
        recorder.begin_episode()
    notes.rest()
    adapted.env.close()
    recorder.write(Path(payload["folder"]) / "sample.npz")
    return {"statistics": episode_statistics(payload["policy"], recorder), "original_returns": recorder.returns}


if __name__ == "__main__":
    serve_call(main)
