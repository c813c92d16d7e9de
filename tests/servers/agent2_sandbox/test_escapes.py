"""Nothing gets out: a battery of escape probes, each of which is first seen to succeed outside a sandbox."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import pytest

from agent2_sandbox.specification import Tier

from . import conftest, forms

pytestmark = pytest.mark.slow
SERVER = Path(__file__).parent / "scripts" / "escape_server.py"
FEWEST = 60


@pytest.fixture(scope="module")
def controlled() -> set[str]:
    """Names of the probes that succeed outside on this machine; only they can prove anything."""
    if os.geteuid() != 0:
        pytest.skip("the controls mount and set the clock: they need root")
    ended = subprocess.run([sys.executable, str(SERVER), "control"], capture_output=True, check=False, timeout=120)
    assert ended.returncode == 0, ended.stderr.decode()
    through = set(json.loads(ended.stdout)["through"])
    assert len(through) >= FEWEST, sorted(set(json.loads(ended.stdout)["names"]) - through)
    return through


def _load_probes() -> ModuleType:
    spec = importlib.util.spec_from_file_location("escapes", SERVER.parent / "escapes.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("form", forms.FORMS)
@pytest.mark.parametrize("tier_name", ["A", "B"])
def test_no_probe_gets_out(tier_name: str, form: str, controlled: set[str]) -> None:
    conftest.require_tier(cast("Tier", tier_name))
    environment = {**os.environ, "AGENT2_SANDBOX_TIER": tier_name, "HOME": "/tmp"}
    command = forms.command_as(form, [sys.executable, str(SERVER)])
    ended = subprocess.run(command, capture_output=True, check=False, timeout=200, env=environment)
    assert ended.returncode == 0, ended.stderr.decode()
    answer: dict[str, Any] = json.loads(ended.stdout)
    only = _load_probes().ONLY
    counted = {name for name in controlled if not only.get(name) or f"{tier_name}-{form}" in only[name]}
    assert len(counted) >= FEWEST
    assert counted & set(answer["through"]) == set(), f"of {len(counted)} probes with a control"
