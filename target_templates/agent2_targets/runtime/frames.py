"""Fixed-size binary frames between an evaluator and a policy host: no pickle, no JSON after the first frame.

A frame is a header `<4sII` (tag, sequence number, payload bytes; little-endian) and its payload. The evaluator sends
`INIT` (JSON: number of environments, spaces) and then `STEP` (reset mask u8[n], then the raw observations); the policy
host answers each with `ACT!` of the same sequence number (empty for `INIT`, else exactly the bytes of n actions).
"""

from __future__ import annotations

import os
import select
import struct
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .spaces import Array, Raw, SpaceDict, as_parts, as_raw, leaf_layout, leaves

HEADER = struct.Struct("<4sII")
INIT, STEP, ACT = b"INIT", b"STEP", b"ACT!"
MAX_INIT_BYTES = 16 * 2**20


class FrameError(Exception):
    """The peer sent something malformed, was too slow, or went away."""


class FrameChannel:
    """Frames over two descriptors, each call with its own deadline.

    Args:
        read_descriptor: descriptor to read from; made non-blocking.
        write_descriptor: descriptor to write to; made non-blocking. May be the same (a socket).
    """

    def __init__(self, read_descriptor: int, write_descriptor: int) -> None:
        """Take over both descriptors; `close` closes them."""
        self._read, self._write = read_descriptor, write_descriptor
        os.set_blocking(read_descriptor, False)
        os.set_blocking(write_descriptor, False)

    def send(self, tag: bytes, sequence: int, payload: bytes, deadline_seconds: float) -> None:
        """Write one frame whole.

        Raises:
            FrameError: the peer does not read in time, or is gone.
        """
        end = time.monotonic() + deadline_seconds
        rest = memoryview(HEADER.pack(tag, sequence, len(payload)) + payload)
        while rest:
            wait_for(self._write, select.POLLOUT, end, "did not read")
            try:
                rest = rest[os.write(self._write, rest) :]
            except BlockingIOError:
                continue
            except OSError as error:
                raise FrameError("the peer closed the connection") from error

    def receive(self, tag: bytes, sequence: int | None, size: int | None, deadline_seconds: float) -> bytes:
        """Read one frame and check it.

        Args:
            tag: the tag it must have.
            sequence: the number it must have; None accepts any (the payload then starts with nothing special).
            size: exact payload bytes; None accepts up to `MAX_INIT_BYTES`.
            deadline_seconds: time for the whole frame, seconds.

        Returns:
            The payload.

        Raises:
            FrameError: wrong tag, number or length, too slow, or the peer is gone.
        """
        return self.receive_any((tag,), sequence, size, deadline_seconds)[2]

    def receive_any(
        self, tags: tuple[bytes, ...], sequence: int | None, size: int | None, deadline_seconds: float
    ) -> tuple[bytes, int, bytes]:
        """Read one frame with any of these tags: `(tag, sequence, payload)`. Checks and errors as `receive`."""
        end = time.monotonic() + deadline_seconds
        tag, number, length = HEADER.unpack(self._read_exactly(HEADER.size, end))
        if tag not in tags or (sequence is not None and number != sequence):
            raise FrameError(f"malformed frame: {tag!r} number {number}, expected one of {tags} number {sequence}")
        if length > MAX_INIT_BYTES if size is None else length != size:
            raise FrameError(f"malformed frame: {length} payload bytes, expected {size or f'<= {MAX_INIT_BYTES}'}")
        return tag, number, self._read_exactly(length, end)

    def is_readable(self, seconds: float) -> bool:
        """Wait at most so long for the first byte of a frame, or for the peer to leave; whether there is any."""
        poll = select.poll()
        poll.register(self._read, select.POLLIN)
        return bool(poll.poll(max(0, int(seconds * 1000))))

    def close(self) -> None:
        """Close both descriptors."""
        for descriptor in {self._read, self._write}:
            os.close(descriptor)

    def _read_exactly(self, size: int, end: float) -> bytes:
        chunks, missing = bytearray(), size
        while missing:
            wait_for(self._read, select.POLLIN, end, "did not answer")
            try:
                chunk = os.read(self._read, missing)
            except BlockingIOError:
                continue
            except OSError as error:
                raise FrameError("the peer closed the connection") from error
            if not chunk:
                raise FrameError("the peer closed the connection")
            chunks += chunk
            missing -= len(chunk)
        return bytes(chunks)


def wait_for(descriptor: int, event: int, end: float, complaint: str) -> None:
    """Wait until a descriptor is ready.

    Raises:
        FrameError: it is not ready by `end` (monotonic seconds).
    """
    poll = select.poll()
    poll.register(descriptor, event)
    left = end - time.monotonic()
    if left <= 0 or not poll.poll(max(1, int(left * 1000))):
        raise FrameError(f"the peer {complaint} within its deadline")


def batch_bytes(space: SpaceDict, count: int) -> int:
    """Give the exact bytes of a raw batch of `count` values."""
    layouts = [leaf_layout(leaf) for leaf in leaves(space).values()]
    return count * sum(int(np.prod(shape, dtype=int)) * dtype.itemsize for shape, dtype in layouts)


def encode_batch(raw: Raw, space: SpaceDict) -> bytes:
    """Write a raw batch as bytes: leaves in the space's order, each in its declared dtype and C order."""
    parts = as_parts(raw)
    return b"".join(
        np.ascontiguousarray(parts[key], dtype=leaf_layout(leaf)[1]).tobytes() for key, leaf in leaves(space).items()
    )


def decode_batch(payload: bytes, space: SpaceDict, count: int) -> Raw:
    """Read a raw batch from bytes, as new arrays.

    Raises:
        FrameError: the number of bytes is not exactly that of `count` values.
    """
    if len(payload) != batch_bytes(space, count):
        raise FrameError(f"malformed batch: {len(payload)} bytes, expected {batch_bytes(space, count)}")
    parts: dict[str, Array] = {}
    offset = 0
    for key, leaf in leaves(space).items():
        shape, dtype = leaf_layout(leaf)
        size = count * int(np.prod(shape, dtype=int))
        parts[key] = np.frombuffer(payload, dtype, size, offset).reshape(count, *shape).copy()
        offset += size * dtype.itemsize
    return as_raw(parts)


def encode_step(reset_mask: NDArray[np.bool_], raw: Raw, space: SpaceDict) -> bytes:
    """Write the payload of a `STEP` frame."""
    return np.asarray(reset_mask, np.uint8).tobytes() + encode_batch(raw, space)


def decode_step(payload: bytes, space: SpaceDict, count: int) -> tuple[NDArray[np.bool_], Raw]:
    """Read the payload of a `STEP` frame: reset mask (n,) and the raw batch."""
    mask: NDArray[Any] = np.frombuffer(payload[:count], np.uint8).astype(bool)
    return mask, decode_batch(payload[count:], space, count)
