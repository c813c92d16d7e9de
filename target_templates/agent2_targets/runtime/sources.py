"""Find and import what an environment reference names: a file, a module, or a registered id."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import inspect
import os
import sys
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import gymnasium

from .failures import BuildError

MULTI_AGENT_NAMES = ("parallel_env", "env", "raw_env")
MULTI_AGENT_FAMILIES = ("smax", "smac", "mpe")
MULTI_AGENT_PACKAGES = ("mpe2", "pettingzoo")
INSTALL_LINES = {
    "mujoco": 'pip install "gymnasium[mujoco]"',
    "Box2D": 'pip install "gymnasium[box2d]"',
    "box2d": 'pip install "gymnasium[box2d]"',
    "pygame": 'pip install "gymnasium[classic-control]"',
    "ale_py": 'pip install "gymnasium[atari]"',
    "minigrid": "pip install minigrid",
}
"""What to type for a package that environments often miss."""


class Source(NamedTuple):
    """A reference taken apart."""

    kind: str
    """file, module or id."""
    place: str
    """The file, the module, or the id itself."""
    member: str
    """Class, factory or environment id within it; "" where the reference names none."""


def split_reference(name: str) -> Source:
    """Take the name of an environment apart."""
    head, colon, member = name.rpartition(":") if ".py:" in name else (name, "", "")
    if head.endswith(".py"):
        return Source("file", head, member if colon else "")
    place, colon, member = name.partition(":")
    return Source("module", place, member) if colon else Source("id", name, "")


def resolve_file(place: str, root: str | None) -> Path:
    """Find an environment's file under the root, or by its bare name there: a snapshot holds copies.

    Raises:
        BuildError: there is no such file.
    """
    origin = Path(root) if root is not None else Path.cwd()
    given = Path(place).expanduser()
    places = (origin / given, origin / given.name)
    for candidate in reversed(places) if given.is_absolute() and root is not None else places:
        if candidate.is_file():
            return candidate.resolve()
    folder = (origin / given).parent
    names = [file.name for file in folder.glob("*.py")] if folder.is_dir() else []
    advice = close_matches(given.name, names) or f"The folder is {folder}; give the path of an existing .py file."
    raise BuildError("file-not-found", f"There is no file {place!r}.", advice)


def load_file(file: Path) -> ModuleType:
    """Import a file by its path; its folder goes on sys.path and becomes the working directory.

    Raises:
        BuildError: it has a syntax error, misses a package, or fails while it is imported.
    """
    folder = str(file.parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    os.chdir(folder)
    name = f"environment_file_{file.stem}"
    loaded = sys.modules.get(name)
    if loaded is not None and getattr(loaded, "__file__", None) == str(file):
        return loaded
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise BuildError("file-not-found", f"{file.name} cannot be read as Python.", "Give the path of a .py file.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise import_failure(error, file.name, file) from error
    return module


def load_module(place: str, member: str) -> ModuleType:
    """Import a module by its dotted name.

    Raises:
        BuildError: the module does not exist (the half before the colon is wrong), or fails while it is imported.
    """
    try:
        return importlib.import_module(place)
    except ModuleNotFoundError as error:
        if error.name is not None and (place == error.name or place.startswith(f"{error.name}.")):
            message = (
                f"There is no module {error.name!r}: the half before the colon of {place + ':' + member!r} is wrong."
            )
            top = place.partition(".")[0]
            advice = f"Check its spelling, or install the package that has it, e.g. {install_line(top)}."
            raise BuildError("module-not-found", message, advice) from error
        raise import_failure(error, place, None) from error
    except (Exception, SystemExit) as error:
        raise import_failure(error, place, None) from error


def import_failure(error: BaseException, what: str, file: Path | None) -> BuildError:
    """Say why an import failed, and what to do."""
    line = line_in(error, file)
    if isinstance(error, SyntaxError):
        where = Path(error.filename).name if error.filename else what
        message = f"{where} has a syntax error in line {error.lineno}: {error.msg}."
        return BuildError("syntax-error", message, "Correct that line and try again.", error.lineno)
    if isinstance(error, ModuleNotFoundError) and error.name == "gym":
        message = f"{what} imports the old package gym: No module named 'gym'."
        advice = "Change `import gym` to `import gymnasium as gym`, or use an interpreter of its own that has gym."
        return BuildError("old-gym", message, advice, line)
    if isinstance(error, ModuleNotFoundError) and error.name:
        message = f"{what} needs a package that is missing: No module named {error.name!r}."
        return BuildError("missing-extra", message, f"Install it: {install_line(error.name)}.", line)
    message = f"{what} failed while it was imported: {describe_error(error)}."
    advice = "Importing the file must only define things; run `python` on it to see the whole traceback."
    return BuildError("import-failed", message, advice, line)


def pick_member(module: ModuleType, member: str, what: str) -> Callable[..., Any] | None:
    """Find the class or factory in a module; None where a registered id may be meant instead.

    Raises:
        BuildError: the file has no environment class, several, none of that name, or a multi-agent one.
    """
    if not member:
        return only_environment(module, what)
    found = getattr(module, member, None)
    if found is None:
        return None
    if member in MULTI_AGENT_NAMES and not inspect.isclass(found):
        raise multi_agent(f"{what}:{member}")
    if not callable(found):
        message = f"{member!r} in {what} is a {type(found).__name__}, no class or function that makes an environment."
        raise BuildError("not-an-environment", message, candidates_advice(module, what))
    if inspect.isclass(found) and not looks_like_environment(found):
        missing = [name for name in ("reset", "step") if not callable(getattr(found, name, None))]
        message = f"{member} in {what} is no environment: it has no {' and no '.join(missing)}."
        raise BuildError("not-an-environment", message, candidates_advice(module, what), line_of_object(found))
    return found


def only_environment(module: ModuleType, what: str) -> Callable[..., Any]:
    """Find the only environment class of a module.

    Raises:
        BuildError: there is none, or there are several.
    """
    classes = environment_classes(module)
    if not classes:
        if any(callable(getattr(module, name, None)) for name in MULTI_AGENT_NAMES):
            raise multi_agent(what)
        message = f"{what} defines no environment: no class in it has both reset and step."
        advice = "Define a subclass of gymnasium.Env, or name a factory function: FILE.py:function."
        raise BuildError("no-environment", message, advice)
    if len(classes) > 1:
        message = f"{what} defines {len(classes)} environments: {', '.join(sorted(classes))}."
        raise BuildError("several-environments", message, f"Name one: {what}:{sorted(classes)[0]}.")
    return next(iter(classes.values()))


def environment_classes(module: ModuleType) -> dict[str, type]:
    """List the environment classes that a module defines itself, without those that others in it only extend."""
    own = {
        name: value
        for name, value in vars(module).items()
        if inspect.isclass(value) and value.__module__ == module.__name__ and not name.startswith("_")
    }
    classes = {name: value for name, value in own.items() if looks_like_environment(value)}
    parents = {parent for value in classes.values() for parent in value.__mro__[1:]}
    wrapper = gymnasium.Wrapper
    return {name: value for name, value in classes.items() if value not in parents and not issubclass(value, wrapper)}


def looks_like_environment(value: type) -> bool:
    """Tell whether a class has what an environment needs."""
    return callable(getattr(value, "reset", None)) and callable(getattr(value, "step", None))


def candidates_advice(module: ModuleType, what: str) -> str:
    """Name the environment classes that a module does have."""
    names = sorted(environment_classes(module))
    if names:
        return f"Name an environment class: {', '.join(f'{what}:{name}' for name in names)}."
    return "An environment is a subclass of gymnasium.Env with reset, step, observation_space and action_space."


def multi_agent(name: str) -> BuildError:
    """Say that an environment has several agents where one is asked for."""
    message = f"{name} is a multi-agent environment; a single policy cannot steer it."
    advice = "Choose an algorithm for several agents, and name a PettingZoo module or FILE.py:parallel_env."
    return BuildError("multi-agent", message, advice)


def unknown_id(name: str, module: str = "") -> BuildError:
    """Say that no environment is registered under an id, with close matches."""
    registered = list(gymnasium.registry)
    family, _, version = name.rpartition("-v")
    versions = sorted(key for key in registered if family and key.rpartition("-v")[0] == family)
    if module:
        message = f"The module {module!r} was imported, but it neither defines nor registers {name!r}: the half after the colon is wrong."
    elif versions and version.isdigit():
        message = f"There is no version {version} of the environment {family!r}."
        return BuildError("unknown-id", message, f"Versions: {', '.join(versions)}.")
    else:
        message = f"No environment is registered as {name!r}."
    advice = close_matches(name, registered)
    if not advice and name.startswith("ALE/"):
        advice = f'Install Atari with {INSTALL_LINES["ale_py"]} and write "ale_py:{name}".'
    if not advice:
        advice = (
            'An id of a package that must be imported first is written "package:Id"; a file is written "file.py:Class".'
        )
    return BuildError("unknown-id", message, advice)


def close_matches(name: str, names: Iterable[str]) -> str:
    """Suggest names that look alike; "" where none does."""
    by_lower = {candidate.lower(): candidate for candidate in names}
    found = difflib.get_close_matches(name.lower(), list(by_lower), n=3, cutoff=0.6)
    return f"Did you mean {' or '.join(by_lower[key] for key in found)}?" if found else ""


def install_line(package: str) -> str:
    """Give the pip line that installs a package by its import name."""
    top = package.partition(".")[0]
    return INSTALL_LINES.get(top, f"pip install {top.replace('_', '-')}")


def describe_error(error: BaseException) -> str:
    """Give type and message of an error in one line."""
    text = str(error).strip().splitlines()
    return f"{type(error).__name__}: {text[0].rstrip('.')}" if text else type(error).__name__


def line_in(error: BaseException, file: Path | None) -> int | None:
    """Find the innermost line of a file in an error's traceback."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if file is not None and frame.filename == str(file)]
    return lines[-1] if lines else None


def line_of_object(value: Any) -> int | None:
    """Find the line at which a class or function is defined."""
    try:
        return inspect.getsourcelines(value)[1]
    except (OSError, TypeError):
        return None
