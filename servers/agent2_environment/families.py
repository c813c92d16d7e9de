"""`list_environments`: the families, whether they are installed, and the one line that installs them."""

from dataclasses import dataclass
from importlib import util
from pathlib import Path
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
        names: its environments, where nothing needs to be asked.
        holds: package whose versioned modules are its environments, e.g. `mpe2.simple_spread_v3`.
    """

    modules: tuple[str, ...] = ()
    install: str = ""
    registers: str = ""
    names: tuple[str, ...] = ()
    holds: str = ""


SMAX = [
    "3m",
    "2s3z",
    "25m",
    "3s5z",
    "8m",
    "5m_vs_6m",
    "10m_vs_11m",
    "27m_vs_30m",
    "3s5z_vs_3s6z",
    "3s_vs_5z",
    "6h_vs_8z",
    "smacv2_5_units",
    "smacv2_10_units",
    "smacv2_20_units",
]
RACES, SIZES = ("terran", "zerg", "protoss"), ("5v5", "10v10", "20v20", "10v11", "20v23")

FAMILIES = {
    "classic_control": Family(),
    "toy_text": Family(),
    "box2d": Family(modules=("Box2D",), install='pip install "agent-squared[box2d]"'),
    "mujoco": Family(modules=("mujoco",), install='pip install "agent-squared[mujoco]"'),
    "mpe": Family(
        modules=("mpe2", "pettingzoo"),
        install='pip install "agent-squared[mpe]"',
        holds="mpe2",
    ),
    "smax": Family(
        modules=("jaxmarl",),
        install='pip install "agent-squared[smax]"',
        names=tuple(f"smax:{name}" for name in SMAX),
    ),
    "skirmish": Family(names=("skirmish:3v3", "skirmish:5v5", "skirmish:8v8")),
    "smacv2": Family(
        modules=("smacv2",),
        install='pip install "smacv2 @ git+https://github.com/oxwhirl/smacv2"  # and StarCraft II with its maps in SC2PATH',
        names=tuple(f"smacv2:{race}_{size}" for race in RACES for size in SIZES),
    ),
    "minigrid": Family(modules=("minigrid",), install='pip install "agent-squared[minigrid]"', registers="minigrid"),
    "atari": Family(modules=("ale_py",), install='pip install "agent-squared[atari]"', registers="ale_py"),
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
        families=tuple(
            _describe(key, family, [*found.get(key, []), *_known(family)], at_most) for key, family in chosen.items()
        ),
        next_step="inspect_environment(environment)",
    )


def _known(family: Family) -> list[str]:
    """List what a family holds without importing anything of it."""
    if not is_installed(family):
        return []
    spec = util.find_spec(family.holds) if family.holds else None
    places = list(spec.submodule_search_locations or ()) if spec else []
    files = sorted(file for place in places for file in Path(place).glob("*_v[0-9]*.py"))
    return [*family.names, *(f"{family.holds}.{file.stem}" for file in files)]


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
