"""SMACv2: battles in a real StarCraft II, one process for each; what is odd about it is dealt with here.

Written against oxwhirl/smacv2 at 577ab5a and tested against a class with the same methods: no StarCraft II has run it.
"""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..batch import Info
from ..failures import BuildError, StepFault
from ..multi_agent.grouping import flat_box
from ..multi_agent.interface import Group, Grouped, JointObservation, JointStep, Layout
from ..multi_agent.joining import check_finite, new_slate

BACKEND, GROUP, NO_OP = "smacv2", "ally", 0
WRAPPER = "smacv2.env.starcraft2.wrapper"
INSTALL = 'pip install "smacv2 @ git+https://github.com/oxwhirl/smacv2"'
UNSEEDED = "seed-ignored: smacv2 draws teams and places without a seed, so episodes cannot be repeated"
LOST = (
    "lost-battle-connection: a battle whose connection is lost is truncated, with no battle_won, and counts for nobody"
)
TEAMS: dict[str, dict[str, Any]] = {
    "terran": {
        "unit_types": ["marine", "marauder", "medivac"],
        "weights": [0.45, 0.45, 0.1],
        "exception_unit_types": ["medivac"],
    },
    "zerg": {
        "unit_types": ["zergling", "baneling", "hydralisk"],
        "weights": [0.45, 0.1, 0.45],
        "exception_unit_types": ["baneling"],
    },
    "protoss": {
        "unit_types": ["stalker", "zealot", "colossus"],
        "weights": [0.45, 0.45, 0.1],
        "exception_unit_types": [],
    },
}
"""Its own configurations (`smacv2/examples/configs`): what each race draws its teams from."""
VIEW = {"conic_fov": False, "obs_own_pos": True, "use_unit_ranges": True, "min_attack_range": 2}
INFO_KEYS = ("battle_won", "dead_allies", "dead_enemies")


def build(scenario: str, arguments: dict[str, Any], count: int, limit: int | None) -> Smacv2Batch:
    """Build a batch of battles, each in a StarCraft II of its own.

    Args:
        scenario: race and sizes, e.g. `terran_5v5` or `zerg_10v11`.
        arguments: further keyword arguments of `StarCraftCapabilityEnvWrapper`.
        count: number of battles.
        limit: time limit in steps; None keeps the map's.

    Raises:
        BuildError: there is no such scenario, or smacv2, StarCraft II or its maps are missing.
    """
    settings = {**VIEW, **read_scenario(scenario), **arguments}
    check_installed()
    try:
        wrapper = importlib.import_module(WRAPPER).StarCraftCapabilityEnvWrapper
    except ModuleNotFoundError as error:
        message = f"smacv2 needs a package that is missing: No module named {error.name!r}."
        advice = f"Install it, and Agent² beside it in the same environment: {INSTALL}."
        raise BuildError("missing-extra", message, advice) from error
    return Smacv2Batch(lambda: wrapper(**settings), count, limit)


def read_scenario(scenario: str) -> dict[str, Any]:
    """Turn race and sizes into the wrapper's arguments.

    Raises:
        BuildError: the scenario is not written like `terran_5v5`.
    """
    parts = re.fullmatch(r"(terran|zerg|protoss)_(\d{1,2})(?:v|_vs_)(\d{1,2})", scenario)
    if parts is None:
        message = f"There is no scenario {scenario!r} of smacv2."
        raise BuildError("unknown-id", message, "Write race and sizes, e.g. smacv2:terran_5v5.")
    race, agents, enemies = parts.group(1), int(parts.group(2)), int(parts.group(3))
    places = {"dist_type": "surrounded_and_reflect", "p": 0.5, "map_x": 32, "map_y": 32}
    team = {"dist_type": "weighted_teams", "observe": True, **TEAMS[race]}
    config = {"n_units": agents, "n_enemies": enemies, "team_gen": team, "start_positions": places}
    return {"map_name": f"10gen_{race}", "capability_config": config}


def check_installed() -> None:
    """Look for StarCraft II and the maps of SMAC before anything is started.

    Raises:
        BuildError: one of them is missing; says which and where it was looked for.
    """
    folder = Path(os.environ.get("SC2PATH") or "~/StarCraftII").expanduser()
    wanted = {"StarCraft II": folder / "Versions", "The folder of SMAC's maps": folder / "Maps" / "SMAC_Maps"}
    for what, place in wanted.items():
        if not place.is_dir():
            advice = "Set SC2PATH to the folder of StarCraft II, or train on smax, which needs no game."
            raise BuildError("missing-starcraft", f"{what} is not there: no folder {place}.", advice)


class Smacv2Batch:
    """Battles of SMACv2, stepped one after another, as `MultiAgentBatch`.

    Args:
        make: makes one battle with the methods of `StarCraftCapabilityEnvWrapper`.
        count: number of battles.
        limit: time limit in steps; None keeps the map's.
    """

    def __init__(self, make: Callable[[], Any], count: int, limit: int | None = None) -> None:
        """Read the sizes: they depend on the map and are nowhere written down."""
        self.battles: list[Any] = [make() for _ in range(count)]
        self.count, self.adaptations = count, [UNSEEDED]
        sizes: dict[str, Any] = self.battles[0].get_env_info()
        own_limit, agents = int(sizes["episode_limit"]), int(sizes["n_agents"])
        group = Group(
            name=GROUP,
            agents=tuple(f"{GROUP}_{index}" for index in range(agents)),
            observation_space=flat_box(int(sizes["obs_shape"])),
            action_space={"kind": "discrete", "n": int(sizes["n_actions"]), "start": 0},
            has_action_mask=True,
        )
        self.layout = Layout(
            groups=(group,),
            state_space=flat_box(int(sizes["state_shape"])),
            max_episode_steps=own_limit if limit is None else min(limit, own_limit),
            info_keys=INFO_KEYS,
            backend=BACKEND,
        )
        self._agents = agents
        self._elapsed, self._steps = np.zeros(count, np.int64), np.zeros(count, np.int64)
        self._last = JointObservation({}, {}, {}, np.zeros((0, 0), np.float32))

    @property
    def raw(self) -> Any:
        """SMACv2's wrapper, of the first battle."""
        return self.battles[0]

    def reset(
        self, seeds: Sequence[int | None] | None = None, indices: Sequence[int] | NDArray[Any] | None = None
    ) -> JointObservation:
        """Start new battles in these rows; seeds change nothing. As `MultiAgentBatch.reset`."""
        rows = list(range(self.count)) if indices is None else [int(index) for index in indices]
        for row in rows:
            self.battles[row].reset()  # what it returns is None where it had to try again
        self._elapsed[rows] = 0
        joint = self._joint(rows)
        if len(rows) == self.count:
            self._last = joint
        else:
            self._keep(joint, rows)
        return joint

    def step(self, actions: Grouped) -> JointStep:
        """Step every battle once; as `MultiAgentBatch.step`.

        Raises:
            StepFault: an action is not legal: SMACv2 would end on an assertion.
        """
        chosen = np.asarray(actions[GROUP], dtype=np.int64)
        self._check_legal(chosen)
        self._elapsed += 1
        self._steps += 1
        was_alive = self._last.alive[GROUP]
        original_rewards = np.zeros((self.count, self._agents))
        terminated, truncated = np.zeros(self.count, dtype=bool), np.zeros(self.count, dtype=bool)
        is_lost = np.zeros(self.count, dtype=bool)
        info: Info = {key: (np.zeros(self.count), np.zeros(self.count, dtype=bool)) for key in INFO_KEYS}
        for row, battle in enumerate(self.battles):
            original_reward, is_over, details = battle.step(chosen[row].tolist())
            original_rewards[row] = np.where(was_alive[row], float(original_reward), 0.0)
            is_lost[row] = bool(is_over) and not details
            terminated[row] = bool(is_over) and self._is_decided(details)
            truncated[row] = not terminated[row] and (
                bool(is_over) or self._elapsed[row] >= self.layout.max_episode_steps
            )
            for key, (values, present) in info.items():
                if key in details:
                    values[row], present[row] = float(details[key]), True
        following = self._show_after(is_lost)
        return JointStep(following, {GROUP: original_rewards}, terminated, truncated, info)

    def render(self, row: int = 0) -> None:
        """Draw nothing: StarCraft II runs without a picture here."""

    def close(self) -> None:
        """Close every StarCraft II."""
        for battle in self.battles:
            battle.close()

    def _is_decided(self, details: dict[str, Any]) -> bool:
        """Tell a battle that was won or lost from one that the time limit or a lost connection ended."""
        return bool(details.get("battle_won")) or int(details.get("dead_allies", 0)) >= self._agents

    def _check_legal(self, chosen: NDArray[np.int64]) -> None:
        legal = np.take_along_axis(self._last.action_masks[GROUP], chosen[..., None], axis=2)[..., 0]
        if not legal.all():
            row, index = (int(place) for place in np.argwhere(~legal)[0])
            message = f"action {chosen[row, index]} of {GROUP}_{index} is not legal"
            raise StepFault(message, int(self._steps[row]) + 1, row)

    def _show_after(self, is_lost: NDArray[np.bool_]) -> JointObservation:
        """Show all battles; of one whose connection is lost the last thing seen, for nothing can be asked of it."""
        present = np.flatnonzero(~is_lost).tolist()
        if len(present) == self.count:
            self._last = self._joint(present)
        else:
            if LOST not in self.adaptations:
                self.adaptations.append(LOST)
            self._keep(self._joint(present), present)
        return self._last

    def _keep(self, joint: JointObservation, rows: list[int]) -> None:
        """Write what these rows show over a copy of what all rows last showed."""
        last = self._last
        parts = [{GROUP: part[GROUP].copy()} for part in last[:3]]
        state = last.state.copy()
        for target, source in zip(parts, joint[:3], strict=True):
            target[GROUP][rows] = source[GROUP]
        state[rows] = joint.state
        self._last = JointObservation(parts[0], parts[1], parts[2], state)

    def _joint(self, rows: list[int]) -> JointObservation:
        slate = new_slate(self.layout.groups, len(rows))
        states = np.zeros((len(rows), self.layout.state_space["shape"][0]), np.float32)
        for slot, row in enumerate(rows):
            battle = self.battles[row]
            # one by one: the wrapper's get_avail_actions unpacks a pair that is none
            masks = np.array([battle.get_avail_agent_actions(index) for index in range(self._agents)], dtype=bool)
            alive = ~masks[:, NO_OP]  # no-op is legal for the dead only
            slate.masks[GROUP][slot], slate.alive[GROUP][slot] = masks, alive
            slate.observations[GROUP][slot] = np.array(battle.get_obs(), dtype=np.float32) * alive[:, None]
            states[slot] = battle.get_state()
        joint = JointObservation(slate.observations, slate.masks, slate.alive, states)
        check_finite(self.layout.groups, joint, self._steps[rows].tolist(), rows)
        return joint
