"""Build an environment of several agents from its reference: a PettingZoo module or file, or a family with batches."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from ..environment import call_factory
from ..failures import BuildError
from ..sources import (
    MULTI_AGENT_NAMES,
    install_line,
    load_file,
    load_module,
    resolve_file,
    split_reference,
)
from .interface import MultiAgentBatch
from .parallel import ParallelBatch

FAMILIES = {"skirmish": "skirmish", "smax": "smax", "smacv2": "smacv2"}
"""By the word before the colon: the module of `families` that builds batches itself."""
PETTINGZOO_FAMILIES = {"mpe2": "mpe"}
"""By the package: the module of `families` that knows more of it than PettingZoo tells."""
MPE_MOVED = "pettingzoo.mpe"


def is_multi_agent(reference: Mapping[str, Any], *, root: str | None = None) -> bool:
    """Tell whether a reference names an environment of several agents; a file or a module is imported for that.

    Args:
        reference: JSON of an environment reference.
        root: folder against which `file.py` names resolve.

    Returns:
        False also where the reference cannot be imported: building it as a single agent's says why.
    """
    source = split_reference(reference["name"])
    if source.kind == "module" and source.place in FAMILIES:
        return True
    if source.kind == "id" and "." not in source.place:
        return False
    try:
        module, member, _ = _find(reference["name"], root)
    except BuildError:
        return source.place.startswith(MPE_MOVED) or source.place.partition(".")[0] in PETTINGZOO_FAMILIES
    return _factory_name(module, member) is not None


def build_multi_agent(
    reference: Mapping[str, Any],
    count: int,
    *,
    root: str | None = None,
    info_keys: Sequence[str] = (),
    render_mode: str | None = None,
    can_be_twin: bool = False,
) -> MultiAgentBatch:
    """Build a batch of environments of several agents.

    Args:
        reference: JSON of an environment reference: `name` (`mpe2.simple_spread_v3`, `path/file.py:parallel_env`,
            `smax:3m`, `skirmish:3v3`), and where given `keyword_arguments` and `max_episode_steps`.
        count: number of environments.
        root: folder against which `file.py` names resolve; None takes the working directory.
        info_keys: numeric keys of info to collect, besides those of the layout.
        render_mode: `rgb_array` where frames are wanted; None draws nothing.
        can_be_twin: whether a faster twin may stand in where the reference asks for it (`"batched": true` among the
            arguments of `mpe2.simple_spread_v3`). For training only: scores are taken on the environment itself.

    Raises:
        BuildError: it cannot be built; says why and what to do.
    """
    if reference.get("wrappers"):
        message = "Gymnasium wrappers fit single agents only."
        raise BuildError("wrapper-failed", message, "Leave them out, or wrap inside the environment's own function.")
    arguments, limit = dict(reference.get("keyword_arguments") or {}), reference.get("max_episode_steps")
    source = split_reference(reference["name"])
    if source.kind == "module" and source.place in FAMILIES:
        family = load_family(FAMILIES[source.place])
        return family.build(source.member, arguments, count, limit)
    module, member, file = _find(reference["name"], root)
    name = _factory_name(module, member)
    if name is None:
        message = f"{reference['name']} is no environment of several agents: no {', '.join(MULTI_AGENT_NAMES)} in it."
        raise BuildError("not-multi-agent", message, "Name the PettingZoo module, or FILE.py:function.")
    package = module.__name__.partition(".")[0]
    if package in PETTINGZOO_FAMILIES:
        family = load_family(PETTINGZOO_FAMILIES[package])
        return family.build(module, arguments, count, limit, render_mode=render_mode, can_be_twin=can_be_twin)
    factory = getattr(module, name)
    arguments = with_limit(factory, arguments, limit)
    return ParallelBatch(
        lambda: as_parallel(call_factory(factory, arguments, render_mode, name, file)),
        count,
        backend=package if file is None else file.stem,
        limit=limit,
        info_keys=info_keys,
    )


def load_family(name: str) -> Any:
    """Import a module of `families`; only then, for some need a library that takes seconds to import.

    Raises:
        BuildError: its library is not installed.
    """
    try:
        return importlib.import_module(f"...families.{name}", __name__)
    except ModuleNotFoundError as error:
        message = f"The family {name} needs a package that is missing: No module named {error.name!r}."
        raise BuildError("missing-extra", message, f"Install it: {install_line(error.name or name)}.") from error


def as_parallel(environment: Any) -> Any:
    """Turn a PettingZoo environment whose agents act one after another into one whose agents act at once.

    Raises:
        BuildError: it is no PettingZoo environment.
    """
    if not (hasattr(environment, "possible_agents") or hasattr(environment, "agents")):
        message = f"A {type(environment).__name__} is no environment of several agents: it has no possible_agents."
        raise BuildError("not-multi-agent", message, "Name a PettingZoo ParallelEnv or AECEnv.")
    if not hasattr(environment, "agent_iter"):
        return environment
    conversions = importlib.import_module("pettingzoo.utils.conversions")  # where there is an AECEnv, there it is
    metadata: dict[str, Any] = dict(getattr(environment, "metadata", None) or {})
    if metadata.get("is_parallelizable"):
        return conversions.aec_to_parallel(environment)
    return conversions.turn_based_aec_to_parallel(environment)


def with_limit(factory: Callable[..., Any], arguments: dict[str, Any], limit: int | None) -> dict[str, Any]:
    """Hand a time limit to a factory that takes one as `max_cycles`: it cannot be made longer from outside."""
    try:
        parameters = inspect.signature(factory).parameters
    except (TypeError, ValueError):
        return arguments
    if limit is None or "max_cycles" not in parameters:
        return arguments
    return {**arguments, "max_cycles": limit}


def _find(name: str, root: str | None) -> tuple[ModuleType, str, Path | None]:
    """Import what a reference names: the module, the member within it, and its file where it is one.

    Raises:
        BuildError: it cannot be found or imported.
    """
    source = split_reference(name)
    if source.kind == "file":
        file = resolve_file(source.place, root)
        return load_file(file), source.member, file
    if source.place.startswith(MPE_MOVED):
        place = source.place.replace(MPE_MOVED, "mpe2")
        raise BuildError("moved", "pettingzoo.mpe is gone: its environments live in mpe2.", f"Write {place}.")
    return load_module(source.place, source.member), source.member, None


def _factory_name(module: ModuleType, member: str) -> str | None:
    """Name what makes environments of several agents in a module; None where there is no such thing."""
    if member:
        return member if _makes_several(member, getattr(module, member, None)) else None
    named = [name for name in MULTI_AGENT_NAMES if callable(getattr(module, name, None))]
    own = [name for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__]
    classes = [name for name in own if inspect.isclass(vars(module)[name]) and _makes_several(name, vars(module)[name])]
    return next(iter([*named, *classes]), None)


def _makes_several(name: str, factory: Any) -> bool:
    """Tell whether a class or function makes PettingZoo environments: by its name, its bases, or what it says to return."""
    if inspect.isclass(factory):
        return any(part.__module__.startswith("pettingzoo.") for part in factory.__mro__)
    if not callable(factory):
        return False
    returned = str(getattr(factory, "__annotations__", {}).get("return", ""))
    return name in MULTI_AGENT_NAMES or any(kind in returned for kind in ("ParallelEnv", "AECEnv"))
