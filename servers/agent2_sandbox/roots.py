"""What every child needs to read: the interpreter, the installed packages, the sources of editable installs."""

import ast
import functools
import json
import os
import subprocess
import sys
from pathlib import Path

_CLOSED = (
    "/",
    "/run",
    "/var",
    "/var/run",
    "/etc",
    "/home",
    "/root",
    "/tmp",
    "/proc",
    "/sys",
    "/dev",
    "/mnt",
    "/media",
    "/srv",
)
"""Folders that are never bound whole: sockets, keys and everybody's files lie in them."""


@functools.cache
def system_roots() -> tuple[str, ...]:
    """Give the folders of this interpreter and its packages, as a clean child of it would see them.

    The server's own `sys.path` is not asked: it may hold the working directory.
    """
    asked = "import sys, json; print(json.dumps(sys.path))"
    ended = subprocess.run(
        [sys.executable, "-I", "-c", asked], capture_output=True, check=True, stdin=subprocess.DEVNULL
    )
    entries = [Path(entry) for entry in json.loads(ended.stdout)]
    wanted = [Path(sys.prefix), Path(sys.base_prefix), *_interpreter_hops(), *entries]
    wanted += [path for entry in entries if entry.is_dir() for path in _editable_sources(entry)]
    if Path("/nix/store").is_dir() and any(path.is_relative_to("/nix") for path in wanted):
        wanted.append(Path("/nix/store"))
    # A link is bound under its own name and its target under the target's, for code asks by either.
    named = {str(path) for path in wanted if path.exists()} | {str(path.resolve()) for path in wanted if path.exists()}
    home = os.path.expanduser("~")  # noqa: PTH111  (never fails, even for a user without an entry)
    kept = {path for path in named if path not in _CLOSED and path != home and not home.startswith(f"{path}/")}
    return tuple(sorted(path for path in kept if not _is_below(path, kept)))


def _interpreter_hops() -> list[Path]:
    """Each folder on the way from the virtual environment's interpreter to the real one."""
    hops: list[Path] = []
    path = Path(sys.executable)
    while path.is_symlink():
        path = path.parent / path.readlink()
        hops.append(Path(os.path.normpath(path)).parent)
    real = Path(sys.executable).resolve()
    return [*hops, real.parent.parent]


def _editable_sources(packages: Path) -> list[Path]:
    """Sources of editable installs that hang on an import hook; those in .pth files stand in the path already."""
    found: list[Path] = []
    for finder in packages.glob("__editable__*_finder.py"):
        for node in ast.parse(finder.read_text(encoding="utf-8")).body:
            target = node.target if isinstance(node, ast.AnnAssign) else None
            if (
                isinstance(target, ast.Name)
                and target.id == "MAPPING"
                and isinstance(node, ast.AnnAssign)
                and node.value
            ):
                mapping: dict[str, str] = ast.literal_eval(node.value)
                found += [Path(path) for path in mapping.values()]
    return found


def _is_below(path: str, others: set[str]) -> bool:
    return any(path != other and path.startswith(f"{other}/") for other in others)
