"""Values that cross a process are frozen, closed and finite."""

import math

import numpy as np
import pytest
from pydantic import ValidationError

from agent2_schemas import BoxSpace, Curve, EpisodeStatistics, Finding, finite_or_none


def test_a_value_refuses_fields_it_does_not_know() -> None:
    with pytest.raises(ValidationError, match="serverity"):
        Finding.model_validate({"code": "x", "severity": "note", "message": "m", "serverity": "note"})


def test_a_value_cannot_be_changed() -> None:
    finding = Finding(code="x", severity="note", message="m")
    with pytest.raises(ValidationError, match="frozen"):
        finding.code = "y"  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, np.float32("nan")])
def test_a_number_that_is_not_finite_becomes_none(value: float) -> None:
    curve = Curve(name="n", tag="t", x_unit="env_steps", x=(1.0,), values=(value,), points=1)
    assert curve.values == (None,)
    assert "null" in curve.model_dump_json()


def test_numpy_numbers_become_plain_ones() -> None:
    assert finite_or_none(np.float32(1.5)) == 1.5
    assert type(finite_or_none(np.float64(2))) is float


def test_a_text_is_no_number() -> None:
    with pytest.raises(ValueError, match="number"):
        finite_or_none("1.5")


def test_an_unbounded_box_survives_json() -> None:
    box = BoxSpace(shape=(2,), dtype="float32", low=(-math.inf, 0.0), high=math.inf)
    assert BoxSpace.model_validate_json(box.model_dump_json()) == box
    assert box.low == (None, 0.0)
    assert box.high is None


def test_statistics_name_their_policy_from_a_closed_set() -> None:
    with pytest.raises(ValidationError, match="policy"):
        EpisodeStatistics.model_validate({"policy": "best"})
