"""Make the read-only folder that a policy host acts from: code, design, weights, frozen statistics; no optimiser."""

import json
import math
from pathlib import Path
from typing import Any

import yaml

from agent2_training.checkpoints import MalformedCheckpoint, checkpoint_file
from agent2_training.checkpoints.acceptance import check_checkpoint
from agent2_workspace import RunFolder

CANDIDATE_FILES = ("design.yaml", "mdp.py", "policy.py")


def write_policy_folder(folder: Path, run: RunFolder, env_steps: int) -> None:
    """Write what acting needs into a new folder.

    Args:
        folder: made here; holds policy.py, mdp.py, design.yaml, design.json, weights.safetensors, normaliser.json.
        run: the run whose candidate copy and accepted checkpoint are used.
        env_steps: which checkpoint.

    Raises:
        MalformedCheckpoint: the checkpoint or its statistics are not what they should be.
    """
    content = checkpoint_file(run, env_steps).read_bytes()
    file = check_checkpoint(content, env_steps)
    folder.mkdir(parents=True)
    for name in CANDIDATE_FILES:
        (folder / name).write_bytes((run.candidate_copy / name).read_bytes())
    design = yaml.safe_load((folder / "design.yaml").read_text(encoding="utf-8"))
    (folder / "design.json").write_text(json.dumps(design), encoding="utf-8")
    (folder / "weights.safetensors").write_bytes(file.select("actor.").to_bytes())
    statistics = read_normaliser(file.metadata.get("normaliser", ""))
    (folder / "normaliser.json").write_text(json.dumps(statistics), encoding="utf-8")


def read_normaliser(text: str) -> dict[str, Any] | None:
    """Read the normaliser statistics of a checkpoint header: finite numbers or nothing.

    Returns:
        `mean`, `variance`, `count`, `clip`; None where the design normalises nothing.

    Raises:
        MalformedCheckpoint: the text is something else.
    """
    try:
        value = json.loads(text or "null")
    except ValueError as error:
        raise MalformedCheckpoint("its normaliser is not JSON") from error
    if value is None or value == {}:
        return None
    if not isinstance(value, dict) or not all(_is_finite(entry) for entry in value.values()):
        raise MalformedCheckpoint("its normaliser holds something other than finite numbers")
    return value


def _is_finite(value: object) -> bool:
    if isinstance(value, list):
        return all(_is_finite(entry) for entry in value)
    return isinstance(value, int | float) and math.isfinite(value)
