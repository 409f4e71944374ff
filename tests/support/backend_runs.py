"""Workers and servers that misbehave on order, and runs of one command over them, in a
folder of their own."""

import json
import shlex
import sys
from pathlib import Path
from typing import Any

from mmeval.authoring.scaffold.names import package_name
from mmeval.authoring.scaffold.package import write_package
from mmeval.model_backends.process import ProcessBackend
from tests.support.cli import Ended, environment, mmeval_process
from tests.support.questions import where, write_task

BAD = Path(__file__).with_name("bad_worker.py")
STAND_IN = Path(__file__).with_name("stand_in_server.py")


def bad_command(fault: str, notes: Path, *more: str) -> list[str]:
    return [sys.executable, str(BAD), fault, str(notes), *more]


def bad_worker(fault: str, notes: Path, **arguments: Any) -> ProcessBackend:
    return ProcessBackend(command=bad_command(fault, notes), **arguments)


def own_worker(folder: Path) -> Path:
    """The file that ``mmeval init worker`` writes, in a folder."""
    name = package_name("worker", "omni")
    return write_package("worker", name, folder).folder / "serve.py"


def program(folder: Path, name: str = "vllm") -> Path:
    """The stand-in under the name of a server's program, in a folder for the PATH."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    file.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{STAND_IN}" "$@"\n')
    file.chmod(0o755)
    return file


def noted(notes: Path, name: str) -> list[str]:
    """The lines of a file of notes: a process id, and what it noted."""
    file = notes / name
    return file.read_text().splitlines() if file.is_file() else []


class BackendRuns:
    """``rows`` are the words of its prompts; the backend repeats them, so that each
    right answer scores 1."""

    def __init__(self, folder: Path, rows: list[str]) -> None:
        self.folder, self.notes = folder, folder / "notes"
        self.notes.mkdir()
        asked = (
            {"id": str(i), "input": text, "reference": text}
            for i, text in enumerate(rows)
        )
        write_task(folder / "tasks", "ask", asked)

    def flags(self, backend: str, *flags: str, **args: Any) -> list[str]:
        given = ",".join(f"{name}={value}" for name, value in args.items())
        model = ["--model", backend, "--model_args", given]
        return [*where(self.folder), *model, *flags]

    @property
    def run(self) -> Path:
        return next((self.folder / "runs").glob("*/default"))

    def log(self) -> str:
        return (self.run / "workers" / "model-1.log").read_text()


class ProcessRuns(BackendRuns):
    """Runs over a worker that misbehaves on order."""

    def command(
        self, fault: str = "none", *flags: str, seconds: float = 0.0, **args: Any
    ) -> list[str]:
        """The flags of a run; ``args`` are further arguments of the backend."""
        words = shlex.join(bad_command(fault, self.notes, str(seconds)))
        return self.flags("process", *flags, command=f'"{words}"', name="m", **args)

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


class ServerRuns(BackendRuns):
    """Runs over the stand-in for a server."""

    def __init__(self, folder: Path, rows: list[str], fault: str = "") -> None:
        super().__init__(folder, rows)
        self.bin = program(folder / "bin").parent
        self.fault = fault

    @property
    def environment(self) -> dict[str, str]:
        kept = environment()
        more = {"STAND_IN_FAULT": self.fault, "STAND_IN_NOTES": str(self.notes)}
        return {**kept, **more, "PATH": f"{self.bin}:{kept['PATH']}"}

    def command(self, *flags: str, **args: Any) -> list[str]:
        """The flags of a run; ``args`` are further arguments of the backend."""
        return self.flags("vllm", *flags, **{"pretrained": "org/m", **args})

    def whole(self, *flags: str, **args: Any) -> Ended:
        return mmeval_process(*self.command(*flags, **args), env=self.environment)

    def noted(self, name: str) -> list[str]:
        return noted(self.notes, name)

    def starts(self) -> list[tuple[int, str, list[str]]]:
        """The process id, the model and the flags of every start."""
        return [tuple(json.loads(line)) for line in self.noted("started")]

    def processes(self) -> set[int]:
        return {*(pid for pid, _, _ in self.starts()), *map(int, self.noted("engines"))}
