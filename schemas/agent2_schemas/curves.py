"""Learning curves under canonical names, whatever library wrote the log."""

from pydantic import Field

from agent2_schemas.model import Frozen, Metric


class Curve(Frozen):
    """One metric over a run."""

    name: str = Field(description="Canonical name, e.g. `episode_return`, or the log's own tag.")
    tag: str = Field(description="Tag in the log.")
    x_unit: str = Field(description="What x counts: env_steps, updates, epochs or iterations.")
    x: tuple[float, ...] = Field(description="x values, ascending.")
    values: tuple[Metric, ...] = Field(description="Values; null where the log holds NaN or infinity.")
    nonfinite_count: int = Field(
        default=0, ge=0, description="How many values of the full series were NaN or infinite."
    )
    hole_count: int = Field(
        default=0, ge=0, description="Points its neighbours in the log have and it lacks: the writer dropped NaN."
    )
    points: int = Field(ge=0, description="Points of the full series, before thinning.")


class RunCurves(Frozen):
    """The curves of one run or log directory."""

    source: str = Field(description="Run id, or absolute path of the log directory.")
    library: str = Field(
        description="Library whose tags were recognised: agent2, tianshou, sb3, cleanrl, rllib, rsl_rl, unknown."
    )
    curves: tuple[Curve, ...] = Field(description="The curves.")
    other_tags: tuple[str, ...] = Field(default=(), description="Tags that were not asked for.")
