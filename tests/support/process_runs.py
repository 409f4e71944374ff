"""Runs of one command over a worker that misbehaves on order, in a folder of their
own."""

import shlex
from pathlib import Path
from typing import Any

from tests.support.cli import QUIET, Ended, mmeval_process
from tests.support.questions import write_task
from tests.support.workers import bad_command, noted


class ProcessRuns:
    """``rows`` are the words of its prompts; the worker repeats them, so that each
    right answer scores 1."""

    def __init__(self, folder: Path, rows: list[str]) -> None:
        self.folder, self.notes = folder, folder / "notes"
        self.notes.mkdir()
        asked = (
            {"id": str(i), "input": text, "reference": text}
            for i, text in enumerate(rows)
        )
        write_task(folder / "tasks", "ask", asked)

    def command(
        self, fault: str = "none", *flags: str, seconds: float = 0.0, **args: Any
    ) -> list[str]:
        """The flags of a run; ``args`` are further arguments of the backend."""
        words = shlex.join(bad_command(fault, self.notes, str(seconds)))
        given = {"command": f'"{words}"', "name": "m", **args}
        return [
            "--tasks",
            "ask",
            "--include_path",
            str(self.folder / "tasks"),
            *QUIET,
            "--output_path",
            str(self.folder / "runs"),
            "--model",
            "process",
            "--model_args",
            ",".join(f"{name}={value}" for name, value in given.items()),
            *flags,
        ]

    def whole(self, fault: str = "none", *flags: str, **args: Any) -> Ended:
        return mmeval_process(*self.command(fault, *flags, **args))

    def asked(self) -> list[str]:
        """The words of the rows that were asked, in their order."""
        return [line.partition(" ")[2] for line in noted(self.notes, "asked")]

    def loads(self) -> int:
        return len(noted(self.notes, "loads"))

    def started(self) -> list[int]:
        """The process id of every worker that has ever begun, the newest last."""
        return [int(line.split()[0]) for line in noted(self.notes, "started")]

    def processes(self) -> set[int]:
        return {*self.started()}

    def log(self) -> str:
        return (
            self.folder / "runs" / "m" / "default" / "workers" / "model-1.log"
        ).read_text()
