"""Where things are: the workspace option and environment references as a person types them."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
import yaml

from agent2_generator.typed_files import yaml_fault
from agent2_schemas import CorrectableError, PrerequisiteError
from agent2_workspace import Workspace

Command = TypeVar("Command", bound=Callable[..., Any])
LEAST_FREE_BYTES = 300 * 10**6
"""Least free disk for a build: below 200 MB every sandbox ends what runs in it."""


def _workspace(context: click.Context, parameter: click.Parameter, value: Path | None) -> Workspace | None:
    del context, parameter
    return Workspace(value.expanduser().resolve()) if value else None


def workspace_option(command: Command) -> Command:
    """Add `--workspace` to a command; the command gets a Workspace, or None where none was typed."""
    return click.option(
        "--workspace", type=click.Path(path_type=Path), callback=_workspace, help="Folder of all projects."
    )(command)


def resolve_environment(typed: str, pairs: tuple[str, ...]) -> tuple[str, tuple[Path, ...], dict[str, Any]]:
    """Read an environment reference and its arguments as typed.

    Args:
        typed: a Gymnasium id, module:Class, or FILE.py[:Class].
        pairs: KEY=VALUE for the constructor, VALUE as JSON or YAML.

    Returns:
        The reference with an absolute file, the folders it may be read from, and the keyword arguments.

    Raises:
        CorrectableError: there is no such file, or a pair has no `=`.
    """
    faults = [pair for pair in pairs if "=" not in pair]
    if faults:
        raise CorrectableError(f"{', '.join(faults)} is no KEY=VALUE.", "Write --env-arg road_length=100.")
    arguments = dict(map(_read_pair, pairs))
    stem, separator, entry = typed.rpartition(".py")
    if not separator or (entry and not entry.startswith(":")):
        _refuse_what_is_no_python(typed)
        return typed, (), arguments
    path = Path(f"{stem}.py").expanduser().resolve()
    if not path.is_file():
        what = f"{path} is a folder." if path.is_dir() else f"There is no file {path}."
        raise CorrectableError(what, "Check the spelling of ENVIRONMENT.")
    return f"{path}{entry}", (path.parent,), arguments


def _read_pair(pair: str) -> tuple[str, Any]:
    key, _, value = pair.partition("=")
    try:
        return key, yaml.safe_load(value)
    except yaml.YAMLError as error:
        raise CorrectableError(
            f"--env-arg {pair} cannot be read: {yaml_fault(error)}.",
            f"Write VALUE as JSON: --env-arg '{key}=\"text\"'.",
        ) from error


def _refuse_what_is_no_python(typed: str) -> None:
    """A folder or another file is no environment; what is neither may be an id.

    Raises:
        CorrectableError: it is one, or nothing at all.
    """
    advice = "Name a Gymnasium id, module:Class, or FILE.py[:Class]."
    if not typed.strip():
        raise CorrectableError("ENVIRONMENT is empty.", advice)
    path = Path(typed.partition(":")[0]).expanduser()
    if os.sep not in typed and typed not in (".", "..") and not path.suffix:
        return  # an id, whatever may lie here under the same name
    if path.is_dir():
        files = [str(each) for each in sorted(path.glob("*.py"))]
        raise CorrectableError(
            f"{path} is a folder.", f"Name a file in it: {', '.join(files[:5])}." if files else advice
        )
    if path.is_file():
        raise CorrectableError(f"{path} is no Python file.", advice)


def open_folder(place: Workspace, folder: Path) -> None:
    """Make a project's folder, if it is not there, on a disk that can hold a build.

    Raises:
        PrerequisiteError: it cannot be written, or the disk is nearly full; nothing is left behind.
    """
    nearest = next(path for path in (folder, *folder.parents) if path.exists())
    free_bytes = shutil.disk_usage(nearest).free
    if free_bytes < LEAST_FREE_BYTES and os.access(nearest, os.W_OK):
        raise PrerequisiteError(
            f"The disk of the workspace {place.root} has only {free_bytes / 1e6:,.0f} MB left; a build needs {LEAST_FREE_BYTES / 1e6:,.0f} MB.",
            "Free some (`agent2 clean NAME` removes what ended runs no longer need), or choose another folder with --workspace.",
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise PrerequisiteError(
            f"The workspace {place.root} cannot be written: {error.strerror or error}.",
            "Choose a folder of yours with --workspace or AGENT2_WORKSPACE.",
        ) from error
