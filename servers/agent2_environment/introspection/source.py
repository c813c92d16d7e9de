"""Where an environment's class stands, what it says of itself, and which packages it needs."""

import inspect
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

ALWAYS = ("gymnasium", "numpy")
SIMULATORS = ("mujoco", "Box2D", "pygame", "panda3d", "jax", "pybullet", "ale_py")
DOCUMENTATION_CHARACTERS = 1200


def describe_source(raw: Any) -> dict[str, Any]:
    """Give `source_file`, `source_line`, `packages` and `documentation` of an environment's class."""
    kind: type = raw.__class__
    file, line = "", None
    try:
        found = inspect.getsourcefile(kind)
        file = str(Path(found).resolve()) if found else ""
        line = inspect.getsourcelines(kind)[1] or 1
    except (OSError, TypeError):
        pass
    return {
        "source_file": file,
        "source_line": line,
        "packages": packages_of(kind),
        "documentation": first_paragraph(documentation_of(kind)),
    }


def documentation_of(kind: type) -> str:
    """Give the docstring of the class itself, else that of its module; never an inherited one."""
    own, module = kind.__dict__.get("__doc__"), sys.modules.get(kind.__module__)
    return inspect.cleandoc(own or getattr(module, "__doc__", None) or "")


def first_paragraph(text: str) -> str:
    """Give the first paragraph of a docstring that is no heading, table or pointer elsewhere, on one line."""
    for paragraph in text.split("\n\n"):
        if paragraph.lstrip().startswith(("|", "This environment is part of")):
            continue
        lines = [line.strip() for line in paragraph.splitlines() if line.strip() and not line.lstrip().startswith("#")]
        if lines:
            return " ".join(lines)[:DOCUMENTATION_CHARACTERS]
    return ""


def packages_of(kind: type) -> dict[str, str]:
    """Give the versions of Gymnasium, NumPy, the loaded simulators and the distribution that holds the class."""
    own = {each.__module__.split(".")[0] for each in kind.__mro__} - sys.stdlib_module_names
    names = [*ALWAYS, *(name for name in SIMULATORS if name in sys.modules), *sorted(own)]
    versions: dict[str, str] = {}
    for name in names:
        found = _version(name)
        if found is not None:
            versions[found[0]] = found[1]
    return versions


def _version(module: str) -> tuple[str, str] | None:
    try:
        return module, metadata.version(module)
    except metadata.PackageNotFoundError:
        pass
    loaded = sys.modules.get(module)
    if loaded is None or "site-packages" not in str(getattr(loaded, "__file__", "")):
        return None  # a file of the user's: its content is hashed instead
    distributions = metadata.packages_distributions().get(module)
    return (distributions[0], metadata.version(distributions[0])) if distributions else None
