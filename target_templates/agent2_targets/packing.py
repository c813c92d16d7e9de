"""Pack a Target Agent: a folder that runs without Agent², written whole."""

from __future__ import annotations

import hashlib
import json
import secrets
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import safetensors.numpy
import yaml
from numpy.typing import NDArray

from agent2_schemas import Design, EnvironmentReference, Evaluation, TargetManifest
from agent2_targets.model_card import render_model_card
from agent2_targets.rendering import render_template
from agent2_targets.requirements import needed_packages, pinned_lines

RUNTIME_MODULES = (
    "__init__",
    "adapt",
    "agent",
    "batch",
    "delivered",
    "environment",
    "failures",
    "normaliser",
    "pipeline",
    "rollout",
    "sources",
    "spaces",
    "transforms",
)
"""Modules of the runtime that a delivered agent needs: all but the frames of the split evaluation."""

RUNTIME = Path(__file__).parent / "runtime"
SCRIPTS = ("evaluate.py", "play.py", "train.py")


@dataclass(frozen=True, kw_only=True)
class TargetContent:
    """All that goes into a Target Agent.

    Attributes:
        name: name of the agent: the project's.
        task: what the user wanted, in words.
        environment: the environment it acts in.
        snapshot: folder with the environment's source, where it came as a file; copied to `environment/`.
        environment_sha256: hash of that environment at training.
        design: the design that was trained, `training_seed` being that of the run.
        mdp_code: text of mdp.py.
        policy_code: text of policy.py.
        weights: parameters of the actor by name, without the prefix `actor.`.
        normaliser: `Normaliser.to_dict` of the checkpoint; None where the design normalises nothing.
        run_id: the run it comes from.
        checkpoint_env_steps: environment steps of its checkpoint.
        card: its own score on seeds used once; None where it was not measured.
        card_stochastic: the same seeds with sampled actions.
        packages: versions of the packages at training, by distribution name; what the environment needs is pinned.
        adaptations: what was adapted when the environment was built.
        notes: sentences for the section on limits, such as the verdict.
        extra_files: further files by relative name, such as a video.
    """

    name: str
    task: str
    environment: EnvironmentReference
    snapshot: Path | None
    environment_sha256: str
    design: Design
    mdp_code: str
    policy_code: str
    weights: Mapping[str, NDArray[Any]]
    normaliser: dict[str, Any] | None
    run_id: str
    checkpoint_env_steps: int
    card: Evaluation | None
    card_stochastic: Evaluation | None = None
    packages: Mapping[str, str] = field(default_factory=dict[str, str])
    adaptations: Sequence[str] = ()
    notes: Sequence[str] = ()
    extra_files: Mapping[str, str | bytes] = field(default_factory=dict[str, str | bytes])


def pack_target(folder: Path, content: TargetContent) -> TargetManifest:
    """Write a Target Agent into a folder, whole: it appears complete, or not at all.

    Args:
        folder: where it shall lie; an older agent there is replaced.
        content: what goes into it.

    Returns:
        Its manifest.

    Raises:
        ValueError: an extra file would replace one of the agent's own, or leave its folder.
        OSError: the disk is full, or the folder is not writable; an older agent is untouched.
    """
    token = secrets.token_hex(4)
    temporary = folder.with_name(f".{folder.name}.{token}.tmp")
    temporary.mkdir(parents=True)
    try:
        manifest = fill(temporary, content)
        replace_folder(folder, temporary)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return manifest


def fill(folder: Path, content: TargetContent) -> TargetManifest:
    """Write every file of an agent into an empty folder; the manifest comes last."""
    reference = bare_reference(content.environment)
    packages = needed_packages(reference, content.packages)
    design = content.design
    files: dict[str, str | bytes] = {
        "policy.py": content.policy_code,
        "mdp.py": content.mdp_code,
        "design.yaml": yaml.safe_dump(design.model_dump(mode="json"), sort_keys=False, allow_unicode=True, width=120),
        "weights.safetensors": safetensors.numpy.save(dict(content.weights)),
        "normaliser.json": json.dumps(content.normaliser) + "\n",
        "requirements.txt": pinned_lines(reference, packages),
        "requirements-train.txt": render_template("requirements-train.txt.jinja", packages=packages),
        "README.md": render_model_card(content, packages),
    }
    files |= {f"runtime/{name}.py": (RUNTIME / f"{name}.py").read_bytes() for name in RUNTIME_MODULES}
    values = {"name": content.name, "design": design, "environment": reference.name}
    files |= {name: render_template(f"{name}.jinja", **values) for name in SCRIPTS}
    if taken := files.keys() & content.extra_files.keys():
        raise ValueError(f"Extra files would replace the agent's own: {', '.join(sorted(taken))}.")
    for name, data in {**files, **content.extra_files}.items():
        write_file(folder, name, data)
    if content.snapshot is not None:
        ignored = shutil.ignore_patterns("__pycache__", "*.pyc", ".git")
        shutil.copytree(content.snapshot, folder / "environment", ignore=ignored)
    manifest = TargetManifest(
        name=content.name,
        task=content.task,
        environment=reference,
        environment_sha256=content.environment_sha256,
        algorithm=design.algorithm,
        candidate_id=design.candidate_id,
        run_id=content.run_id,
        checkpoint_env_steps=content.checkpoint_env_steps,
        training_seed=design.training_seed,
        card=content.card,
        card_stochastic=content.card_stochastic,
        agent2_version=metadata.version("agent-squared"),
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
        packages={"python": ".".join(map(str, sys.version_info[:3])), **packages},
        files=hash_files(folder),
    )
    write_manifest(folder, manifest)
    return manifest


def add_file(folder: Path, name: str, content: str | bytes) -> Path:
    """Add a file to a packed agent, or replace it, and enter its hash in the manifest.

    Args:
        folder: the agent's folder.
        name: file name, relative to it.
        content: text (UTF-8) or bytes.

    Returns:
        The file's path.

    Raises:
        ValueError: the name leaves the folder, or is the manifest's.
        FileNotFoundError: there is no packed agent in that folder.
    """
    text = (folder / "manifest.json").read_text(encoding="utf-8")
    manifest = TargetManifest.model_validate_json(text)
    path = write_file(folder, name, content)
    files = {**manifest.files, Path(name).as_posix(): hash_file(path)}
    write_manifest(folder, manifest.model_copy(update={"files": dict(sorted(files.items()))}))
    return path


def bare_reference(environment: EnvironmentReference) -> EnvironmentReference:
    """Name an environment's file as it lies in the agent's `environment/` folder, not where it came from."""
    head, marker, rest = environment.name.partition(".py")
    if not marker or (rest and not rest.startswith(":")):
        return environment
    given = Path(head)
    name = given.name if given.is_absolute() or ".." in given.parts else given.as_posix()
    return environment.model_copy(update={"name": f"{name}.py{rest}"})


def write_file(folder: Path, name: str, content: str | bytes) -> Path:
    """Write one file of an agent, whole.

    Raises:
        ValueError: the name leaves the folder, or is the manifest's.
    """
    path = folder / name
    if name == "manifest.json" or not path.resolve().is_relative_to(folder.resolve()):
        raise ValueError(f"{name!r} is no name for a file of an agent.")
    write_whole(path, content)
    return path


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file so that a reader sees the old content or the new, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        temporary.write_bytes(content.encode() if isinstance(content, str) else content)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_manifest(folder: Path, manifest: TargetManifest) -> None:
    """Write `manifest.json`."""
    write_whole(folder / "manifest.json", manifest.model_dump_json(indent=2) + "\n")


def hash_files(folder: Path) -> dict[str, str]:
    """Give the SHA-256 of every file in a folder but the manifest, by relative path."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != "manifest.json")
    return {path.relative_to(folder).as_posix(): hash_file(path) for path in paths}


def hash_file(path: Path) -> str:
    """Give the SHA-256 of one file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def replace_folder(folder: Path, new: Path) -> None:
    """Put a new folder in the place of an old one; the old one comes back where that fails."""
    old = new.with_suffix(".old")
    has_old = folder.exists()
    if has_old:
        folder.replace(old)
    try:
        new.replace(folder)
    except OSError:
        if has_old:
            old.replace(folder)
        raise
    shutil.rmtree(old, ignore_errors=True)
