"""The backend: runs the program of a request.

The answer contains the program's printed text and its output files.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from typing import Any

from mmeval.backend import Capabilities
from mmeval.errors import ContentError, MissingError
from mmeval.media import PART_KINDS, Interleaved, Part, text_part
from mmeval.model_backends.sandbox.choice import bubblewrap_for
from mmeval.model_backends.sandbox.execution import ProgramResult, SandboxError, execute
from mmeval.model_backends.sandbox.interpreter import interpreter
from mmeval.model_backends.sandbox.limits import MIB, ProgramLimits, Reason
from mmeval.model_backends.sandbox.program import program_of
from mmeval.records import Request, Response
from mmeval.system import OwnThread

VERSION = 3
"""The backend's version.

Raise it whenever a change could give the same program another answer.
"""
TAIL_CHARS = 4000
"""Maximum number of characters of a program's errors in an answer.

These are the last characters, because a traceback names the error at its end.
"""


class SandboxBackend:
    """Runs one Python program per request, isolated from the machine and the network.

    Programs are also isolated from each other.

    :param python: the interpreter. If empty, it is the one that runs mmeval.
    :param packages: true lets programs import the interpreter's installed packages.
    :param seconds: the limit on the wall time, and on the total processor time of all
        processes.
    :param memory_mb: the limit on the memory that all processes and files use together.
    :param processes: maximum number of processes and threads at once.
    :param output_kb: maximum size of the printed text.
    :param files: maximum number of files that are taken from ``output/``.
    :param file_mb: maximum size of a file.

    Raises MissingDataError, before any request, if bubblewrap cannot isolate programs
    on this machine.
    """

    capabilities = Capabilities.of(
        PART_KINDS, [kind for kind in PART_KINDS if kind != "reasoning"], "interleaved"
    )

    def __init__(
        self,
        *,
        python: str = "",
        packages: bool = False,
        seconds: float = 20,
        memory_mb: int = 512,
        processes: int = 32,
        output_kb: int = 64,
        files: int = 16,
        file_mb: int = 16,
    ) -> None:
        self._limits = ProgramLimits(
            seconds, memory_mb, processes, output_kb, files, file_mb
        )
        self._bubblewrap = bubblewrap_for(python, packages=packages)
        python_info = interpreter(python, packages=packages)
        self.identity: Mapping[str, Any] = {
            "backend": "sandbox",
            "version": VERSION,
            "runtime": self._bubblewrap.name,
            "python": python_info.version,
            "packages": python_info.packages,
            "image": "",  # always empty; kept because it is part of journalled keys
            **asdict(self._limits),
        }
        self.provenance: Mapping[str, Any] = {
            "runtime": f"{self._bubblewrap.name} {self._bubblewrap.version}".strip()
        }

    @property
    def usual_connections(self) -> int:
        """The number of programs that run at once: one per processor."""
        return len(os.sched_getaffinity(0))

    @classmethod
    def check_machine(cls) -> str:
        """Describes the default sandbox on this machine.

        Raises MissingDataError if programs cannot be isolated.
        """
        bubblewrap = bubblewrap_for("", packages=False)
        first = f"sandbox: models' programs can run in {bubblewrap.name}"
        return "; ".join([first, *bubblewrap.notes])

    async def generate(self, request: Request) -> Response:
        try:
            program = program_of(request)
            if program is None:
                return Response.failed(
                    "bad_request",
                    "the request has no program: the last user message must contain a "
                    "code part or a fenced block",
                )
            size = sum(media.size for _, media in program.inputs)
            if size > self._limits.memory_mb * MIB:
                return Response.failed(
                    "too_long", "the media of the request are larger than memory_mb"
                )
            # A cancelled call ends its program.
            thread, stop = OwnThread("mmeval-sandbox"), threading.Event()
            try:
                outcome = await thread.do(
                    partial(execute, self._bubblewrap, program, self._limits, stop)
                )
            finally:
                stop.set()
                thread.end()
            return self._response(outcome)
        except (ContentError, MissingError) as error:
            # A medium of the request is missing or has changed.
            return Response.failed("bad_request", str(error))
        except (SandboxError, OSError) as error:
            return Response.failed("internal", str(error))

    def _response(self, outcome: ProgramResult) -> Response:
        """Returns the answer: first the printed text, last the program's state.

        The state is a separate part, because a program could print text that imitates a
        state.
        """
        state = []
        if outcome.status and not outcome.was_ended:
            state.append(f"exit status {outcome.status}")
        limits = self._limits
        bounds: dict[Reason, str] = {
            "time": f"{limits.seconds:g} seconds",
            "memory": f"{limits.memory_mb} MiB",
            "processes": f"{limits.processes} processes",
            "output": f"{limits.output_kb} KiB",
            "files": f"{limits.files} files, {limits.file_mb} MiB each",
        }
        for reason in outcome.reached:
            state.append(f"the program reached the limit of {reason}: {bounds[reason]}")
        state += outcome.files.left_out
        warnings = list(state)
        parts: list[Part] = []
        if outcome.output:
            parts.append(text_part(outcome.output))
        parts += outcome.files.parts
        if not parts:
            state = state or ["the program ended and printed nothing"]
        tail = outcome.errors.strip()[-TAIL_CHARS:]
        if tail:
            state = state or ["errors of the program"]
            warnings.append(f"errors of the program: {tail}")
        if state:
            words = f"[{'; '.join(state)}]\n{tail}".rstrip("\n")
            parts.append(text_part(f"\n{words}\n"))
        return Response(
            output=Interleaved(tuple(parts)),
            latency=outcome.seconds,
            warnings=tuple(warnings),
            served=self._bubblewrap.name,
        )

    async def close(self) -> None:
        """Does nothing, since each program has its own sandbox."""
