"""Programs that nobody should run, each with what must come of it, and what stands
around them to see that it did.

A file of ``tests/hostile_code`` holds programs of one kind. A line ``=== what it tries:
what comes of it`` is followed by the program. What comes of it: ``held`` (it has tried
all and nothing succeeded), a bound that is reached, ``fails`` (another exit status than
0), ``left`` with the kinds of part of its files, or ``any``."""

import ctypes
import hashlib
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from tests.support.sandbox import in_other_namespaces, open_to_all

PROGRAMS = Path(__file__).parents[3] / "hostile_code"
SECRET = "the-secret-4f6c1d"
PRELUDE = """
import ctypes, fcntl, mmap, os, resource, shutil, signal, socket, stat, subprocess, sys, threading, time
def escaped(what):
    print("ESCAPED", what)
def must_fail(do):
    try:
        escaped(do())
    except Exception:
        pass
def checked(result):
    if result < 0:
        raise OSError
    return result
CLONE = 56 if os.uname().machine == "x86_64" else 220
DEVICES = {"/dev/null", "/dev/full", "/dev/random", "/dev/urandom", "/work/input/image1.png"}
"""
_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER


class HostileProgram(NamedTuple):
    name: str
    expected: tuple[str, ...]
    code: str


def hostile_programs() -> Iterator[HostileProgram]:
    for file in sorted(PROGRAMS.glob("*.txt")):
        pieces = re.split(
            r"^=== (.*): (.*)$", file.read_text("utf-8"), flags=re.MULTILINE
        )[1:]
        for title, expected, code in zip(
            pieces[::3], pieces[1::3], pieces[2::3], strict=True
        ):
            yield HostileProgram(f"{file.stem}: {title}", tuple(expected.split()), code)


@dataclass
class Surroundings:
    """What a program must not reach, with the names under which it knows where that
    is."""

    known: dict[str, str | int]
    sockets: list[socket.socket]
    folder: Path
    witness: subprocess.Popen[bytes]
    before: dict[str, str] = field(default_factory=dict)

    def program(self, hostile: HostileProgram) -> str:
        names = "".join(f"{name} = {value!r}\n" for name, value in self.known.items())
        end = "\nprint('held')\n" if "held" in hostile.expected else "\n"
        return f"{PRELUDE}{names}{hostile.code}{end}"

    def disturbed(self) -> list[str]:
        """What has changed outside of the sandbox."""
        faults = [] if self.witness.poll() is None else ["the witness has ended"]
        faults += ["a file has changed"] if state_of(self.folder) != self.before else []
        faults += [f"{one} was reached" for one in self.sockets if _was_reached(one)]
        return faults + [f"process {pid} is left" for pid in in_other_namespaces()]


@contextmanager
def surroundings(folder: Path) -> Iterator[Surroundings]:
    """A secret file, a home and a run folder, a listening socket of each kind, and a
    process that only waits."""
    home, run = folder / "home", folder / "run"
    for path in (
        folder / "secret.txt",
        home / ".ssh/id",
        home / ".netrc",
        run / "journal/writer.jsonl",
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(SECRET)
    open_to_all(folder)  # what hides them is the sandbox, not their modes
    with ExitStack() as stack:
        ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
        # later tests kill parents of orphans
        stack.callback(ctypes.CDLL(None).prctl, _SUBREAPER, 0, 0, 0, 0)
        tcp, udp, local, abstract, docker = (
            stack.enter_context(socket.socket(family, kind))
            for family, kind in [
                (socket.AF_INET6, socket.SOCK_STREAM),
                (socket.AF_INET, socket.SOCK_DGRAM),
                *[(socket.AF_UNIX, socket.SOCK_STREAM)] * 3,
            ]
        )
        tcp.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        tcp.bind(("::", 0))
        udp.bind(("127.0.0.1", 0))
        name = f"mmeval-{os.getpid()}"
        for one, address in (
            (local, f"{folder}/socket"),
            (abstract, f"\0{name}"),
            (docker, f"{folder}/docker.sock"),
        ):
            one.bind(address)
        for one in (tcp, local, abstract, docker):
            one.listen()
        witness = subprocess.Popen(
            [sys.executable, "-c", "import time; time.sleep(10_000)"]
        )
        stack.callback(witness.wait)
        stack.callback(witness.kill)
        known: dict[str, str | int] = {
            "SECRET_FILE": f"{folder}/secret.txt",
            "HOST_HOME": str(home),
            "RUN_FOLDER": str(run),
            "MMEVAL_PID": os.getpid(),
            "WITNESS_PID": witness.pid,
            "TCP_PORT": tcp.getsockname()[1],
            "UDP_PORT": udp.getsockname()[1],
            "UNIX_PATH": f"{folder}/socket",
            "ABSTRACT": name,
            "DOCKER_SOCKET": f"{folder}/docker.sock",
        }
        sockets = [tcp, udp, local, abstract, docker]
        for one in sockets:
            one.setblocking(False)
        yield Surroundings(known, sockets, folder, witness, state_of(folder))


def state_of(folder: Path) -> dict[str, str]:
    """The files of a folder with their modes and contents."""
    return {
        str(path): f"{path.lstat().st_mode} "
        f"{hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ''}"
        for path in sorted(folder.rglob("*"))
    }


def _was_reached(one: socket.socket) -> bool:
    with suppress(BlockingIOError):
        if one.type == socket.SOCK_DGRAM:
            one.recv(1)
        else:
            one.accept()
        return True
    return False
