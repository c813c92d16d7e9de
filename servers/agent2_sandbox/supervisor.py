"""The supervisor of one process tree: starts it, watches it, ends it, and writes how it went.

Started by the server as `python -I -S -c …`; single-threaded, standard library only, never imports what it watches. Its
standard input is the lease: the first line is the specification, the end of the file means that the server is gone.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import resource
import select
import signal
import sys
from time import monotonic, time
from types import FrameType
from typing import cast

from agent2_sandbox.cgroup import kernel_kills, make_group, remove_group
from agent2_sandbox.explaining import Place, exit_message, megabytes, newest_dump, place_in
from agent2_sandbox.launching import launch, worker_pid
from agent2_sandbox.logfile import CappedLog
from agent2_sandbox.ownership import give_writable_folder, needs_read_capability, remove_shared_files, unused_uid
from agent2_sandbox.processes import (
    adopt_orphans,
    creation_time,
    descendants,
    is_alive,
    kill_descendants,
    reap,
    send_signal,
    state_letter,
)  # fmt: skip
from agent2_sandbox.specification import Specification
from agent2_sandbox.watching import Watch

_TICK_SECONDS = 0.2
_OWNER_SECONDS = 1.0
_STATUS_SECONDS = 2.0
_SAVE_SECONDS = 8.0  # from the request to SIGKILL: the whole tree is gone within 10 s
_DUMP_SECONDS = 0.4
_GRACE_SECONDS = 1.0
_START_SECONDS = 60.0  # importing heavy libraries on a busy machine, before the first heartbeat
_PIPE_BYTES = 1 << 20
_PARTIAL_LINE_BYTES = 1 << 16
_MESSAGE_CHARACTERS = 2000
_REPORTABLE = ("code_rejected", "diverged", "crashed", "out_of_memory")
_STATES = {"ok": "finished", "cancelled": "stopped", "server_gone": "stopped", "supervisor_died": "lost"}


class Supervisor:
    """One tree, from its start to its final status."""

    def __init__(self, specification: Specification) -> None:
        """Take the specification; nothing starts yet."""
        self._specification = specification
        self._log = CappedLog(specification.log_file, specification.log_bytes)
        self._watch = Watch(specification)
        self._started_at, self._started = time(), monotonic()
        self._step: int | None = None
        self._last_beat: float | None = None
        self._is_done = False
        self._failure: tuple[str, str] | None = None
        self._ending: tuple[str, str] | None = None
        self._mode = ""
        self._agenda: list[tuple[float, int]] = []  # (when, signal), in order
        self._dump_offset: int | None = None
        self._place: Place | None = None
        self._partial = b""
        self._outer = self._worker = 0
        self._worker_created: float | None = None
        self._next_owner_check = self._next_status = 0.0
        self._has_lease = True

    def run(self) -> None:
        """Do it all: start, watch until the end, sweep, write the final status."""
        log_end, log_write = os.pipe()
        control_end, control_write = os.pipe()
        for end in (log_end, control_end, control_write):
            os.set_blocking(end, False)
        _enlarge(log_write)
        environment = dict(self._specification.environment)
        numbers = {"control": control_write, **self._specification.child_fds}
        environment["AGENT2_CHILD"] = ",".join(f"{name}={number}" for name, number in numbers.items())
        prepared = self._specification._replace(environment=environment)
        self._outer = launch(prepared, log_descriptor=log_write, control_descriptor=control_write)
        for descriptor in (log_write, control_write, *prepared.pass_fds, *prepared.child_fds.values()):
            os.close(descriptor)
        self._write_status("running", None, "")
        signal.signal(signal.SIGTERM, self._on_sigterm)
        code = self._loop(log_end, control_end)
        kill_descendants(os.getpid())
        self._drain(log_end, control_end)
        self._finish(code)

    def _on_sigterm(self, number: int, frame: FrameType | None) -> None:
        self._stop("cancelled", "the supervisor was asked to end")

    # ------------------------------------------------------------------ the loop
    def _loop(self, log_end: int, control_end: int) -> int:
        watched = select.poll()
        for descriptor in (log_end, control_end, 0):
            watched.register(descriptor, select.POLLIN | select.POLLHUP)
        if sys.platform == "linux":
            watched.register(os.pidfd_open(self._outer), select.POLLIN)
        next_tick = monotonic() + _TICK_SECONDS / 4
        while True:
            wait = max(0.0, min([next_tick, *(when for when, _ in self._agenda[:1])]) - monotonic())
            for descriptor, _ in watched.poll(wait * 1000 + 1):
                if descriptor == 0:
                    self._read_lease(watched)
                elif descriptor == log_end:
                    self._read_log(log_end, watched)
                elif descriptor == control_end:
                    self._read_control(control_end, watched)
            status = reap().get(self._outer)
            if status is not None:
                code = os.waitstatus_to_exitcode(status)
                return code if code >= 0 else 128 - code
            self._work_agenda()
            if monotonic() >= next_tick:
                next_tick = monotonic() + _TICK_SECONDS
                self._tick()

    def _read_lease(self, watched: select.poll) -> None:
        if os.read(0, 4096):
            return
        watched.unregister(0)
        self._has_lease = False
        if self._specification.lease == "stop":
            self._lose_owner()

    def _lose_owner(self) -> None:
        self._stop("server_gone", "the server that started it is gone")

    def _read_log(self, descriptor: int, watched: select.poll | None) -> bool:
        with contextlib.suppress(BlockingIOError):
            data = os.read(descriptor, _PIPE_BYTES)
            if data:
                self._log.write(data)
                return True
            if watched:
                watched.unregister(descriptor)
        return False

    def _read_control(self, descriptor: int, watched: select.poll | None) -> bool:
        with contextlib.suppress(BlockingIOError):
            data = os.read(descriptor, _PARTIAL_LINE_BYTES)
            if data:
                *lines, self._partial = (self._partial + data).split(b"\n")
                self._partial = self._partial[:_PARTIAL_LINE_BYTES]
                for line in lines:
                    self._take_message(line)
                return True
            if watched:
                watched.unregister(descriptor)
        return False

    def _take_message(self, line: bytes) -> None:
        """Believe nothing: what does not parse is ignored, nothing here is ever a score."""
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            return
        if not isinstance(message, dict):
            return
        message = cast("dict[str, object]", message)
        step = message.get("beat")
        if isinstance(step, int):
            self._step, self._last_beat = min(max(step, 0), 2**62), monotonic()
        self._is_done = self._is_done or (message.get("done") is True and not self._ending)
        outcome = message.get("failed")
        if outcome in _REPORTABLE and self._failure is None:
            self._failure = (str(outcome), str(message.get("message", ""))[:_MESSAGE_CHARACTERS])

    # ------------------------------------------------------------------ watching
    def _tick(self) -> None:
        self._log.flush()
        now = monotonic()
        if not self._worker:
            self._find_worker()
        if now >= self._next_status:
            self._next_status = now + _STATUS_SECONDS
            self._write_status("running", None, "")
        if self._ending:
            self._watch.check(self._outer)
            return
        self._check_requests(now)
        breach = self._watch.check(self._outer)
        if breach and not self._ending:
            self._end(*breach, [(0.0, signal.SIGKILL)])
        if not self._ending:
            self._check_time(now)

    def _check_requests(self, now: float) -> None:
        specification = self._specification
        with contextlib.suppress(OSError), open(specification.request_file, encoding="utf-8") as file:  # noqa: PTH123
            self._mode = "pause" if file.read(16).strip() == "pause" else "stop"
            self._stop("cancelled", f"{'paused' if self._mode == 'pause' else 'stopped'} as asked")
        if specification.lease == "stop" and not self._ending and now >= self._next_owner_check:
            self._next_owner_check = now + _OWNER_SECONDS
            if not is_alive(specification.owner_pid, specification.owner_created):
                self._lose_owner()

    def _check_time(self, now: float) -> None:
        wall, stall = self._specification.wall_seconds, self._specification.stall_seconds
        if wall is not None and now - self._started > wall:
            self._dump_and_end("time_limit", f"time_limit: not finished within {wall:g} s")
            return
        if stall is None or (self._last_beat is None and self._specification.kind != "run"):
            return
        if self._last_beat is None:
            allowed = max(stall, _START_SECONDS)
            if now - self._started > allowed:
                self._dump_and_end("stalled", f"stalled: no heartbeat within {allowed:.1f} s of the start")
        elif now - self._last_beat > stall:
            last = f"(last at step {self._step})"
            self._dump_and_end("stalled", f"stalled: no step finished for {stall:.1f} s {last}")

    # ------------------------------------------------------------------ ending
    def _stop(self, outcome: str, message: str) -> None:
        """End it politely: a run's worker may save, a call or a peer has nothing to save."""
        if self._ending:
            return
        if self._specification.kind == "run":
            self._end(outcome, message, [(0.0, signal.SIGCONT), (0.0, signal.SIGTERM), (_SAVE_SECONDS, signal.SIGKILL)])
        else:
            self._end(outcome, message, [(0.0, signal.SIGKILL)])

    def _dump_and_end(self, outcome: str, message: str) -> None:
        """Ask the worker where it hangs, then end it."""
        self._find_worker()
        if any(state_letter(pid) == "T" for pid in descendants(self._outer)):
            message += "; a process stopped itself"
        self._dump_offset = self._log.total_bytes
        kill_after = _DUMP_SECONDS + _GRACE_SECONDS
        self._end(
            outcome, message,
            [(0.0, signal.SIGCONT), (0.0, signal.SIGUSR1), (_DUMP_SECONDS, signal.SIGTERM), (kill_after, signal.SIGKILL)],
        )  # fmt: skip

    def _end(self, outcome: str, message: str, signals: list[tuple[float, signal.Signals]]) -> None:
        self._ending = (outcome, message)
        now = monotonic()
        self._agenda = [(now + delay, int(number)) for delay, number in signals]
        self._work_agenda()

    def _work_agenda(self) -> None:
        while self._agenda and monotonic() >= self._agenda[0][0]:
            number = self._agenda.pop(0)[1]
            if number == signal.SIGKILL:
                self._kill()
                return
            if not self._worker:
                self._find_worker()
            if self._worker:
                send_signal(self._worker, number)

    def _find_worker(self) -> None:
        self._worker = worker_pid(self._outer, self._specification.tier) or self._worker
        self._worker_created = creation_time(self._worker) or self._worker_created

    def _kill(self) -> None:
        send_signal(self._outer, signal.SIGKILL)
        # In tier A the pid namespace dies with it. Elsewhere the orphans come to this process; and where a child is slow
        # to go, it stays on the agenda.
        self._agenda = [(monotonic() + 0.5, int(signal.SIGKILL))]
        for pid in descendants(os.getpid(), is_thorough=True):
            send_signal(pid, signal.SIGKILL)

    def _drain(self, log_end: int, control_end: int) -> None:
        end = monotonic() + 2.0
        while monotonic() < end and self._read_log(log_end, None):
            pass
        while monotonic() < end and self._read_control(control_end, None):
            pass

    # ------------------------------------------------------------------ the verdict on the process
    def _finish(self, code: int) -> None:
        self._log.flush()
        outcome, message = self._explain(code)
        largest = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
        self._watch.peak_memory_bytes = max(self._watch.peak_memory_bytes, largest)
        state = _STATES.get(outcome, "failed")
        state = "paused" if outcome == "cancelled" and self._mode == "pause" else state
        if self._specification.memory_group:
            remove_group(self._specification.memory_group)
        if self._specification.sandbox_uid is not None:
            remove_shared_files(self._specification.sandbox_uid)
        self._write_status(state, outcome, message, is_final=True)

    def _explain(self, code: int) -> tuple[str, str]:
        paths = self._specification.paths
        if self._ending:
            outcome, message = self._ending
            if self._dump_offset is not None:
                fresh = min(self._log.total_bytes - self._dump_offset, 65536)
                dump = self._log.recent(fresh) if fresh > 0 else ""
                self._place = place_in(newest_dump(dump), paths, newest_first=True)
                message += f"; {self._place}" if self._place else ""
            return outcome, message
        group = self._specification.memory_group
        if group and code and kernel_kills(group):
            limit = megabytes(self._specification.memory_bytes)
            return (
                "out_of_memory",
                f"out_of_memory: ended by the kernel at once for passing the limit of {limit} by far",
            )
        if self._failure and (code or not self._is_done):
            return self._failure
        if code == 0 and (self._is_done or self._specification.kind == "peer"):
            return "ok", ""
        outcome, message, self._place = exit_message(code, self._log.recent(), paths)
        return outcome, message

    def _write_status(self, state: str, outcome: str | None, message: str, *, is_final: bool = False) -> None:
        status = {
            "state": state, "outcome": outcome, "message": message[:_MESSAGE_CHARACTERS],
            "pid": self._worker or None, "created": self._worker_created, "supervisor_pid": os.getpid(), "supervisor_created": creation_time(os.getpid()),
            "started_at": self._started_at, "ended_at": time() if is_final else None,
            "peak_memory_bytes": self._watch.peak_memory_bytes,
            "isolation": {"tier": self._specification.tier, "not_enforced": list(self._specification.not_enforced)},
            "step": self._step, "file": self._place.file if self._place else None,
            "line": self._place.line if self._place else None, "dropped_log_bytes": self._log.dropped_bytes,
        }  # fmt: skip
        write_whole(self._specification.status_file, json.dumps(status).encode(), is_durable=is_final)


def write_whole(path: str, data: bytes, *, is_durable: bool) -> None:
    """Replace a file at once, so that no reader sees half of it."""
    fresh = f"{path}.new"
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
    os.write(descriptor, data)
    if is_durable:
        os.fsync(descriptor)
    os.close(descriptor)
    os.replace(fresh, path)  # noqa: PTH105


def _enlarge(descriptor: int) -> None:
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)


def _read_specification() -> Specification:
    line = b""
    while not line.endswith(b"\n"):
        data = os.read(0, 65536)
        if not data:
            sys.exit(1)
        line += data
    return Specification.from_line(line)


def _prepare(specification: Specification) -> Specification:
    """Make the temporary folder; as root, choose the user that the worker becomes, and give it the writable folder."""
    group = make_group(specification.memory_bytes + specification.temporary_bytes)
    specification = specification._replace(memory_group=group)
    if specification.tier != "A":
        os.makedirs(specification.environment["TMPDIR"], mode=0o700, exist_ok=True)  # noqa: PTH103
    if os.geteuid() != 0 or specification.tier not in ("A", "B"):
        return specification
    uid = unused_uid(os.getpid())
    if specification.writable:
        give_writable_folder(specification.writable, uid)
    return specification._replace(sandbox_uid=uid, keeps_read_capability=needs_read_capability(specification))


def main() -> None:
    """Read the specification, detach where it is a run, and supervise."""
    specification = _read_specification()
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    if specification.kind == "run" and os.fork():
        os._exit(0)  # so that the server need not collect it, and another server may take over
    adopt_orphans()
    try:
        Supervisor(_prepare(specification)).run()
    except BaseException as error:
        kill_descendants(os.getpid())
        me = os.getpid()
        status = {
            "state": "lost", "outcome": "supervisor_died", "message": f"{type(error).__name__}: {error}", "pid": None,
            "created": None, "supervisor_pid": me, "supervisor_created": creation_time(me), "started_at": time(),
            "ended_at": time(), "peak_memory_bytes": 0,
            "isolation": {"tier": specification.tier, "not_enforced": list(specification.not_enforced)},
        }  # fmt: skip
        write_whole(specification.status_file, json.dumps(status).encode(), is_durable=True)
        raise
