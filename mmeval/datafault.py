"""Data faults: tasks whose data cannot be read to their end. What was asked until then is scored, and the other tasks
go on; a fault that leaves nothing at all is raised."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from mmeval.errors import EXIT_UNEXPECTED, MmevalError, told
from mmeval.names import counted


class DataFault(NamedTuple):
    """Why the data of a task could not be read on, after so many trials; ``exit_code`` is what the error means."""

    error: BaseException
    made: int

    @property
    def exit_code(self) -> int:
        return self.error.exit_code if isinstance(self.error, MmevalError) else EXIT_UNEXPECTED


def exit_code(faults: Mapping[str, DataFault], otherwise: int) -> int:
    """The code of a run: that of the first fault, and without one ``otherwise``."""
    return next((fault.exit_code for fault in faults.values()), otherwise)


def complaints(faults: Mapping[str, DataFault], *, again: str) -> Iterator[str]:
    """Each fault with the way out; ``again`` is what makes the rest."""
    for task, fault in faults.items():
        yield (
            f"the data of {task} cannot be read on after {counted(fault.made, 'trial')}: {told(fault.error)}; "
            f"correct that, then {again} asks the rest, and what is answered is kept"
        )
