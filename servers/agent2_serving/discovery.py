"""Finding servers by the entry points that installed packages declare."""

from collections.abc import Callable
from importlib import import_module
from importlib.metadata import entry_points

from agent2_schemas import CorrectableError, PrerequisiteError
from agent2_serving.server import Server

GROUP = "agent2.servers"
Factory = Callable[[], Server]


def server_names() -> list[str]:
    """Names of the installed servers, in alphabetical order."""
    return sorted({point.name for point in entry_points(group=GROUP)})


def load_factory(name: str) -> Factory:
    """Import the factory of one server.

    Args:
        name: its entry point, such as `training`; or `package.module:function`.

    Raises:
        CorrectableError: no server of that name is installed.
        PrerequisiteError: its package needs something that is not installed.
    """
    if ":" in name:
        target = name
    else:
        found = {point.name: point.value for point in entry_points(group=GROUP)}
        if name not in found:
            raise CorrectableError(f"No server {name!r} is installed.", f"Known: {', '.join(sorted(found)) or 'none'}.")
        target = found[name]
    module, _, function = target.partition(":")
    try:
        return getattr(import_module(module), function)
    except ModuleNotFoundError as error:
        raise PrerequisiteError(
            f"Server {name!r} needs the module {error.name!r}, which is not installed.",
            "Type: pip install 'agent-squared[all]'.",
        ) from error
