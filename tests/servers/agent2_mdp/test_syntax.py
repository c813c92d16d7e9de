"""Level 1: what the syntax tree tells, with the line."""

from __future__ import annotations

import ast

import pytest

from agent2_mdp.info_keys import check_info_keys
from agent2_mdp.syntax import check_syntax, defined_parts

REWARD = "def reward(previous_observation, action, observation, original_reward, terminated, truncated, info):\n"


def found(code: str) -> set[tuple[str, int | None]]:
    return {(finding.code, finding.line) for finding in check_syntax(code)[1]}


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("import os\n", ("import-not-allowed", 1)),
        ("from subprocess import run\n", ("import-not-allowed", 1)),
        ("from . import other\n", ("import-not-allowed", 1)),
        ("x = 1\nopen('f')\n", ("forbidden-name", 2)),
        ("x = eval('1')\n", ("forbidden-name", 1)),
        ("x = ().__class__\n", ("forbidden-name", 1)),
        ("import numpy as np\nx = np.random.rand(3)\n", ("random-numbers", 2)),
        ("import numpy as np\nx = np.loadtxt('f')\n", ("file-access", 2)),
        ("def f(x):\n    while 1:\n        for i in x:\n            break\n", ("unbounded-loop", 2)),
        ("import itertools\nfor i in itertools.count():\n    pass\n", ("unbounded-loop", 2)),
        ("def obs(observation):\n    return observation\n", ("misspelt-part", 1)),
        ("def potental(observation):\n    return observation\n", ("misspelt-part", 1)),
        ("def compute_reward(a, b):\n    return a\n", ("misspelt-part", 1)),
        ("REWARD_WEIGHT = {}\n", ("misspelt-constant", 1)),
        ("def observe(observation, mean):\n    return observation\n", ("wrong-parameters", 1)),
        ("def observe(obs):\n    return obs\n", ("wrong-parameters", 1)),
        ("def act(observation, action):\n    return action\n", ("parameters-swapped", 1)),
        ("async def observe(observation):\n    return observation\n", ("not-a-plain-function", 1)),
        ("def observe(observation):\n    yield observation\n", ("not-a-plain-function", 1)),
        ("def potential(observation):\n    observation[:, 0]\n", ("returns-nothing", 1)),
        ("REWARD_WEIGHTS = {}\n", ("constant-without-part", 1)),
        ("def observe(observation):\n    global last\n    last = 1\n    return observation\n", ("global-state", 2)),
        ("def observe(observation, seen=[]):\n    return observation\n", ("global-state", 1)),
        ("def observe(observation):\n    print(1)\n    return observation\n", ("prints", 2)),
        ("def helper(x):\n    return x\n", ("unused-function", 1)),
        ("def observe(observation)\n", ("syntax-error", 1)),
        ("x = 1\n  y = 2\n", ("syntax-error", 2)),
        ("x = " + "(" * 500 + ")" * 500, ("syntax-error", 1)),
        ("x = 1\0", ("syntax-error", None)),
        ("#" * 200_000, ("too-long", None)),
    ],
)
def test_a_fault_is_named_with_its_line(code: str, expected: tuple[str, int | None]) -> None:
    assert expected in found(code)


@pytest.mark.parametrize(
    "code",
    [
        "",
        '"""Only words."""\n',
        "import math\nimport numpy as np\nfrom functools import lru_cache\n",
        "def observe(observation, scale=2.0):\n    return observation * scale\n",
        REWARD.replace("info", "_info") + "    return {'a': original_reward}\n",
        "def compute_reward(x):\n    return x\n\n\n" + REWARD + "    return {'a': compute_reward(observation)}\n",
        "def observe(observation):\n    while True:\n        return observation\n",
        "def observe(observation):\n    while True:\n        if len(observation):\n            break\n    return observation\n",
        "observe = lambda observation: observation\n",
    ],
)
def test_honest_code_has_no_error(code: str) -> None:
    assert not [finding for finding in check_syntax(code)[1] if finding.severity == "error"]


def test_all_faults_come_at_once_in_line_order() -> None:
    code = "import os\nimport torch\n\n\ndef rewards(x):\n    return open(x)\n"
    lines = [finding.line for finding in check_syntax(code)[1]]
    assert lines == sorted(lines, key=lambda line: line or 0)
    assert {"import-not-allowed", "misspelt-part", "forbidden-name"} <= {code for code, _ in found(code)}


def test_parts_are_named_in_the_order_of_the_contract() -> None:
    tree = ast.parse("def potential(observation): ...\ndef observe(observation): ...\n")
    assert defined_parts(tree) == ("observe", "potential")


def test_undeclared_info_keys_are_named_in_every_form() -> None:
    body = (
        "    a = info['a']\n    b = info.get('b', 0)\n    c = 'c' in info\n    d = info['d_present']\n    return {}\n"
    )
    found_keys = check_info_keys(ast.parse(REWARD + body), ("d",))
    assert [finding.line for finding in found_keys] == [2, 3, 4]
    assert not check_info_keys(ast.parse(REWARD + body), ("a", "b", "c", "d"))
