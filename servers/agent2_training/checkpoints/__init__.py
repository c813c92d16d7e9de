"""Checkpoints as files: read their header, take them over from a worker, cut out what a policy needs."""

from agent2_training.checkpoints.acceptance import (
    accept_checkpoints,
    accepted_checkpoints,
    checkpoint_file,
    read_plain_file,
)
from agent2_training.checkpoints.safetensors_file import MalformedCheckpoint, SafetensorsFile, read_safetensors

__all__ = [
    "MalformedCheckpoint", "SafetensorsFile", "accept_checkpoints", "accepted_checkpoints", "checkpoint_file",
    "read_plain_file", "read_safetensors",
]  # fmt: skip
