"""The user's configuration: a TOML file that only a person edits, never a tool argument."""

import os
import tomllib
from pathlib import Path
from typing import Literal

import platformdirs
from pydantic import Field, ValidationError

from agent2_schemas import CorrectableError, Frozen, PrerequisiteError
from agent2_workspace.grants import Granted, Grants, granted_to

DEFAULT_MEMORY_BYTES = 4 * 2**30


class RunLimits(Frozen):
    """Limits of one sandboxed process tree."""

    memory_bytes: int = Field(default=DEFAULT_MEMORY_BYTES, ge=2**28, description="Resident memory, bytes.")
    processes: int = Field(default=128, ge=4, description="Processes and threads' processes in the tree.")
    folder_bytes: int = Field(default=2 * 2**30, ge=2**20, description="Size of the run's writable folder, bytes.")
    stall_seconds: float = Field(default=120.0, gt=0, description="Longest time without a heartbeat, seconds.")


class UserConfiguration(Frozen):
    """What the person has allowed."""

    isolation: Literal["require", "best_effort"] = Field(
        default="require", description="require: free-form code is refused where there is no sandbox (tier D)."
    )
    roots: tuple[Path, ...] = Field(
        default=(), description="Folders from which tool arguments may name environment files."
    )
    parallel_runs: int | None = Field(default=None, ge=1, description="Runs side by side; null: the number of cores.")
    limits: RunLimits = Field(default_factory=RunLimits, description="Limits of sandboxed processes.")
    grants: Grants = Field(
        default_factory=Grants, description="What sandboxed environments get beyond the usual: gpu, display, network."
    )

    def granted(self, environment: str) -> Granted:
        """Give what the processes that hold the environment of this name get; the one place that every server asks."""
        return granted_to(self.grants, environment)


def configuration_file() -> Path:
    """Where the configuration lies: `$AGENT2_CONFIG`, else `config.toml` in the user's configuration folder."""
    named = os.environ.get("AGENT2_CONFIG")
    return Path(named) if named else Path(platformdirs.user_config_dir("agent2")) / "config.toml"


def read_configuration() -> UserConfiguration:
    """Read the configuration; a missing file means the defaults.

    `$AGENT2_ROOTS` (folders separated by the path separator) adds roots for the processes that inherit it: the command
    sets it for the servers it starts when a person typed a file.

    Raises:
        PrerequisiteError: the file does not parse, or holds a name or value that is not known; all faults at once.
    """
    path = configuration_file()
    data: dict[str, object] = {}
    if path.exists():
        try:
            data = tomllib.loads(path.read_text(encoding="utf-8"))
        except tomllib.TOMLDecodeError as error:
            raise PrerequisiteError(f"{path} is not valid TOML: {error}.", "Mend or remove it.") from error
    try:
        configuration = UserConfiguration.model_validate(data)
    except ValidationError as error:
        faults = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
        raise PrerequisiteError(f"{path} holds what is not known: {faults}.", "Mend these lines.") from error
    extra = tuple(Path(root) for root in os.environ.get("AGENT2_ROOTS", "").split(os.pathsep) if root)
    return configuration.model_copy(update={"roots": configuration.roots + extra})


def resolve_allowed_file(name: str, *, workspace_root: Path) -> Path:
    """Resolve a file that a tool argument names, inside the workspace or an allowed root only.

    Raises:
        CorrectableError: the file lies outside every root, or does not exist.
    """
    path = Path(name).expanduser().resolve()
    roots = [workspace_root.resolve(), *(root.expanduser().resolve() for root in read_configuration().roots)]
    if not any(path.is_relative_to(root) for root in roots):
        raise CorrectableError(
            f"{path} lies outside the folders that may be read: {', '.join(map(str, roots))}.",
            f'A person can allow its folder: add roots = ["{path.parent}"] to {configuration_file()}.',
        )
    if not path.is_file():
        raise CorrectableError(f"There is no file {path}.", "Check the spelling.")
    return path
