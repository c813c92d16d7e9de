"""What an environment is called, what it looks like, and what was measured on it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, JsonValue

from agent2_schemas.finding import Finding, Isolation
from agent2_schemas.model import Frozen, Metric


class WrapperReference(Frozen):
    """One Gymnasium wrapper, as data."""

    name: str = Field(description="`module:Class` of the wrapper, e.g. `gymnasium.wrappers:FlattenObservation`.")
    keyword_arguments: dict[str, JsonValue] = Field(default_factory=dict, description="Keyword arguments, as JSON.")


class EnvironmentReference(Frozen):
    """How to build an environment: a name, its arguments and its wrappers (DESIGN 4.1)."""

    name: str = Field(
        min_length=1,
        description="Gymnasium id, `package.module:EnvId`, `package.module:Class`, `path/file.py:Class` or `path/file.py`; "
        "several agents: `mpe2.simple_spread_v3`, `path/file.py:parallel_env`, `smax:3m`, `skirmish:3v3`.",
    )
    keyword_arguments: dict[str, JsonValue] = Field(
        default_factory=dict, description="Keyword arguments of the environment, as JSON."
    )
    wrappers: tuple[WrapperReference, ...] = Field(default=(), description="Gymnasium wrappers, innermost first.")
    max_episode_steps: int | None = Field(
        default=None, ge=1, description="Time limit in environment steps; None keeps the environment's own."
    )
    python: str | None = Field(
        default=None, description="Reserved for an interpreter of the user's; not supported yet: leave it out."
    )


Bound = Metric | tuple[Metric, ...]
"""One bound for all entries, or one per entry in C order; None is unbounded."""


class BoxSpace(Frozen):
    """An array of numbers within bounds."""

    kind: Literal["box"] = Field(default="box", description="Tells the spaces apart.")
    shape: tuple[int, ...] = Field(description="Shape of one value.")
    dtype: str = Field(description="NumPy dtype name.")
    low: Bound = Field(description="Lower bound: one for all entries, or one per entry in C order; null is -inf.")
    high: Bound = Field(description="Upper bound, likewise; null is +inf.")


class DiscreteSpace(Frozen):
    """One of n choices."""

    kind: Literal["discrete"] = Field(default="discrete", description="Tells the spaces apart.")
    n: int = Field(ge=1, description="Number of choices.")
    start: int = Field(default=0, description="Value of the first choice.")


class MultiDiscreteSpace(Frozen):
    """Several choices at once."""

    kind: Literal["multi_discrete"] = Field(default="multi_discrete", description="Tells the spaces apart.")
    nvec: tuple[int, ...] = Field(description="Number of choices of each entry.")


class MultiBinarySpace(Frozen):
    """Several yes-or-no entries."""

    kind: Literal["multi_binary"] = Field(default="multi_binary", description="Tells the spaces apart.")
    shape: tuple[int, ...] = Field(description="Shape of one value.")


class DictSpace(Frozen):
    """Named spaces."""

    kind: Literal["dict"] = Field(default="dict", description="Tells the spaces apart.")
    spaces: dict[str, Space] = Field(description="The spaces by name, in the environment's order.")


class TupleSpace(Frozen):
    """Spaces in a row."""

    kind: Literal["tuple"] = Field(default="tuple", description="Tells the spaces apart.")
    spaces: tuple[Space, ...] = Field(description="The spaces in order.")


class OtherSpace(Frozen):
    """A space that Agent² names but cannot use."""

    kind: Literal["other"] = Field(default="other", description="Tells the spaces apart.")
    description: str = Field(description="The space as it prints itself.")


Space = Annotated[
    BoxSpace | DiscreteSpace | MultiDiscreteSpace | MultiBinarySpace | DictSpace | TupleSpace | OtherSpace,
    Field(discriminator="kind"),
]


class EpisodeStatistics(Frozen):
    """Returns and lengths of some episodes under one fixed policy; of several agents: the mean over the agents."""

    policy: Literal["random", "zero"] = Field(description="random: uniform actions; zero: the action nearest to zero.")
    episodes: int = Field(ge=0, description="Finished episodes.")
    env_steps: int = Field(ge=0, description="Environment steps taken, unfinished episodes included.")
    mean_original_return: Metric = Field(description="Mean undiscounted original return per episode.")
    std_original_return: Metric = Field(description="Standard deviation of the returns over episodes.")
    min_original_return: Metric = Field(description="Smallest return.")
    max_original_return: Metric = Field(description="Largest return.")
    mean_length: Metric = Field(description="Mean episode length, environment steps.")
    terminated_fraction: Metric = Field(description="Share of finished episodes that ended by termination.")
    truncated_fraction: Metric = Field(description="Share of finished episodes that ended by truncation.")
    mean_original_reward: Metric = Field(description="Mean original reward per step.")
    std_original_reward: Metric = Field(description="Standard deviation of the original reward over steps.")
    min_original_reward: Metric = Field(description="Smallest original reward of a step.")
    max_original_reward: Metric = Field(description="Largest original reward of a step.")
    nonzero_reward_fraction: Metric = Field(description="Share of steps whose original reward is not zero.")


class InfoKey(Frozen):
    """One key of `info`, as seen while sampling."""

    name: str = Field(description="The key.")
    is_numeric: bool = Field(
        description="Whether its values are real numbers or booleans, so that `reward` may use it."
    )
    presence_fraction: Metric = Field(description="Share of steps at which the key was present.")
    example: str = Field(default="", description="One value, shortened.")


class ObservationEntry(Frozen):
    """Statistics of one entry of the flattened observation under the random policy."""

    index: int = Field(ge=0, description="Index in the flattened observation.")
    mean: Metric = Field(description="Mean over steps.")
    std: Metric = Field(description="Standard deviation over steps.")
    min: Metric = Field(description="Smallest value seen.")
    max: Metric = Field(description="Largest value seen.")


class GroupReport(Frozen):
    """Agents of equal spaces, as an inspection found them."""

    name: str = Field(description="Name of the group, e.g. `adversary`.")
    agents: tuple[str, ...] = Field(description="Ids of its agents, in the order of the arrays' agents axis.")
    observation_space: Space = Field(description="Observation space of one agent.")
    action_space: Space = Field(description="Action space of one agent; choices count from 0.")
    has_action_mask: bool = Field(description="Whether some actions are not always legal.")
    observation_entries: tuple[ObservationEntry, ...] = Field(
        default=(), description="Statistics per entry of one agent's observation, over agents that had not left."
    )
    mean_original_return: Metric = Field(
        default=None, description="Mean episode return per agent of this group under the random policy."
    )


class EnvironmentReport(Frozen):
    """All that an inspection measured on one environment."""

    reference: EnvironmentReference = Field(description="How the environment was built.")
    project: str = Field(default="", description="Name of the project it opened, if one was asked for.")
    observation_space: Space = Field(description="The environment's own observation space.")
    action_space: Space = Field(description="The environment's own action space.")
    max_episode_steps: int | None = Field(description="Time limit in environment steps; null if there is none.")
    is_deterministic: bool | None = Field(
        description="Equal seed and actions give equal trajectories; null: not measured."
    )
    step_seconds: Metric = Field(description="Median wall time of one step, seconds.")
    reset_seconds: Metric = Field(description="Median wall time of one reset, seconds.")
    start_seconds: Metric = Field(description="Wall time to import and construct it, seconds.")
    episodes: tuple[EpisodeStatistics, ...] = Field(description="Episode statistics by policy.")
    observation_entries: tuple[ObservationEntry, ...] = Field(
        default=(), description="Statistics per observation entry (at most 64; images are left out)."
    )
    info_keys: tuple[InfoKey, ...] = Field(default=(), description="Keys of info seen on steps.")
    source_file: str = Field(default="", description="Absolute path of the file that defines the class, where known.")
    source_line: int | None = Field(default=None, description="Line of the class in that file.")
    source_sha256: str = Field(default="", description="Hash of the environment's source and package versions.")
    packages: dict[str, str] = Field(
        default_factory=dict, description="Versions of the packages the environment needs."
    )
    documentation: str = Field(default="", description="First paragraph of the environment's docstring.")
    findings: tuple[Finding, ...] = Field(default=(), description="All findings at once.")
    adaptations: tuple[str, ...] = Field(default=(), description="What Agent² adapts when it builds this environment.")
    isolation: Isolation | None = Field(default=None, description="How the inspection was shut in.")
    groups: tuple[GroupReport, ...] = Field(
        default=(), description="Groups of agents; empty for a single agent. Spaces above are then dicts by group."
    )
    state_size: int | None = Field(
        default=None, description="Entries of the global state, which only training may see; null for a single agent."
    )
    is_cooperative: bool | None = Field(
        default=None, description="Whether all agents want the same; null for a single agent."
    )
    backend: str = Field(
        default="", description="What simulates an environment of several agents; stands beside every score."
    )
