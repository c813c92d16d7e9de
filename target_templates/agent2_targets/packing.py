"""Pack a Target Agent: a folder that runs without Agent², written whole."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from agent2_schemas import TargetManifest


def add_file(folder: Path, name: str, content: str | bytes) -> Path:
    """Add a file to a packed agent, or replace it, and enter its hash in the manifest.

    Args:
        folder: the agent's folder.
        name: file name, relative to it.
        content: text (UTF-8) or bytes.

    Returns:
        The file's path.
    """
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    manifest_file = folder / "manifest.json"
    manifest = TargetManifest.model_validate_json(manifest_file.read_text(encoding="utf-8"))
    files = {**manifest.files, name: hashlib.sha256(path.read_bytes()).hexdigest()}
    text = manifest.model_copy(update={"files": files}).model_dump_json(indent=2)
    manifest_file.write_text(json.dumps(json.loads(text), indent=2) + "\n", encoding="utf-8")
    return path


def pack_target() -> Path:
    """Write a Target Agent whole."""
    raise NotImplementedError
