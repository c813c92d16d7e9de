"""Spaces as plain dicts and batches of their values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

from agent2_targets.runtime.spaces import (
    describe_space,
    empty_batch,
    flat_size,
    from_declaration,
    leaf_values,
    leaves,
    make_flattener,
    to_gymnasium,
)

NESTED = spaces.Dict(
    {
        "arm": spaces.Dict({"joint": spaces.Box(-1.0, 1.0, (2, 2), np.float64), "grip": spaces.MultiBinary(3)}),
        "place": spaces.Discrete(3, start=2),
        "pair": spaces.Tuple((spaces.MultiDiscrete([2, 3]), spaces.Box(0, 255, (1,), np.uint8))),
    }
)


@pytest.mark.parametrize(
    "space",
    [
        spaces.Box(-1.0, 1.0, (3,), np.float32),
        spaces.Box(np.array([-np.inf, 0.0]), np.array([1.0, np.inf]), dtype=np.float64),
        spaces.Box(0, 255, (4, 4, 3), np.uint8),
        spaces.Box(-np.inf, np.inf, ()),
        spaces.Discrete(4, start=-1),
        spaces.MultiDiscrete([2, 5]),
        spaces.MultiBinary((2, 2)),
        NESTED,
    ],
)
def test_a_space_survives_the_way_through_json(space: Any) -> None:
    assert to_gymnasium(describe_space(space)) == space


def test_an_unknown_space_is_named_and_refused() -> None:
    described = describe_space(spaces.Text(5))
    assert described["kind"] == "other"
    with pytest.raises(ValueError, match="Text"):
        to_gymnasium(described)


def test_nested_values_are_taken_apart_by_dotted_keys() -> None:
    described = describe_space(NESTED)
    names = ["arm.grip", "arm.joint", "pair.0", "pair.1", "place"]
    assert sorted(leaves(described)) == names
    values = leaf_values(NESTED.sample(), described)
    assert sorted(values) == names
    assert values["arm.joint"].shape == (2, 2)


def test_flattening_gives_one_hot_rows_in_the_order_of_the_space() -> None:
    space = describe_space(spaces.Dict({"a": spaces.Discrete(3, start=2), "b": spaces.Box(-1.0, 1.0, (2,))}))
    raw = {"a": np.array([4, 2]), "b": np.array([[0.1, 0.2], [0.3, 0.4]])}
    flat = make_flattener(space)(raw)
    assert flat.dtype == np.float32
    assert np.allclose(flat, [[0, 0, 1, 0.1, 0.2], [1, 0, 0, 0.3, 0.4]])
    assert flat_size(space) == 5


@pytest.mark.parametrize("space", [NESTED, spaces.Discrete(3), spaces.MultiDiscrete([2, 3]), spaces.Box(-1, 1, (2,))])
def test_history_is_flattened_with_its_values(space: Any) -> None:
    described = describe_space(space)
    batch = empty_batch(described, 4)
    for key, leaf in leaves(described).items():
        batch[key] += np.array(leaf.get("start", 0), dtype=batch[key].dtype)
    history = {key: np.repeat(part[:, None], 3, axis=1) for key, part in batch.items()}
    flat = make_flattener(described, lead=2)(history.get("", history))
    assert flat.shape == (4, 3 * flat_size(described))


def test_flattening_never_shares_memory_with_its_input() -> None:
    values = np.ones((2, 3), np.float32)
    flat = make_flattener(describe_space(spaces.Box(-1, 1, (3,))))(values)
    flat[:] = 0
    assert values.all()


def test_a_declared_space_is_read_with_scalar_or_single_bounds() -> None:
    assert from_declaration({"n": 5}) == {"kind": "discrete", "n": 5, "start": 0}
    box = from_declaration({"shape": [2], "low": [-1.0, None], "high": 3})
    assert box == {"kind": "box", "shape": [2], "dtype": "float32", "low": [-1.0, None], "high": 3.0}
    with pytest.raises(ValueError, match="shape"):
        from_declaration({"low": 0.0})
