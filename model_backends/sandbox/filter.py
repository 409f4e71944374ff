"""Builds the filter of system calls, as the bytes of a classic BPF program.

The refused calls trace other processes, access keys, load code into the kernel, change
mounts, or allocate memory that does not belong to a process. Programs in the sandbox do
not need them.
"""

from __future__ import annotations

import errno
import platform
import struct
from collections.abc import Mapping
from typing import NamedTuple

REFUSED: Mapping[str, tuple[int, int]] = {
    # other processes
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "kcmp": (312, 272),
    "pidfd_getfd": (438, 438),
    # keys
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    # code for the kernel, and large interfaces to it
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "userfaultfd": (323, 282),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "personality": (135, 92),
    "fanotify_init": (300, 262),
    "lookup_dcookie": (212, 18),
    # mounts and namespaces
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "unshare": (272, 97),
    "setns": (308, 268),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    # the machine
    "reboot": (169, 142),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "syslog": (103, 116),
    "acct": (163, 89),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "clock_adjtime": (305, 266),
    "adjtimex": (159, 171),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "vhangup": (153, 58),
    "mbind": (237, 235),
    "set_mempolicy": (238, 237),
    "migrate_pages": (256, 238),
    "move_pages": (279, 239),
    # memory outside of any process
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "shmget": (29, 194),
    "msgget": (68, 186),
    "semget": (64, 190),
    "mq_open": (240, 180),
    # These leave pages in a pipe or a socket after all processes have freed them, and
    # each page counts as only one byte of the pipe's size.
    "vmsplice": (278, 75),
    "splice": (275, 76),
    "tee": (276, 77),
}
"""System calls that are refused, with their numbers on x86-64 and on arm64."""
_OF_X86 = {
    "iopl": 172,
    "ioperm": 173,
    "modify_ldt": 154,
    "uselib": 134,
    "ustat": 136,
    "sysfs": 139,
    "_sysctl": 156,
}
_NAMESPACES = 0x7E020000
"""Flags of ``clone`` that create a namespace."""
_SHARED_ANONYMOUS = 0x21
"""The flags ``MAP_SHARED | MAP_ANONYMOUS``.

Pages with these flags are kept after a process frees them, and then they do not belong
to any process.
"""
_TERMINAL_INPUT = (0x5412, 0x541C)
"""The requests ``TIOCSTI`` and ``TIOCLINUX``."""
_BUFFER_SIZES = (7, 8, 32, 33)
"""The options ``SO_SNDBUF`` and ``SO_RCVBUF``, and both with ``FORCE``.

They enlarge a socket's buffers. Data in a socket is memory that does not belong to a
process.
"""
_PIPE_SIZE = 1031
"""The command ``F_SETPIPE_SZ``."""
_ALLOW, _REFUSE, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _AND, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
_NUMBER, _MACHINE, _ARGUMENTS = 0, 4, 16
"""Offsets in the data that the kernel passes to the filter."""
_OTHER_ABI = 0x40000000
"""The first number of an x32 call.

On x86-64, x32 calls are the same system calls under other numbers.
"""

Instruction = tuple[int, int, int, int]
"""An instruction: its code, the jump if true, the jump if false, and the operand."""


class _Machine(NamedTuple):
    column: int
    audit: int
    clone: int
    clone3: int
    socket: int
    socketpair: int
    mmap: int
    ioctl: int
    setsockopt: int
    fcntl: int


_MACHINES = {
    "x86_64": _Machine(
        0, 0xC000003E, 56, 435, 41, 53, mmap=9, ioctl=16, setsockopt=54, fcntl=72
    ),
    "aarch64": _Machine(
        1, 0xC00000B7, 220, 435, 198, 199, mmap=222, ioctl=29, setsockopt=208, fcntl=25
    ),
}


def filter_for(machine: str = platform.machine()) -> bytes | None:
    """Returns the filter for a type of machine, or None for an unknown type."""
    machine_calls = _MACHINES.get(machine)
    if machine_calls is None:
        return None
    numbers = [pair[machine_calls.column] for pair in REFUSED.values()]
    if machine_calls.column == 0:
        numbers += _OF_X86.values()
    program: list[Instruction] = [
        (_LOAD, 0, 0, _MACHINE),
        (_EQUAL, 1, 0, machine_calls.audit),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
        (_AT_LEAST, 0, 1, _OTHER_ABI),
        (_RETURN, 0, 0, _REFUSE | errno.ENOSYS),
    ]
    for number in numbers:
        program += _when(number, [(_RETURN, 0, 0, _REFUSE | errno.EPERM)])
    # The flags of clone3 are in memory, so a filter cannot read them. Libraries fall
    # back to clone.
    program += _when(machine_calls.clone3, [(_RETURN, 0, 0, _REFUSE | errno.ENOSYS)])
    program += _when(machine_calls.clone, _refused_if(0, (_ANY_BIT, 0, 1, _NAMESPACES)))
    # Only sockets of the local family (AF_UNIX) are allowed.
    for number in (machine_calls.socket, machine_calls.socketpair):
        program += _when(
            number, _refused_if(0, (_EQUAL, 1, 0, 1), error=errno.EAFNOSUPPORT)
        )
    shared = (_AND, 0, 0, _SHARED_ANONYMOUS), (_EQUAL, 0, 1, _SHARED_ANONYMOUS)
    program += _when(machine_calls.mmap, _refused_if(3, *shared))
    for request in _TERMINAL_INPUT:
        program += _when(machine_calls.ioctl, _refused_if(1, (_EQUAL, 0, 1, request)))
    for option in _BUFFER_SIZES:
        program += _when(
            machine_calls.setsockopt, _refused_if(2, (_EQUAL, 0, 1, option))
        )
    program += _when(machine_calls.fcntl, _refused_if(1, (_EQUAL, 0, 1, _PIPE_SIZE)))
    program.append((_RETURN, 0, 0, _ALLOW))
    return b"".join(struct.pack("<HBBI", *instruction) for instruction in program)


def _when(number: int, then: list[Instruction]) -> list[Instruction]:
    """Returns the instructions for one system call.

    ``then`` may load an argument in place of the call's number. The number is then
    loaded again, because the next comparison needs it.
    """
    body = list(then)
    if len(then) > 1:
        body.append((_LOAD, 0, 0, _NUMBER))
    return [(_EQUAL, 0, len(body), number), *body]


def _refused_if(
    argument: int, *test: Instruction, error: int = errno.EPERM
) -> list[Instruction]:
    """Returns instructions that test an argument's lower half to refuse a call.

    The last jump of ``test`` skips the refusal.
    """
    return [
        (_LOAD, 0, 0, _ARGUMENTS + 8 * argument),
        *test,
        (_RETURN, 0, 0, _REFUSE | error),
    ]
