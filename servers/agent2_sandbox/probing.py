"""Which boundary this machine has: found by trying, not by comparing versions."""

import functools
import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from agent2_sandbox.cgroup import group_parent
from agent2_sandbox.landlock import FIRST_ABI_WITH_SCOPE, FIRST_ABI_WITH_TRUNCATE, landlock_abi
from agent2_sandbox.questions import LATE_SECONDS, Question
from agent2_sandbox.request import ChildFailed, Limits, ProcessRequest
from agent2_sandbox.specification import Tier
from agent2_sandbox.starting import bubblewrap_program
from agent2_schemas import Isolation, PrerequisiteError

_PROBE_SECONDS = 30.0
_NAMES = {"A": "bubblewrap and a system-call filter", "B": "Landlock and a system-call filter", "C": "macOS Seatbelt (untried)", "D": "no boundary"}  # fmt: skip
_WATCHED = "memory and disk are watched, not capped: a burst may pass the limit for a moment"
_DISK_WATCHED = "disk use is watched, not capped: a burst may pass the limit for a moment"
_INSTALL = "Type: sudo apt-get install bubblewrap (or dnf, pacman, apk)."
_BEST_EFFORT = 'A person may run it unprotected: isolation = "best_effort" in the user\'s configuration.'
_CAUSES = (
    (("setting up uid map", "RTM_NEWADDR"),
     "AppArmor forbids user namespaces. Type: sudo apt-get install apparmor-profiles && sudo cp "
     "/usr/share/apparmor/extra-profiles/bwrap-userns-restrict /etc/apparmor.d/ && sudo apparmor_parser -r "
     "/etc/apparmor.d/bwrap-userns-restrict"),
    (("No space left on device",), "Type: sudo sysctl user.max_user_namespaces=15000"),
    (("Operation not permitted", "Creating new namespace failed"),
     "Namespaces are forbidden, as inside a container: run on the host, or start the container with "
     "--security-opt seccomp=unconfined."),
)  # fmt: skip


@dataclass(frozen=True)
class TierProbe:
    """What trying one tier showed."""

    tier: Tier
    holds: bool
    reason: str = ""
    advice: str = ""
    not_enforced: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What the tier is made of."""
        return _NAMES[self.tier]


def probe_isolation() -> Isolation:
    """Find the strongest tier that holds here, and what it does not enforce; tried once in each process.

    `$AGENT2_SANDBOX_TIER` forces a tier.

    Raises:
        PrerequisiteError: the forced tier does not hold here.
    """
    forced = os.environ.get("AGENT2_SANDBOX_TIER", "")
    if forced:
        probe = probe_tier(cast("Tier", forced))
        if not probe.holds:
            raise PrerequisiteError(f"Sandbox tier {forced} does not hold here: {probe.reason}.", probe.advice)
    else:
        probe = next(probe for probe in probe_tiers() if probe.holds)
    return Isolation(tier=probe.tier, not_enforced=probe.not_enforced)


def probe_tiers() -> tuple[TierProbe, ...]:
    """Try the tiers of this system, strongest first, up to the first that holds."""
    probes: list[TierProbe] = []
    for tier in ("C", "D") if sys.platform == "darwin" else ("A", "B", "D"):
        probes.append(probe_tier(tier))
        if probes[-1].holds:
            break
    return tuple(probes)


def isolation_advice() -> str:
    """What to type where no boundary holds."""
    advice = next((probe.advice for probe in probe_tiers() if not probe.holds and probe.advice), _INSTALL)
    return f"{advice} {_BEST_EFFORT}"


@functools.cache
def probe_tier(tier: Tier) -> TierProbe:
    """Try one tier with a child that does its best to get out."""
    if tier == "D":
        return TierProbe("D", True, not_enforced=_gaps("D"))
    if tier == "A" and bubblewrap_program() is None:
        return TierProbe("A", False, "bubblewrap is not installed", _INSTALL)
    if tier == "B" and not landlock_abi():
        return TierProbe("B", False, "this kernel has no Landlock", "It takes Linux 5.13 or newer.")
    try:
        holes = _holes(tier)
    except (ChildFailed, OSError) as error:
        reason = f"{error} {error.log if isinstance(error, ChildFailed) else ''}".strip()
        return TierProbe(tier, False, reason[:500], _advice(reason))
    if holes:
        return TierProbe(tier, False, f"it started but does not hold: {'; '.join(holes)}", _INSTALL)
    return TierProbe(tier, True, not_enforced=_gaps(tier))


def _advice(reason: str) -> str:
    return next((advice for words, advice in _CAUSES if any(word in reason for word in words)), _INSTALL)


def _holes(tier: Tier) -> list[str]:
    with tempfile.TemporaryDirectory(prefix="agent2-probe-") as folder:
        canary = Path(folder) / "canary"
        canary.write_text("agent2", encoding="utf-8")
        canary.chmod(0o644)
        request = ProcessRequest(
            module="agent2_sandbox.inside", is_declared_only=True, grants=(), limits=Limits(processes=32)
        )
        payload: dict[str, object] = {"tier": tier, "canary": str(canary), "folder": folder, "server_pid": os.getpid()}
        question = Question(request, payload, Isolation(tier=tier), _PROBE_SECONDS)
        try:
            question.supervised.wait(_PROBE_SECONDS + LATE_SECONDS)
            value = question.answer().value
        finally:
            question.close()
    return [str(hole) for hole in cast("list[object]", value["holes"])]


def _gaps(tier: Tier) -> tuple[str, ...]:
    """What a tier that holds does not enforce on this machine."""
    watched = _DISK_WATCHED if group_parent() else _WATCHED
    if tier == "A":
        return (watched,)
    if tier == "B":
        return (watched, *_landlock_gaps())
    if tier == "C":
        return (_WATCHED, "the macOS profile was never tried on a Mac", "no limit of the kernel on processes")
    return (
        watched, "files: the code may read and write whatever this user may", "network: open",
        "other processes of this user can be signalled and read",
        "verified scores are unverified: code of the same user could interfere",
    )  # fmt: skip


def _landlock_gaps() -> tuple[str, ...]:
    abi = landlock_abi()
    gaps = [
        "the command lines of other processes can be read, and how many files they hold open",
        "/dev/shm is shared with the machine",
    ]
    if os.geteuid() == 0:
        gaps.append("files in folders that it may read are read whatever their mode")
    else:
        gaps += ["the number of processes is watched, not limited by the kernel", "modes and times of the user's own files can be changed"]  # fmt: skip
    if abi < FIRST_ABI_WITH_TRUNCATE:
        gaps.append("files outside can be truncated (kernel older than 6.2)")
    if abi < FIRST_ABI_WITH_SCOPE and os.geteuid() != 0:
        gaps.append("signals can reach the user's other processes, the supervisor too (kernel older than 6.12)")
    return tuple(gaps)
