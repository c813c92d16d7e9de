"""The child of `list_environments`: what Gymnasium's registry holds, by family, newest versions only."""

import contextlib
import importlib
import re
from typing import Any

import gymnasium

from agent2_sandbox.child import serve_call

OWN = re.compile(r"gymnasium\.envs\.(?P<family>classic_control|toy_text|box2d|mujoco)\b")
VERSION = re.compile(r"(?P<name>.+)-v(?P<version>\d+)")


def main(payload: dict[str, Any]) -> dict[str, Any]:
    """List the registry.

    Args:
        payload: `modules`: installed packages to import first, so that they register what they have, by family.

    Returns:
        `families`: references by family.
    """
    families: dict[str, list[str]] = {}
    for identifier, spec in _newest().items():
        own = OWN.match(str(spec.entry_point))
        if own:
            families.setdefault(own["family"], []).append(identifier)
    for family, module in payload["modules"].items():
        before = set(gymnasium.registry)
        with contextlib.suppress(BaseException):  # a package that does not import has no environments here
            importlib.import_module(module)
            added = {name: spec for name, spec in _newest().items() if name not in before}
            families[family] = sorted(f"{module}:{name}" for name in added)
    return {"families": {family: sorted(names) for family, names in families.items()}}


def _newest() -> dict[str, Any]:
    found: dict[str, tuple[int, str, Any]] = {}
    for identifier, spec in gymnasium.registry.items():
        parts = VERSION.fullmatch(identifier)
        name, number = (parts["name"], int(parts["version"])) if parts else (identifier, 0)
        if name not in found or number > found[name][0]:
            found[name] = (number, identifier, spec)
    return {identifier: spec for _, identifier, spec in found.values()}


if __name__ == "__main__":
    serve_call(main)
