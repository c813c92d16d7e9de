"""`agent2 inspect` in somebody's CI: its exit code tells whether an environment can be trained on."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

CASES = Path(__file__).parents[2] / "cases" / "environments"


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    ("environment", "exit_code", "word"),
    [
        ("CartPole-v1", 0, ""),
        (str(CASES / "out_of_bounds_observation.py"), 0, "outside"),
        (str(CASES / "late_nan_reward.py"), 3, "reward-not-finite"),
    ],
)
def test_inspect_ends_with_3_where_a_finding_is_an_error(
    environment: str, exit_code: int, word: str, tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "agent2_generator", "inspect", environment, "--json", "--workspace", str(tmp_path / "w")],
        capture_output=True, text=True, check=False, timeout=100, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == exit_code, done.stderr
    assert word in json.dumps(json.loads(done.stdout))
    assert "Traceback" not in done.stderr


@pytest.mark.timeout(60)
def test_what_cannot_be_built_at_all_ends_with_2_and_what_to_change(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "agent2_generator", "inspect", str(CASES / "imports_old_gym.py"), "--workspace", str(tmp_path)],
        capture_output=True, text=True, check=False, timeout=50, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 2
    assert "import gymnasium as gym" in done.stderr
    assert done.stdout == ""
