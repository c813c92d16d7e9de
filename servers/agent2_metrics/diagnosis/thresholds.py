"""All thresholds of the rules in one frozen value; P: published, E: engineering default."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Thresholds:
    """Thresholds of the rules, in the order of their numbers; fractions are of 1, t is the share of the budget."""

    window: float = 0.1
    """Last share of a curve that counts as its end."""
    minimum_points: int = 5
    """Fewer points of a curve are no evidence."""

    kl_high: float = 0.02  # P (37 details): 0.01 is small
    kl_warning: float = 0.03  # E
    kl_critical: float = 0.1  # E
    kl_updates: int = 5  # E
    kl_jump: float = 5.0  # E: times the rolling median
    kl_jump_floor: float = 0.01  # E: a jump below this destroys nothing
    return_drop: float = 0.2  # E
    kl_tiny: float = 1e-4  # E
    clip_tiny: float = 1e-3  # E
    flat_return: float = 0.05  # E: change over the curve, as a share of its spread
    clip_high: float = 0.3  # E
    entropy_high: float = 0.95  # E: of its maximum
    entropy_high_after: float = 0.25
    entropy_low: float = 0.05  # E
    action_std_low: float = 0.05  # E: of half the action range
    collapse_before: float = 0.3
    entropy_rise: float = 0.25  # E: of its range
    action_std_growth: float = 2.0  # E: times the initial one
    explained_variance_low: float = 0.05  # E; 0 is P
    explained_variance_after: float = 0.1
    value_loss_jump: float = 10.0  # E: times the rolling median
    value_loss_high: float = 1e4  # E
    observation_mean: float = 10.0  # E
    observation_std: float = 10.0  # E
    observation_ratio: float = 100.0  # E
    observation_value: float = 100.0  # P (SK)
    constant_variance: float = 1e-8  # E (SB3#416: 8e-12)
    action_clipped: float = 0.5  # E
    reward_std_low: float = 0.01  # P (SK)
    component_share: float = 0.8  # E
    hacking_correlation: float = 0.2  # E
    hacking_share: float = 1 / 3
    length_at_limit: float = 0.98
    length_near_minimum: float = 1.1
    timeout_share: float = 0.5  # E
    evaluation_gap: float = 0.25  # E
    seed_spread: float = 0.5  # E: std over |mean|
    unreliable_mean: float = 0.5  # P (JS)
    random_after: float = 0.2  # E
    random_errors: float = 2.0  # E: standard errors
    sparse_steps: int = 1000
    collapse_share: float = 0.2  # E
    q_bound: float = 2.0  # E
    critic_growth: float = 100.0  # E
    alpha_growth: float = 10.0  # E
    exploration_early: float = 0.05  # E
    exploration_late: float = 0.6  # E
    exploration_high: float = 0.3  # E
    gradient_high: float = 100.0  # P (SK)
    gradient_low: float = 1e-4  # P (SK)
    gradient_clipped_share: float = 0.9  # E
    speed_decay: float = 0.5  # E
    memory_growth_per_hour: float = 0.2  # E
    memory_growth_minimum_bytes: float = 64 * 2**20
    horizon_short: float = 0.5  # E
    horizon_long: float = 10.0  # E
    updates_minimum: int = 50  # E
    deterministic_share: float = 0.7  # E
