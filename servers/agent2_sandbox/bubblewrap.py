"""The command line of bubblewrap (tier A); standard library only. Each option stands for a test that failed without it."""

import os
from collections.abc import Iterable

from agent2_sandbox.specification import Specification

SYSTEM_FILES = tuple(
    f"/etc/{name}"
    for name in (
        "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "localtime", "nsswitch.conf", "fonts", "glvnd",
        "OpenCL", "vulkan",
    )
)  # fmt: skip
KERNEL_FOLDERS = ("/sys/devices/system/cpu", "/sys/devices/system/node")
READ_CAPABILITY = "CAP_DAC_READ_SEARCH"
_GPU_DEVICES = (
    "nvidia0", "nvidia1", "nvidia2", "nvidia3", "nvidia4", "nvidia5", "nvidia6", "nvidia7", "nvidiactl", "nvidia-uvm",
    "nvidia-uvm-tools", "nvidia-modeset", "nvidia-caps", "dri", "kfd", "dxg",
)  # fmt: skip
GPU_DEVICES = tuple(f"/dev/{name}" for name in _GPU_DEVICES)
GPU_FOLDERS = ("/sys/bus/pci", "/sys/class/drm", "/sys/devices", "/usr/lib/wsl")
_SANDBOX_ID = "1000"


def bubblewrap_command(specification: Specification, filter_descriptor: int) -> list[str]:
    """Compose the whole command: bubblewrap, its options, and the worker's command.

    Args:
        specification: what to run; with a `sandbox_uid` root builds the mounts and the worker drops to that uid.
        filter_descriptor: holds the system-call filter; it is used up by one launch.
    """
    arguments = [specification.bubblewrap, *_namespaces(specification), *_system(specification)]
    arguments += _mounts(specification)
    arguments += ["--remount-ro", "/dev", "--remount-ro", "/", "--clearenv"]
    for name, value in specification.environment.items():
        arguments += ["--setenv", name, value]
    arguments += ["--chdir", specification.folder, "--seccomp", str(filter_descriptor), "--"]
    return [*arguments, *_entrance(specification), *specification.command]


def _namespaces(specification: Specification) -> list[str]:
    options: list[str] = []
    if specification.sandbox_uid is None:
        options += ["--unshare-user", "--uid", _SANDBOX_ID, "--gid", _SANDBOX_ID]
        if "--disable-userns" in specification.bubblewrap_options:
            options.append("--disable-userns")
    options += ["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try", "--hostname", "sandbox"]
    if "network" not in specification.grants:
        options.append("--unshare-net")
    options += ["--cap-drop", "ALL"]
    if specification.sandbox_uid is not None:
        kept = ["CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP"]
        kept += [READ_CAPABILITY] if specification.keeps_read_capability else []
        for capability in kept:
            options += ["--cap-add", capability]
    return [*options, "--die-with-parent", "--new-session"]


def _system(specification: Specification) -> list[str]:
    options = ["--ro-bind", "/usr", "/usr"]
    for name in ("/bin", "/sbin", "/lib", "/lib32", "/lib64"):
        if os.path.islink(name):  # noqa: PTH114  (pathlib is not worth its import here)
            options += ["--symlink", os.readlink(name), name]  # noqa: PTH115
        else:
            options += ["--ro-bind-try", name, name]
    for folder in ("/etc", "/sys", "/sys/devices", "/sys/devices/system"):
        options += _folder(folder)
    for path in SYSTEM_FILES:
        options += ["--ro-bind-try", path, path]
    temporary = str(specification.temporary_bytes)
    options += ["--proc", "/proc", "--dev", "/dev"]
    options += ["--size", temporary, "--perms", "1777", "--tmpfs", "/dev/shm"]
    if "gpu" in specification.grants:
        for device in GPU_DEVICES:
            options += ["--dev-bind-try", device, device]
        for folder in GPU_FOLDERS:
            options += ["--ro-bind-try", folder, folder]
    else:
        for folder in KERNEL_FOLDERS:
            options += ["--ro-bind-try", folder, folder]
    options += ["--size", temporary, "--perms", "1777", "--tmpfs", "/tmp"]
    if "display" in specification.grants:
        options += ["--ro-bind-try", "/tmp/.X11-unix", "/tmp/.X11-unix"]
    return options


def _mounts(specification: Specification) -> list[str]:
    """Bind parents before what lies in them, so that a later mount is never hidden by an earlier one."""
    readable = dict.fromkeys((*specification.system_roots, *specification.read_only), False)
    wanted = {path: is_writable for path, is_writable in readable.items() if not _is_in(path, ("/usr",))}
    if specification.writable:
        wanted[specification.writable] = True
    options: list[str] = []
    made: set[str] = set()
    for path in sorted(wanted, key=lambda path: path.count("/")):
        for ancestor in reversed(list(_ancestors(path))):
            if ancestor not in made and not _is_in(ancestor, wanted):
                options += _folder(ancestor)
                made.add(ancestor)
        options += ["--bind" if wanted[path] else "--ro-bind", path, path]
    return options


def _folder(path: str) -> list[str]:
    return ["--perms", "0755", "--dir", path]  # bubblewrap makes missing parents with mode 0700


def _ancestors(path: str) -> Iterable[str]:
    while (path := os.path.dirname(path)) not in ("/", "", "/tmp"):  # noqa: PTH120
        yield path


def _is_in(path: str, folders: Iterable[str]) -> bool:
    return any(path == folder or path.startswith(f"{folder}/") for folder in folders)


def _entrance(specification: Specification) -> list[str]:
    """What runs inside before the worker: the way out of root, and the limit on processes."""
    # Set inside a user namespace the limit counts this sandbox alone; as root the uid belongs to this sandbox alone.
    limit = ["/usr/bin/prlimit", f"--nproc={process_limit(specification.processes)}"]
    uid = specification.sandbox_uid
    if uid is None:
        return limit
    kept = ",+dac_read_search" if specification.keeps_read_capability else ""
    return [
        "/usr/bin/setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", f"--inh-caps=-all{kept}",
        f"--ambient-caps=-all{kept}", f"--bounding-set=-all{kept}", "--no-new-privs", *limit,
    ]  # fmt: skip


def process_limit(processes: int) -> int:
    """The kernel's limit counts threads too, so it stands above the supervisor's own count."""
    return max(256, 2 * processes)
