"""Binary frames: exact sizes, deadlines, and peers that misbehave."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator

import numpy as np
import pytest
from gymnasium import spaces

from agent2_targets.runtime.frames import (
    ACT,
    HEADER,
    STEP,
    FrameChannel,
    FrameError,
    batch_bytes,
    decode_batch,
    decode_step,
    encode_batch,
    encode_step,
)
from agent2_targets.runtime.spaces import describe_space

SPACE = describe_space(spaces.Dict({"a": spaces.Box(-1, 1, (2,), np.float32), "b": spaces.Discrete(3)}))


@pytest.fixture
def channels() -> Iterator[tuple[FrameChannel, int]]:
    """A channel, and the raw descriptor of its peer."""
    ours, theirs = socket.socketpair()
    channel = FrameChannel(ours.fileno(), ours.fileno())
    yield channel, theirs.fileno()
    ours.close()
    theirs.close()


def test_a_step_survives_the_way(channels: tuple[FrameChannel, int]) -> None:
    channel, peer = channels
    raw = {"a": np.array([[0.5, -0.5], [1.0, 0.0]], np.float32), "b": np.array([2, 0])}
    mask = np.array([True, False])
    channel.send(STEP, 7, encode_step(mask, raw, SPACE), 1.0)
    other = FrameChannel(peer, peer)
    payload = other.receive(STEP, 7, 2 + batch_bytes(SPACE, 2), 1.0)
    got_mask, got = decode_step(payload, SPACE, 2)
    assert got_mask.tolist() == [True, False]
    assert isinstance(got, dict)
    assert all(np.array_equal(got[key], raw[key]) for key in raw)


def test_large_payloads_cross_in_pieces(channels: tuple[FrameChannel, int]) -> None:
    channel, peer = channels
    payload = os.urandom(3_000_000)
    writer = threading.Thread(target=channel.send, args=(ACT, 1, payload, 10.0))
    writer.start()
    assert FrameChannel(peer, peer).receive(ACT, 1, len(payload), 10.0) == payload
    writer.join(10)


@pytest.mark.parametrize(
    "frame",
    [
        HEADER.pack(b"EVIL", 1, 0),
        HEADER.pack(ACT, 2, 0),
        HEADER.pack(ACT, 1, 2**31),
        HEADER.pack(ACT, 1, 7) + b"1234567",
    ],
)
def test_a_malformed_reply_is_refused(channels: tuple[FrameChannel, int], frame: bytes) -> None:
    channel, peer = channels
    os.write(peer, frame)
    with pytest.raises(FrameError, match="malformed"):
        channel.receive(ACT, 1, 8, 1.0)


def test_a_short_frame_runs_into_the_deadline(channels: tuple[FrameChannel, int]) -> None:
    channel, peer = channels
    os.write(peer, HEADER.pack(ACT, 1, 8) + b"12")
    with pytest.raises(FrameError, match="did not answer"):
        channel.receive(ACT, 1, 8, 0.05)


def test_a_peer_that_never_reads_runs_into_the_deadline(channels: tuple[FrameChannel, int]) -> None:
    channel, _ = channels
    with pytest.raises(FrameError, match="did not read"):
        channel.send(STEP, 1, bytes(20_000_000), 0.2)


def test_a_peer_that_is_gone_is_named() -> None:
    ours, theirs = socket.socketpair()
    theirs.close()
    channel = FrameChannel(ours.fileno(), ours.fileno())
    with pytest.raises(FrameError, match="closed"):
        channel.receive(ACT, 1, 0, 1.0)
    ours.close()


def test_a_batch_of_another_size_is_refused() -> None:
    raw = {"a": np.zeros((1, 2), np.float32), "b": np.zeros(1, np.int64)}
    with pytest.raises(FrameError, match="malformed"):
        decode_batch(encode_batch(raw, SPACE), SPACE, 2)
