"""`list_environments`: the families, whether they are installed, and the one line that installs them."""

from dataclasses import dataclass
from importlib import util
from typing import Any

from agent2_environment.children import ask_child, child_folder
from agent2_schemas import CorrectableError, EnvironmentFamilies, EnvironmentFamily

TIMEOUT_SECONDS = 30.0
NAMES_AT_MOST = 12


@dataclass(frozen=True, kw_only=True)
class Family:
    """One family as the house knows it.

    Attributes:
        modules: packages that must be importable.
        install: the line that installs it.
        registers: package whose import adds ids to Gymnasium's registry; empty: Gymnasium's own.
    """

    modules: tuple[str, ...] = ()
    install: str = ""
    registers: str = ""


FAMILIES = {
    "classic_control": Family(),
    "toy_text": Family(),
    "box2d": Family(modules=("Box2D",), install='pip install "agent-squared[box2d]"'),
    "mujoco": Family(modules=("mujoco",), install='pip install "agent-squared[mujoco]"'),
    "minigrid": Family(modules=("minigrid",), install="pip install minigrid", registers="minigrid"),
    "atari": Family(modules=("ale_py",), install="pip install ale-py", registers="ale_py"),
    "robotics": Family(
        modules=("gymnasium_robotics",), install="pip install gymnasium-robotics", registers="gymnasium_robotics"
    ),
    "highway": Family(modules=("highway_env",), install="pip install highway-env", registers="highway_env"),
}

_listed: dict[tuple[tuple[str, str], ...], dict[str, list[str]]] = {}
"""Answers of the child so far; what is installed changes only with a new process."""


def is_installed(family: Family) -> bool:
    """Whether a family's packages can be found; nothing is imported."""
    return all(util.find_spec(module) is not None for module in family.modules)


async def list_families(name: str) -> EnvironmentFamilies:
    """List the families, or all environments of one.

    Args:
        name: a family; empty lists them all, with some environments of each.

    Raises:
        CorrectableError: there is no such family.
    """
    if name and name not in FAMILIES:
        raise CorrectableError(
            f"There is no family {name!r}; families: {', '.join(FAMILIES)}.",
            "Any other environment is inspected by its id, `package.module:Class`, or `path/file.py:Class`.",
        )
    chosen = {name: FAMILIES[name]} if name else FAMILIES
    found = await _registered({key: f.registers for key, f in chosen.items() if f.registers and is_installed(f)})
    at_most = None if name else NAMES_AT_MOST
    return EnvironmentFamilies(
        families=tuple(_describe(key, family, found.get(key, []), at_most) for key, family in chosen.items()),
        next_step="inspect_environment(environment)",
    )


def _describe(name: str, family: Family, environments: list[str], at_most: int | None) -> EnvironmentFamily:
    installed = is_installed(family)
    return EnvironmentFamily(
        name=name,
        is_installed=installed,
        install="" if installed else family.install,
        environments=tuple(environments[:at_most]),
        count=len(environments),
    )


async def _registered(modules: dict[str, str]) -> dict[str, list[str]]:
    """Ask a child, once for each choice of packages: importing Gymnasium takes longer than starting this server."""
    key = tuple(sorted(modules.items()))
    if key in _listed:
        return _listed[key]
    payload: dict[str, Any] = {"modules": modules}
    with child_folder() as folder:
        answer = await ask_child("registry", payload, folder=folder, root=None, timeout_seconds=TIMEOUT_SECONDS)
    value: dict[str, Any] = dict(answer.value)
    _listed[key] = {str(family): [str(name) for name in names] for family, names in value["families"].items()}
    return _listed[key]
