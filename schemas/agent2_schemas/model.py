"""The base of every value that crosses a process: frozen, closed, finite."""

import math
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, StringConstraints

NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"
"""What a project name may look like: it becomes a folder name."""

ID_PATTERN = r"^[a-z0-9][a-z0-9-]{0,39}$"
"""What a candidate or run id looks like."""


class Frozen(BaseModel):
    """A value that never changes and refuses fields it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def finite_or_none(value: object) -> float | None:
    """Turn NaN and infinities into None: JSON has no spelling for them.

    Args:
        value: a number, a NumPy scalar, or None.

    Returns:
        The number as a float, or None where it is missing or not finite.

    Raises:
        ValueError: the value is no number at all.
    """
    if value is None:
        return None
    if not isinstance(value, str | bytes) and hasattr(value, "__float__"):
        number = float(value)  # pyright: ignore[reportArgumentType]
        return number if math.isfinite(number) else None
    raise ValueError(f"a number is expected, got {value!r}")


Metric = Annotated[float | None, BeforeValidator(finite_or_none)]
"""A measured number; None means that it was NaN, infinite or not measured."""

ProjectName = Annotated[str, StringConstraints(pattern=NAME_PATTERN)]
Identifier = Annotated[str, StringConstraints(pattern=ID_PATTERN)]
