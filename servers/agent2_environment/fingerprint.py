"""The hash of an environment: its reference, its source and the versions of its packages."""

import json
import sysconfig
from importlib import metadata
from pathlib import Path

from agent2_schemas import EnvironmentReference
from agent2_workspace import sha256_of

PACKAGE_FILES_AT_MOST = 500


def fingerprint(
    reference: EnvironmentReference, *, folder: Path | None, source_file: str, packages: dict[str, str]
) -> str:
    """Hash all that decides how an environment behaves, as far as it can be read.

    Args:
        reference: how it is built.
        folder: copy of its source, where it came as a file.
        source_file: file that defines its class, for what is installed; a package of the user's own is hashed whole.
        packages: versions of the packages it needs.
    """
    parts: list[bytes | str] = [reference.model_dump_json(), json.dumps(packages, sort_keys=True)]
    files = _files_in(folder) if folder is not None else _files_of(Path(source_file)) if source_file else []
    for name, file in files:
        parts += [name, file.read_bytes()]
    return sha256_of(*parts)


def current_versions(packages: dict[str, str]) -> dict[str, str]:
    """Read today's versions of the packages of an earlier report; one that is gone has the version ``."""
    versions: dict[str, str] = {}
    for name in packages:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            versions[name] = ""
    return versions


def is_installed_source(file: Path) -> bool:
    """Whether a file belongs to an installed distribution or to Python itself, so that a version stands for it."""
    return any(file.is_relative_to(root) for root in library_roots())


def library_roots() -> tuple[Path, ...]:
    """Folders of installed packages and of the standard library."""
    return tuple(Path(sysconfig.get_path(name)).resolve() for name in ("purelib", "platlib", "stdlib"))


def _files_in(folder: Path) -> list[tuple[str, Path]]:
    found = [path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    return sorted((path.relative_to(folder).as_posix(), path) for path in found)


def _files_of(source_file: Path) -> list[tuple[str, Path]]:
    if not source_file.is_file() or is_installed_source(source_file):
        return []
    top = source_file.parent
    while (top.parent / "__init__.py").exists():
        top = top.parent
    if not (top / "__init__.py").exists():
        return [(source_file.name, source_file)]
    found = sorted(top.rglob("*.py"))[:PACKAGE_FILES_AT_MOST]
    return [(path.relative_to(top).as_posix(), path) for path in found]
