"""The project's seed lists: three secret, disjoint ones for scores, one for training, and fresh ones outside all."""

import hashlib
import hmac
import secrets
from pathlib import Path
from typing import Literal

from agent2_workspace.files import write_whole

SeedPurpose = Literal["selection", "verdict", "card", "training", "recording"]
_LANES: tuple[SeedPurpose, ...] = ("selection", "verdict", "card", "training", "recording")
_LANE_WIDTH = 2**28
"""Seeds of a purpose lie in a lane of their own, so that lists can never meet; all lie below 2**31."""


def seed_list(secret: bytes, project: str, project_seed: int, purpose: SeedPurpose, count: int) -> tuple[int, ...]:
    """Give the first `count` distinct seeds of one purpose.

    The lists are secret because the key stays in the workspace, which no sandbox mounts; with the same key, project and
    project seed they are the same again, and a longer list begins with the shorter one.

    Args:
        secret: key of the workspace, see `workspace_secret`.
        project: name of the project.
        project_seed: root seed of the project (`--seed`).
        purpose: which list.
        count: how many seeds.

    Returns:
        Distinct seeds in [lane, lane + 2**28), where lanes of different purposes are disjoint.
    """
    lane = _LANES.index(purpose) * _LANE_WIDTH
    seeds: dict[int, None] = {}
    counter = 0
    while len(seeds) < count:
        message = f"{project}|{project_seed}|{purpose}|{counter}".encode()
        digest = hmac.new(secret, message, hashlib.sha256).digest()
        seeds[lane + int.from_bytes(digest[:8], "little") % _LANE_WIDTH] = None
        counter += 1
    return tuple(seeds)


def fresh_seeds(count: int) -> tuple[int, ...]:
    """Draw distinct seeds outside all lists: those of `agent2 evaluate` and of `evaluate.py`."""
    start = len(_LANES) * _LANE_WIDTH
    generator = secrets.SystemRandom()
    return tuple(generator.sample(range(start, 2**31 - 1), count))


def workspace_secret(root: Path) -> bytes:
    """Read the key of a workspace; make it at the first call (mode 0600)."""
    path = root / ".secret"
    if not path.exists():
        write_whole(path, secrets.token_bytes(32))
        path.chmod(0o600)
    return path.read_bytes()
