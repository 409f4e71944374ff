"""The backend: runs the program of a request and answers with what it printed and
left."""

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
"""Raised whenever the same program could be answered otherwise."""
TAIL_CHARS = 4000
"""How much of a program's errors an answer holds: the end, where a traceback says what
is wrong."""


class SandboxBackend:
    """Runs one Python program for a request, cut off from the machine, the network and
    other programs.

    :param python: the interpreter, ours if empty.
    :param packages: whether programs may import the packages that are installed
        beside the interpreter.
    :param seconds: of wall time, and of processor time, for a program with all of
        its processes.
    :param memory_mb: for all of its processes and files together.
    :param processes: processes and threads at once.
    :param output_kb: what it may print.
    :param files: how many files of ``output/`` are taken.
    :param file_mb: the most that one file may hold.

    Raises MissingDataError, before anything is asked, where bubblewrap does not hold a
    program here.
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
        known = interpreter(python, packages=packages)
        self.identity: Mapping[str, Any] = {
            "backend": "sandbox",
            "version": VERSION,
            "runtime": self._bubblewrap.name,
            "python": known.version,
            "packages": known.packages,
            "image": "",  # there is none; journals have it in the keys of their calls
            **asdict(self._limits),
        }
        self.provenance: Mapping[str, Any] = {
            "runtime": f"{self._bubblewrap.name} {self._bubblewrap.version}".strip()
        }

    @property
    def usual_connections(self) -> int:
        """How many programs run at a time: as many as there are processors."""
        return len(os.sched_getaffinity(0))

    @classmethod
    def check_machine(cls) -> str:
        """What programs run in here by default. Raises MissingDataError where nothing
        holds them."""
        bubblewrap = bubblewrap_for("", packages=False)
        first = f"sandbox: programs of models can run in {bubblewrap.name}"
        return "; ".join([first, *bubblewrap.notes])

    async def generate(self, request: Request) -> Response:
        try:
            program = program_of(request)
            if program is None:
                return Response.failed(
                    "bad_request",
                    "there is no program: the last user message has no code part and "
                    "no fenced block",
                )
            size = sum(media.size for _, media in program.inputs)
            if size > self._limits.memory_mb * MIB:
                return Response.failed(
                    "too_long", "the media of the request are larger than memory_mb"
                )
            # it is ended when the call is given up
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
            # a medium of the request has gone or changed
            return Response.failed("bad_request", str(error))
        except (SandboxError, OSError) as error:
            return Response.failed("internal", str(error))

    def _response(self, outcome: ProgramResult) -> Response:
        """What was printed comes first and the state last, in a part of its own: a
        program can imitate words alone."""
        state = []
        if outcome.status and not outcome.ended:
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
        state += outcome.outputs.left_out
        warnings = list(state)
        parts: list[Part] = []
        if outcome.printed:
            parts.append(text_part(outcome.printed))
        parts += outcome.outputs.parts
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
        """Nothing is held open: each program has a sandbox of its own."""
