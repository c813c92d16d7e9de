"""Makes the event files beside it: a few points under the tags that each library writes. Run it by hand; they are committed."""

import math
from pathlib import Path

from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.event_file_writer import EventFileWriter

HERE = Path(__file__).parent
STEPS = range(0, 2000, 100)


def write(folder: Path, tags: dict[str, float], steps: range = STEPS, skipped: dict[str, set[int]] | None = None) -> None:
    """Write one event file: each tag starts at its value and grows by 1 % a point."""
    writer = EventFileWriter(str(folder))
    for index, step in enumerate(steps):
        for tag, start in tags.items():
            if step not in (skipped or {}).get(tag, set()):
                value = Summary.Value(tag=tag, simple_value=start * (1 + index / 100))
                writer.add_event(Event(step=step, wall_time=float(index), summary=Summary(value=[value])))
    writer.close()


def main() -> None:
    """Write them all."""
    ppo = {"approx_kl": 0.01, "clip_fraction": 0.1, "explained_variance": 0.5, "value_loss": 2.0, "learning_rate": 3e-4}
    write(HERE / "sb3" / "PPO_1", {"rollout/ep_rew_mean": 20.0, "rollout/ep_len_mean": 20.0, "train/entropy_loss": -0.69,
          "train/policy_gradient_loss": -0.01, "train/loss": 1.0, "time/fps": 900.0, "eval/mean_reward": 30.0,
          **{f"train/{name}": value for name, value in ppo.items()}})  # fmt: skip
    write(HERE / "cleanrl", {"charts/episodic_return": 20.0, "charts/episodic_length": 20.0, "losses/entropy": 0.69,
          "losses/approx_kl": 0.01, "losses/old_approx_kl": 0.01, "losses/clipfrac": 0.1, "losses/qf1_values": 5.0,
          "losses/qf2_values": 5.0, "charts/SPS": 900.0})  # fmt: skip
    write(HERE / "rllib" / "trial_0", {"ray/tune/env_runners/episode_return_mean": 20.0, "ray/tune/env_runners/episode_len_mean": 20.0,
          "ray/tune/learners/default_policy/entropy": 0.69, "ray/tune/learners/default_policy/vf_loss": 2.0,
          "ray/tune/learners/default_policy/policy_loss": 0.1, "ray/tune/learners/default_policy/mean_kl_loss": 0.01},
          range(1, 21), {"ray/tune/learners/default_policy/vf_loss": {15, 16, 17, 18, 19, 20}})  # fmt: skip
    write(HERE / "rsl_rl", {"Train/mean_reward": 20.0, "Train/mean_episode_length": 20.0, "Loss/value": 2.0,
          "Loss/surrogate": 0.1, "Loss/entropy": 3.0, "Policy/mean_std": 1.0, "Perf/total_fps": 9e4}, range(20))  # fmt: skip
    write(HERE / "tianshou", {"training/returns_stat/mean": 20.0, "training/lens_stat/mean": 20.0, "test/returns_stat/mean": 25.0,
          "update/ent_loss/mean": 0.69, "update/vf_loss/mean": 2.0, "update/actor_loss/mean": 0.1,
          "training/collect_speed": 900.0, "info/best_reward": 30.0})  # fmt: skip
    write(HERE / "unknown", {"my/metric": 1.0})
    write(HERE / "two_runs" / "seed_1", {"charts/episodic_return": 20.0})
    write(HERE / "two_runs" / "seed_2", {"charts/episodic_return": 22.0})
    writer = EventFileWriter(str(HERE / "nan"))
    for step in STEPS:
        value = math.nan if step in (500, 600) else math.inf if step == 700 else float(step)
        writer.add_event(Event(step=step, wall_time=1.0, summary=Summary(value=[Summary.Value(tag="rollout/original_return", simple_value=value)])))
    writer.close()


if __name__ == "__main__":
    main()
