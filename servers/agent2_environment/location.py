"""From what the caller typed to a reference and, for a file, the folder it stands in."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from agent2_schemas import EnvironmentNotFound, EnvironmentReference
from agent2_workspace import ProjectFolder, resolve_allowed_file

FILE_NAME = re.compile(r"(?P<file>.+\.py)(?::(?P<entry>[A-Za-z_][A-Za-z0-9_]*))?")


@dataclass(frozen=True, kw_only=True)
class Location:
    """Where an environment comes from.

    Attributes:
        reference: how to build it; a file stands relative to its folder.
        file: the file, absolute; None for what is installed.
        snapshot: folder of an earlier copy to take it from; None: from the file itself.
    """

    reference: EnvironmentReference
    file: Path | None = None
    snapshot: Path | None = None


def locate(
    name: str,
    keyword_arguments: dict[str, JsonValue],
    max_episode_steps: int | None,
    *,
    workspace_root: Path,
    opened: ProjectFolder | None,
) -> Location:
    """Find out what a name means.

    A file name that was given relative to the snapshot of an opened project means that snapshot, unless such a file can
    be read from the server's working directory.

    Args:
        name: id, `module:name`, `file.py` or `file.py:Class`.
        keyword_arguments: arguments of the constructor.
        max_episode_steps: time limit, environment steps.
        workspace_root: files inside it may be named.
        opened: the project, where it is open already.

    Raises:
        CorrectableError: the file is missing, or lies where a tool argument may not point.
    """
    parts = FILE_NAME.fullmatch(name.strip())
    settings: dict[str, Any] = {"keyword_arguments": keyword_arguments, "max_episode_steps": max_episode_steps}
    if parts is None:
        if name.strip().endswith((".yaml", ".ipynb")) or ("/" in name and Path(name).exists()):
            raise EnvironmentNotFound(
                f"{name!r} is no Python file.", "Name a Gymnasium id, `package.module:Class`, or `path/file.py:Class`."
            )
        return Location(reference=EnvironmentReference(name=name.strip(), **settings))
    if opened is not None and not Path(name).is_absolute():
        known = opened.read()
        is_same = known.environment.name == name.strip()
        if is_same and known.snapshot and not Path(parts["file"]).expanduser().is_file():
            reference = EnvironmentReference(name=name.strip(), **settings)
            return Location(reference=reference, file=opened.snapshot / parts["file"], snapshot=opened.snapshot)
    file = resolve_allowed_file(parts["file"], workspace_root=workspace_root)
    relative = file.name + (f":{parts['entry']}" if parts["entry"] else "")
    return Location(reference=EnvironmentReference(name=relative, **settings), file=file)
