"""SMAX of JaxMARL, a fast double of SMAC: a whole batch of battles in one compiled step.

SMAX is not SMAC: it runs no StarCraft II, and its scores compare with no others. A step of the batch is one compiled
call; compiling takes some 10 s, once for each number of battles.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
import warnings
from collections.abc import Generator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..failures import BuildError
from ..multi_agent.grouping import flat_box
from ..multi_agent.interface import Group, Grouped, JointObservation, JointStep, Layout
from ..sources import close_matches, describe_error
from .battle_frames import battle_frame

BACKEND, GROUP = "smax", "ally"
ENVIRONMENT = "HeuristicEnemySMAX"
INSTALL = 'pip install "jaxmarl==0.2.0" "gymnax<1"'
"""gymnax 1 wants an older Gymnasium; with the one below 1 a single interpreter holds everything."""


class Scene(NamedTuple):
    """What a compiled call shows of n battles; JAX arrays."""

    observations: Any
    """(n, agents, size) float32."""
    masks: Any
    """(n, agents, choices) bool."""
    alive: Any
    """(n, units) bool, agents first."""
    state: Any
    """(n, size) float32."""
    elapsed: Any
    """(n,) steps since the battle began."""


def build(scenario: str, arguments: dict[str, Any], count: int, limit: int | None) -> SmaxBatch:
    """Build a batch of battles against the scripted enemy.

    Args:
        scenario: name of a map, e.g. `3m` or `2s3z`.
        arguments: keyword arguments of `HeuristicEnemySMAX`, e.g. `attack_mode` or `walls_cause_death`.
        count: number of battles.
        limit: time limit in steps; None is 100.

    Raises:
        BuildError: jaxmarl is missing, or there is no such scenario or argument.
    """
    jax, jaxmarl, maps = load_simulator()
    if scenario not in maps:
        advice = close_matches(scenario, maps) or f"Scenarios: {', '.join(maps)}."
        raise BuildError("unknown-id", f"There is no scenario {scenario!r} of smax.", advice)
    if limit is not None:
        arguments = {**arguments, "max_steps": limit}
    try:
        simulator = jaxmarl.make(ENVIRONMENT, scenario=maps[scenario], **arguments)
    except (TypeError, ValueError) as error:
        message = f"smax:{scenario} failed while it was made: {describe_error(error)}."
        raise BuildError("constructor-failed", message, f"See the arguments of {ENVIRONMENT} in jaxmarl.") from error
    return SmaxBatch(jax, simulator, count)


def load_simulator() -> tuple[Any, Any, dict[str, Any]]:
    """Import jax and jaxmarl, on the CPU unless told otherwise, and keep what they print off standard output.

    Returns:
        jax, jaxmarl, and the scenarios by name.

    Raises:
        BuildError: one of them is not installed.
    """
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    try:
        with output_on_stderr(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            jax, jaxmarl = importlib.import_module("jax"), importlib.import_module("jaxmarl")
            rules = importlib.import_module("jaxmarl.environments.smax.smax_env")
    except ModuleNotFoundError as error:
        message = f"smax needs a package that is missing: No module named {error.name!r}."
        raise BuildError("missing-extra", message, f"Install it: {INSTALL}.") from error
    return jax, jaxmarl, dict(rules.MAP_NAME_TO_SCENARIO)


@contextlib.contextmanager
def output_on_stderr() -> Generator[None, None, None]:
    """Send what is written to descriptor 1 to standard error; one of the imports puts `sys.stdout` back on its own."""
    sys.stdout.flush()
    saved = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(saved, 1)
        os.close(saved)


class SmaxBatch:
    """Battles on one map, as `MultiAgentBatch`: damage done as a share of the enemies' health, and 1 for a win.

    Args:
        jax: the module.
        simulator: JaxMARL's `HeuristicEnemySMAX`.
        count: number of battles.
    """

    def __init__(self, jax: Any, simulator: Any, count: int) -> None:
        """Read the sizes and prepare the two compiled calls; they are compiled when first called."""
        self.count, self.adaptations = count, list[str]()
        self._jax, self._simulator, self._agents = jax, simulator, int(simulator.num_allies)
        names = tuple(simulator.agents)
        group = Group(
            name=GROUP,
            agents=names,
            observation_space=flat_box(int(simulator.obs_size)),
            action_space={"kind": "discrete", "n": int(simulator.num_ally_actions), "start": 0},
            has_action_mask=True,
        )
        self.layout = Layout(
            groups=(group,),
            state_space=flat_box(int(simulator.state_size)),
            max_episode_steps=int(simulator.max_steps),
            info_keys=("battle_won",),
            backend=BACKEND,
        )
        self._generators = [np.random.default_rng() for _ in range(count)]
        self._was_alive = np.ones((count, self._agents), dtype=bool)
        self._types = self._settled_types()
        self._battles = self._empty_battles()
        self._keys = np.zeros((count, 2), np.uint32)
        self._start_rows = jax.jit(jax.vmap(self._start_one))
        self._step_rows = jax.jit(jax.vmap(self._step_one))

    @property
    def raw(self) -> Any:
        """JaxMARL's environment."""
        return self._simulator

    def reset(
        self, seeds: Sequence[int | None] | None = None, indices: Sequence[int] | NDArray[Any] | None = None
    ) -> JointObservation:
        """Start new battles in these rows; as `MultiAgentBatch.reset`.

        All rows go through one compiled call, for another number of rows would have to be compiled anew.
        """
        rows = np.arange(self.count) if indices is None else np.asarray(indices, dtype=np.int64)
        is_fresh, fresh_keys = np.zeros(self.count, dtype=bool), np.zeros((self.count, 2), np.uint32)
        is_fresh[rows] = True
        for slot, row in enumerate(rows):
            seed = None if seeds is None else seeds[slot]
            if seed is not None:
                self._generators[row] = np.random.default_rng(seed)
            fresh_keys[row] = self._generators[row].integers(2**32, size=2, dtype=np.uint32)
        self._keys, self._battles, scene = self._start_rows(self._keys, self._battles, fresh_keys, is_fresh)
        return self._joint(scene, rows)

    def step(self, actions: Grouped) -> JointStep:
        """Step all battles by one compiled call; as `MultiAgentBatch.step`."""
        chosen = np.asarray(actions[GROUP], dtype=np.int32)
        self._keys, self._battles, scene, damage_or_win = self._step_rows(self._keys, self._battles, chosen)
        was_alive = self._was_alive
        following = self._joint(scene, np.arange(self.count))
        alive = np.asarray(scene.alive)
        allies_left: NDArray[np.bool_] = np.any(alive[:, : self._agents], axis=1)
        enemies_left: NDArray[np.bool_] = np.any(alive[:, self._agents :], axis=1)
        is_won = allies_left & ~enemies_left
        terminated = ~(allies_left & enemies_left)
        truncated = ~terminated & (np.asarray(scene.elapsed) >= self.layout.max_episode_steps)
        original_rewards = np.where(was_alive, np.asarray(damage_or_win, dtype=np.float64)[:, None], 0.0)
        info = {"battle_won": (is_won.astype(np.float64), np.ones(self.count, dtype=bool))}
        return JointStep(following, {GROUP: original_rewards}, terminated, truncated, info)

    def render(self, row: int = 0) -> NDArray[np.uint8]:
        """Draw one battle, (320, 320, 3): agents blue, enemies red."""
        battle, rules = self._battles.state, self._simulator
        types = np.asarray(battle.unit_types[row], dtype=np.int64)
        health = np.asarray(battle.unit_health[row]) / np.asarray(rules.unit_type_health)[types]
        is_ally = np.arange(len(types)) < self._agents
        return battle_frame(np.asarray(battle.unit_positions[row]), health, is_ally, 0.0, float(rules.map_width))

    def close(self) -> None:
        """Nothing is open."""

    def _joint(self, scene: Scene, rows: NDArray[np.int64]) -> JointObservation:
        alive = np.array(scene.alive)[:, : self._agents]
        self._was_alive = alive
        observations = np.array(scene.observations)[rows]  # a copy: JAX's own memory cannot be written
        masks, states = np.array(scene.masks)[rows], np.array(scene.state)[rows]
        return JointObservation({GROUP: observations}, {GROUP: masks}, {GROUP: alive[rows]}, states)

    def _settled_types(self) -> Any:
        """Find the dtypes that a step gives a battle: `reset` gives others, and each kind is compiled for itself."""
        jax = self._jax
        key = np.zeros(2, np.uint32)
        _, battle = jax.eval_shape(self._simulator.reset, key)
        actions = dict.fromkeys(self._simulator.agents, np.int32(0))
        return jax.eval_shape(self._simulator.step_env, key, battle, actions)[1]

    def _empty_battles(self) -> Any:
        """Allocate battles in which nobody stands, to be started by the first `reset`."""

        def empty(like: Any) -> Any:
            return self._jax.numpy.zeros((self.count, *like.shape), like.dtype)

        return self._jax.tree.map(empty, self._types)

    def _settle(self, battle: Any) -> Any:
        """Cast a battle to the settled dtypes."""

        def cast(leaf: Any, like: Any) -> Any:
            return self._jax.lax.convert_element_type(leaf, like.dtype)

        return self._jax.tree.map(cast, battle, self._types)

    def _start_one(self, key: Any, battle: Any, fresh_key: Any, is_fresh: Any) -> tuple[Any, Any, Scene]:
        """Start a battle anew where that is asked for; compiled."""
        jax = self._jax

        def choose(new: Any, old: Any) -> Any:
            return jax.numpy.where(is_fresh, new, old)

        next_key, start_key = jax.random.split(fresh_key)
        _, fresh = self._simulator.reset(start_key)
        chosen = jax.tree.map(choose, self._settle(fresh), battle)
        return jax.numpy.where(is_fresh, next_key, key), chosen, self._scene(chosen)

    def _step_one(self, key: Any, battle: Any, actions: Any) -> tuple[Any, Any, Scene, Any]:
        """Step a battle, never starting another; compiled."""
        next_key, step_key = self._jax.random.split(key)
        names = self._simulator.agents
        chosen = {name: actions[index] for index, name in enumerate(names)}
        _, after, original_rewards, _, _ = self._simulator.step_env(step_key, battle, chosen)
        settled = self._settle(after)
        return next_key, settled, self._scene(settled), original_rewards[names[0]]

    def _scene(self, battle: Any) -> Scene:
        """Gather what a battle shows; compiled."""
        stack, simulator = self._jax.numpy.stack, self._simulator
        seen, legal = simulator.get_obs(battle), simulator.get_avail_actions(battle)
        return Scene(
            observations=stack([seen[name] for name in simulator.agents]).astype("float32"),
            masks=stack([legal[name] for name in simulator.agents]).astype(bool),
            alive=battle.state.unit_alive,
            state=simulator.get_world_state(battle).astype("float32"),
            elapsed=battle.state.step,
        )
