"""A peer talks over inherited descriptors, and its end is explained."""

import os
from pathlib import Path

import pytest

from agent2_sandbox import Peer, ProcessRequest, start_peer


def _start(scripts: Path) -> tuple[Peer, int, int]:
    script = scripts / "echo_peer.py"
    their_read, our_write = os.pipe()
    our_read, their_write = os.pipe()
    request = ProcessRequest(
        module="agent2_sandbox.script",
        arguments=(str(script), str(their_read), str(their_write)),
        read_only=(script,),
    )
    peer = start_peer(request, pass_fds=(their_read, their_write))
    os.close(their_read)
    os.close(their_write)
    return peer, our_read, our_write


def test_a_peer_answers_and_ends_when_its_pipe_closes(tier: str, scripts: Path) -> None:
    peer, source, sink = _start(scripts)
    os.write(sink, b"hello")
    assert os.read(source, 100) == b"HELLO"
    assert peer.failure() is None
    assert not peer.wait(0)
    os.close(sink)
    assert peer.wait(20)
    assert os.read(source, 100) == b""
    assert peer.failure() is None
    assert peer.peak_memory_bytes > 0
    os.close(source)


def test_a_peer_that_dies_is_explained(scripts: Path) -> None:
    peer, source, sink = _start(scripts)
    os.write(sink, b"die")
    assert os.read(source, 100) == b""
    assert peer.wait(20)
    failure = peer.failure()
    assert failure is not None
    outcome, message, log = failure
    assert outcome == "crashed"
    assert "exit code 1" in message
    assert "told to die" in log
    for descriptor in (source, sink):
        os.close(descriptor)


def test_a_stopped_peer_is_gone_and_is_no_failure(scripts: Path) -> None:
    peer, source, sink = _start(scripts)
    with peer, pytest.raises(ZeroDivisionError):
        raise ZeroDivisionError
    assert os.read(source, 100) == b""
    assert peer.wait(0)
    assert peer.failure() is None
    for descriptor in (source, sink):
        os.close(descriptor)
