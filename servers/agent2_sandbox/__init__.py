"""Runs code that we did not write, with limits, and says what was not enforced; knows nothing of what the code is for.

The names load on first use, so that a child may import `agent2_sandbox.child` with the standard library alone.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agent2_sandbox.calls import call_child as call_child
    from agent2_sandbox.peers import Peer as Peer
    from agent2_sandbox.peers import start_peer as start_peer
    from agent2_sandbox.probing import probe_isolation as probe_isolation
    from agent2_sandbox.request import ChildAnswer as ChildAnswer
    from agent2_sandbox.request import ChildFailed as ChildFailed
    from agent2_sandbox.request import Limits as Limits
    from agent2_sandbox.request import ProcessRequest as ProcessRequest
    from agent2_sandbox.runs import RunProcess as RunProcess
    from agent2_sandbox.runs import read_run_process as read_run_process
    from agent2_sandbox.runs import start_run as start_run
    from agent2_sandbox.runs import stop_run as stop_run

_HOMES = {
    "ChildAnswer": "request",
    "ChildFailed": "request",
    "Limits": "request",
    "Peer": "peers",
    "ProcessRequest": "request",
    "RunProcess": "runs",
    "call_child": "calls",
    "probe_isolation": "probing",
    "read_run_process": "runs",
    "start_peer": "peers",
    "start_run": "runs",
    "stop_run": "runs",
}


def __getattr__(name: str) -> object:
    """Load a public name on first use."""
    if name not in _HOMES:
        raise AttributeError(f"agent2_sandbox has no {name}")
    return getattr(importlib.import_module(f"agent2_sandbox.{_HOMES[name]}"), name)
