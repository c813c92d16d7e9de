"""Every hostile mdp.py ends as the README beside it says, in tiers A and B, as root and as an ordinary user."""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from agent2_sandbox.specification import Tier

from . import conftest, forms

CASES = Path(__file__).parents[2] / "cases" / "hostile"
OK = ("ok", "")
HARMLESS = "import numpy as np\n\n\ndef reward(p, action, observation, original, t, u, info):\n    return {'original': np.asarray(original)}\n"

# name: ways to end well, each as (outcome, telling words); a fault in generated code is `code_rejected` with line and step
EXPECTED: dict[str, dict[str, list[tuple[str, str]]]] = {
    "complex_reward": {"AB": [("code_rejected", "component speed must be real numbers, got complex128.*step 1")]},
    "daemon_child": {"AB": [OK]},
    "delete_files": {
        "A": [("code_rejected", r"OSError.*Read-only file system.*step 1.*line 6")],
        "B": [("code_rejected", r"Permission denied.*step 1.*line 6")],
    },
    "endless_loop": {"AB": [("stalled", r"no step finished for 3\.0 s.*mdp\.py, line [67] in reward")]},
    "exit_zero": {"AB": [("exited_early", r"exit code 0 before.*finished.*os\._exit in generated code")]},
    "fill_run_folder": {"AB": [("disk_limit", r"run folder holds \d+ MB / \d+ files, limit 100 MB")]},
    "fill_tmp": {
        "A": [("code_rejected", r"OSError.*No space left on device.*line 1[0-3]")],
        "B": [("disk_limit", "run folder holds")],
    },
    "find_evaluator": {"A": [OK], "B": [OK, ("code_rejected", "Permission denied")]},
    "forged_jsonrpc": {"AB": [OK]},
    "fork_bomb": {
        "AB": [
            ("too_many_processes", r"\d+, limit 40"),
            ("code_rejected", r"Resource temporarily unavailable.*line"),
            ("out_of_memory", "used"),
        ]
    },
    "host_socket": {"A": [OK], "B": [OK, ("code_rejected", "Address family not supported")]},
    "ignore_signals": {"AB": [("stalled", r"no step finished for 3\.0 s")]},
    "kill_parent": {"AB": [("code_rejected", r"Operation not permitted.*line 9"), OK]},
    "memory_growth": {"AB": [("out_of_memory", r"used \d+ MB, limit 1000 MB")]},
    "mutate_inputs": {"AB": [("code_rejected", r"assignment destination is read-only.*line 5")]},
    "nan_reward": {"AB": [("code_rejected", r"component upright is nan at step 1, observation min .* max")]},
    "network_out": {
        "A": [("code_rejected", "Network is unreachable.*there is no network in the sandbox")],
        "B": [("code_rejected", "Address family not supported.*there is no network in the sandbox")],
    },
    "one_big_array": {"AB": [("out_of_memory", r"used \d+ MB, limit 1000 MB|Unable to allocate 4.00 GiB.*line 8")]},
    "patch_clock_and_random": {"AB": [OK]},
    "print_flood": {"AB": [OK]},
    "read_home": {
        "A": [("code_rejected", r"No such file or directory.*line")],
        "B": [("code_rejected", r"(No such file or directory|Permission denied).*line")],
    },
    "read_secrets": {"AB": [OK]},
    "segfault": {"AB": [("crashed", r"SIGSEGV.*mdp\.py, line 8 in reward")]},
    "slow_observe": {"AB": [("stalled", r"mdp\.py, line 6 in observe")]},
    "sys_exit": {"AB": [("code_rejected", r"reward called sys\.exit\(0\) at step 1")]},
    "write_outside": {
        "A": [("code_rejected", r"Read-only file system.*line")],
        "B": [("code_rejected", r"Permission denied.*line")],
    },
}
QUICK = {
    ("A", "exit_zero"),
    ("A", "nan_reward"),
    ("A", "read_secrets"),
    ("B", "segfault"),
    ("B", "write_outside"),
    ("B", "host_socket"),
}


class CaseServer:
    """A server process that answers one case after another."""

    def __init__(self, tier: str, form: str) -> None:
        """Start it with a secret in its environment."""
        environment = {**os.environ, "AGENT2_SANDBOX_TIER": tier, "ANTHROPIC_API_KEY": "sk-canary", "HOME": "/tmp"}
        script = Path(__file__).parent / "scripts" / "case_server.py"
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  (closed in close)
        self._process = subprocess.Popen(
            forms.command_as(form, [sys.executable, str(script)]),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, env=environment,
        )  # fmt: skip

    def run(self, case: str, code: str) -> dict[str, Any]:
        """Run one case; every line of the server's output is JSON."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"case": case, "code": code}).encode() + b"\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, self._words()
        return json.loads(line)

    def _words(self) -> str:
        self._errors.seek(0)
        return self._errors.read().decode()[-4000:]

    def close(self) -> None:
        """End it; nothing but answers was ever on its output."""
        assert self._process.stdout is not None
        self._process.communicate(timeout=30)
        self._process.stdout.close()
        self._errors.close()


@pytest.fixture(scope="module")
def case_servers() -> Iterator[dict[tuple[str, str], CaseServer]]:
    servers: dict[tuple[str, str], CaseServer] = {}
    yield servers
    for server in servers.values():
        server.close()


def _parameters() -> list[Any]:
    quick_form = forms.FORMS[0]
    return [
        pytest.param(tier, form, case, marks=[] if (tier, case) in QUICK and form == quick_form else pytest.mark.slow)
        for form in forms.FORMS
        for tier in ("A", "B")
        for case in EXPECTED
    ]


@pytest.mark.parametrize(("tier_name", "form", "case"), _parameters())
def test_a_hostile_file_ends_as_the_readme_says(
    tier_name: str, form: str, case: str, case_servers: dict[tuple[str, str], CaseServer]
) -> None:
    conftest.require_tier(cast("Tier", tier_name))
    key = (tier_name, form)
    if key not in case_servers:
        case_servers[key] = CaseServer(tier_name, form)
        harmless = case_servers[key].run("harmless", HARMLESS)
        assert harmless["outcome"] == "ok", harmless
    answer = case_servers[key].run(case, (CASES / f"{case}.py").read_text())
    assert not answer["has_breach"], answer
    assert answer["tier"] == tier_name
    wanted = EXPECTED[case].get(tier_name) or EXPECTED[case]["AB"]
    assert any(
        answer["outcome"] == outcome and re.search(words, answer["message"], re.DOTALL) for outcome, words in wanted
    ), answer
    assert answer["peak_memory_bytes"] > 0
    assert answer["left"] == []
    assert answer["outside_unchanged"]
    if case == "print_flood":
        assert answer["log_bytes"] < 3e6
        assert (
            re.search(r"\[\d+ bytes of output dropped by the log cap\]", answer["log_tail"])
            or answer["log_bytes"] > 1e6
        )
    if case == "forged_jsonrpc":
        assert answer["has_forged"]
    if (tier_name, case) not in QUICK:
        assert case_servers[key].run("harmless", HARMLESS)["outcome"] == "ok"


def test_every_hostile_file_has_its_expected_end() -> None:
    assert {file.stem for file in CASES.glob("*.py")} == set(EXPECTED)
