"""Which packages a delivered agent needs, pinned to the versions it was trained with."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import metadata

import gymnasium

from agent2_schemas import EnvironmentReference
from agent2_targets.rendering import render_template

ALWAYS = ("numpy", "gymnasium", "torch", "safetensors", "PyYAML")
VIDEO = ("imageio", "imageio-ffmpeg")
TRAINING = ("tianshou", "pandas")
GYMNASIUM_EXTRAS = {
    "gymnasium.envs.mujoco": "mujoco",
    "gymnasium.envs.box2d": "box2d",
    "gymnasium.envs.classic_control": "classic-control",
    "gymnasium.envs.toy_text": "toy-text",
}
"""Extra of Gymnasium that an environment of its own needs, by the module that defines it."""

PARTS_OF_EXTRAS = {
    "mujoco": ("mujoco",),
    "box2d": ("Box2D", "pygame-ce"),
    "classic-control": ("pygame-ce",),
    "toy-text": ("pygame-ce",),
}
"""Packages that an extra brings and whose version changes the simulation or the picture."""

DISTRIBUTIONS = {"pygame": "pygame-ce", "yaml": "PyYAML", "PIL": "pillow"}
"""Distribution name of a package that is imported under another name."""


def gymnasium_extra(reference: EnvironmentReference) -> str:
    """Give the extra of Gymnasium that an environment needs; "" where it needs none."""
    spec = gymnasium.registry.get(reference.name.rpartition(":")[2])
    entry_point = spec.entry_point if spec is not None else ""
    text = entry_point if isinstance(entry_point, str) else ""
    return next((extra for module, extra in GYMNASIUM_EXTRAS.items() if text.startswith(module)), "")


def needed_packages(reference: EnvironmentReference, at_training: Mapping[str, str]) -> dict[str, str]:
    """Give the versions of all packages that a delivered agent needs to run, to film and to train.

    Args:
        reference: its environment.
        at_training: versions at training by name; these win over what is installed here.

    Returns:
        Versions by distribution name, without local parts such as `+cpu`.
    """
    known = {DISTRIBUTIONS.get(name, name): version for name, version in at_training.items()}
    names = [*ALWAYS, *PARTS_OF_EXTRAS.get(gymnasium_extra(reference), ()), *known, *VIDEO, *TRAINING]
    versions: dict[str, str] = {}
    for name in names:
        version = known.get(name) or installed_version(name)
        if version and name != "python" and name.lower() not in {seen.lower() for seen in versions}:
            versions[name] = version.partition("+")[0]
    return versions


def pinned_lines(reference: EnvironmentReference, packages: Mapping[str, str]) -> str:
    """Give the text of requirements.txt."""
    extra = gymnasium_extra(reference)
    apart = {name.lower() for name in (*VIDEO, *TRAINING)}
    lines = [
        f"{name}[{extra}]=={version}" if name == "gymnasium" and extra else f"{name}=={version}"
        for name, version in packages.items()
        if name.lower() not in apart
    ]
    video = [f"{name}=={packages[name]}" for name in VIDEO if name in packages]
    return render_template("requirements.txt.jinja", lines=lines, video=video)


def installed_version(name: str) -> str | None:
    """Read the version of an installed distribution; None where it is missing."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
