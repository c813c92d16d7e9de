"""A search among equal designs seldom says "improved": the decisions of the product itself, on simulated scores."""

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

FILE = Path(__file__).parents[2] / "benchmarks" / "false_acceptance.py"
SEARCHES = 60


@pytest.fixture(scope="module")
def simulation() -> Iterator[Any]:
    """The benchmark as a module."""
    spec = importlib.util.spec_from_file_location("false_acceptance", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


def test_equal_designs_are_seldom_called_improved(simulation: Any) -> None:
    tested, _, low, _ = simulation.rate_of_improved("bimodal", SEARCHES)
    assert tested > SEARCHES // 2
    assert low <= 0.05


def test_the_simulation_says_improved_where_a_design_is_better(simulation: Any) -> None:
    random = np.random.default_rng(0)
    true_scores = {"c3": 9.0, "tuned preset": 1.0, "library default": 2.0}
    runs = {name: simulation._fresh(name, lambda _, score=score: score, random) for name, score in true_scores.items()}
    assert simulation.judge(runs).word == "improved"
