"""Safetensors read with the standard library: every length is checked."""

import json

import numpy as np
import pytest
from safetensors.numpy import load, save

from agent2_training.checkpoints import MalformedCheckpoint, read_safetensors

ARRAYS = {
    "actor.weight": np.arange(6, dtype=np.float32).reshape(2, 3),
    "critic.bias": np.ones(4, np.float64),
    "actor.count": np.array(7, np.int64),
}


def with_header(header: object, body: bytes) -> bytes:
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + body


def test_tensors_and_metadata_are_those_that_were_saved() -> None:
    file = read_safetensors(save(ARRAYS, metadata={"env_steps": "100"}))

    assert file.metadata == {"env_steps": "100"}
    assert file.tensors["actor.weight"].shape == (2, 3)
    assert file.tensors["critic.bias"].data == ARRAYS["critic.bias"].tobytes()


def test_a_selection_is_read_back_by_the_library() -> None:
    selected = load(read_safetensors(save(ARRAYS, metadata={"env_steps": "1"})).select("actor.").to_bytes())

    assert set(selected) == {"weight", "count"}
    np.testing.assert_array_equal(selected["weight"], ARRAYS["actor.weight"])
    assert selected["count"] == 7


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "shorter"),
        ((2**40).to_bytes(8, "little") + b"{}", "claims"),
        ((2).to_bytes(8, "little") + b"[]", "not a JSON object"),
        ((4).to_bytes(8, "little") + b"oops", "not JSON"),
        (with_header({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 4]}}, b"1234"), "does not fit"),
        (with_header({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 8]}}, b"1234"), "does not fit"),
        (with_header({"a": {"dtype": "F32", "shape": [1], "data_offsets": [4, 0]}}, b"1234"), "does not fit"),
        (with_header({"a": {"dtype": "PICKLE", "shape": [1], "data_offsets": [0, 4]}}, b"1234"), "unknown type"),
        (with_header({"a": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]}}, b"1234"), "malformed shape"),
        (with_header({"a": {"dtype": "F32", "shape": [True], "data_offsets": [0, 4]}}, b"1234"), "malformed shape"),
        (with_header({"a": ["F32"]}, b""), "wrong fields"),
        (with_header({"__metadata__": {"a": 1}}, b""), "not strings"),
        (with_header({}, b"trailing"), "do not fill"),
    ],
)
def test_whatever_does_not_add_up_is_refused(content: bytes, words: str) -> None:
    with pytest.raises(MalformedCheckpoint, match=words):
        read_safetensors(content)
