"""Workers of the backend ``process`` for tests, and what they noted."""

import sys
from pathlib import Path
from typing import Any

from mmeval.authoring.scaffold.names import package_name
from mmeval.authoring.scaffold.package import write_package
from mmeval.model_backends.process import ProcessBackend

BAD = Path(__file__).with_name("bad_worker.py")


def bad_command(fault: str, notes: Path, *more: str) -> list[str]:
    return [sys.executable, str(BAD), fault, str(notes), *more]


def bad_worker(fault: str, notes: Path, **arguments: Any) -> ProcessBackend:
    return ProcessBackend(command=bad_command(fault, notes), **arguments)


def noted(notes: Path, name: str) -> list[str]:
    """The lines of a file of notes: a process id, and what it noted."""
    file = notes / name
    return file.read_text().splitlines() if file.is_file() else []


def own_worker(folder: Path) -> Path:
    """The file that ``mmeval init worker`` writes, in a folder."""
    return (
        write_package("worker", package_name("worker", "omni"), folder).folder
        / "serve.py"
    )
