"""Tell whether the environment that is stepped is still the one the project began with."""

import importlib.metadata
import json

from agent2_schemas import EnvironmentReport
from agent2_workspace import ProjectFolder, read_json, sha256_of


def environment_hash(project: ProjectFolder) -> str:
    """Hash the reference, every file of the snapshot and the versions of the packages the environment needs."""
    description = project.read()
    parts: list[bytes | str] = [description.environment.model_dump_json()]
    if project.snapshot.is_dir():
        files = sorted(
            path for path in project.snapshot.rglob("*") if path.is_file() and "__pycache__" not in path.parts
        )
        for path in files:
            parts += [path.relative_to(project.snapshot).as_posix(), path.read_bytes()]
    parts.append(json.dumps(_versions(project), sort_keys=True))
    return sha256_of(*parts)


def is_environment_unchanged(project: ProjectFolder, environment_sha256: str) -> bool:
    """Compare a hash to that of the project's first evaluation, which it becomes where there was none."""
    payload = {"environment_sha256": environment_sha256}
    event = project.journal.append("training", "environment-hash", project.name, payload, key="environment-hash")
    return event.payload["environment_sha256"] == environment_sha256


def _versions(project: ProjectFolder) -> dict[str, str]:
    names = {"gymnasium", "numpy"}
    if project.report_json.exists():
        names |= set(read_json(project.report_json, EnvironmentReport).packages)
    versions: dict[str, str] = {}
    for name in names:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            versions[name] = "not installed"
    return versions
