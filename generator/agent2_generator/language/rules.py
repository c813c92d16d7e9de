"""Guard rails of a round: at most five changes, each under 30 % unless it mends a fault (the paper's rule, relaxed)."""

from collections.abc import Mapping
from typing import Any

from pydantic import TypeAdapter, ValidationError

from agent2_schemas import Hyperparameters, NetworkDesign

MAX_CHANGES = 5
LARGEST_SHARE = 0.30
"""A number changes by less than this share of its present value."""
_ANY: TypeAdapter[Any] = TypeAdapter(Hyperparameters)


def too_many(count: int) -> list[str]:
    """The fault of a round with too many changes, if it is one."""
    return [f"{count} changes at once; at most {MAX_CHANGES}."] if count > MAX_CHANGES else []


def too_large(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """The faults of changes that are too large: one for each number.

    Args:
        old: present values by name.
        new: changed values by name.
    """
    faults: list[str] = []
    for name, value in new.items():
        present = old.get(name)
        if not isinstance(present, int | float) or not isinstance(value, int | float):
            continue
        if isinstance(present, bool) or isinstance(value, bool) or present == 0:
            continue
        share = abs(value - present) / abs(present)
        if share >= LARGEST_SHARE - 1e-9 and not _are_neighbours(present, value):
            faults.append(f"{name}: {present} to {value} is a change of {share:.0%}; less than {LARGEST_SHARE:.0%}.")
    return faults


def check_hyperparameters(algorithm: str, values: Mapping[str, Any]) -> list[str]:
    """The faults of complete hyperparameters of an algorithm, one for each value."""
    return _faults(_ANY.validate_python, dict(values) | {"algorithm": algorithm})


def check_network(values: Mapping[str, Any]) -> list[str]:
    """The faults of a network, one for each value."""
    return _faults(NetworkDesign.model_validate, dict(values))


def unknown(names: Mapping[str, Any], known: Mapping[str, Any], what: str) -> list[str]:
    """The faults of names that do not exist."""
    return [f"{what} has no {name!r}; it has {', '.join(sorted(known))}." for name in names if name not in known]


def _faults(validate: Any, values: dict[str, Any]) -> list[str]:
    try:
        validate(values)
    except ValidationError as error:
        return [f"{'.'.join(str(p) for p in each['loc'])}: {each['msg']}" for each in error.errors()]
    return []


def _are_neighbours(old: float, new: float) -> bool:
    """Whether both are powers of two, one the double of the other."""
    smaller, larger = sorted((old, new))
    return smaller >= 1 and smaller == int(smaller) and int(smaller).bit_count() == 1 and larger == 2 * smaller
