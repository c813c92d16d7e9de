"""Runs the server's half of a test as root or as an ordinary user."""

import os
import sys
from itertools import pairwise
from pathlib import Path

FORMS = ("root", "user") if os.geteuid() == 0 else ("user",)
_USER = 61_500

# Where the interpreter lies below a folder closed to others (as /root is), an ordinary user sees it through a mount
# namespace in which that folder holds nothing else.
_ENTER = """
set -e
for pair in $1; do
  closed=${pair%%:*} kept=${pair#*:}
  aside=$(mktemp -d); mount --bind "$kept" "$aside"; mount -t tmpfs -o mode=0755 none "$closed"
  mkdir -p "$kept"; mount --bind "$aside" "$kept"; umount "$aside"; rmdir "$aside"
done
uid=$2; shift 2; cd /
exec setpriv --reuid=$uid --regid=$uid --clear-groups --inh-caps=-all --bounding-set=-all "$@"
"""


def command_as(form: str, command: list[str]) -> list[str]:
    """Give the command that runs `command` in a form.

    Args:
        form: root or user.
        command: program and arguments.
    """
    if form == "root" or os.geteuid() != 0:
        return command
    pairs = " ".join(f"{closed}:{kept}" for closed, kept in _closed_folders())
    return ["unshare", "--mount", "--propagation", "private", "sh", "-c", _ENTER, "sh", pairs, str(_USER), *command]


def _closed_folders() -> set[tuple[str, str]]:
    """Folders on the way to the interpreter that others may not enter, each with the folder in it to be kept."""
    pairs: set[tuple[str, str]] = set()
    for prefix in {Path(sys.prefix), Path(sys.base_prefix), Path(sys.executable).resolve().parent}:
        chain = [prefix, *prefix.parents]
        for inner, outer in pairwise(chain):
            if not outer.stat().st_mode & 0o001:
                pairs.add((str(outer), str(inner)))
    return pairs
