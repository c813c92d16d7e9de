"""The environment of a delivered agent, built from its manifest."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from .environment import Adapted, build_environment


def read_manifest(folder: str | Path) -> dict[str, Any]:
    """Read the manifest of an agent's folder."""
    return json.loads((Path(folder) / "manifest.json").read_text(encoding="utf-8"))


def build_delivered(folder: str | Path, render_mode: str | None = None) -> Adapted:
    """Build the environment that an agent was made for.

    Args:
        folder: the agent's folder; a file environment lies in its `environment/`.
        render_mode: Gymnasium render mode; None draws nothing.

    Raises:
        BuildError: it cannot be built; says why and what to do.
    """
    source = Path(folder).resolve() / "environment"
    reference = read_manifest(folder)["environment"]
    return build_environment(reference, root=str(source) if source.is_dir() else None, render_mode=render_mode)
