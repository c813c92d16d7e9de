"""Running statistics of what the policy sees."""

from __future__ import annotations

import json

import numpy as np

from agent2_targets.runtime.normaliser import Normaliser


def test_updates_in_parts_equal_one_update() -> None:
    values = np.random.default_rng(0).normal(3.0, 2.0, (1000, 4)) * [1, 10, 100, 0]
    parts, whole = Normaliser(4), Normaliser(4)
    for part in np.array_split(values, [1, 100, 400]):
        parts.update(part)
    whole.update(values)
    assert np.allclose(parts.mean, values.mean(axis=0))
    assert np.allclose(parts.variance, values.var(axis=0))
    assert np.allclose(parts(values), whole(values), atol=1e-5)
    assert np.abs(whole(values)[:, :3].std(axis=0) - 1).max() < 1e-3


def test_calls_do_not_change_the_statistics_and_clip() -> None:
    normaliser = Normaliser(2, clip=3.0)
    normaliser.update(np.array([[0.0, 1.0], [2.0, 1.0]]))
    before = normaliser.to_dict()
    assert normaliser(np.array([[100.0, 1.0]])).tolist() == [[3.0, 0.0]]
    assert normaliser.to_dict() == before


def test_statistics_survive_json_exactly() -> None:
    normaliser = Normaliser(3, clip=5.0)
    normaliser.update(np.random.default_rng(1).normal(size=(7, 3)))
    again = Normaliser.from_dict(json.loads(json.dumps(normaliser.to_dict())))
    batch = np.random.default_rng(2).normal(size=(5, 3)).astype(np.float32)
    assert np.array_equal(again(batch), normaliser(batch))
    again.update(batch)
    normaliser.update(batch)
    assert again.to_dict() == normaliser.to_dict()


def test_no_rows_change_nothing() -> None:
    normaliser = Normaliser(2)
    normaliser.update(np.zeros((0, 2)))
    assert normaliser.count == 0
    assert normaliser(np.array([[1.0, 2.0]], np.float32)).tolist() == [[1.0, 2.0]]
