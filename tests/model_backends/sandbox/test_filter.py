"""The filter of system calls, run by a small interpreter of its instructions; here the
kernel runs the same."""

import errno
import struct

import pytest

from mmeval.model_backends.sandbox.filter import REFUSED, filter_for

ALLOW, REFUSE, KILL = 0x7FFF0000, 0x00050000, 0x80000000
AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
CALLS = {
    "x86_64": {
        "read": 0,
        "clone": 56,
        "clone3": 435,
        "socket": 41,
        "socketpair": 53,
        "mmap": 9,
        "ioctl": 16,
        "setsockopt": 54,
        "fcntl": 72,
    },
    "aarch64": {
        "read": 63,
        "clone": 220,
        "clone3": 435,
        "socket": 198,
        "socketpair": 199,
        "mmap": 222,
        "ioctl": 29,
        "setsockopt": 208,
        "fcntl": 25,
    },
}
DENIED = REFUSE | errno.EPERM


def verdict(machine: str, number: int, *arguments: int, audit: int = 0) -> int:
    program = filter_for(machine)
    assert program is not None
    data = struct.pack(
        "<IIQ6Q",
        number,
        audit or AUDIT[machine],
        0,
        *arguments,
        *[0] * (6 - len(arguments)),
    )
    instructions = list(struct.iter_unpack("<HBBI", program))
    at = value = 0
    while True:
        code, if_true, if_false, operand = instructions[at]
        at += 1
        if code == 0x06:
            return int(operand)
        if code == 0x20:
            value = struct.unpack_from("<I", data, operand)[0]
        elif code == 0x54:
            value &= operand
        else:
            holds = {
                0x15: value == operand,
                0x35: value >= operand,
                0x45: bool(value & operand),
            }[code]
            at += if_true if holds else if_false


@pytest.mark.parametrize("machine", AUDIT)
def test_what_no_program_needs_is_refused_and_the_rest_allowed(machine: str) -> None:
    calls, column = CALLS[machine], list(AUDIT).index(machine)
    assert {verdict(machine, pair[column]) for pair in REFUSED.values()} == {DENIED}
    assert {
        verdict(machine, number) for name, number in calls.items() if name == "read"
    } == {ALLOW}
    assert verdict(machine, calls["clone3"]) == REFUSE | errno.ENOSYS
    assert verdict(machine, calls["read"], audit=0x40000003) == KILL
    assert verdict(machine, calls["read"] | 0x40000000) == REFUSE | errno.ENOSYS


@pytest.mark.parametrize("machine", AUDIT)
@pytest.mark.parametrize(
    ("call", "arguments", "expected"),
    [
        ("clone", (0x3D0F00,), ALLOW),
        ("clone", (17,), ALLOW),
        *[("clone", (1 << bit | 17,), DENIED) for bit in (17, 25, 26, 27, 28, 29, 30)],
        ("socket", (1, 1), ALLOW),
        *[
            ("socket", (family, 1), REFUSE | errno.EAFNOSUPPORT)
            for family in (2, 10, 16, 17, 38, 40)
        ],
        ("socketpair", (1, 1), ALLOW),
        ("socketpair", (2, 1), REFUSE | errno.EAFNOSUPPORT),
        ("mmap", (0, 4096, 3, 0x22), ALLOW),
        ("mmap", (0, 4096, 3, 0x01), ALLOW),
        ("mmap", (0, 4096, 3, 0x21), DENIED),
        ("mmap", (0, 4096, 3, 0x23), DENIED),
        ("ioctl", (0, 0x5401), ALLOW),
        ("ioctl", (0, 0x5412), DENIED),
        ("ioctl", (0, 0xFFFFFFFF00005412), DENIED),
        ("setsockopt", (0, 1, 2), ALLOW),
        *[("setsockopt", (0, 1, option), DENIED) for option in (7, 8, 32, 33)],
        ("fcntl", (0, 1030), ALLOW),
        ("fcntl", (0, 1031), DENIED),
    ],
)
def test_some_calls_are_refused_by_an_argument(
    machine: str, call: str, arguments: tuple[int, ...], expected: int
) -> None:
    assert verdict(machine, CALLS[machine][call], *arguments) == expected


def test_another_kind_of_processor_has_no_filter() -> None:
    assert filter_for("riscv64") is None
