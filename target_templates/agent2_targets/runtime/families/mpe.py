"""The MPE environments of mpe2: what they want, and their exact time limit and state."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from ..environment import call_factory
from ..failures import BuildError
from ..multi_agent.interface import MultiAgentBatch
from ..multi_agent.parallel import ParallelBatch
from ..multi_agent.spread_twin import SCENARIO, build_spread_twin

BACKEND = "mpe2"
COMPETITIVE = ("simple_adversary", "simple_crypto", "simple_push", "simple_tag", "simple_world_comm")
"""Scenarios whose groups want opposite things; in all others everybody works together."""

BATCHED = "batched"
"""Keyword argument by which a reference asks for the NumPy twin; mpe2 itself never sees it."""


def build(
    module: ModuleType,
    arguments: dict[str, Any],
    count: int,
    limit: int | None,
    *,
    render_mode: str | None = None,
    can_be_twin: bool = False,
) -> MultiAgentBatch:
    """Build a batch of one scenario: mpe2 itself, or its twin in NumPy.

    Args:
        module: module of the scenario, e.g. `mpe2.simple_spread_v3`.
        arguments: keyword arguments of its `parallel_env`.
        count: number of environments.
        limit: time limit in environment steps, the scenario's `max_cycles`; None keeps its own (25).
        render_mode: `rgb_array` where frames are wanted.
        can_be_twin: whether the twin may stand in where the reference asks for it.

    Raises:
        BuildError: the arguments do not fit.
    """
    scenario = module.__name__.rpartition(".")[2]
    is_batched = arguments.pop(BATCHED, False)
    if is_batched and scenario != SCENARIO:
        message = f"{scenario} has no batched twin; only {SCENARIO} has."
        raise BuildError("unknown-arguments", message, f"Leave {BATCHED!r} out.")
    if limit is not None:
        arguments = {**arguments, "max_cycles": limit}
    if is_batched and can_be_twin:
        return build_spread_twin(arguments, count)
    return ParallelBatch(
        lambda: call_factory(module.parallel_env, arguments, render_mode, scenario, None),
        count,
        backend=BACKEND,
        is_cooperative=not scenario.startswith(COMPETITIVE),
        joins_observations=True,  # `state()` is just that, and computes every observation again
    )
