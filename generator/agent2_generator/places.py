"""Where things are: the workspace option and environment references as a person types them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
import yaml

from agent2_schemas import CorrectableError
from agent2_workspace import Workspace

Command = TypeVar("Command", bound=Callable[..., Any])


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
    arguments = {key: yaml.safe_load(value) for key, _, value in (pair.partition("=") for pair in pairs)}
    stem, separator, entry = typed.rpartition(".py")
    if not separator or (entry and not entry.startswith(":")):
        return typed, (), arguments
    path = Path(f"{stem}.py").expanduser().resolve()
    if not path.is_file():
        raise CorrectableError(f"There is no file {path}.", "Check the spelling of ENVIRONMENT.")
    return f"{path}{entry}", (path.parent,), arguments
