"""Build an environment from its reference, whatever its age, and say what was adapted."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import os
import re
import sys
import tempfile
import warnings
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gymnasium

from .adapt import DEFAULT_LIMIT, OFFSET, CurrentApi
from .failures import BuildError
from .sources import (
    MULTI_AGENT_FAMILIES,
    MULTI_AGENT_NAMES,
    MULTI_AGENT_PACKAGES,
    Source,
    close_matches,
    describe_error,
    import_failure,
    install_line,
    line_in,
    line_of_object,
    load_file,
    load_module,
    multi_agent,
    pick_member,
    resolve_file,
    split_reference,
    unknown_id,
)
from .spaces import SpaceDict, describe_space

DEFAULT_LIMIT_STEPS = 1000
"""Time limit of an environment that has none, environment steps: an endless episode would never give a return."""


@dataclass
class Adapted:
    """An environment that obeys the current interface, and what that took.

    Attributes:
        env: the environment; observations come as fresh arrays in their declared dtype, rewards as float.
        adaptations: what was adapted, each as "name: what it means"; grows while the environment is stepped.
        max_episode_steps: time limit, environment steps.
        observation_space: its observation space as a plain dict.
        action_space: its action space as a plain dict.
        notices: warnings that building it gave.
    """

    env: gymnasium.Env[Any, Any]
    adaptations: list[str]
    max_episode_steps: int | None
    observation_space: SpaceDict
    action_space: SpaceDict
    notices: list[str] = field(default_factory=list[str])


def build_environment(reference: dict[str, Any], *, root: str | None, render_mode: str | None = None) -> Adapted:
    """Build an environment from its reference.

    Args:
        reference: JSON of a reference: `name` (`CartPole-v1`, `package.module:EnvId`, `package.module:Class`,
            `file.py:Class`, `file.py`), and where given `keyword_arguments`, `wrappers`, `max_episode_steps`.
        root: folder against which `file.py` names resolve; None takes the working directory. The file's folder goes
            on sys.path and becomes the working directory.
        render_mode: Gymnasium render mode; None draws nothing.

    Returns:
        The environment, what was adapted, and its spaces.

    Raises:
        BuildError: it cannot be built; says why and what to do.
    """
    if reference.get("python"):
        message = f"The environment asks for the interpreter {reference['python']!r}, which is not supported yet."
        raise BuildError("interpreter", message, "Leave it out, and install the environment beside its agent.")
    arguments = dict(reference.get("keyword_arguments") or {})
    limit = reference.get("max_episode_steps")
    source = split_reference(reference["name"])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        environment = construct(source, arguments, limit, root, render_mode)
    notices = [re.sub(r"\x1b\[\d*m", "", str(warning.message)) for warning in caught]
    adapted = adapt(environment, limit, reference["name"], notices)
    for wrapper in reference.get("wrappers") or ():
        apply_wrapper(adapted, wrapper)
    return adapted


def construct(
    source: Source, arguments: dict[str, Any], limit: int | None, root: str | None, render_mode: str | None
) -> Any:
    """Make the environment object that a reference names, as it is."""
    if source.kind == "file":
        file = resolve_file(source.place, root)
        module = load_file(file)
        factory = pick_member(module, source.member, file.name)
        if factory is None:
            names = [name for name, value in vars(module).items() if callable(value)]
            advice = close_matches(source.member, names) or f"Names in it: {', '.join(sorted(names)[:8])}."
            raise BuildError("class-not-found", f"{file.name} has no class or function {source.member!r}.", advice)
        return call_factory(factory, arguments, render_mode, source.member or factory.__name__, file)
    if source.kind == "module":
        if source.place in MULTI_AGENT_FAMILIES:
            raise multi_agent(f"{source.place}:{source.member}")
        module = load_module(source.place, source.member)
        factory = pick_member(module, source.member, source.place)
        if factory is not None:
            return call_factory(factory, arguments, render_mode, source.member, None)
        return make_registered(source.member, arguments, limit, render_mode, source.place)
    return make_registered(source.place, arguments, limit, render_mode, "")


def call_factory(
    factory: Callable[..., Any], arguments: dict[str, Any], render_mode: str | None, name: str, file: Path | None
) -> Any:
    """Call a class or a factory function with its keyword arguments.

    Raises:
        BuildError: arguments are missing or not known, or it fails.
    """
    parameters: Mapping[str, inspect.Parameter] = {}
    with contextlib.suppress(TypeError, ValueError):
        parameters = inspect.signature(factory).parameters
    takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    if render_mode is not None and ("render_mode" in parameters or takes_any):
        arguments = {**arguments, "render_mode": render_mode}
    check_arguments(parameters, arguments, name, line_of_object(factory))
    try:
        environment = factory(**arguments)
    except ModuleNotFoundError as error:
        raise import_failure(error, name, file) from error
    except (Exception, SystemExit) as error:
        message = f"{name} failed while it was made: {describe_error(error)}."
        advice = "Correct its constructor, or give other keyword arguments."
        raise BuildError("constructor-failed", message, advice, line_in(error, file)) from error
    if render_mode is not None and getattr(environment, "render_mode", None) is None:
        with contextlib.suppress(AttributeError):
            environment.render_mode = render_mode
    return environment


def check_arguments(
    parameters: Mapping[str, inspect.Parameter], arguments: dict[str, Any], name: str, line: int | None
) -> None:
    """Compare keyword arguments with a signature.

    Raises:
        BuildError: names the missing or the unknown ones.
    """
    variadic = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    named = [parameter for parameter in parameters.values() if parameter.kind not in variadic]
    missing = [item.name for item in named if item.default is item.empty and item.name not in arguments]
    if missing:
        example = ", ".join(f'"{item}": …' for item in missing)
        message = f"{name} needs the argument{'s' * (len(missing) > 1)} {', '.join(missing)}, missing here."
        raise BuildError("missing-arguments", message, f"Give keyword_arguments {{{example}}}.", line)
    takes_any = any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters.values())
    unknown = [key for key in arguments if key not in parameters]
    if unknown and not takes_any:
        names = [parameter.name for parameter in named]
        advice = close_matches(unknown[0], names) or f"It takes: {', '.join(names) or 'none'}."
        raise BuildError("unknown-arguments", f"{name} takes no argument {unknown[0]!r}.", advice, line)


def make_registered(
    name: str, arguments: dict[str, Any], limit: int | None, render_mode: str | None, module: str
) -> Any:
    """Make a registered Gymnasium environment.

    Raises:
        BuildError: there is none of that id, it needs a package, or it fails.
    """
    if render_mode is not None:
        arguments = {**arguments, "render_mode": render_mode}
    spec = gymnasium.registry.get(name)
    is_mujoco = spec is not None and "mujoco" in str(spec.entry_point)
    try:
        with quiet_mujoco(is_mujoco, can_leave_folder="xml_file" not in arguments):
            return gymnasium.make(name, max_episode_steps=limit, disable_env_checker=True, **arguments)
    except gymnasium.error.DeprecatedEnv as error:
        raise BuildError("deprecated-id", f"{describe_error(error)}.", "Use the newer version.") from error
    except gymnasium.error.UnregisteredEnv as error:
        if not module and is_multi_agent_module(name):
            raise multi_agent(name) from error
        raise unknown_id(name, module) from error
    except (gymnasium.error.DependencyNotInstalled, ImportError) as error:
        raise moved(name, error) if "moved" in str(error) else missing_extra(name, error) from error
    except TypeError as error:
        raise bad_arguments(name, error) from error
    except (Exception, SystemExit) as error:
        message = f"{name} failed while it was made: {describe_error(error)}."
        raise BuildError("constructor-failed", message, "Check its keyword arguments.") from error


def moved(name: str, error: Exception) -> BuildError:
    """Say that an old version of an environment lives elsewhere now, and which versions are still here."""
    newer = [key for key in gymnasium.registry if key.rpartition("-v")[0] == name.rpartition("-v")[0] and key != name]
    advice = f"Use a newer version: {', '.join(newer)}." if newer else "Use the package that it names."
    return BuildError("deprecated-id", f"{name} is no longer here: {describe_error(error)}.", advice)


def missing_extra(name: str, error: Exception) -> BuildError:
    """Say which package an environment misses and how to install it."""
    text = f"{error} {error.__cause__ or ''}"
    missing = error.name if isinstance(error, ImportError) and error.name else ""
    known = next((line for word, line in INSTALL_WORDS if word in f"{text} {missing}".lower()), "")
    written = re.search(r"pip install [\"']?[\w\-\[\], ]+[\"']?", text)
    line = known or (written.group().strip("`' ") if written else "") or (install_line(missing) if missing else "")
    advice = f"Install it: {line}." if line else "Install the package that it names."
    return BuildError("missing-extra", f"{name} needs a package that is missing: {describe_error(error)}.", advice)


INSTALL_WORDS = (
    ("robotics", "pip install gymnasium-robotics"),
    ("mujoco", 'pip install "gymnasium[mujoco]"'),
    ("box2d", 'pip install "gymnasium[box2d]"'),
    ("atari", 'pip install "gymnasium[atari]"'),
    ("toy-text", 'pip install "gymnasium[toy-text]"'),
    ("pygame", 'pip install "gymnasium[classic-control]"'),
)


def bad_arguments(name: str, error: TypeError) -> BuildError:
    """Turn the TypeError of a call into the argument that is missing or not known."""
    text = str(error)
    unknown = re.search(r"unexpected keyword argument '(\w+)'", text)
    if unknown:
        message = f"{name} takes no argument {unknown.group(1)!r}."
        return BuildError("unknown-arguments", message, "See the environment's documentation for its arguments.")
    missing = re.findall(r"'(\w+)'", text) if "required" in text and "argument" in text else []
    if missing:
        example = ", ".join(f'"{item}": …' for item in missing)
        message = f"{name} needs the arguments {', '.join(missing)}, missing here."
        return BuildError("missing-arguments", message, f"Give keyword_arguments {{{example}}}.")
    return BuildError("constructor-failed", f"{name} failed while it was made: {text}.", "Check its arguments.")


def is_multi_agent_module(name: str) -> bool:
    """Tell whether a dotted name is a PettingZoo module such as `mpe2.simple_spread_v3`."""
    if "." not in name or not re.fullmatch(r"[\w.]+", name):
        return False
    if name.partition(".")[0] in MULTI_AGENT_PACKAGES:
        return True
    try:
        module = importlib.import_module(name)
    except (Exception, SystemExit):
        return False
    return any(callable(getattr(module, candidate, None)) for candidate in MULTI_AGENT_NAMES)


def adapt(environment: Any, limit: int | None, name: str, notices: list[str]) -> Adapted:
    """Check that an object is an environment, and put it behind the current interface.

    Raises:
        BuildError: it has no reset, step or space, or is a multi-agent one.
    """
    if hasattr(environment, "possible_agents") or hasattr(environment, "agents"):
        raise multi_agent(name)
    missing = [part for part in ("reset", "step") if not callable(getattr(environment, part, None))]
    if missing:
        message = f"{name} gives a {type(environment).__name__}, which is no environment: it has no {missing[0]}."
        raise BuildError(
            "not-an-environment", message, "Name a subclass of gymnasium.Env, or a function that makes one."
        )
    spaces = [read_space(environment, kind, name) for kind in ("observation_space", "action_space")]
    adaptations: list[str] = []
    limit, own_limit = find_limit(environment, limit, adaptations)
    described = describe_space(spaces[1])
    if described["kind"] == "discrete" and described["start"]:
        adaptations.append(OFFSET.format(start=described["start"]))
    current = CurrentApi(environment, spaces[0], spaces[1], own_limit, adaptations)
    return Adapted(current, adaptations, limit, describe_space(spaces[0]), described, notices)


def read_space(environment: Any, kind: str, name: str) -> gymnasium.Space[Any]:
    """Read one of an environment's spaces; a space of the old package gym is rebuilt.

    Raises:
        BuildError: it is missing, or no space.
    """
    space = getattr(environment, kind, None)
    line = line_of_object(type(getattr(environment, "unwrapped", environment)))
    if space is None:
        message = f"{name} has no {kind}."
        advice = f"Set self.{kind} in its constructor, e.g. gymnasium.spaces.Box(-1.0, 1.0, (3,), numpy.float32)."
        raise BuildError(f"no-{kind.replace('_', '-')}", message, advice, line)
    if isinstance(space, gymnasium.Space):
        return space  # pyright: ignore[reportUnknownVariableType]
    old = type(space).__name__
    if type(space).__module__.startswith("gym.") and old == "Box":
        return gymnasium.spaces.Box(space.low, space.high, space.shape, space.dtype)
    if type(space).__module__.startswith("gym.") and old == "Discrete":
        return gymnasium.spaces.Discrete(int(space.n), start=int(getattr(space, "start", 0)))
    message = f"The {kind} of {name} is a {old}, no Gymnasium space."
    raise BuildError("bad-space", message, "Use a space of gymnasium.spaces.", line)


def find_limit(environment: Any, asked: int | None, adaptations: list[str]) -> tuple[int, int | None]:
    """Find an environment's time limit: `(limit, limit that has to be enforced here or None)`, environment steps."""
    spec_limit = getattr(getattr(environment, "spec", None), "max_episode_steps", None)
    if asked is not None:
        return asked, None if spec_limit == asked else asked
    if isinstance(spec_limit, int):
        return spec_limit, None
    unwrapped = getattr(environment, "unwrapped", environment)
    for attribute in ("max_episode_steps", "_max_episode_steps"):
        value = getattr(unwrapped, attribute, None)
        if isinstance(value, int) and value > 0:
            return value, value
    adaptations.append(DEFAULT_LIMIT.format(limit=DEFAULT_LIMIT_STEPS))
    return DEFAULT_LIMIT_STEPS, DEFAULT_LIMIT_STEPS


def apply_wrapper(adapted: Adapted, wrapper: dict[str, Any]) -> None:
    """Put one Gymnasium wrapper around the environment, in place.

    Raises:
        BuildError: there is no such wrapper, or it refuses this environment.
    """
    module_name, _, class_name = str(wrapper["name"]).partition(":")
    module = load_module(module_name, class_name)
    factory = getattr(module, class_name, None)
    if factory is None:
        advice = close_matches(class_name, vars(module)) or f"Look into the module {module_name}."
        raise BuildError("wrapper-failed", f"{module_name} has no wrapper {class_name!r}.", advice)
    try:
        wrapped = factory(adapted.env, **(wrapper.get("keyword_arguments") or {}))
        spaces = wrapped.observation_space, wrapped.action_space
    except Exception as error:
        message = f"The wrapper {class_name} refuses this environment: {describe_error(error)}."
        raise BuildError("wrapper-failed", message, "Check its arguments, or leave it out.") from error
    adapted.env = CurrentApi(wrapped, spaces[0], spaces[1], None, adapted.adaptations)
    adapted.observation_space, adapted.action_space = describe_space(spaces[0]), describe_space(spaces[1])


@contextlib.contextmanager
def quiet_mujoco(is_mujoco: bool, can_leave_folder: bool) -> Generator[None, None, None]:
    """Keep MuJoCo's own warnings off descriptor 2, and its MUJOCO_LOG.TXT out of the working directory.

    Args:
        is_mujoco: whether anything is to be done.
        can_leave_folder: whether no argument is a path relative to the working directory.
    """
    if not is_mujoco:
        yield
        return
    sys.stderr.flush()
    saved, folder = os.dup(2), Path.cwd()
    with tempfile.TemporaryDirectory() as temporary, Path(os.devnull).open("wb") as nothing:
        os.dup2(nothing.fileno(), 2)
        try:
            if can_leave_folder:
                os.chdir(temporary)
            yield
        finally:
            os.chdir(folder)
            os.dup2(saved, 2)
            os.close(saved)
