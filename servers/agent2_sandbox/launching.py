"""Starts the worker inside its boundary, below a process that ends the whole tree when the supervisor dies.

Tier A: that process is bubblewrap (its pid namespace dies with it). Other tiers: the guardian, a fork of the supervisor
which adopts every orphan of the worker and kills them all once the supervisor's end of a pipe closes. Both give 128 plus
the number of the signal as exit code when the worker died of one.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import sys
from typing import NoReturn

from agent2_sandbox.bubblewrap import bubblewrap_command
from agent2_sandbox.entrance import enter_landlock, set_limits
from agent2_sandbox.processes import (
    adopt_orphans,
    creation_time,
    descendants,
    die_with_parent,
    kill_descendants,
    reap,
    send_signal,
)
from agent2_sandbox.seatbelt import seatbelt_command
from agent2_sandbox.seccomp import filter_program
from agent2_sandbox.specification import Specification

_START_FAILED = 127


def launch(specification: Specification, *, log_descriptor: int, control_descriptor: int) -> int:
    """Start the tree.

    Args:
        specification: what to run, and how it is shut in.
        log_descriptor: becomes standard output and standard error.
        control_descriptor: the worker's line to the supervisor.

    Returns:
        The pid of the outermost process: bubblewrap or the guardian.
    """
    for descriptor in (control_descriptor, *specification.pass_fds, *specification.child_fds.values()):
        os.set_inheritable(descriptor, True)
    life_end, life = os.pipe()  # the guardian sees the end of file when the supervisor dies, however it dies
    supervisor = os.getpid()
    pid = os.fork()
    if pid:
        os.close(life_end)  # and `life` stays open until this process ends
        return pid
    try:
        _reset_signals()
        os.close(life)
        _redirect(log_descriptor)
        if specification.tier == "A":
            die_with_parent()
            if os.getppid() != supervisor:
                os._exit(_START_FAILED)
            set_limits(specification)
            descriptor = _filter_descriptor()
            command = bubblewrap_command(specification, descriptor)
            os.execve(command[0], command, {})  # an empty environment: bubblewrap's inner pid 1 keeps and shows its own
        _guard(specification, life_end)
    except BaseException as error:
        os.write(2, f"the sandbox could not be entered: {type(error).__name__}: {error}\n".encode())
    finally:
        os._exit(_START_FAILED)


def _reset_signals() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)


def _redirect(log_descriptor: int) -> None:
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(log_descriptor, 1)
    os.dup2(log_descriptor, 2)


def _filter_descriptor() -> int:
    program = filter_program(has_network_namespace=True)
    descriptor = os.memfd_create("filter", 0)
    os.write(descriptor, program)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def _guard(specification: Specification, life_end: int) -> NoReturn:
    """Be the guardian: start the worker, wait for its end or the supervisor's, leave nobody behind."""
    os.setsid()
    adopt_orphans()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    worker = os.fork()
    if not worker:
        _become_worker(specification)
    for descriptor in (*specification.pass_fds, *specification.child_fds.values()):
        os.close(descriptor)  # so that the other end sees the end of file when the worker goes
    watched = select.poll()
    watched.register(life_end, select.POLLHUP | select.POLLIN)
    if sys.platform == "linux":
        watched.register(os.pidfd_open(worker), select.POLLIN)
    code = None
    while code is None:
        events = watched.poll(500)
        status = reap().get(worker)
        if status is not None:
            exited = os.waitstatus_to_exitcode(status)
            code = exited if exited >= 0 else 128 - exited
        elif any(descriptor == life_end for descriptor, _ in events):
            break
    send_signal(worker, signal.SIGKILL)
    kill_descendants(os.getpid())
    os._exit(_START_FAILED if code is None else code)


def _become_worker(specification: Specification) -> NoReturn:
    try:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        die_with_parent()
        os.setsid()
        set_limits(specification)
        command = list(specification.command)
        if specification.tier == "B":
            enter_landlock(specification)
        elif specification.tier == "C":
            command = seatbelt_command(specification)
        if specification.tier != "B":
            _refuse_new_privileges()
        os.chdir(specification.folder)
        os.execve(command[0], command, specification.environment)
    except BaseException as error:
        os.write(2, f"the sandbox could not be entered: {type(error).__name__}: {error}\n".encode())
    finally:
        os._exit(_START_FAILED)


def _refuse_new_privileges() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS


def worker_pid(outer: int, tier: str) -> int | None:
    """Find the worker itself below the outermost process, for the signals that are meant for it.

    Args:
        outer: pid of bubblewrap or the guardian.
        tier: A has bubblewrap's inner pid 1 in between.
    """
    below = descendants(outer, is_thorough=True)
    if tier == "A":
        # The inner pid 1 comes first; its oldest child is the worker, the orphans that it adopted are younger.
        below = descendants(below[0], is_thorough=True) if below else []
    return min(below, key=_age, default=None)


def _age(pid: int) -> tuple[float, int]:
    created = creation_time(pid)
    return (float("inf") if created is None else created, pid)
