"""The table of canonical metric names: which tag of which library means what, with sign and x axis."""

import re
from dataclasses import dataclass

AGENT2, SB3, CLEANRL, RLLIB, RSL_RL, TIANSHOU, UNKNOWN = (
    "agent2", "sb3", "cleanrl", "rllib", "rsl_rl", "tianshou", "unknown",
)  # fmt: skip

_MODULE = r"(?:ray/tune/)?learners/[^/]+/"
_RUNNERS = r"(?:ray/tune/)?(?:evaluation/)?env_runners/"

_TABLE: dict[str, tuple[tuple[str, str], ...]] = {
    AGENT2: (
        ("episode_return", r"rollout/original_return"),
        ("shaped_return", r"rollout/shaped_return"),
        ("episode_length", r"rollout/episode_length"),
        ("terminated_fraction", r"rollout/terminated_fraction"),
        ("action_clipped_fraction", r"rollout/action_clipped_fraction"),
        (r"reward_component/\1", r"rollout/reward_component/(.+)"),
        ("approx_kl", r"train/approx_kl"),
        ("clip_fraction", r"train/clip_fraction"),
        ("entropy", r"train/entropy"),
        ("action_std", r"train/action_std"),
        ("explained_variance", r"train/explained_variance"),
        ("value_loss", r"train/value_loss"),
        ("policy_loss", r"train/policy_loss"),
        ("critic_loss", r"train/critic_loss"),
        ("q_mean", r"train/q_mean"),
        ("alpha", r"train/alpha"),
        ("exploration_rate", r"train/exploration_rate"),
        ("learning_rate", r"train/learning_rate"),
        ("gradient_norm", r"train/gradient_norm"),
        ("env_steps_per_second", r"time/env_steps_per_second"),
        ("memory_bytes", r"time/memory_bytes"),
    ),
    SB3: (
        ("episode_return", r"rollout/ep_rew_mean"),
        ("episode_length", r"rollout/ep_len_mean"),
        ("success_rate", r"(?:rollout|eval)/success_rate"),
        ("eval_return", r"eval/mean_reward"),
        ("eval_length", r"eval/mean_ep_length"),
        ("approx_kl", r"train/approx_kl"),
        ("clip_fraction", r"train/clip_fraction"),
        ("-entropy", r"train/entropy_loss"),
        ("action_std", r"train/std"),
        ("explained_variance", r"train/explained_variance"),
        ("value_loss", r"train/value_loss"),
        ("policy_loss", r"train/(?:policy_gradient_loss|policy_loss|actor_loss)"),
        ("critic_loss", r"train/critic_loss"),
        ("loss", r"train/loss"),
        ("alpha", r"train/ent_coef"),
        ("alpha_loss", r"train/ent_coef_loss"),
        ("exploration_rate", r"rollout/exploration_rate"),
        ("learning_rate", r"train/learning_rate"),
        ("env_steps_per_second", r"time/fps"),
    ),
    CLEANRL: (
        ("episode_return", r"charts/episodic_return"),
        ("episode_length", r"charts/episodic_length"),
        ("eval_return", r"eval/episodic_return"),
        ("approx_kl", r"losses/approx_kl"),
        ("approx_kl_k1", r"losses/old_approx_kl"),
        ("clip_fraction", r"losses/clipfrac"),
        ("entropy", r"losses/entropy"),
        ("explained_variance", r"losses/explained_variance"),
        ("value_loss", r"losses/value_loss"),
        ("policy_loss", r"losses/(?:policy_loss|actor_loss)"),
        ("critic_loss", r"losses/(?:qf_loss|td_loss)"),
        ("q_mean", r"losses/(?:qf1_values|qf2_values|q_values)"),
        ("alpha", r"losses/alpha"),
        ("alpha_loss", r"losses/alpha_loss"),
        ("learning_rate", r"charts/learning_rate"),
        ("env_steps_per_second", r"charts/SPS"),
    ),
    RLLIB: (
        ("eval_return", r"(?:ray/tune/)?evaluation/env_runners/episode_return_mean"),
        ("eval_length", r"(?:ray/tune/)?evaluation/env_runners/episode_len_mean"),
        ("episode_return", _RUNNERS + r"episode_return_mean"),
        ("episode_return_max", _RUNNERS + r"episode_return_max"),
        ("episode_return_min", _RUNNERS + r"episode_return_min"),
        ("episode_length", _RUNNERS + r"episode_len_mean"),
        ("approx_kl", _MODULE + r"mean_kl_loss"),
        ("entropy", _MODULE + r"entropy"),
        ("explained_variance", _MODULE + r"vf_explained_var"),
        ("value_loss", _MODULE + r"vf_loss"),
        ("policy_loss", _MODULE + r"policy_loss"),
        ("critic_loss", _MODULE + r"qf_loss"),
        ("q_mean", _MODULE + r"qf_mean"),
        ("alpha", _MODULE + r"alpha_value"),
        ("alpha_loss", _MODULE + r"alpha_loss"),
        ("gradient_norm", _MODULE + r"gradients_.*global_norm"),
    ),
    RSL_RL: (
        ("episode_return", r"Train/mean_reward"),
        ("episode_length", r"Train/mean_episode_length"),
        ("success_rate", r"(?:Episode|Metrics)/.*success.*"),
        ("entropy", r"Loss/entropy"),
        ("action_std", r"Policy/mean_(?:noise_)?std"),
        ("value_loss", r"Loss/value(?:_function)?"),
        ("policy_loss", r"Loss/surrogate"),
        ("learning_rate", r"Loss/learning_rate"),
        ("env_steps_per_second", r"Perf/total_fps"),
    ),
    TIANSHOU: (
        ("episode_return", r"training/returns_stat/mean"),
        ("episode_return_max", r"training/returns_stat/max"),
        ("episode_return_min", r"training/returns_stat/min"),
        ("episode_length", r"training/lens_stat/mean"),
        ("eval_return", r"test/returns_stat/mean"),
        ("eval_length", r"test/lens_stat/mean"),
        ("approx_kl", r"update/kl/mean"),
        ("entropy", r"update/ent_loss/mean"),
        ("action_std", r"training/pred_dist_std_array_stat/[^/]+/mean"),
        ("value_loss", r"update/vf_loss/mean"),
        ("policy_loss", r"update/actor_loss(?:/mean)?"),
        ("critic_loss", r"update/(?:critic1_loss|critic2_loss|critic_loss|loss)"),
        ("alpha", r"update/alpha"),
        ("alpha_loss", r"update/alpha_loss"),
        ("env_steps_per_second", r"training/collect_speed"),
    ),
}  # fmt: skip
"""Canonical name (a leading minus turns the sign) and tag pattern, the better source first; library by library."""

_COMPILED = {library: tuple((name, re.compile(pattern)) for name, pattern in rows) for library, rows in _TABLE.items()}
_OWN_TAGS = re.compile(
    r"rollout/(?:original_return|shaped_return|episode_length|reward_component/.+)|time/env_steps_per_second"
)
"""Tags that no other library writes: they settle that a log is ours, since `train/…` names are shared with SB3."""

_ALIASES = {"original_return": "episode_return", "fps": "env_steps_per_second", "grad_norm": "gradient_norm"}


@dataclass(frozen=True)
class Meaning:
    """What a tag means."""

    name: str
    """Canonical name, or the tag itself where the table does not know it."""
    sign: float
    """-1 where the library logs the negative."""
    rank: int
    """Lower is the better source, where several tags mean the same."""
    is_known: bool


def recognise_library(tags: list[str]) -> str:
    """Say which library's names these are: the one that knows most of them.

    Args:
        tags: all scalar tags of one log folder.

    Returns:
        agent2, sb3, cleanrl, rllib, rsl_rl, tianshou, or unknown where no table knows a tag.
    """
    if any(_OWN_TAGS.fullmatch(tag) for tag in tags):
        return AGENT2
    counts = {
        library: sum(any(pattern.fullmatch(tag) for _, pattern in rows) for tag in tags)
        for library, rows in _COMPILED.items()
        if library != AGENT2
    }
    best = max(counts, key=lambda library: counts[library])
    return best if counts[best] else UNKNOWN


def meaning_of(tag: str, library: str) -> Meaning:
    """Look a tag up in the library's table."""
    for rank, (name, pattern) in enumerate(_COMPILED.get(library, ())):
        match = pattern.fullmatch(tag)
        if match:
            canonical = match.expand(name.removeprefix("-"))
            return Meaning(canonical, -1.0 if name.startswith("-") else 1.0, rank, is_known=True)
    return Meaning(tag, 1.0, len(tag), is_known=False)


def canonical(name: str) -> str:
    """Turn what a caller may write into the canonical name."""
    return _ALIASES.get(name, name)


def x_unit(tag: str, library: str, x: list[float]) -> str:
    """Say what the x axis of a tag counts.

    Source: read from the libraries' writers. Tune writes the total of env steps where it knows it, else the iteration:
    consecutive whole numbers tell that it did not.
    """
    if library == RSL_RL:
        return "iterations"
    if library == TIANSHOU:
        return "updates" if tag.startswith("update/") else "epochs" if tag.startswith("info/") else "env_steps"
    if library == RLLIB and len(x) > 1 and x[-1] - x[0] == len(x) - 1:
        return "iterations"
    return "env_steps"
