"""What training needs runs inside each tier, as root and as an ordinary user."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import cast

import pytest

from agent2_sandbox.specification import Tier

from . import conftest, forms

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("form", forms.FORMS)
@pytest.mark.parametrize("tier_name", ["A", "B"])
def test_torch_tianshou_and_mujoco_run_inside(tier_name: str, form: str) -> None:
    conftest.require_tier(cast("Tier", tier_name))
    script = Path(__file__).parent / "scripts" / "heavy_server.py"
    environment = {**os.environ, "AGENT2_SANDBOX_TIER": tier_name, "HOME": "/tmp"}
    ended = subprocess.run(
        forms.command_as(form, [sys.executable, str(script)]),
        capture_output=True,
        check=False,
        timeout=240,
        env=environment,
    )
    assert ended.returncode == 0, ended.stderr.decode()
    answer = json.loads(ended.stdout)
    assert answer["gradient"]
    assert answer["rows"] == 2
    assert answer["frame"] == [480, 480, 3]
