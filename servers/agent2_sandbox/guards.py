"""Guards around calls of generated functions, inside the sandbox: what goes wrong is named, with line and step.

They are for messages; the boundary is the operating system's. Needs numpy, nothing of ours but the words.
"""

import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from agent2_sandbox.explaining import with_hint


class GuardError(Exception):
    """Generated code broke its contract.

    Args:
        message: what, where and at which step, for a person.
        line: line of the generated file, where known.
        outcome: what the supervisor is told: `code_rejected` or `out_of_memory`.
    """

    def __init__(self, message: str, line: int | None = None, outcome: str = "code_rejected") -> None:
        """Keep the line apart."""
        super().__init__(message)
        self.line = line
        self.outcome = outcome


def read_only_view(value: Any) -> Any:
    """Give a view that cannot be written: of an array, or of a mapping and all arrays in it."""
    if isinstance(value, np.ndarray):
        view = cast("NDArray[Any]", value).view()
        view.flags.writeable = False
        return view
    if isinstance(value, Mapping):
        mapping = cast("Mapping[str, Any]", value)
        return MappingProxyType({key: read_only_view(part) for key, part in mapping.items()})
    return value


def guarded_load(file: Path, load: Callable[[], Any]) -> Any:
    """Load a generated file.

    Args:
        file: the file, to find the line.
        load: does it.

    Raises:
        GuardError: it raised, or tried to end the process.
    """
    try:
        return load()
    except SystemExit as error:
        line = _line(error, file)
        raise GuardError(f"module called sys.exit({error.code}) while loading{_at(line)}", line) from error
    except SyntaxError as error:
        raise GuardError(
            f"could not load {file.name}: SyntaxError: {error.msg}{_at(error.lineno)}", error.lineno
        ) from error
    except BaseException as error:
        line = _line(error, file)
        text = with_hint(f"could not load {file.name}: {type(error).__name__}: {error}{_at(line)}")
        raise GuardError(text, line, _outcome(error)) from error


def guarded_call(name: str, function: Callable[..., Any], *arguments: Any, file: Path, step: int) -> Any:
    """Call a generated function with views that cannot be written.

    Args:
        name: its name.
        function: the function.
        arguments: arrays and mappings of arrays.
        file: the generated file, to find the line.
        step: which step this is, from 1.

    Raises:
        GuardError: it raised anything, SystemExit and KeyboardInterrupt too.
    """
    try:
        return function(*map(read_only_view, arguments))
    except SystemExit as error:
        line = _line(error, file)
        raise GuardError(
            f"{name} called sys.exit({error.code}) at step {step} ({file.name}{_at(line)})", line
        ) from error
    except BaseException as error:
        line = _line(error, file)
        text = f"{name} raised {type(error).__name__}: {error} at step {step} ({file.name}{_at(line)})"
        raise GuardError(with_hint(text), line, _outcome(error)) from error


def checked_components(
    result: Any, count: int, *, step: int, observation: NDArray[Any] | None = None
) -> dict[str, NDArray[np.float64]]:
    """Hold what `reward` returned to its contract.

    Args:
        result: a dict of arrays (count,), by name of the component.
        count: batch size.
        step: which step this is, from 1.
        observation: raw observations, whose range is shown where a component is not finite.

    Returns:
        The components, each (count,) float64.

    Raises:
        GuardError: no dict, no real numbers, wrong shape, NaN or infinite.
    """
    if type(result) is not dict:
        raise GuardError(f"reward must return a dict of named components, got {type(result).__name__}, step {step}")
    components = cast("dict[Any, Any]", result)
    return {str(name): _component(str(name), value, count, step, observation) for name, value in components.items()}


def _component(name: str, value: Any, count: int, step: int, observation: NDArray[Any] | None) -> NDArray[np.float64]:
    try:
        array = np.asarray(value)
    except Exception as error:
        raise GuardError(f"reward component {name} is no array: {error}, step {step}") from error
    if array.dtype.kind not in "fiub":
        raise GuardError(f"reward component {name} must be real numbers, got {array.dtype}, step {step}")
    if array.shape != (count,):
        raise GuardError(f"reward component {name} has shape {array.shape}, expected ({count},), step {step}")
    array = array.astype(np.float64)
    if not np.isfinite(array).all():
        worst = array[~np.isfinite(array)][0]
        extent = ""
        if observation is not None and observation.size:
            extent = f", observation min {np.min(observation):.4g} max {np.max(observation):.4g}"
        raise GuardError(f"reward component {name} is {worst} at step {step}{extent}")
    return array


def _line(error: BaseException, file: Path) -> int | None:
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(file)]
    return lines[-1] if lines else None


def _at(line: int | None) -> str:
    return "" if line is None else f", line {line}"


def _outcome(error: BaseException) -> str:
    return "out_of_memory" if isinstance(error, MemoryError) else "code_rejected"
