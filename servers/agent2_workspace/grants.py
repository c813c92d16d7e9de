"""What a person allows the sandbox beyond the usual: for every environment, or for those whose name fits a pattern."""

import os
from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal, cast

from pydantic import Field, model_validator

from agent2_schemas import Frozen

NETWORK_WORDS = "network (all that this machine reaches: the system cannot limit it to localhost)"


class Grant(Frozen):
    """What one line of the configuration allows."""

    gpu: bool = Field(default=False, description="The GPU's device files.")
    display: bool = Field(default=False, description="The screen: DISPLAY or WAYLAND_DISPLAY, and its socket.")
    network: Literal["none", "localhost", "all"] = Field(
        default="none", description="localhost says what it is for; the system cannot limit it to that."
    )
    read: tuple[Path, ...] = Field(default=(), description="Further files and folders to read, such as a licence.")
    variables: tuple[str, ...] = Field(default=(), description="Environment variables to hand on, such as a licence's.")

    @property
    def words(self) -> tuple[str, ...]:
        """What is granted, one phrase each."""
        flags = (("gpu", self.gpu), ("display", self.display), (NETWORK_WORDS, self.network != "none"))
        named = tuple(word for word, is_granted in flags if is_granted)
        return (*named, *(f"read {path}" for path in self.read), *(f"variable {name}" for name in self.variables))


_KINDS = frozenset(Grant.model_fields)


class Grants(Frozen):
    """The table `[grants]`: keys that name a kind of grant hold for all, other keys are patterns with a table each."""

    everywhere: Grant = Field(default_factory=Grant, description="What every environment gets.")
    by_environment: dict[str, Grant] = Field(
        default_factory=dict, description="By pattern of an environment's name, with * and ? as in file names."
    )

    @model_validator(mode="before")
    @classmethod
    def _sort(cls, data: Any) -> Any:
        if isinstance(data, Grants):
            return data
        if not isinstance(data, dict):
            raise ValueError("write a table: [grants]")
        table = cast("dict[str, Any]", data)
        if set(table) <= set(cls.model_fields):
            return table
        unknown = [key for key, value in table.items() if key not in _KINDS and not isinstance(value, dict)]
        if unknown:
            raise ValueError(f"{', '.join(unknown)}: no kind of grant; there are {', '.join(sorted(_KINDS))}")
        return {
            "everywhere": {key: value for key, value in table.items() if key in _KINDS},
            "by_environment": {key: value for key, value in table.items() if key not in _KINDS},
        }


class Granted(Frozen):
    """What the processes that hold one environment get."""

    names: tuple[str, ...] = Field(default=(), description="gpu, display, network; then words for paths and variables.")
    read: tuple[Path, ...] = Field(default=(), description="Further paths to read.")
    variables: dict[str, str] = Field(default_factory=dict, description="Further environment variables.")


def merge(grants: Iterable[Grant]) -> Granted:
    """Join grants; a variable that this process has not, or a path that is not there, is left out."""
    chosen = tuple(grants)
    words = dict.fromkeys(word for grant in chosen for word in grant.words)
    names = tuple("network" if word == NETWORK_WORDS else word for word in words)
    variables = {name: os.environ[name] for grant in chosen for name in grant.variables if name in os.environ}
    read = dict.fromkeys(path for grant in chosen for path in map(Path.expanduser, grant.read) if path.exists())
    return Granted(names=names, read=tuple(read), variables=variables)


def describe(grants: Grants) -> tuple[str, ...]:
    """Say in a line each what is granted to whom."""
    everywhere = [f"every environment: {', '.join(grants.everywhere.words)}"] if grants.everywhere.words else []
    return (*everywhere, *(f"{name}: {', '.join(each.words)}" for name, each in grants.by_environment.items()))


def granted_to(grants: Grants, environment: str) -> Granted:
    """Give what the environment of this name gets.

    Args:
        grants: the table of the configuration.
        environment: name of its reference, such as `CarRacing-v3`; empty where no environment is known yet.
    """
    fitting = (grant for pattern, grant in grants.by_environment.items() if fnmatchcase(environment, pattern))
    return merge((grants.everywhere, *(fitting if environment else ())))
