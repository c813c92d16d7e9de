"""Files that options name: what cannot be used is refused with the place of the fault, all faults at once."""

from pathlib import Path

import pytest

from agent2_generator.typed_files import read_baseline, read_task
from agent2_schemas import CorrectableError


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("algorithm: [\n", "is no YAML: expected the node content"),
        ("hello", "holds no mapping"),
        ("algorithm: PPX\ngama: 1\n", "algorithm: Input should be 'PPO'"),
        ("algorithm: PPX\ngama: 1\n", "gama: Extra inputs are not permitted"),
        ("network: {}\n", "algorithm: Field required"),
        ("algorithm: PPO\nreward_scale: 0\n", "reward_scale"),
        ("algorithm: PPO\nnormalise_observation: always\n", "normalise_observation"),
    ],
)
def test_a_baseline_that_is_no_design_is_refused(tmp_path: Path, written: str, words: str) -> None:
    file = tmp_path / "baseline.yaml"
    file.write_text(written)
    with pytest.raises(CorrectableError) as caught:
        read_baseline(file)
    assert words in caught.value.message
    assert str(file) in caught.value.message


def test_a_baseline_is_read_as_written(tmp_path: Path) -> None:
    file = tmp_path / "baseline.yaml"
    file.write_text("algorithm: PPO\nhyperparameters: {gamma: 0.98}\n")
    assert read_baseline(file) == {"algorithm": "PPO", "hyperparameters": {"gamma": 0.98}}
    assert read_baseline(None) is None


def test_a_task_comes_from_either_option(tmp_path: Path) -> None:
    file = tmp_path / "task.txt"
    file.write_text("balance the pole\n")
    assert read_task("", file) == "balance the pole\n"
    assert read_task("balance", None) == "balance"
    assert read_task("", None) == ""
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(CorrectableError, match="no UTF-8 text"):
        read_task("", file)
