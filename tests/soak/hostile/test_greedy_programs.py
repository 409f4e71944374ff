"""Programs that take memory in sixty ways: none holds a tenth more than it may.

A way to hold memory is combined with a place that holds it: the program itself, a
process whose first thread has ended, processes beside it. Each takes a given size in
steps and then holds it. So a test asks whether memory is seen where it is held, and not
how fast.
"""

from collections.abc import Iterator
from typing import NamedTuple

import pytest

from tests.support.sandbox import run_code

STEP_MIB = 4
_BEGIN = f"""
import array, ctypes, mmap, os, threading, time, zlib
STEP = {STEP_MIB} << 20
PAGE = 4096
libc = ctypes.CDLL(None)
for name in ("malloc", "mmap", "sbrk"):
    getattr(libc, name).restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + 3 * [ctypes.c_int] + [ctypes.c_long]
EXIT = 60 if os.uname().machine == "x86_64" else 93
def filled(address):
    ctypes.memset(ctypes.c_void_p(address), 1, STEP)
    return address
def grow(processes=1):
    kept = [hold() for _ in range(STEPS // processes)]
    time.sleep(SECONDS)
def end_first_thread():
    libc.syscall(EXIT, 0)
"""
HOLDERS = {
    "bytes": "def hold():\n    return b'\\1' * STEP",
    "a bytearray": "def hold():\n    return bytearray(b'\\1') * STEP",
    "an array": "def hold():\n    return array.array('d', [1.0]) * (STEP // 8)",
    "numbers": "def hold():\n    return [float(at) for at in range(STEP // 32)]",
    "text": "def hold():\n    return 'x' * STEP",
    "decompressed bytes": (
        "packed = zlib.compress(b'\\1' * STEP)\n"
        "def hold():\n    return zlib.decompress(packed)"
    ),
    "malloc": "def hold():\n    return filled(libc.malloc(ctypes.c_size_t(STEP)))",
    "the heap's end": (
        "def hold():\n    return filled(libc.sbrk(ctypes.c_ssize_t(STEP)))"
    ),
    "a byte of each page": (
        "def hold():\n"
        "    kept = mmap.mmap(-1, STEP, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)\n"
        "    kept[::PAGE] = b'\\1' * (STEP // PAGE)\n"
        "    return kept"
    ),
    "pages that are there at once": (
        "def hold():\n    return libc.mmap(None, STEP, 3, 0x8022, -1, 0)"
    ),
    "large pages": (
        "def hold():\n"
        "    address = libc.mmap(None, STEP, 3, 0x22, -1, 0)\n"
        "    libc.madvise(ctypes.c_void_p(address), ctypes.c_size_t(STEP), 14)\n"
        "    return filled(address)"
    ),
    "copies of a file's pages": (
        "with open('tmp/pages', 'wb') as file:\n    file.write(bytes(STEP))\n"
        "file = open('tmp/pages', 'r+b')\n"
        "def hold():\n    return filled(libc.mmap(None, STEP, 3, 2, file.fileno(), 0))"
    ),
}
"""What defines ``hold``, which takes a step more."""
PLACES = {
    "the program": "grow()",
    "a thread without a leader": (
        "threading.Thread(target=grow).start()\nend_first_thread()"
    ),
    "a child without a leader": (
        "if not os.fork():\n"
        "    threading.Thread(target=grow).start()\n"
        "    end_first_thread()\n"
        "time.sleep(SECONDS)"
    ),
    "an orphan in a session of its own": (
        "if not os.fork():\n"
        "    os.setsid()\n"
        "    if os.fork():\n"
        "        os._exit(0)\n"
        "    grow()\n"
        "time.sleep(SECONDS)"
    ),
    "six processes": (
        "for _ in range(5):\n    if not os.fork():\n        break\ngrow(processes=6)"
    ),
}


class GreedyProgram(NamedTuple):
    name: str
    code: str


def greedy_programs(mib: int, seconds: float) -> Iterator[GreedyProgram]:
    """Programs that take ``mib`` and hold it for so many ``seconds``."""
    size = f"STEPS = {mib // STEP_MIB}\nSECONDS = {seconds}\n"
    for place, run in PLACES.items():
        for holder, hold in HOLDERS.items():
            code = f"{_BEGIN}{size}{hold}\n{run}\n"
            yield GreedyProgram(f"{holder} in {place}", code)


LIMIT_MIB = 256
TENTH_MORE_MIB = 280
PROGRAMS = list(greedy_programs(TENTH_MORE_MIB, seconds=1000))
SMALL_PROGRAMS = list(greedy_programs(LIMIT_MIB // 2, seconds=1))[::12]


def name_of(program: GreedyProgram) -> str:
    return program.name


def test_there_are_sixty() -> None:
    assert len({program.code for program in PROGRAMS}) >= 60


@pytest.mark.parametrize("program", PROGRAMS, ids=name_of)
def test_a_greedy_program_is_ended_for_its_memory(program: GreedyProgram) -> None:
    response = run_code(program.code, memory_mb=LIMIT_MIB, seconds=60)
    [warning] = response.warnings
    assert warning == f"the program reached the limit of memory: {LIMIT_MIB} MiB"


@pytest.mark.parametrize("program", SMALL_PROGRAMS, ids=name_of)
def test_a_program_below_its_limit_is_not_ended(program: GreedyProgram) -> None:
    """The same programs in small: what ends the others is their memory."""
    response = run_code(program.code, memory_mb=LIMIT_MIB, seconds=60)
    assert response.warnings == ()
