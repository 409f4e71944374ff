"""Chooses the strictest options of bubblewrap that work on this machine.

With these options, a probe must not find a hole in the sandbox.
"""

from __future__ import annotations

import json
import shutil
import threading
from functools import lru_cache

from mmeval.errors import MissingDataError, sentence
from mmeval.model_backends.sandbox.bubblewrap import Bubblewrap
from mmeval.model_backends.sandbox.execution import SandboxError, execute
from mmeval.model_backends.sandbox.interpreter import interpreter
from mmeval.model_backends.sandbox.limits import ProgramLimits
from mmeval.model_backends.sandbox.program import SandboxProgram

_NO_PROC = "mount proc"
_NOT_CLOSED = ("max_user_namespaces", "creation of new user namespaces")
"""Words in bubblewrap's errors about options that a container does not allow.

These words show that bubblewrap cannot mount ``/proc``, or cannot disable user
namespaces inside the sandbox.
"""
_PROBE = """
import json, os, socket, subprocess, sys
holes = []
def must_fail(hole, do):
    try:
        do()
    except Exception:
        return
    holes.append(hole)
def unshared():
    import ctypes
    if ctypes.CDLL(None).unshare(0x10000000):
        raise OSError
def connected():
    with socket.socket() as client:
        client.settimeout(2)
        client.connect(("192.0.2.1", 80))
must_fail("a user namespace can be made", unshared)
must_fail("the network can be reached", connected)
must_fail("the root can be written to", lambda: open("/probe", "w"))
in_python = os.path.join(sys.base_prefix, "probe")
must_fail("Python can be written to", lambda: open(in_python, "w"))
must_fail("/dev can be written to", lambda: open("/dev/probe", "w"))
must_fail("process 1 can be written to", lambda: open("/proc/1/mem", "r+b"))
listed = os.listdir("/proc") if os.path.isdir("/proc") else []
processes = [name for name in listed if name.isdigit()]
holes += ["other processes can be seen"] if len(processes) > 8 else []
holes += ["it runs as root"] if os.getuid() == 0 else []
ours = [name for name in os.environ if name.startswith("MMEVAL_")]
holes += [f"{name} is in the environment" for name in ours]
open("output/probe.txt", "w").write("here")
print(json.dumps(holes))
"""
_PROBE_LIMITS = ProgramLimits(seconds=30, memory_mb=1024)
_REFUSALS = (
    (
        ("namespace", "uid map", "unshare"),
        "user namespaces are not allowed here",
        "Allow this user to create them (sysctl "
        "kernel.apparmor_restrict_unprivileged_userns=0, or an AppArmor profile for "
        "bwrap), or start the container with --security-opt seccomp=unconfined",
    ),
    (
        ("mount proc", "/proc"),
        "/proc is masked, as in a container",
        "Start the container with --security-opt systempaths=unconfined, or run "
        "mmeval on the machine itself",
    ),
)
"""Words in bubblewrap's error, their meaning, and how to fix it."""


def bubblewrap_for(python: str, *, packages: bool) -> Bubblewrap:
    """Returns bubblewrap with options that have passed the probe.

    Raises MissingDataError with the reason if no options pass it.
    """
    return _bubblewrap(shutil.which("bwrap"), python, packages=packages)


@lru_cache(maxsize=8)
def _bubblewrap(
    _path: str | None,
    python: str,
    *,
    packages: bool,
) -> Bubblewrap:
    """Returns bubblewrap with the strictest options that work. The result is cached."""
    python_info = interpreter(python, packages=packages)
    proc = closed = True
    while True:
        bubblewrap = Bubblewrap(python_info, proc=proc, closed=closed)
        failure = _probe_failure(bubblewrap)
        if not failure:
            return bubblewrap
        if closed and any(words in failure for words in _NOT_CLOSED):
            closed = False
        elif proc and _NO_PROC in failure:
            proc = False
        else:
            break
    reason = failure
    how_to_fix = "Use a machine or a virtual machine on which bwrap works"
    for needles, meaning, known_fix in _REFUSALS:
        if any(words in failure for words in needles):
            reason, how_to_fix = f"{meaning} ({failure})", known_fix
            break
    raise MissingDataError(
        f"the sandbox cannot run programs with bwrap here: {sentence(reason)}",
        how_to_fix=how_to_fix,
    )


def _probe_failure(bubblewrap: Bubblewrap) -> str:
    """Returns why the probe fails, or the holes that it finds.

    Returns an empty string if the probe passes.
    """
    try:
        outcome = execute(
            bubblewrap, SandboxProgram(_PROBE), _PROBE_LIMITS, threading.Event()
        )
    except (OSError, SandboxError) as error:
        return str(error)
    if outcome.status or len(outcome.files.parts) != 1:
        errors = outcome.errors.strip() or f"exit status {outcome.status}"
        return errors.splitlines()[-1]
    holes = json.loads(outcome.output)
    return f"it does not isolate programs: {'; '.join(holes)}" if holes else ""
