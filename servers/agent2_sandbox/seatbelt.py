"""The Seatbelt profile of tier C (macOS); standard library only. Written from the documentation, never tried on a Mac."""

from agent2_sandbox.specification import Specification

PROGRAM = "/usr/bin/sandbox-exec"
_SYSTEM = ("/usr", "/bin", "/sbin", "/System", "/Library", "/private/etc", "/private/var/db/timezone", "/opt/homebrew")
_SYSCTLS = (
    '(allow sysctl-read)\n(allow sysctl-read (sysctl-name "kern.sysv.semmni"))'  # ProcessPoolExecutor asks for it
)


def seatbelt_profile(specification: Specification) -> str:
    """Write the profile: deny by default; no network, no keychain, no file but the named ones."""
    readable = (*_SYSTEM, *specification.system_roots, *specification.read_only)
    lines = [
        "(version 1)",
        "(deny default)",
        "(allow process-fork)",
        "(allow process-exec)",
        "(allow signal (target same-sandbox))",
        _SYSCTLS,
        "(allow ipc-posix-sem)",
        "(allow ipc-posix-shm)",
        "(allow file-read-metadata)",
        '(allow file-read* file-write-data (literal "/dev/null") (literal "/dev/zero"))',
        '(allow file-read* (literal "/") (literal "/dev/urandom") (literal "/dev/random"))',
        *(f"(allow file-read* (subpath {_quoted(path)}))" for path in readable),
    ]
    if specification.writable:
        lines.append(f"(allow file-read* file-write* (subpath {_quoted(specification.writable)}))")
    if "network" in specification.grants:
        lines.append("(allow network*)")
    return "\n".join(lines) + "\n"


def seatbelt_command(specification: Specification) -> list[str]:
    """Compose the whole command: sandbox-exec, the profile, and the worker's command."""
    return [PROGRAM, "-p", seatbelt_profile(specification), *specification.command]


def _quoted(path: str) -> str:
    escaped = path.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
