"""The bounds of one program: what all of its processes may use together."""

from __future__ import annotations

import math
import platform
import re
from dataclasses import asdict, dataclass, replace
from typing import Literal

from mmeval.errors import UsageError
from mmeval.media.decode import DEFAULT_LIMITS, DecodeLimits

Reason = Literal["time", "memory", "processes", "output", "files"]
"""The bound that a program has reached."""
MIB = 2**20
INODES = 4096
"""Files, folders and links that may exist at once in the sandbox; the kernel's own
bound is in the millions."""
_BYTES_A_SAMPLE = 8
"""While the blocks of a sound are joined."""
OPEN_FILES = 128
"""Of one process. What waits in pipes is memory that no process shows."""


@dataclass(frozen=True)
class ProgramLimits:
    """``seconds`` are of wall time, and of processor time; a process counts with each
    of its threads."""

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
        """What the files of each of its folders may hold together; those of all count
        as memory."""
        return min(self.files * self.file_mb, self.memory_mb) * MIB

    def of_decoding(self, size: int, seconds: float) -> DecodeLimits:
        """What may be spent on one of its files here, by its bytes: no more than the
        program itself may use, and ``seconds`` of it."""
        usual = DEFAULT_LIMITS
        memory = self.memory_mb * MIB
        # what a step has more for a larger file
        more_memory = usual.step_bytes(size) - usual.step_bytes(0)
        more_seconds = usual.step_seconds(size) - usual.step_seconds(0)
        return replace(
            usual,
            max_audio_samples=min(usual.max_audio_samples, memory // _BYTES_A_SAMPLE),
            max_seconds=min(usual.max_seconds, seconds),
            max_step_seconds=min(usual.max_step_seconds, seconds - more_seconds),
            max_step_bytes=min(usual.max_step_bytes, memory - more_memory),
        )

    def of_process(self) -> dict[str, int]:
        """The limits of each process, by their names in ``resource``: a second fence,
        where the sum is watched. In a user namespace of its own the kernel counts the
        sandbox's processes alone, since Linux 5.14."""
        found = {
            # addresses: libraries reserve more than they use
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
            # bubblewrap's own, and one too many, which the watch sees
            found["RLIMIT_NPROC"] = self.processes + 2
        return found
