"""A safetensors file read with the standard library: every length checked, no tensor library, no code run."""

import json
import math
from dataclasses import dataclass
from typing import Any, cast

HEADER_LIMIT_BYTES = 4 * 2**20
ITEM_BYTES = {
    "F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U64": 8, "U32": 4, "U16": 2, "U8": 1, "BOOL": 1,
}  # fmt: skip


class MalformedCheckpoint(ValueError):
    """The bytes are no valid safetensors file, or not a checkpoint of ours."""


@dataclass(frozen=True, kw_only=True)
class Tensor:
    """One tensor of the file."""

    dtype: str
    """Name as safetensors spells it, e.g. `F32`."""
    shape: tuple[int, ...]
    """Shape of the tensor."""
    data: bytes
    """Values in C order, little-endian."""


@dataclass(frozen=True, kw_only=True)
class SafetensorsFile:
    """Tensors by name, and the strings of the header."""

    tensors: dict[str, Tensor]
    metadata: dict[str, str]

    def select(self, prefix: str) -> "SafetensorsFile":
        """Keep the tensors under a prefix, without it, and no metadata."""
        chosen = {name.removeprefix(prefix): tensor for name, tensor in self.tensors.items() if name.startswith(prefix)}
        return SafetensorsFile(tensors=chosen, metadata={})

    def to_bytes(self) -> bytes:
        """Write the file: 8-byte header length, JSON header padded to 8 bytes, tensors in name order."""
        header: dict[str, Any] = {"__metadata__": self.metadata} if self.metadata else {}
        chunks: list[bytes] = []
        offset = 0
        for name in sorted(self.tensors):
            tensor = self.tensors[name]
            end = offset + len(tensor.data)
            header[name] = {"dtype": tensor.dtype, "shape": list(tensor.shape), "data_offsets": [offset, end]}
            chunks.append(tensor.data)
            offset = end
        text = json.dumps(header, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 8)
        return b"".join([len(text).to_bytes(8, "little"), text, *chunks])


def read_safetensors(content: bytes) -> SafetensorsFile:
    """Parse a safetensors file.

    Args:
        content: the whole file.

    Returns:
        Its tensors and metadata strings.

    Raises:
        MalformedCheckpoint: a length, offset, shape or type does not add up.
    """
    header, start = _header(content)
    metadata = header.pop("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        raise MalformedCheckpoint("its metadata are not strings")
    body = memoryview(content)[start:]
    tensors = {name: _tensor(name, entry, body) for name, entry in header.items()}
    if sum(len(tensor.data) for tensor in tensors.values()) != len(body):
        raise MalformedCheckpoint("its tensors do not fill the file exactly")
    return SafetensorsFile(tensors=tensors, metadata=cast(dict[str, str], metadata))


def _header(content: bytes) -> tuple[dict[str, Any], int]:
    if len(content) < 8:
        raise MalformedCheckpoint("it is shorter than a header")
    length = int.from_bytes(content[:8], "little")
    if length > min(HEADER_LIMIT_BYTES, len(content) - 8):
        raise MalformedCheckpoint(f"its header claims {length} bytes")
    try:
        header = json.loads(content[8 : 8 + length])
    except (ValueError, RecursionError) as error:
        raise MalformedCheckpoint("its header is not JSON") from error
    if not isinstance(header, dict):
        raise MalformedCheckpoint("its header is not a JSON object")
    return cast(dict[str, Any], header), 8 + length


def _tensor(name: str, entry: object, body: memoryview) -> Tensor:
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        raise MalformedCheckpoint(f"the entry of tensor {name!r} has wrong fields")
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if dtype not in ITEM_BYTES:
        raise MalformedCheckpoint(f"tensor {name!r} has the unknown type {dtype!r}")
    if not _are_counts(shape) or not _are_counts(offsets) or len(offsets) != 2:
        raise MalformedCheckpoint(f"tensor {name!r} has a malformed shape or offsets")
    begin, end = offsets
    if not begin <= end <= len(body) or end - begin != math.prod(shape) * ITEM_BYTES[dtype]:
        raise MalformedCheckpoint(f"tensor {name!r} does not fit its bytes")
    return Tensor(dtype=dtype, shape=tuple(shape), data=bytes(body[begin:end]))


def _are_counts(values: object) -> bool:
    return isinstance(values, list) and all(type(value) is int and 0 <= value < 2**40 for value in values)
