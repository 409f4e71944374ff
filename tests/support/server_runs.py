"""Runs of one command over the stand-in for a server, in a folder of their own."""

import json
import sys
from pathlib import Path
from typing import Any

from tests.support.cli import QUIET, Ended, environment, mmeval_process
from tests.support.questions import write_task

STAND_IN = Path(__file__).with_name("stand_in_server.py")


def program(folder: Path, name: str = "vllm") -> Path:
    """The stand-in under the name of a server's program, in a folder for the PATH."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    file.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{STAND_IN}" "$@"\n')
    file.chmod(0o755)
    return file


class ServerRuns:
    """``rows`` are the words of its prompts; the server repeats them, so that each
    right answer scores 1."""

    def __init__(self, folder: Path, rows: list[str], fault: str = "") -> None:
        self.folder, self.notes = folder, folder / "notes"
        self.notes.mkdir()
        self.bin = program(folder / "bin").parent
        self.fault = fault
        asked = (
            {"id": str(i), "input": text, "reference": text}
            for i, text in enumerate(rows)
        )
        write_task(folder / "tasks", "ask", asked)

    @property
    def environment(self) -> dict[str, str]:
        kept = environment()
        more = {"STAND_IN_FAULT": self.fault, "STAND_IN_NOTES": str(self.notes)}
        return {**kept, **more, "PATH": f"{self.bin}:{kept['PATH']}"}

    def command(self, *flags: str, **args: Any) -> list[str]:
        """The flags of a run; ``args`` are further arguments of the backend."""
        given = {"pretrained": "org/m", **args}
        return [
            "--tasks",
            "ask",
            "--include_path",
            str(self.folder / "tasks"),
            *QUIET,
            "--output_path",
            str(self.folder / "runs"),
            "--model",
            "vllm",
            "--model_args",
            ",".join(f"{name}={value}" for name, value in given.items()),
            *flags,
        ]

    def whole(self, *flags: str, **args: Any) -> Ended:
        return mmeval_process(*self.command(*flags, **args), env=self.environment)

    def noted(self, name: str) -> list[str]:
        file = self.notes / name
        return file.read_text().splitlines() if file.is_file() else []

    def starts(self) -> list[tuple[int, str, list[str]]]:
        """The process id, the model and the flags of every start."""
        return [tuple(json.loads(line)) for line in self.noted("started")]

    def processes(self) -> set[int]:
        return {*(pid for pid, _, _ in self.starts()), *map(int, self.noted("engines"))}

    @property
    def run(self) -> Path:
        return next((self.folder / "runs").glob("*/default"))

    def log(self) -> str:
        return (self.run / "workers" / "model-1.log").read_text()
