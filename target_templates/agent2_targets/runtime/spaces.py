"""Spaces as plain dicts (JSON), their Gymnasium twins, and batches of their values as arrays.

A *raw batch* holds one value per row: an array `(n, *shape)` for a box, `(n,)` int64 for a discrete space,
`(n, k)` for multi-discrete (int64) and multi-binary (int8) spaces, and for Dict and Tuple spaces one level of
`{key: array}` in which nested keys are joined by a dot ("arm.joint", "0.1").
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Raw = Array | dict[str, Array]
"""A batch of raw observations: one array, or one array per key."""

SpaceDict = dict[str, Any]
"""A space as JSON: `{"kind": "box", "shape": [3], "dtype": "float32", "low": -1.0, "high": [1.0, 2.0, null]}` and so on."""


def describe_space(space: Any) -> SpaceDict:
    """Describe a Gymnasium space as a plain dict; one that is not known becomes `{"kind": "other"}`."""
    spaces: Any = gymnasium.spaces
    if isinstance(space, spaces.Box):
        low, high = describe_bound(space.low), describe_bound(space.high)
        return {"kind": "box", "shape": list(space.shape), "dtype": str(space.dtype), "low": low, "high": high}
    if isinstance(space, spaces.Discrete):
        return {"kind": "discrete", "n": int(space.n), "start": int(space.start)}
    if isinstance(space, spaces.MultiDiscrete) and np.ndim(space.nvec) == 1 and not np.any(space.start):
        return {"kind": "multi_discrete", "nvec": [int(n) for n in space.nvec]}
    if isinstance(space, spaces.MultiBinary):
        return {"kind": "multi_binary", "shape": list(space.shape)}
    if isinstance(space, spaces.Dict):
        return {"kind": "dict", "spaces": {str(key): describe_space(part) for key, part in space.spaces.items()}}
    if isinstance(space, spaces.Tuple):
        return {"kind": "tuple", "spaces": [describe_space(part) for part in space.spaces]}
    return {"kind": "other", "description": str(space)}


def describe_bound(bound: Array) -> float | list[float | None] | None:
    """Describe one bound of a box: one number where all entries agree, else one per entry in C order; infinite is None."""
    values = [float(value) if math.isfinite(value) else None for value in np.ravel(bound).tolist()]
    return values[0] if values and all(value == values[0] for value in values) else values


def bound_array(bound: Any, shape: tuple[int, ...], missing: float) -> NDArray[np.float64]:
    """Give a bound as an array of the space's shape; None becomes `missing` (-inf or inf)."""
    if bound is None or isinstance(bound, int | float):
        return np.full(shape, missing if bound is None else float(bound))
    return np.array([missing if value is None else float(value) for value in bound], dtype=float).reshape(shape)


def box_bounds(space: SpaceDict) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Give the lower and the upper bound of a box as float64 arrays of its shape; unbounded entries are infinite."""
    shape = tuple(space["shape"])
    low, high = bound_array(space.get("low"), shape, -np.inf), bound_array(space.get("high"), shape, np.inf)
    return low, high


def to_gymnasium(space: SpaceDict) -> gymnasium.Space[Any]:
    """Build the Gymnasium space that a plain dict describes.

    Raises:
        ValueError: the kind is `other` or not known.
    """
    kind = space["kind"]
    spaces: Any = gymnasium.spaces
    if kind == "box":
        low, high = box_bounds(space)
        dtype = np.dtype(space["dtype"])
        if dtype.kind in "iu":
            limits = np.iinfo(dtype)
            low, high = np.clip(low, limits.min, limits.max), np.clip(high, limits.min, limits.max)
        return spaces.Box(low.astype(dtype), high.astype(dtype), dtype=dtype.type)
    if kind == "discrete":
        return spaces.Discrete(space["n"], start=space.get("start", 0))
    if kind == "multi_discrete":
        return spaces.MultiDiscrete(space["nvec"])
    if kind == "multi_binary":
        shape = tuple(space["shape"])
        return spaces.MultiBinary(shape[0] if len(shape) == 1 else shape)
    if kind == "dict":
        return spaces.Dict({key: to_gymnasium(part) for key, part in space["spaces"].items()})
    if kind == "tuple":
        return spaces.Tuple([to_gymnasium(part) for part in space["spaces"]])
    raise ValueError(f"A space of kind {kind!r} cannot be used: {space.get('description', '')}")


def leaves(space: SpaceDict) -> dict[str, SpaceDict]:
    """Give the array-valued parts of a space by dotted key; a space that is one array has the single key ""."""
    parts = nested(space)
    if parts is None:
        return {"": space}
    found: dict[str, SpaceDict] = {}
    for key, part in parts.items():
        for inner, leaf in leaves(part).items():
            found[f"{key}.{inner}" if inner else key] = leaf
    return found


def nested(space: SpaceDict) -> dict[str, SpaceDict] | None:
    """Give the parts of a Dict or Tuple space by key; None for a space that is one array."""
    if space["kind"] == "dict":
        return dict(space["spaces"])
    if space["kind"] == "tuple":
        return {str(index): part for index, part in enumerate(space["spaces"])}
    return None


def leaf_values(value: Any, space: SpaceDict) -> dict[str, Any]:
    """Take one value of a space apart into its leaves by dotted key, as `leaves` names them."""
    parts = nested(space)
    if parts is None:
        return {"": value}
    found: dict[str, Any] = {}
    for key, part in parts.items():
        child: Any = value[key] if space["kind"] == "dict" else value[int(key)]
        for inner, leaf in leaf_values(child, part).items():
            found[f"{key}.{inner}" if inner else key] = leaf
    return found


def leaf_layout(space: SpaceDict) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Give shape and dtype of one value of a space that is one array.

    Raises:
        ValueError: the space is no array (Text, Graph, Sequence and the like).
    """
    kind = space["kind"]
    if kind == "box":
        return tuple(space["shape"]), np.dtype(space["dtype"])
    if kind == "discrete":
        return (), np.dtype(np.int64)
    if kind == "multi_discrete":
        return (len(space["nvec"]),), np.dtype(np.int64)
    if kind == "multi_binary":
        return tuple(space["shape"]), np.dtype(np.int8)
    raise ValueError(f"A space of kind {kind!r} cannot be used: {space.get('description', '')}")


def empty_batch(space: SpaceDict, count: int) -> dict[str, Array]:
    """Allocate one array per leaf for `count` values, filled with zeros."""
    layouts = {key: leaf_layout(leaf) for key, leaf in leaves(space).items()}
    return {key: np.zeros((count, *shape), dtype) for key, (shape, dtype) in layouts.items()}


def as_parts(raw: Raw) -> dict[str, Array]:
    """Look at a raw batch as `{dotted key: array}`; one array has the key ""."""
    return raw if isinstance(raw, dict) else {"": raw}


def as_raw(parts: dict[str, Array]) -> Raw:
    """Undo `as_parts`."""
    return parts[""] if len(parts) == 1 and "" in parts else parts


def take(raw: Raw, indices: Any) -> Raw:
    """Take rows of a raw batch, as a copy."""
    if isinstance(raw, dict):
        return {key: part[indices] for key, part in raw.items()}
    return raw[indices]


def flat_size(space: SpaceDict) -> int:
    """Give the number of float32 entries of one flattened value: one-hot for discrete choices."""
    return sum(leaf_flat_size(leaf) for leaf in leaves(space).values())


def leaf_flat_size(space: SpaceDict) -> int:
    """Give the number of float32 entries of one flattened value of a space that is one array."""
    if space["kind"] == "discrete":
        return int(space["n"])
    if space["kind"] == "multi_discrete":
        return sum(space["nvec"])
    return int(math.prod(leaf_layout(space)[0]))


def make_flattener(space: SpaceDict, lead: int = 1) -> Callable[[Raw], NDArray[np.float32]]:
    """Make the function that turns a raw batch into float32 rows, discrete choices one-hot, leaves in the space's order.

    Args:
        space: the space of the values.
        lead: leading axes of the arrays: 1 for `(n, …)`; 2 for `(n, history, …)`, which is flattened with the value.

    Returns:
        A function from a raw batch to a new array `(n, size)` float32.
    """
    if space["kind"] == "box":
        return lambda raw: as_rows(raw)  # the common case, without a detour
    encoders = {key: leaf_encoder(leaf, lead) for key, leaf in leaves(space).items()}

    def flatten(raw: Raw) -> NDArray[np.float32]:
        parts = as_parts(raw)
        return np.concatenate([encode(parts[key]) for key, encode in encoders.items()], axis=1)

    return flatten


def as_rows(values: Any) -> NDArray[np.float32]:
    """Copy an array `(n, …)` into rows `(n, size)` float32."""
    return np.array(values, dtype=np.float32).reshape(len(values), -1)


def leaf_encoder(space: SpaceDict, lead: int) -> Callable[[Array], NDArray[np.float32]]:
    """Make the function that encodes one leaf as float32 rows."""
    kind = space["kind"]
    if kind == "discrete":
        identity, start = np.eye(space["n"], dtype=np.float32), space.get("start", 0)
        return lambda values: as_rows(identity[values - start])
    if kind == "multi_discrete":
        parts = [np.eye(n, dtype=np.float32) for n in space["nvec"]]
        return lambda values: as_rows(np.concatenate([part[values[..., i]] for i, part in enumerate(parts)], axis=lead))
    leaf_layout(space)
    return as_rows


def from_declaration(declaration: Mapping[str, Any]) -> SpaceDict:
    """Read `OBSERVATION_SPACE` or `ACTION_SPACE` of an mdp.py: `{"n": 5}` or `{"shape": [3], "dtype", "low", "high"}`.

    Raises:
        ValueError: it is neither.
    """
    if "n" in declaration:
        return {"kind": "discrete", "n": int(declaration["n"]), "start": 0}
    if "shape" not in declaration:
        raise ValueError(f'a declared space needs "n" or "shape", got {dict(declaration)!r}')
    shape = tuple(int(size) for size in np.atleast_1d(declaration["shape"]))
    bounds: dict[str, Any] = {}
    for name, missing in (("low", -np.inf), ("high", np.inf)):
        bound = declaration.get(name)
        filled = np.broadcast_to(np.array(missing if bound is None else bound, dtype=float), shape)
        bounds[name] = describe_bound(filled)
    return {"kind": "box", "shape": list(shape), "dtype": str(declaration.get("dtype", "float32")), **bounds}
