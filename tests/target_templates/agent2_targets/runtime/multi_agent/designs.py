"""Designs of groups for tests, as JSON."""

from typing import Any

from agent2_targets.runtime.multi_agent.interface import Layout


def mdp_of(layout: Layout, **stateful: Any) -> dict[str, Any]:
    """Describe the groups of a layout as the `mdp` part of a design."""
    groups = [
        {
            "name": group.name,
            "agents": list(group.agents),
            "environment_observation_space": group.observation_space,
            "environment_action_space": group.action_space,
            "has_action_mask": group.has_action_mask,
        }
        for group in layout.groups
    ]
    return {
        "groups": groups,
        "stateful": stateful,
        "max_episode_steps": layout.max_episode_steps,
        "environment_observation_space": groups[0]["environment_observation_space"],
        "environment_action_space": groups[0]["environment_action_space"],
        "environment_state_space": layout.state_space,
    }
