"""Uses what training uses: torch, Tianshou, MuJoCo with a rendered frame, environments in processes. Runs in the sandbox."""

import gymnasium
import numpy as np
import tianshou
import torch

from agent2_sandbox.child import serve_call


def use_all(payload: dict[str, object]) -> dict[str, object]:
    """Train a layer, render a frame, step two environments in processes of their own."""
    layer = torch.nn.Linear(4, 2)
    layer(torch.zeros(3, 4)).sum().backward()
    environment = gymnasium.make("InvertedPendulum-v5", render_mode="rgb_array")
    environment.reset(seed=0)
    frame = environment.render()
    environment.close()
    several = gymnasium.make_vec("CartPole-v1", num_envs=2, vectorization_mode="async")
    several.reset(seed=0)
    observation = several.step(np.zeros(2, dtype=np.int64))[0]
    several.close()
    return {
        "gradient": layer.bias.grad is not None,
        "frame": list(np.asarray(frame).shape),
        "rows": len(observation),
        "tianshou": tianshou.__version__,
    }


if __name__ == "__main__":
    serve_call(use_all)
