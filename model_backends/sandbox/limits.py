"""The limits of one program, for all its processes together."""

from __future__ import annotations

import math
import platform
import re
from dataclasses import asdict, dataclass, replace
from typing import Literal

from mmeval.errors import UsageError
from mmeval.media.decode import DEFAULT_LIMITS, DecodeLimits

Reason = Literal["time", "memory", "processes", "output", "files"]
"""The kind of limit that a program has reached."""
MIB = 2**20
INODES = 4096
"""Maximum number of files, folders and links in the sandbox.

The kernel would allow millions.
"""
_BYTES_A_SAMPLE = 8
"""Bytes per sample while the blocks of a sound are joined."""
OPEN_FILES = 128
"""Maximum number of open files of a process.

The limit is needed because data in pipes is memory that is not counted for any process.
"""


@dataclass(frozen=True)
class ProgramLimits:
    """The limits of a program.

    ``seconds`` limits both wall time and processor time. ``processes`` also counts
    threads.
    """

    seconds: float = 20
    memory_mb: int = 512
    processes: int = 32
    output_kb: int = 64
    files: int = 16
    file_mb: int = 16

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if not math.isfinite(value) or value <= 0:
                raise UsageError(
                    f"the backend 'sandbox': {name}={value!r} must be above 0",
                    name=name,
                )

    @property
    def folder_bytes(self) -> int:
        """The maximum size of each writable folder.

        The files in all folders also count as memory.
        """
        return min(self.files * self.file_mb, self.memory_mb) * MIB

    def of_decoding(self, size: int, seconds: float) -> DecodeLimits:
        """Returns the limits for decoding one of the program's files of ``size`` bytes.

        Decoding may use at most the program's memory, and at most ``seconds``.
        """
        default = DEFAULT_LIMITS
        memory = self.memory_mb * MIB
        # Each step may use these additional amounts, which grow with the file's size.
        more_memory = default.step_bytes(size) - default.step_bytes(0)
        more_seconds = default.step_seconds(size) - default.step_seconds(0)
        return replace(
            default,
            max_audio_samples=min(default.max_audio_samples, memory // _BYTES_A_SAMPLE),
            max_seconds=min(default.max_seconds, seconds),
            max_step_seconds=min(default.max_step_seconds, seconds - more_seconds),
            max_step_bytes=min(default.max_step_bytes, memory - more_memory),
        )

    def of_process(self) -> dict[str, int]:
        """Returns the limits of each process, under their names in ``resource``.

        These limits are a second line of defence: the sum over all processes is
        measured from outside.
        """
        limits = {
            # Address space: libraries reserve more than they use.
            "RLIMIT_AS": 4 * self.memory_mb * MIB + 2**30,
            "RLIMIT_CPU": math.ceil(self.seconds) + 1,
            "RLIMIT_FSIZE": self.file_mb * MIB,
            "RLIMIT_NOFILE": OPEN_FILES,
            "RLIMIT_CORE": 0,
            "RLIMIT_MEMLOCK": 0,
            "RLIMIT_MSGQUEUE": 0,
            "RLIMIT_SIGPENDING": 1024,
        }
        kernel = re.findall(r"\d+", platform.release())
        if tuple(map(int, kernel[:2])) >= (5, 14):
            # Since Linux 5.14 the kernel counts only the processes of the sandbox's
            # user namespace. Two are added: one for bubblewrap's own process, and one
            # above the limit, so that the measurement from outside detects it.
            limits["RLIMIT_NPROC"] = self.processes + 2
        return limits
