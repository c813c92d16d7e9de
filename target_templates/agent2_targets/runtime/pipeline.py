"""From raw observations to policy inputs, and from policy actions to environment actions. One path for all.

Training, evaluation and the delivered agent use these same two classes, so that what was trained is what acts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .normaliser import Normaliser
from .spaces import (
    Array,
    Raw,
    SpaceDict,
    as_parts,
    as_raw,
    box_bounds,
    empty_batch,
    leaf_layout,
    leaves,
    make_flattener,
)
from .transforms import Transforms

Rows = Sequence[int] | NDArray[Any] | slice
ALL = slice(None)
MAX_JOINT_CHOICES = 4096
"""Multi-discrete actions up to this many combinations become one discrete choice."""


class ObservationPipeline:
    """History, `observe`, flattening, previous action, time left, normaliser: in this order.

    Call `reset` for rows that start an episode and `step` for rows that went on. The true last observation of an
    episode goes through `step`; the first one of the next through `reset`.

    Args:
        design: the `mdp` part of a design as JSON, or the whole design.
        transforms: the functions of its mdp.py.
        count: rows, one per environment.
        normaliser: statistics to use; None makes fresh ones where the design asks for normalisation.

    Attributes:
        space: the space of one policy input, a float32 box.
        shape: its shape.
        size: its number of entries.
        normaliser: statistics applied last; None where the design asks for none.
        unnormalised: what the latest `reset` or `step` returned, before the normaliser (n, size) float32: what
            `Normaliser.update` wants.

    Raises:
        ValueError: the design asks for parts that do not fit together.
    """

    def __init__(
        self, design: dict[str, Any], transforms: Transforms, count: int, normaliser: Normaliser | None = None
    ) -> None:
        """Work out the layout once, so that a step only moves numbers."""
        mdp = design.get("mdp", design)
        stateful: dict[str, Any] = {**STATEFUL_DEFAULTS, **(mdp.get("stateful") or {})}
        environment_space: SpaceDict = mdp["environment_observation_space"]
        self._transforms, self.count = transforms, count
        self._history_length = int(stateful["history"])
        self._history = {
            key: np.repeat(part[:, None], self._history_length, axis=1)
            for key, part in empty_batch(environment_space, count).items()
        }
        self._limit = time_limit(mdp) if stateful["time_left"] else None
        self._repeat = int(stateful["action_repeat"])
        self._taken = np.zeros(count, dtype=np.int64)
        action_space = policy_action_space(mdp, transforms) if stateful["previous_action"] else None
        self._encode_action = make_flattener(action_space) if action_space else None
        self._previous = np.zeros((count, encoded_size(action_space)), dtype=np.float32)
        self._image = None if self._has_extras or "observe" in transforms.parts else image_shape(environment_space)
        self._flatten = self._make_flatten(environment_space)
        self.shape = self._find_shape(environment_space)
        self.size = math.prod(self.shape)
        is_normalised = stateful["normalise_observation"] != "none"
        clip = float(stateful["observation_clip"])
        self.normaliser = (normaliser or Normaliser(self.size, clip)) if is_normalised else None
        bound = clip if is_normalised else None
        self.space: SpaceDict = {"kind": "box", "shape": list(self.shape), "dtype": "float32"}
        self.space |= {"low": None if bound is None else -bound, "high": bound}
        self.unnormalised: NDArray[np.float32] = np.zeros((0, self.size), dtype=np.float32)

    def reset(self, indices: Rows | None, raw: Raw) -> NDArray[np.float32]:
        """Start episodes in some rows.

        Args:
            indices: the rows; None means all.
            raw: first observations of these rows, in their order.

        Returns:
            Policy inputs of these rows, (len(indices), *shape) float32, a new array.
        """
        rows = ALL if indices is None else indices
        if self._history_length > 1:
            for key, part in as_parts(raw).items():
                self._history[key][rows] = part[:, None]
        self._taken[rows] = 0
        self._previous[rows] = 0.0
        return self._policy_input(raw, rows)

    def step(self, raw: Raw, designed_action: Array, indices: Rows | None = None) -> NDArray[np.float32]:
        """Go on in some rows.

        Args:
            raw: observations after the action, of these rows in their order; of a finished episode the last one.
            designed_action: what the policy chose before them, in its own space: in [-1, 1], or choices.
            indices: the rows; None means all.

        Returns:
            Policy inputs of these rows, (rows, *shape) float32, a new array.
        """
        rows = ALL if indices is None else indices
        if self._history_length > 1:
            for key, part in as_parts(raw).items():
                history = self._history[key]
                shifted = history[rows, 1:]
                history[rows, :-1] = shifted
                history[rows, -1] = part
        self._taken[rows] += self._repeat
        if self._encode_action is not None:
            self._previous[rows] = self._encode_action(designed_action)
        return self._policy_input(raw, rows)

    @property
    def _has_extras(self) -> bool:
        return self._limit is not None or self._encode_action is not None

    def _policy_input(self, raw: Raw, rows: Rows) -> NDArray[np.float32]:
        if self._history_length > 1:
            raw = as_raw({key: part[rows] for key, part in self._history.items()})
        flat = self._flatten(self._transforms.observe(raw))
        extras: list[Array] = [flat]
        if self._encode_action is not None:
            extras.append(self._previous[rows])
        if self._limit is not None:
            left = 1.0 - np.minimum(self._taken[rows] / self._limit, 1.0)
            extras.append(left.astype(np.float32)[:, None])
        if len(extras) > 1:
            flat = np.concatenate(extras, axis=1)
        self.unnormalised = flat
        if self.normaliser is not None:
            flat = self.normaliser(flat)
        return flat.reshape(len(flat), *self.shape)

    def _make_flatten(self, environment_space: SpaceDict) -> Any:
        if "observe" in self._transforms.parts:
            declared = self._transforms.observation_space
            is_choice = declared is not None and declared["kind"] == "discrete"
            return make_flattener(declared) if declared is not None and is_choice else make_flattener(ANY_BOX)
        if self._image is None:
            return make_flattener(environment_space, 2 if self._history_length > 1 else 1)
        is_stacked = self._history_length > 1

        def flatten_image(raw: Any) -> NDArray[np.float32]:
            pixels = np.moveaxis(raw, 1, -2).reshape(len(raw), -1) if is_stacked else raw.reshape(len(raw), -1)
            return pixels.astype(np.float32) / np.float32(255.0)

        return flatten_image

    def _find_shape(self, environment_space: SpaceDict) -> tuple[int, ...]:
        if self._image is not None:
            height, width, channels = self._image
            return height, width, channels * self._history_length
        parts = empty_batch(environment_space, 1)
        for key, leaf in leaves(environment_space).items():
            parts[key] += leaf.get("start", 0)
            if leaf["kind"] == "box":  # zeros may lie outside of the space, and a function may divide by them
                parts[key] = np.clip(parts[key], *box_bounds(leaf)).astype(parts[key].dtype)
        if self._history_length > 1:
            parts = {key: np.repeat(part[:, None], self._history_length, axis=1) for key, part in parts.items()}
        flat = self._flatten(self._transforms.observe(as_raw(parts)))
        return (flat.shape[1] + self._previous.shape[1] + (self._limit is not None),)


class ActionPipeline:
    """From what the policy chose to what the environment takes: rescale, `act`, clip, cast.

    Args:
        design: the `mdp` part of a design as JSON, or the whole design.
        transforms: the functions of its mdp.py.
        count: rows, one per environment.

    Attributes:
        space: the space the policy acts in: `{"kind": "discrete", "n": …}` or a float32 box in [-1, 1].
        clipped: rows (n,) whose latest environment action lay outside of its bounds and was clipped.

    Raises:
        ValueError: the action space cannot be served by a policy, and mdp.py has no `act`.
    """

    def __init__(self, design: dict[str, Any], transforms: Transforms, count: int) -> None:
        """Work out bounds once."""
        mdp = design.get("mdp", design)
        self._transforms, self.count = transforms, count
        self._environment_space: SpaceDict = mdp["environment_action_space"]
        self.space = policy_action_space(mdp, transforms)
        self._designed = transforms.action_space or self._environment_space
        self.clipped: NDArray[np.bool_] = np.zeros(count, dtype=bool)
        self._joint = joint_choices(self._designed)
        self._scale = make_scale(self._designed) if self._designed["kind"] == "box" else None
        self._finish = {key: make_finish(leaf) for key, leaf in leaves(self._environment_space).items()}

    def __call__(self, policy_action: Array, raw: Raw) -> Any:
        """Turn policy actions (n, …) into environment actions.

        Args:
            policy_action: in [-1, 1] (n, *shape), or choices (n,).
            raw: the raw observations (n, …) that the policy acted on, for residual control.

        Returns:
            Environment actions in the environment's dtype, within its bounds: (n, …) or `{key: (n, …)}`.
        """
        result = self._transforms.act(self.designed(policy_action), raw)
        parts = as_parts(result)
        finished: dict[str, Array] = {}
        clipped = None
        for key, finish in self._finish.items():
            finished[key], outside = finish(parts[key])
            if outside is not None:
                clipped = outside if clipped is None else clipped | outside
        self.clipped = np.zeros(len(policy_action), dtype=bool) if clipped is None else clipped
        return as_raw(finished)

    def designed(self, policy_action: Array) -> Array:
        """Turn policy actions into designed ones: what `act` gets, or the environment where there is no `act`."""
        if self._scale is not None:
            return self._scale(policy_action)
        if self._joint is not None:
            return np.stack(np.unravel_index(policy_action, self._joint), axis=-1).astype(np.int64)
        return np.asarray(policy_action, dtype=np.int64) + int(self._designed.get("start", 0))


STATEFUL_DEFAULTS: dict[str, Any] = {
    "history": 1,
    "previous_action": False,
    "time_left": False,
    "action_repeat": 1,
    "normalise_observation": "none",
    "observation_clip": 10.0,
}
ANY_BOX: SpaceDict = {"kind": "box", "shape": [], "dtype": "float32"}


def policy_action_space(mdp: dict[str, Any], transforms: Transforms) -> SpaceDict:
    """Give the space the policy acts in.

    Args:
        mdp: the `mdp` part of a design; only `environment_action_space` is read.
        transforms: the functions of its mdp.py, whose ACTION_SPACE wins.

    Returns:
        `{"kind": "discrete", "n": …, "start": 0}` or a float32 box in [-1, 1].

    Raises:
        ValueError: no policy can act in that space.
    """
    designed = transforms.action_space or mdp["environment_action_space"]
    if transforms.action_space is not None and "act" not in transforms.parts:
        raise ValueError("mdp.py declares ACTION_SPACE but has no act(): the environment would not understand it")
    if designed["kind"] == "discrete":
        return {"kind": "discrete", "n": designed["n"], "start": 0}
    joint = joint_choices(designed)
    if joint is not None:
        return {"kind": "discrete", "n": math.prod(joint), "start": 0}
    if designed["kind"] == "box":
        return {"kind": "box", "shape": list(designed["shape"]), "dtype": "float32", "low": -1.0, "high": 1.0}
    raise ValueError(f"no policy acts in a {designed['kind']!r} space: declare ACTION_SPACE and act() in mdp.py")


def policy_observation_space(mdp: dict[str, Any], transforms: Transforms) -> SpaceDict:
    """Give the space the policy sees, a float32 box; arguments and errors as `ObservationPipeline`."""
    return ObservationPipeline(mdp, transforms, 1).space


def joint_choices(space: SpaceDict) -> tuple[int, ...] | None:
    """Give the numbers of choices of a multi-discrete or multi-binary space small enough to be one choice; else None."""
    if space["kind"] == "multi_discrete":
        choices = tuple(int(n) for n in space["nvec"])
    elif space["kind"] == "multi_binary" and len(space["shape"]) == 1:
        choices = (2,) * int(space["shape"][0])
    else:
        return None
    return choices if math.prod(choices) <= MAX_JOINT_CHOICES else None


def make_scale(space: SpaceDict) -> Any:
    """Make the function from [-1, 1] to the bounds of a box; an entry without both bounds is left as it is."""
    low, high = box_bounds(space)
    is_bounded = np.isfinite(low) & np.isfinite(high)
    low, high = np.where(is_bounded, low, -1.0), np.where(is_bounded, high, 1.0)
    centre, half = (high + low) / 2, (high - low) / 2
    is_unchanged = not np.any(centre) and bool(np.all(half == 1.0))

    def scale(action: Any) -> NDArray[np.float64]:
        values = np.asarray(action, dtype=np.float64)
        return values if is_unchanged else centre + half * values

    return scale


def make_finish(space: SpaceDict) -> Any:
    """Make the function that clips and casts environment actions: `(actions, clipped rows or None)`."""
    shape, dtype = leaf_layout(space)
    if space["kind"] != "box":

        def cast(action: Any) -> tuple[Array, None]:
            return np.asarray(action).astype(dtype), None

        return cast
    low, high = box_bounds(space)
    axes = tuple(range(1, len(shape) + 1))

    def finish(action: Any) -> tuple[Array, NDArray[np.bool_]]:
        bounded = np.clip(action, low, high)
        return bounded.astype(dtype), (bounded != action).any(axis=axes)

    return finish


def image_shape(space: SpaceDict) -> tuple[int, int, int] | None:
    """Give height, width and channels where a space is an image of bytes; else None."""
    is_image = space["kind"] == "box" and len(space["shape"]) == 3 and space["dtype"] == "uint8"
    return tuple(space["shape"]) if is_image else None  # pyright: ignore[reportReturnType]


def encoded_size(space: SpaceDict | None) -> int:
    """Count the entries of a policy action as an observation extra: one-hot for choices."""
    if space is None:
        return 0
    return int(space["n"]) if space["kind"] == "discrete" else math.prod(space["shape"])


def time_limit(mdp: dict[str, Any]) -> int:
    """Give the time limit of a design, environment steps.

    Raises:
        ValueError: it has none, though `time_left` needs one.
    """
    limit = mdp.get("max_episode_steps")
    if not limit:
        raise ValueError("time_left needs an environment with a time limit (max_episode_steps)")
    return int(limit)
