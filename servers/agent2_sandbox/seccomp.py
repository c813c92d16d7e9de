"""The system-call filter of tiers A and B as classic BPF; standard library only.

A deny-list, default allow. ENOSYS where callers have another way, EPERM where they should stop. Numbers are those of the
kernel's tables for x86_64 and aarch64; None where an architecture lacks the call.
"""

import ctypes
import errno
import platform
import struct

_LOAD, _EQUAL, _AT_LEAST, _BITS, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _ERRNO, _KILL_PROCESS = 0x7FFF0000, 0x00050000, 0x80000000
_NUMBER, _ARCHITECTURE = 0, 4
_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32 = 0x40000000
_NEW_NAMESPACES = 0x7E020000  # every CLONE_NEW* flag
_TERMINAL_INJECTION = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX
_UNIX, _INET, _INET6, _NETLINK = 1, 2, 10, 16

# name: (x86_64, aarch64)
_REFUSED: dict[int, dict[str, tuple[int | None, int | None]]] = {
    errno.EPERM: {
        # other processes
        "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "kcmp": (312, 272),
        "pidfd_getfd": (438, 438), "process_madvise": (440, 440),
        # kernel surface
        "bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282), "io_uring_setup": (425, 425),
        "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
        # mounts and roots
        "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51),
        "open_tree": (428, 428), "move_mount": (429, 429), "fsopen": (430, 430), "fsconfig": (431, 431),
        "fsmount": (432, 432), "fspick": (433, 433), "mount_setattr": (442, 442),
        # namespaces
        "unshare": (272, 97), "setns": (308, 268),
        # System V memory and queues, which outlive their process and hide from a count of resident pages
        "shmget": (29, 194), "msgget": (68, 186), "semget": (64, 190),
        # keyrings, file handles
        "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219),
        "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265),
        # clocks and names
        "settimeofday": (164, 170), "clock_settime": (227, 112), "adjtimex": (159, 171), "clock_adjtime": (305, 266),
        "sethostname": (170, 161), "setdomainname": (171, 162),
        # the machine
        "kexec_load": (246, 104), "kexec_file_load": (320, 294), "init_module": (175, 105),
        "finit_module": (313, 273), "delete_module": (176, 106), "reboot": (169, 142), "swapon": (167, 224),
        "swapoff": (168, 225), "acct": (163, 89), "quotactl": (179, 60), "quotactl_fd": (443, 443),
        "syslog": (103, 116), "vhangup": (153, 58), "nfsservctl": (180, 42), "lookup_dcookie": (212, 18),
        "personality": (135, 92), "iopl": (172, None), "ioperm": (173, None), "modify_ldt": (154, None),
        "fanotify_init": (300, 262),
    },
    errno.ENOSYS: {
        # clone3 hides its flags behind a pointer; glibc falls back to clone
        "clone3": (435, 435),
        # shared memory that belongs to no process's resident pages
        "memfd_create": (319, 279), "memfd_secret": (447, 447),
    },
}  # fmt: skip
_CLONE, _SOCKET, _IOCTL = (56, 220), (41, 198), (16, 29)


def _operation(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("<HBBI", code, if_true, if_false, value)


def _argument(index: int) -> int:
    return 16 + 8 * index  # offset of the low word; the kernel reads these arguments as 32 bits


def filter_program(*, has_network_namespace: bool, machine: str | None = None) -> bytes:
    """Assemble the filter.

    Args:
        has_network_namespace: Unix, IPv4 and IPv6 sockets lead nowhere outside, so they may be made (tier A); else only
            netlink, because a Unix socket by path leads past Landlock (tier B).
        machine: `x86_64` or `aarch64`; None: this machine.

    Raises:
        OSError: the architecture is not known.
    """
    machine = machine or platform.machine()
    if machine not in _ARCHITECTURES:
        raise OSError(errno.ENOTSUP, f"no system-call filter for {machine}")
    column = 0 if machine == "x86_64" else 1
    program = [
        _operation(_LOAD, _ARCHITECTURE),
        _operation(_EQUAL, _ARCHITECTURES[machine], 1, 0),
        _operation(_RETURN, _KILL_PROCESS),
        _operation(_LOAD, _NUMBER),
    ]
    if machine == "x86_64":
        program += [_operation(_AT_LEAST, _X32, 0, 1), _operation(_RETURN, _ERRNO | errno.ENOSYS)]
    for answer, calls in _REFUSED.items():
        for numbers in calls.values():
            number = numbers[column]
            if number is not None:
                program += [_operation(_EQUAL, number, 0, 1), _operation(_RETURN, _ERRNO | answer)]
    program += _when(_CLONE[column], 0, [_operation(_BITS, _NEW_NAMESPACES, 0, 1)], errno.EPERM)
    program += _when(_IOCTL[column], 1, [_operation(_EQUAL, code, 0, 1) for code in _TERMINAL_INJECTION], errno.EPERM)
    families = (_UNIX, _INET, _INET6, _NETLINK) if has_network_namespace else (_NETLINK,)
    program += _only_families(_SOCKET[column], families)
    program.append(_operation(_RETURN, _ALLOW))
    return b"".join(program)


def _when(number: int, argument: int, tests: list[bytes], answer: int) -> list[bytes]:
    """Refuse call `number` where one of `tests` on its argument holds."""
    body = [_operation(_LOAD, _argument(argument))]
    for test in tests:
        body += [test, _operation(_RETURN, _ERRNO | answer)]
    body.append(_operation(_RETURN, _ALLOW))
    return [_operation(_EQUAL, number, 0, len(body)), *body]


def _only_families(number: int, families: tuple[int, ...]) -> list[bytes]:
    body = [_operation(_LOAD, _argument(0))]
    for family in families:
        body += [_operation(_EQUAL, family, 0, 1), _operation(_RETURN, _ALLOW)]
    body.append(_operation(_RETURN, _ERRNO | errno.EAFNOSUPPORT))
    return [_operation(_EQUAL, number, 0, len(body)), *body]


class _Program(ctypes.Structure):
    _fields_ = (("count", ctypes.c_uint16), ("instructions", ctypes.c_void_p))


def install_filter(program: bytes) -> None:
    """Put the filter on this process and all that follow from it, for good.

    Raises:
        OSError: the kernel refused.
    """
    library = ctypes.CDLL(None, use_errno=True)
    buffer = ctypes.create_string_buffer(program, len(program))
    described = _Program(len(program) // 8, ctypes.cast(buffer, ctypes.c_void_p))
    if library.prctl(38, 1, 0, 0, 0):  # PR_SET_NO_NEW_PRIVS
        raise OSError(ctypes.get_errno(), "no_new_privs was refused")
    if library.prctl(22, 2, ctypes.byref(described), 0, 0):  # PR_SET_SECCOMP, filter
        raise OSError(ctypes.get_errno(), "the system-call filter was refused")
