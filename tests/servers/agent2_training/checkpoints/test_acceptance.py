"""Checkpoints taken over from a folder that untrusted code writes."""

import os
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save

from agent2_training.checkpoints import (
    accept_checkpoints,
    acceptance,
    accepted_checkpoints,
    checkpoint_file,
    read_plain_file,
)
from agent2_workspace import RunFolder


def checkpoint(env_steps: int, value: float = 0.0, **metadata: str) -> bytes:
    strings = {"format": "agent2-checkpoint-1", "env_steps": str(env_steps), **metadata}
    return save({"actor.weight": np.full(3, value, np.float32)}, metadata=strings)


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    folder = RunFolder(tmp_path / "r1")
    (folder.work / "checkpoints").mkdir(parents=True)
    return folder


def test_a_checkpoint_is_copied_and_listed_by_its_steps(run: RunFolder) -> None:
    for env_steps in (200, 1000, 30):
        (run.work / "checkpoints" / f"{env_steps}.safetensors").write_bytes(checkpoint(env_steps))

    assert accept_checkpoints(run) == {}
    assert accepted_checkpoints(run) == (30, 200, 1000)


def test_an_accepted_checkpoint_is_never_replaced(run: RunFolder) -> None:
    source = run.work / "checkpoints" / "10.safetensors"
    first = checkpoint(10, 1.0)
    source.write_bytes(first)
    accept_checkpoints(run)
    source.write_bytes(checkpoint(10, 2.0))
    accept_checkpoints(run)

    assert checkpoint_file(run, 10).read_bytes() == first


def test_links_fifos_and_folders_are_refused(run: RunFolder, tmp_path: Path) -> None:
    secret = tmp_path / "5.safetensors"
    secret.write_bytes(checkpoint(5))
    folder = run.work / "checkpoints"
    (folder / "5.safetensors").symlink_to(secret)
    os.mkfifo(folder / "6.safetensors")
    (folder / "7.safetensors").mkdir()

    refused = accept_checkpoints(run)

    assert set(refused) == {"5.safetensors", "6.safetensors", "7.safetensors"}
    assert accepted_checkpoints(run) == ()


def test_a_linked_checkpoint_folder_is_not_entered(run: RunFolder, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "5.safetensors").write_bytes(checkpoint(5))
    (run.work / "checkpoints").rmdir()
    (run.work / "checkpoints").symlink_to(elsewhere)

    assert accept_checkpoints(run) == {}
    assert accepted_checkpoints(run) == ()
    with pytest.raises(OSError, match="checkpoints"):
        read_plain_file(run.work, "checkpoints/5.safetensors", limit_bytes=10_000)


def test_wrong_content_is_refused_with_the_reason(run: RunFolder) -> None:
    folder = run.work / "checkpoints"
    (folder / "5.safetensors").write_bytes(checkpoint(6))
    (folder / "6.safetensors").write_bytes(b"not a checkpoint at all")
    (folder / "7.safetensors").write_bytes(checkpoint(7, format="another"))
    (folder / "8.safetensors").write_bytes(
        save({"critic.w": np.ones(1)}, metadata={"format": "agent2-checkpoint-1", "env_steps": "8"})
    )

    refused = accept_checkpoints(run)

    assert "env_steps differ" in refused["5.safetensors"]
    assert "header" in refused["6.safetensors"]
    assert "format" in refused["7.safetensors"]
    assert "no actor" in refused["8.safetensors"]


def test_a_file_larger_than_the_limit_is_refused(run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acceptance, "CHECKPOINT_LIMIT_BYTES", 100)
    (run.work / "checkpoints" / "5.safetensors").write_bytes(checkpoint(5))

    assert "limit 100" in accept_checkpoints(run)["5.safetensors"]


def test_other_names_are_passed_over(run: RunFolder) -> None:
    for name in ("latest.safetensors", "05.safetensors", ".5.safetensors.tmp", "5.pt"):
        (run.work / "checkpoints" / name).write_bytes(checkpoint(5))

    assert accept_checkpoints(run) == {}
    assert accepted_checkpoints(run) == ()


@pytest.mark.parametrize("name", ["../outside", "sub/../../outside", "/etc/hostname", "link"])
def test_nothing_outside_the_folder_is_read(tmp_path: Path, name: str) -> None:
    root = tmp_path / "root"
    (root / "sub").mkdir(parents=True)
    (tmp_path / "outside").write_text("secret")
    (root / "link").symlink_to(tmp_path / "outside")

    with pytest.raises(OSError, match=r"outside|hostname|link"):
        read_plain_file(root, name, limit_bytes=100)


def test_an_old_kernel_without_openat2_follows_no_link_either(
    run: RunFolder, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(acceptance, "_OPENAT2", 100_000)  # no such system call
    folder = run.work / "checkpoints"
    (folder / "5.safetensors").write_bytes(checkpoint(5))
    (folder / "6.safetensors").symlink_to(folder / "5.safetensors")

    assert set(accept_checkpoints(run)) == {"6.safetensors"}
    with pytest.raises(OSError, match="leaves"):
        read_plain_file(run.work, "checkpoints/../../r1", limit_bytes=10)
    assert accepted_checkpoints(run) == (5,)
