"""PettingZoo environments, parallel or turn-based, behind the interface of several agents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..adapt import CAST, DEFAULT_LIMIT, FOUR_VALUES, NO_INFO, OFFSET, choose_reset, has_info
from ..batch import Info
from ..environment import DEFAULT_LIMIT_STEPS
from ..failures import NonFinite, StepFault
from ..spaces import Array, as_raw, flat_size, leaf_values, make_flattener
from .grouping import ACTION_MASK, OBSERVATION, Seat, flat_box, form_groups
from .interface import Grouped, JointObservation, JointStep, Layout
from .joining import Slate, check_finite, concatenated, new_slate
from .reading import ALL, collect, makes_new_spaces, numeric_keys, own_limit, read_members, read_state, wants_the_same

FLATTENED = "flattened-observation: the observations of {group} become float32 vectors, choices one-hot"
OWN_STATE = "global-state: the environment has none, so it is all agents' observations together"
NEW_SPACES = (
    "new-space-objects: space objects differ between calls of observation_space or action_space; the first are kept"
)
ALL_KEY = "all-key: __all__ is no agent, so it is dropped"
AGENTS_STAY = "agents-stay: agents stay listed after the end; the episode ends when all are done"
NO_LAST_STATE = (
    "no-last-state: state() fails after the end of an episode, so the state before stands in for the last one"
)
NOTHING_LEGAL = "nothing-legal: where a mask allows nothing (it is another agent's turn), choice 0 is allowed"


class ParallelBatch:
    """PettingZoo parallel environments of one kind, stepped one after another, returned as arrays.

    Args:
        build: makes one parallel environment; called `count` times.
        count: number of environments.
        backend: what simulates it; stands beside every score.
        limit: truncate after this many steps; None keeps the environment's own limit, or 1000 where it names none.
        is_cooperative: whether all agents want the same; None: what its `metadata["is_cooperative"]` says, else whether
            there is one group only, whose agents do not take turns.
        info_keys: numeric keys of the agents' infos to collect, besides those seen at the first reset.
        joins_observations: the state is the observations together even where `state()` exists (it only costs time).

    Raises:
        BuildError: an agent's space cannot be used.
    """

    def __init__(
        self,
        build: Callable[[], Any],
        count: int,
        *,
        backend: str,
        limit: int | None = None,
        is_cooperative: bool | None = None,
        info_keys: Sequence[str] = (),
        joins_observations: bool = False,
    ) -> None:
        """Build the environments and read their spaces once: some make a new space object at each call."""
        self.environments: list[Any] = [build() for _ in range(count)]
        self.count, self.adaptations = count, list[str]()
        self._resets = [choose_reset(environment, self._note) for environment in self.environments]
        first, infos = self._reset_one(0, None)
        members = read_members(self.environments[0], infos)
        if makes_new_spaces(self.environments[0], members[0].agent):
            self._note(NEW_SPACES)
        groups, self._seats = form_groups(members)
        self._seat_of = {seat.agent: seat for seat in self._seats}
        self._flatteners = {seat.agent: make_flattener(seat.own_space) for seat in self._seats if seat.is_flattened}
        self._limit, limit = self._find_limit(limit)
        state = None if joins_observations else read_state(self.environments[0])
        self._has_state = state is not None
        size = sum(flat_size(group.observation_space) * len(group.agents) for group in groups)
        self.layout = Layout(
            groups=groups,
            state_space=flat_box(size if state is None else state.size),
            max_episode_steps=limit,
            is_cooperative=wants_the_same(self.environments[0], groups) if is_cooperative is None else is_cooperative,
            info_keys=tuple(dict.fromkeys((*info_keys, *numeric_keys(infos)))),
            backend=backend,
        )
        self._note_members(first, has_state=self._has_state or joins_observations)
        self.steps = np.zeros(count, dtype=np.int64)
        self._elapsed = np.zeros(count, dtype=np.int64)
        self._is_present = np.zeros((count, len(self._seats)), dtype=bool)
        self._last_states = np.zeros((count, self.layout.state_space["shape"][0]), np.float32)

    @property
    def raw(self) -> Any:
        """The user's own environment object, the first of the batch."""
        return getattr(self.environments[0], "unwrapped", self.environments[0])

    def reset(
        self, seeds: Sequence[int | None] | None = None, indices: Sequence[int] | NDArray[Any] | None = None
    ) -> JointObservation:
        """Start new episodes in these rows; as `MultiAgentBatch.reset`.

        Raises:
            StepFault: an observation does not fit its space, or is not finite.
        """
        rows = list(range(self.count)) if indices is None else [int(index) for index in indices]
        slate = new_slate(self.layout.groups, len(rows))
        states = np.zeros((len(rows), self.layout.state_space["shape"][0]), np.float32)
        for slot, row in enumerate(rows):
            observations, infos = self._reset_one(row, None if seeds is None else seeds[slot])
            self._elapsed[row] = 0
            self._check_agents(observations, row)
            for place, seat in enumerate(self._seats):
                present = seat.agent in observations
                self._is_present[row, place] = present
                if present:
                    self._write(slate, slot, row, seat, observations[seat.agent], infos.get(seat.agent))
            self._write_state(states, slot, row)
        return self._joint(slate, states, rows)

    def step(self, actions: Grouped) -> JointStep:
        """Step every environment once; as `MultiAgentBatch.step`."""
        slate = new_slate(self.layout.groups, self.count)
        states = np.zeros((self.count, self.layout.state_space["shape"][0]), np.float32)
        original_rewards = {group.name: np.zeros((self.count, len(group.agents))) for group in self.layout.groups}
        terminated, truncated = np.zeros(self.count, dtype=bool), np.zeros(self.count, dtype=bool)
        keys = self.layout.info_keys
        info: Info = {key: (np.zeros(self.count), np.zeros(self.count, dtype=bool)) for key in keys}
        chosen = {name: part.tolist() if part.dtype.kind in "iu" else part for name, part in actions.items()}
        for row, environment in enumerate(self.environments):
            given = {agent: self._action(self._seat_of[agent], chosen, row) for agent in self._acting(environment, row)}
            observations, paid, endings, stops, infos = self._step_one(row, environment, given)
            self._check_agents(observations, row)
            shown, terminated[row], truncated[row] = self._leave(row, observations, endings, stops)
            for seat in shown:
                self._write(slate, row, row, seat, observations[seat.agent], infos.get(seat.agent))
            for agent, original_reward in paid.items():
                if agent in self._seat_of:
                    seat = self._seat_of[agent]
                    original_rewards[seat.group][row, seat.index] = original_reward
            self._write_state(states, row, row, is_over=bool(terminated[row] or truncated[row]))
            collect(info, infos, row)
        self._check_rewards(original_rewards)
        joint = self._joint(slate, states, list(range(self.count)))
        return JointStep(joint, original_rewards, terminated, truncated, info)

    def render(self, row: int = 0) -> NDArray[np.uint8] | None:
        """Draw one environment, or None where it was not built to be drawn."""
        environment = self.environments[row]
        if getattr(environment, "render_mode", None) != "rgb_array":
            return None
        return np.asarray(environment.render(), dtype=np.uint8)

    def close(self) -> None:
        """Close every environment."""
        for environment in self.environments:
            environment.close()

    def _reset_one(self, row: int, seed: int | None) -> tuple[dict[Any, Any], dict[Any, Any]]:
        result = self._resets[row](seed, None)
        if not has_info(result):
            self._note(NO_INFO)
            return self._without_all(result), {}
        return self._without_all(result[0]), self._without_all(result[1])

    def _step_one(self, row: int, environment: Any, given: dict[Any, Any]) -> tuple[dict[Any, Any], ...]:
        """Step one environment: observations, rewards, terminations, truncations, infos by agent."""
        self.steps[row] += 1
        self._elapsed[row] += 1
        try:
            result = environment.step(given)
        except Exception as error:
            error.add_note(f"at step {self.steps[row]} of environment {row}")
            raise
        if len(result) == 4:
            observations, paid, endings, infos = result
            stops: dict[Any, Any] = {}
            self._note(FOUR_VALUES)
        elif len(result) == 5:
            observations, paid, endings, stops, infos = result
        else:
            raise StepFault(f"step returned {len(result)} values, expected 5", int(self.steps[row]), row)
        by_agent = [self._without_all(part) for part in (observations, paid, infos)]
        return by_agent[0], by_agent[1], dict(endings), dict(stops), by_agent[2]

    def _acting(self, environment: Any, row: int) -> list[Any]:
        """List who must act: the environment's own list, or by our own book where it keeps none."""
        listed: Iterable[Any] | None = getattr(environment, "agents", None)
        if listed is not None:
            return [agent for agent in listed if agent in self._seat_of]
        return [seat.agent for seat, present in zip(self._seats, self._is_present[row], strict=True) if present]

    def _action(self, seat: Seat, chosen: dict[str, Any], row: int) -> Any:
        action = chosen[seat.group][row][seat.index]
        return action if seat.start is None else int(action) + seat.start

    def _leave(
        self, row: int, observations: dict[Any, Any], endings: dict[Any, Any], stops: dict[Any, Any]
    ) -> tuple[list[Seat], bool, bool]:
        """Keep the book of who is left.

        At the end of an episode those who took part up to it stay, with their last observations: the ones that the
        time limit stopped, else the ones that reached the terminal state.

        Returns:
            Whose observations are shown, and whether the episode terminated or was truncated.
        """
        is_over, is_stopped = bool(endings.get(ALL)) or bool(stops.get(ALL)), bool(stops.get(ALL))
        is_own_stop = self._limit is not None and bool(self._elapsed[row] >= self._limit)
        is_stopped = is_stopped or is_own_stop
        staying: list[Seat] = []
        ended: list[Seat] = []
        stopped: list[Seat] = []
        is_truncated = False
        for place, seat in enumerate(self._seats):
            was_present, self._is_present[row, place] = bool(self._is_present[row, place]), False
            has_ended = bool(endings.get(seat.agent))
            has_stopped = not has_ended and (is_stopped or bool(stops.get(seat.agent)))
            is_truncated = is_truncated or (was_present and has_stopped)
            if seat.agent not in observations:
                continue
            if has_stopped:
                stopped.append(seat)
            elif has_ended or is_over:
                ended += [seat] * was_present
            else:
                staying.append(seat)
                self._is_present[row, place] = True
        if ALL in endings or ALL in stops:
            self._note(ALL_KEY)
        if staying:
            return staying, False, False
        if getattr(self.environments[row], "agents", None) and not is_own_stop:
            self._note(AGENTS_STAY)
        return (stopped, False, True) if is_truncated else (ended, True, False)

    def _write(self, slate: Slate, slot: int, row: int, seat: Seat, observation: Any, info: Any) -> None:
        """Copy one agent's observation and mask into their slot, checking shapes."""
        mask: Any = None
        if seat.is_wrapped:
            observation, mask = observation[OBSERVATION], observation[ACTION_MASK]
        elif seat.has_mask and info is not None:
            mask = info.get(ACTION_MASK)
        if seat.is_flattened:
            parts = {key: np.asarray(part)[None] for key, part in leaf_values(observation, seat.own_space).items()}
            observation = self._flatteners[seat.agent](as_raw(parts))[0]
        part = slate.observations[seat.group]
        if np.shape(observation) != part.shape[2:]:
            found = f"the observation of agent {seat.agent} has shape {np.shape(observation)}"
            raise StepFault(f"{found}, its space says {part.shape[2:]}", int(self.steps[row]), row)
        part[slot, seat.index] = observation
        slate.alive[seat.group][slot, seat.index] = True
        if seat.has_mask:
            slate.masks[seat.group][slot, seat.index] = self._legal(seat, mask, row)

    def _legal(self, seat: Seat, mask: Any, row: int) -> Array:
        """Read one agent's mask; where nothing is legal (it is another's turn), the first action is."""
        choices = int(next(group for group in self.layout.groups if group.name == seat.group).action_space["n"])
        legal = np.ones(choices, dtype=bool) if mask is None else np.asarray(mask).astype(bool)
        if legal.shape != (choices,):
            message = f"the action mask of agent {seat.agent} has shape {legal.shape}, expected ({choices},)"
            raise StepFault(message, int(self.steps[row]), row)
        if not legal.any():
            legal[0] = True
            self._note(NOTHING_LEGAL)
        return legal

    def _write_state(self, states: NDArray[np.float32], slot: int, row: int, *, is_over: bool = False) -> None:
        """Copy one environment's state into its slot; some cannot tell it any more once an episode is over."""
        if not self._has_state:
            return
        try:
            state = np.ravel(self.environments[row].state())
        except Exception:
            if not is_over:
                raise
            self._note(NO_LAST_STATE)
            state = self._last_states[row]
        if state.shape != states.shape[1:]:
            message = f"the global state has {state.size} entries, at first it had {states.shape[1]}"
            raise StepFault(message, int(self.steps[row]), row)
        states[slot] = self._last_states[row] = state

    def _joint(self, slate: Slate, states: NDArray[np.float32], rows: list[int]) -> JointObservation:
        if not self._has_state:
            states = concatenated(slate.observations)
        joint = JointObservation(slate.observations, slate.masks, slate.alive, states)
        check_finite(self.layout.groups, joint, self.steps[rows].tolist(), rows)
        return joint

    def _check_agents(self, observations: dict[Any, Any], row: int) -> None:
        """Refuse agents that were not announced: their place in the arrays would be unknown."""
        if len(observations) <= len(self._seats) and all(agent in self._seat_of for agent in observations):
            return
        strange = [str(agent) for agent in observations if agent not in self._seat_of]
        message = f"agent {strange[0]} is not among possible_agents; agents must keep their names in all episodes"
        raise StepFault(message, int(self.steps[row]), row)

    def _check_rewards(self, original_rewards: dict[str, NDArray[np.float64]]) -> None:
        for name, part in original_rewards.items():
            if not np.isfinite(part).all():
                row, index = (int(place) for place in np.argwhere(~np.isfinite(part))[0])
                agent = self.layout.group(name).agents[index]
                raise NonFinite(f"the reward of agent {agent} is {part[row, index]}", int(self.steps[row]), row)

    def _find_limit(self, asked: int | None) -> tuple[int | None, int]:
        """Find the time limit: the one to enforce here (None: the environment does), and the one to name."""
        own = own_limit(self.environments[0])
        if asked is not None and own is not None:
            return (asked if asked < own else None), min(asked, own)
        if asked is not None:
            return asked, asked
        if own is not None:
            return own, own
        self._note(DEFAULT_LIMIT.format(limit=DEFAULT_LIMIT_STEPS))
        return DEFAULT_LIMIT_STEPS, DEFAULT_LIMIT_STEPS

    def _note_members(self, observations: dict[Any, Any], has_state: bool) -> None:
        for seat in self._seats:
            if seat.start:
                self._note(OFFSET.format(start=seat.start))
            if seat.is_flattened:
                self._note(FLATTENED.format(group=seat.group))
            elif seat.agent in observations:
                observation = observations[seat.agent]
                found = np.asarray(observation[OBSERVATION] if seat.is_wrapped else observation).dtype
                if found != np.dtype(seat.own_space["dtype"]):
                    self._note(CAST.format(found=found, declared=seat.own_space["dtype"]))
        if not has_state:
            self._note(OWN_STATE)

    def _without_all(self, by_agent: Any) -> dict[Any, Any]:
        """Copy what is given by agent, without the key `__all__`."""
        if ALL in by_agent:
            self._note(ALL_KEY)
        return {agent: value for agent, value in by_agent.items() if agent != ALL}

    def _note(self, adaptation: str) -> None:
        if adaptation not in self.adaptations:
            self.adaptations.append(adaptation)
