"""Which boundary this machine has: found by trying, not by comparing versions."""

import functools

from agent2_schemas import Isolation


@functools.cache
def probe_isolation() -> Isolation:
    """Find the strongest tier that holds here, and what it does not enforce."""
    return Isolation(tier="D", not_enforced=("everything",))
