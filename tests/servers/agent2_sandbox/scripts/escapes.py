"""Tries to get out, one probe after another. Inside a sandbox each must fail; outside, as a control, each must succeed.

A probe succeeds by returning true; it fails by returning false or raising. Probes that would change something open a file
for writing without writing, or set a value to what it is.
"""

# The probes speak the words of the system itself.
# ruff: noqa: PTH101, PTH104, PTH108, PTH110, PTH115, PTH120, PTH208

import ctypes
import fcntl
import json
import os
import platform
import pty
import resource
import site
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from agent2_sandbox.child import serve_call

Facts = dict[str, Any]
Probe = Callable[[Facts], object]
_LIBRARY = ctypes.CDLL(None, use_errno=True)
_COLUMN = 0 if platform.machine() == "x86_64" else 1
PROBES: dict[str, Probe] = {}
ONLY: dict[str, set[str]] = {}
"""Probes that tier B is known, and said, not to stop: tier and form in which they count."""


def probe(*where: str) -> Callable[[Probe], Probe]:
    """Register a probe; `where` names tiers with forms such as `A-root` where it does not count everywhere."""

    def register(function: Probe) -> Probe:
        PROBES[function.__name__] = function
        ONLY[function.__name__] = set(where)
        return function

    return register


def _system(number: int | tuple[int, int], *arguments: Any) -> bool:
    number = number if isinstance(number, int) else number[_COLUMN]
    if _LIBRARY.syscall(number, *arguments) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return True


def _register_reads() -> None:
    paths: dict[str, str] = {
        "shadow": "/etc/shadow", "passwd": "/etc/passwd", "machine_id": "/etc/machine-id", "kcore": "/proc/kcore",
        "hosts": "/etc/hosts", "ssl": "/etc/ssl/openssl.cnf", "mem": "/dev/mem", "kernel_log": "/dev/kmsg",
        "disk": "/dev/vda", "bios": "/sys/firmware/acpi/tables/DSDT", "bash_profile": "/etc/profile",
        "packages": "/var/lib/dpkg/status",
    }  # fmt: skip
    for name, path in paths.items():
        PROBES[f"read_{name}"] = lambda facts, path=path: _can_open(path, os.O_RDONLY | os.O_NONBLOCK)
    for fact in ("home_key", "seeds", "beside", "temporary_file", "status_file", "other_run_status", "other_run_work"):
        PROBES[f"read_{fact}"] = lambda facts, fact=fact: _can_open(facts[fact], os.O_RDONLY)
    for name in ("environ", "maps", "mem", "stack"):
        PROBES[f"read_{name}_of_a_process"] = lambda facts, name=name: Path(f"/proc/{facts['pid']}/{name}").open("rb").read(1) if name != "mem" else _can_open(f"/proc/{facts['pid']}/mem", os.O_RDWR)  # fmt: skip  # noqa: SIM115
    for name in ("root", "cwd"):
        PROBES[f"look_into_{name}_of_a_process"] = lambda facts, name=name: os.listdir(f"/proc/{facts['pid']}/{name}")
    PROBES["follow_an_open_file_of_a_process"] = lambda facts: os.readlink(f"/proc/{facts['pid']}/fd/1")
    for name, path in {
        "homes": "/home",
        "logs": "/var/log",
        "services": "/run",
        "kernel": "/sys/kernel",
        "boot": "/boot",
    }.items():
        PROBES[f"list_{name}"] = lambda facts, path=path: os.listdir(path)


def _register_writes() -> None:
    folders = {
        "root": "/", "usr": "/usr", "etc": "/etc", "dev": "/dev", "home": "/home", "var": "/var/tmp", "opt": "/opt",
        "environment": sys.prefix, "packages": site.getsitepackages()[0], "standard_library": os.path.dirname(os.__file__),
        "our_sources": os.path.dirname(sys.modules["agent2_sandbox"].__file__ or ""), "bin": f"{sys.prefix}/bin",
    }  # fmt: skip
    for name, folder in folders.items():
        PROBES[f"write_{name}"] = lambda facts, folder=folder: _can_make(folder)
    PROBES["list_another_run"] = lambda facts: os.listdir(facts["other_run_folder"])
    PROBES["truncate_a_checkpoint_of_another_run"] = lambda facts: os.truncate(facts["other_run_work"], 0) is None
    for fact in ("candidate", "home", "temporary_folder", "run_folder", "other_run_folder"):
        PROBES[f"write_{fact}"] = lambda facts, fact=fact: _can_make(facts[fact])
    for name, path in {
        "core_pattern": "/proc/sys/kernel/core_pattern", "sysrq": "/proc/sysrq-trigger", "uevent_helper": "/sys/kernel/uevent_helper",
        "huge_pages": "/sys/kernel/mm/transparent_hugepage/enabled", "overcommit": "/proc/sys/vm/overcommit_memory",
        "modprobe": "/proc/sys/kernel/modprobe",
    }.items():  # fmt: skip
        PROBES[f"open_{name}_to_write"] = lambda facts, path=path: _can_open(path, os.O_WRONLY)
    PROBES["open_candidate_to_write"] = lambda facts: _can_open(facts["candidate_file"], os.O_WRONLY)
    PROBES["link_candidate"] = lambda facts: _made(facts, lambda path: os.link(facts["candidate_file"], path))
    PROBES["remove_candidate"] = lambda facts: _rename_there_and_back(facts["candidate_file"])
    PROBES["truncate_candidate"] = lambda facts: os.truncate(facts["candidate_file"], 0) is None


def _can_open(path: str, flags: int) -> bool:
    os.close(os.open(path, flags))
    return True


def _can_make(folder: str) -> bool:
    path = Path(folder) / f"agent2-escape-{os.getpid()}"
    path.write_bytes(b"")
    path.unlink()
    return True


def _made(facts: Facts, make: Callable[[str], object]) -> bool:
    path = f"{facts['work']}/made-{os.getpid()}"
    make(path)
    os.unlink(path)
    return True


def _rename_there_and_back(path: str) -> bool:
    os.rename(path, f"{path}.moved")
    os.rename(f"{path}.moved", path)
    return True


@probe()
def find_a_secret_in_any_environment(facts: Facts) -> object:
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if facts["secret"].encode() in (entry / "environ").read_bytes():
                return True
        except OSError:
            continue
    return False


@probe()
def inherit_an_open_file(facts: Facts) -> object:
    return any(
        "canary-open" in os.readlink(f"/proc/self/fd/{name}")
        for name in os.listdir("/proc/self/fd")
        if os.path.exists(f"/proc/self/fd/{name}")
    )


@probe("A-root", "A-user")
def read_a_command_line(facts: Facts) -> object:
    return Path(f"/proc/{facts['pid']}/cmdline").read_bytes()


@probe("A-root", "A-user")
def see_many_processes(facts: Facts) -> object:
    return len(list(Path("/proc").glob("[0-9]*"))) > 8


@probe("A-root", "A-user", "B-root")
def change_the_mode_of_the_candidate(facts: Facts) -> object:
    return os.chmod(facts["candidate_file"], 0o644) is None


@probe()
def reach_a_tcp_port(facts: Facts) -> object:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as channel:
        return channel.connect(("127.0.0.1", facts["port"])) is None


@probe()
def reach_an_abstract_socket(facts: Facts) -> object:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as channel:
        return channel.connect("\0" + facts["abstract"]) is None


@probe()
def reach_a_socket_by_path(facts: Facts) -> object:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as channel:
        return channel.connect(facts["socket"]) is None


@probe("A-root", "A-user")
def see_a_network_interface(facts: Facts) -> object:
    return [name for _, name in socket.if_nameindex() if name != "lo"]


def _register_sockets() -> None:
    kinds = {"packet": (17, 3), "raw": (2, 3), "vsock": (40, 1), "crypto": (38, 5), "bluetooth": (31, 3), "can": (29, 3), "key": (15, 3), "xdp": (44, 3)}  # fmt: skip
    for name, (family, kind) in kinds.items():
        PROBES[f"make_a_{name}_socket"] = lambda facts, family=family, kind=kind: socket.socket(family, kind, 1 if family == 2 else 0).close() is None  # fmt: skip
    for name, family in {"internet": 2, "internet_6": 10, "unix": 1}.items():
        PROBES[f"make_an_{name}_socket"] = lambda facts, family=family: socket.socket(family, 2).close() is None
        ONLY[f"make_an_{name}_socket"] = {"B-root", "B-user"}


@probe()
def signal_a_process(facts: Facts) -> object:
    return os.kill(facts["pid"], 0) is None


@probe("A-root", "A-user", "B-root")
def renice_a_process(facts: Facts) -> object:
    return os.setpriority(os.PRIO_PROCESS, facts["pid"], os.getpriority(os.PRIO_PROCESS, facts["pid"])) is None


@probe("A-root", "A-user", "B-root")
def bind_a_process_to_a_core(facts: Facts) -> object:
    return os.sched_setaffinity(facts["pid"], os.sched_getaffinity(facts["pid"])) is None


@probe("A-root", "A-user", "B-root")
def read_the_limits_of_a_process(facts: Facts) -> object:
    return resource.prlimit(facts["pid"], resource.RLIMIT_NOFILE)


@probe()
def trace_a_process(facts: Facts) -> object:
    return _system((101, 117), 0x4206, facts["pid"], 0, 0)  # PTRACE_SEIZE, which leaves it running


@probe()
def read_memory_of_a_process(facts: Facts) -> object:
    buffer = ctypes.create_string_buffer(8)
    local = (ctypes.c_size_t * 2)(ctypes.addressof(buffer), 8)
    remote = (ctypes.c_size_t * 2)(facts["address"], 8)
    return _system((310, 270), facts["pid"], local, 1, remote, 1, 0)


@probe()
def take_a_file_of_a_process(facts: Facts) -> object:
    return _system(438, os.pidfd_open(facts["pid"]), 0, 0)


@probe()
def compare_with_a_process(facts: Facts) -> object:
    return _system((312, 272), facts["pid"], os.getpid(), 1, 0, 0)


@probe()
def lower_the_out_of_memory_score(facts: Facts) -> object:
    return Path("/proc/self/oom_score_adj").write_text("-500")


@probe()
def raise_a_hard_limit(facts: Facts) -> object:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard + 1)) is None


@probe()
def hold_a_capability(facts: Facts) -> object:
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("CapEff"))
    return int(line.split()[1], 16) & ~(1 << 2)  # the right to read may stay, see not_enforced


@probe()
def gain_privileges_by_exec(facts: Facts) -> object:
    return "NoNewPrivs:\t0" in Path("/proc/self/status").read_text()


@probe()
def become_root(facts: Facts) -> object:
    return os.setuid(0) is None


@probe()
def make_a_device(facts: Facts) -> object:
    return _made(facts, lambda path: os.mknod(path, 0o020600, os.makedev(1, 3)))


@probe()
def change_the_root(facts: Facts) -> object:
    child = os.fork()
    if not child:
        try:
            os.chroot(facts["work"])
            os._exit(0)
        finally:
            os._exit(1)
    return os.waitpid(child, 0)[1] == 0


@probe()
def inject_into_a_terminal(facts: Facts) -> object:
    main, sub = pty.openpty()
    fcntl.ioctl(sub, 0x5412, b"x")
    return main


@probe()
def set_the_clock(facts: Facts) -> object:
    return time.clock_settime(time.CLOCK_REALTIME, time.time()) is None


@probe()
def name_the_machine(facts: Facts) -> object:
    return socket.sethostname(socket.gethostname()) is None


@probe()
def make_a_namespace_by_clone(facts: Facts) -> object:
    child = _LIBRARY.syscall((56, 220)[_COLUMN], 0x10000000 | 17, 0, 0, 0, 0)
    if child == 0:
        os._exit(0)
    if child < 0:
        raise OSError(ctypes.get_errno(), "clone")
    return os.waitpid(child, 0)[0] == child


@probe()
def make_a_namespace_by_clone3(facts: Facts) -> object:
    arguments = (ctypes.c_uint64 * 8)(0x10000000, 0, 0, 0, 17, 0, 0, 0)
    child = _LIBRARY.syscall(435, arguments, 64)
    if child == 0:
        os._exit(0)
    if child < 0:
        raise OSError(ctypes.get_errno(), "clone3")
    return os.waitpid(child, 0)[0] == child


@probe()
def enter_a_namespace(facts: Facts) -> object:
    return _system((308, 268), os.open("/proc/self/ns/uts", os.O_RDONLY), 0)


def _register_calls() -> None:
    work = b"/var/tmp"
    attributes = ctypes.create_string_buffer(128)
    counter = (ctypes.c_uint32 * 32)(1, 128)
    text = ctypes.c_char_p
    handle = (ctypes.c_uint32 * 40)(128)
    identity = ctypes.c_int()
    calls: dict[str, tuple[Any, ...]] = {
        "mount": ((165, 40), text(b"none"), text(work), text(b"tmpfs"), 0, None),
        "remount": ((165, 40), None, text(b"/"), None, 0x20 | 0x8000, None),
        "unmount": ((166, 39), text(b"/proc"), 8 | 2), "unshare_files": ((272, 97), 0x00020000),
        "unshare_network": ((272, 97), 0x40000000), "unshare_processes": ((272, 97), 0x20000000),
        "open_tree": (428, -100, text(b"/"), 1), "open_a_file_system": (430, text(b"tmpfs"), 0),
        "add_a_key": ((248, 217), text(b"user"), text(b"agent2"), text(b"x"), 1, -2),
        "ask_the_keyring": ((250, 219), 0, -3, 1), "load_a_program_into_the_kernel": ((321, 280), 0, (ctypes.c_uint32 * 32)(2, 4, 4, 1), 72),
        "count_events": ((298, 241), counter, 0, -1, -1, 0), "set_up_a_ring": (425, 8, attributes),
        "handle_page_faults": ((323, 282), 1), "change_the_personality": ((135, 92), 0xFFFFFFFF),
        "name_a_file_handle": ((303, 264), -100, text(b"/usr"), handle, ctypes.byref(identity), 0),
        "hide_memory": ((319, 279), text(b"x"), 0), "share_memory": ((29, 194), 0, 4096, 0o1600),
        "make_a_queue": ((68, 186), 0, 0o1600), "read_the_kernel_log": ((103, 116), 10, None, 0),
        "watch_all_files": ((300, 262), 0, 0), "stop_accounting": ((163, 89), None),
        "tune_the_clock": ((159, 171), ctypes.create_string_buffer(256)), "name_the_domain": ((171, 162), text(b"(none)"), 6),
        "hang_up": ((153, 58),), "reach_ports": ((173, 0), 0x80, 1, 1), "change_descriptors": ((154, 0), 0, attributes, 128),
    }  # fmt: skip
    for name, (number, *arguments) in calls.items():
        PROBES[f"call_to_{name}"] = lambda facts, number=number, arguments=arguments: _system(number, *arguments)


def try_all(facts: Facts) -> dict[str, object]:
    """Run every probe in a fork of its own, so that none spoils the next.

    Returns:
        `through`: names of those that succeeded.
    """
    through: list[str] = []
    for name, function in PROBES.items():
        if facts.get("names") and name not in facts["names"]:
            continue
        child = os.fork()
        if not child:
            code = 1
            try:
                code = 0 if function(facts) else 1
            finally:
                os._exit(code)
        if os.waitpid(child, 0)[1] == 0:
            through.append(name)
    return {"through": through, "names": list(PROBES)}


for _register in (_register_reads, _register_writes, _register_sockets, _register_calls):
    _register()

if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(try_all(json.loads(sys.argv[1]))))
    else:
        serve_call(try_all)
