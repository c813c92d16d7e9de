"""What each algorithm can do, as data."""

from typing import Literal

from agent2_schemas import AlgorithmCard

ActionKind = Literal["box", "discrete"]

CARDS: tuple[AlgorithmCard, ...] = (
    AlgorithmCard(
        name="PPO",
        title="Proximal policy optimisation",
        paper="Schulman et al. 2017, arXiv 1707.06347",
        is_on_policy=True,
        action_kinds=("box", "discrete"),
        suits="Cheap simulators and a first attempt anywhere: fast per wall-clock second, forgiving, needs many steps.",
    ),
    AlgorithmCard(
        name="SAC",
        title="Soft actor-critic",
        paper="Haarnoja et al. 2018, arXiv 1812.05905",
        is_on_policy=False,
        action_kinds=("box",),
        suits="Continuous control where steps are dear: few steps, much computing for each.",
    ),
    AlgorithmCard(
        name="TD3",
        title="Twin delayed deep deterministic policy gradient",
        paper="Fujimoto et al. 2018, arXiv 1802.09477",
        is_on_policy=False,
        action_kinds=("box",),
        suits="Continuous control with dense rewards, cheaper for each update than SAC; explores by added noise only.",
    ),
    AlgorithmCard(
        name="DQN",
        title="Double deep Q-network",
        paper="Mnih et al. 2015; van Hasselt et al. 2016, arXiv 1509.06461",
        is_on_policy=False,
        action_kinds=("discrete",),
        suits="Few discrete actions where steps are dear, or where a rare reward should be replayed often.",
    ),
    AlgorithmCard(
        name="A2C",
        title="Synchronous advantage actor-critic",
        paper="Mnih et al. 2016, arXiv 1602.01783",
        is_on_policy=True,
        action_kinds=("box", "discrete"),
        suits="A plain baseline: one gradient step for each short rollout; seldom better than PPO.",
    ),
)


def algorithm_cards(action_kind: str | None = None) -> tuple[AlgorithmCard, ...]:
    """Give the cards of all algorithms.

    Args:
        action_kind: kind of the action space at hand (`box`, `discrete`, `multi_discrete` and so on); None: no project.

    Returns:
        All cards; with an action kind, `is_applicable` says which of them fit, and those come first.
    """
    if action_kind is None:
        return CARDS
    kind = policy_action_kind(action_kind)
    marked = [card.model_copy(update={"is_applicable": kind in card.action_kinds}) for card in CARDS]
    return tuple(sorted(marked, key=lambda card: not card.is_applicable))


def policy_action_kind(kind: str) -> str:
    """Tell the kind of space that the policy acts in: joint choices become one discrete space."""
    return "discrete" if kind in ("multi_discrete", "multi_binary") else kind
